"""anonymize · apply: wires the rooms that propose, write and judge a release; computes nothing.

Nothing that proposes certifies: what was written is read back and counted by `verify` before it is
moved into place, and a release that does not keep its promise is never made.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.api import AS_FOUND, PolicyLike, Reading, check, population_cells
from tclose.distance.numbers import exact
from tclose.errors import InternalError, UsageError
from tclose.policy.model import Policy
from tclose.recode import Plan, Pseudonyms, Rewriter, insert_cells, make_plan, released_values
from tclose.release import Release, save_json
from tclose.search import Budget, Outcome, Progress, infeasible, method_named, problem_of
from tclose.table import Bound, Cells, bind, open_source, write_table
from tclose.table.frames import is_frame, reframed
from tclose.table.stream import shuffled
from tclose.utility import Quasi, class_sizes, coded_quasi, partition_loss
from tclose.verify import Audit, audit_bound, certify
from tclose.verify.certificate import file_hash, json_hash, stream_hash

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Targets:
    """Where a release, its certificate and its plan are written, if anywhere."""

    output: Path | None = None
    certificate: Path | None = None
    plan: Path | None = None


def anonymize(
    data: Any,
    policy: PolicyLike,
    *,
    output: str | Path | None = None,
    certificate: str | Path | None = None,
    plan: str | Path | None = None,
    method: str | None = None,
    seconds: float | None = None,
    seed: int | None = None,
    suppression: float | str | None = None,
    population: Any = None,
    key: bytes | None = None,
    reading: Reading = AS_FOUND,
    progress: Callable[[Progress], None] = lambda step: None,
    cancelled: Callable[[], bool] = lambda: False,
    on_cancel: Callable[[Outcome], bool] = lambda outcome: False,
    command: str = "",
) -> Release:
    """Finds the release that keeps the policy's promise with the least loss, and certifies it.

    `data` is a path or a frame. With `output` the release is written there (CSV, Parquet or Arrow,
    by its suffix) and verified before it appears; without, `release.data` holds it in the caller's
    own kind of frame. What is not given is taken from the policy's `[search]` and `[release]`.

    >>> table = pa.table({"age": [21, 22, 23, 44, 45, 46], "ill": ["a", "b", "a", "b", "a", "b"]})
    >>> rules = {"k": 3, "columns": {"age": "quasi", "ill": {"role": "sensitive", "t": 0.2}}}
    >>> release = anonymize(table, rules, method="mondrian")
    >>> release.data.column("age").to_pylist()[0], release.holds
    ('[21, 23]', True)
    """
    targets = _targets(output, certificate, plan)
    bound = check(data, policy, reading=reading)
    _refuse_overwriting(data, targets)
    _refuse_empty_promise(bound)
    people = population_cells(bound, population, reading)
    search = bound.policy.search
    budget = Budget(
        seconds=float(search.seconds if seconds is None else seconds),
        seed=search.seed if seed is None else seed,
        suppression=search.suppression if suppression is None else exact(suppression),
        cancelled=cancelled,
        report=progress,
    )
    problem = problem_of(bound, people)
    _refuse_infeasible(problem)
    outcome = method_named(method or search.method).run(problem, budget)
    if outcome.stopped == "cancelled" and not on_cancel(outcome):
        raise UsageError("stopped; nothing was written", hint="or keep the best found so far")
    quasi = coded_quasi(bound)
    released = released_values(bound, quasi, outcome.label, recoding=bound.policy.release.recoding)
    made = make_plan(
        policy_json(bound.policy), outcome.method, budget.seed, outcome.uses_sensitive, released
    )
    rewriter = Rewriter(
        bound, outcome.label, released, bound.policy.release.identifiers, _pseudonyms(key)
    )
    details = {
        "method": outcome.method,
        "stopped": outcome.stopped,
        "tried": [vars(trial) for trial in outcome.tried],
        "seed": budget.seed,
        "seconds": budget.seconds,
        "suppression": str(budget.suppression),
        "command": command,
    }
    return _publish(data, reading, rewriter, quasi, made, targets, details, people, outcome=outcome)


def apply(
    plan: Plan,
    data: Any,
    *,
    policy: PolicyLike | None = None,
    base: str | Path = ".",
    output: str | Path | None = None,
    certificate: str | Path | None = None,
    population: Any = None,
    key: bytes | None = None,
    reading: Reading = AS_FOUND,
    command: str = "",
) -> Release:
    """Recodes new rows with the classes of a plan; what fits none or breaks the promise stays out.

    The promise judged is the plan's own policy (or the one given), on the new rows that are
    released. Relative paths in the plan's policy start from `base`.
    """
    targets = _targets(output, certificate, None)
    rules = policy if policy is not None else Policy.model_validate(plan.policy).at(base)
    bound = check(data, rules, reading=reading)
    _refuse_overwriting(data, targets)
    _refuse_empty_promise(bound)
    people = population_cells(bound, population, reading)
    insertion = insert_cells(bound, plan, people)
    if not (insertion.label >= 0).any():
        raise UsageError(
            "no row fits a class of the plan and keeps the promise; nothing was written",
            where=bound.source.name,
            hint="anonymize the new table by itself",
        )
    rewriter = Rewriter(
        bound, insertion.label, plan.columns, bound.policy.release.identifiers, _pseudonyms(key)
    )
    details = {
        "method": f"apply ({plan.method})",
        "seed": plan.seed,
        "outside": insertion.outside,
        "held_back": insertion.held_back,
        "command": command,
    }
    return _publish(
        data, reading, rewriter, coded_quasi(bound), plan, targets, details, people,
        outside=insertion.outside,
    )  # fmt: skip


def policy_json(policy: Policy) -> dict[str, Any]:
    """A policy as plain values that read back as the same policy."""
    dumped: dict[str, Any] = policy.model_dump(mode="json", exclude_unset=True)
    return dumped


def _publish(
    data: Any,
    reading: Reading,
    rewriter: Rewriter,
    quasi: Quasi,
    plan: Plan,
    targets: Targets,
    details: dict[str, Any],
    people: Cells | None,
    *,
    outcome: Outcome | None = None,
    outside: int = 0,
) -> Release:
    """Writes (or frames) the release, counts it again, and certifies what was counted."""
    bound, label = rewriter.bound, rewriter.label
    loss = partition_loss(quasi.columns, quasi.codes, bound.cells.weight, label)
    released: Any = None
    if targets.output is not None:
        audit, output_hash = _written(rewriter, targets.output, bound.policy, people)
    else:
        released = _framed(data, rewriter)
        audit = _judged(released, AS_FOUND, bound.policy, people)
        output_hash = stream_hash(open_source(released).reader(100_000))
    described = {
        **details,
        "input_rows": bound.classes.rows,
        "left_out": _left_out(bound, quasi, label),
        "loss": {"measure": "iyengar", "overall": loss.overall, "columns": loss.columns},
        "hashes": _hashes(data, bound, plan) | {"output": output_hash},
        "versions": _versions(),
    }
    sizes = class_sizes(_sizes(audit), bound.classes.rows)
    described["sizes"] = vars(sizes)
    paper = certify(audit, policy_json(bound.policy), described)
    save_json(targets.certificate, paper.to_json())
    save_json(targets.plan, plan.to_json())
    return Release(
        data=released,
        path=targets.output,
        certificate=paper,
        audit=audit,
        loss=loss,
        sizes=sizes,
        plan=plan,
        outcome=outcome,
        left_out=loss.left_out,
        outside=outside,
    )


def _written(
    rewriter: Rewriter, output: Path, policy: Policy, people: Cells | None
) -> tuple[Audit, str]:
    """Writes the release beside its target, counts what was written, then moves it there."""
    found: list[Audit] = []
    delimiter = rewriter.bound.source.delimiter if output.suffix.lower() == ".csv" else "\t"

    def recount(part: Path) -> None:
        found.append(_judged(part, Reading(delimiter=delimiter), policy, people))

    rows: Iterator[pa.RecordBatch] = rewriter.batches()
    if policy.release.rows == "shuffle":
        rows = shuffled(rows, rewriter.schema())
    write_table(output, rewriter.schema(), rows, delimiter=delimiter, check=recount)
    return found[0], file_hash(output)


def _judged(release: Any, reading: Reading, policy: Policy, people: Cells | None) -> Audit:
    """A fresh count of the release; raises where the promise does not hold on it."""
    fresh = bind(policy, reading.open(release))
    audit = audit_bound(fresh, population=people, measure_all=False)
    if not audit.holds:
        broken = ", ".join(v.title for v in audit.requirements if not v.holds)
        raise InternalError(f"the written release does not keep its promise ({broken})")
    return audit


def _framed(data: Any, rewriter: Rewriter) -> Any:
    """The release in the caller's own kind of frame; an Arrow table where a file was read."""
    if not is_frame(data):
        return pa.Table.from_batches(list(rewriter.batches()), rewriter.schema())
    recoded = pa.Table.from_batches(list(rewriter.batches()), rewriter.schema())
    keep = rewriter.kept_rows()
    if rewriter.bound.policy.release.rows == "shuffle":
        order = np.random.default_rng().permutation(len(keep))
        keep, recoded = keep[order], recoded.take(pa.array(order))
    changed = {
        name: recoded.column(name).to_pylist()
        for name in (*rewriter.bound.classes.quasi, *rewriter.bound.policy.identifiers)
        if name in recoded.column_names
    }
    return reframed(data, keep, changed, rewriter.columns())


def _left_out(bound: Bound, quasi: Quasi, label: Ints) -> dict[str, Any]:
    """How many rows were left out, and from which coarse part of each quasi-identifier's domain."""
    gone = label < 0
    weight = bound.cells.weight
    where: dict[str, dict[str, int]] = {}
    for at, column in enumerate(quasi.columns):
        counts: dict[str, int] = {}
        for part, rows in zip(
            column.coarse(quasi.codes[gone, at]), weight[gone].tolist(), strict=True
        ):
            counts[part] = counts.get(part, 0) + rows
        where[column.name] = dict(sorted(counts.items()))
    return {"rows": int(weight[gone].sum()), "from": where}


def _hashes(data: Any, bound: Bound, plan: Plan) -> dict[str, Any]:
    trees = {
        **bound.hierarchies,
        **{name: one.hierarchy for name, one in bound.attributes.items() if one.hierarchy},
    }
    path = isinstance(data, str | Path)
    return {
        "input": file_hash(data) if path else stream_hash(bound.source.reader(100_000)),
        "policy": json_hash(policy_json(bound.policy)),
        "hierarchies": {
            name: json_hash([list(tree.labels), tree.parent.tolist()])
            for name, tree in sorted(trees.items())
        },
        "plan": json_hash(plan.to_json()),
    }


def _versions() -> dict[str, str]:
    import duckdb

    from tclose.version import VERSION

    return {
        "tclose": VERSION,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "pyarrow": pa.__version__,
        "duckdb": duckdb.__version__,
    }


def _sizes(audit: Audit) -> Any:
    return audit.bound.classes.size


def _targets(*paths: str | Path | None) -> Targets:
    return Targets(*(None if path is None else Path(path) for path in paths))


def _pseudonyms(key: bytes | None) -> Pseudonyms:
    return Pseudonyms() if key is None else Pseudonyms(key)


def _refuse_overwriting(data: Any, targets: Targets) -> None:
    """The input is never harmed, not even by a mistyped output."""
    given = [path for path in (targets.output, targets.certificate, targets.plan) if path]
    if isinstance(data, str | Path):
        for path in given:
            if path.exists() and path.samefile(data):
                raise UsageError("the output is the input itself", where=str(path))
    if len({path.resolve() for path in given}) < len(given):
        raise UsageError("two outputs have the same name", where=str(given[0]))


def _refuse_empty_promise(bound: Bound) -> None:
    if not bound.policy.promises_something:
        raise UsageError(
            "the policy promises nothing, so there is nothing to keep",
            where="policy",
            hint="state k, or t at a sensitive column",
        )


def _refuse_infeasible(problem: Any) -> None:
    reasons = infeasible(problem)
    if reasons:
        told = "; ".join(str(reason) for reason in reasons)
        raise UsageError(f"no release can keep this promise: {told}", where="policy")
