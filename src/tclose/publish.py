"""anonymize · apply: wires the rooms that propose, write and judge a release; computes nothing.

Nothing that proposes certifies: what was written is read back and counted by `verify` before it is
moved into place, and a release that does not keep its promise is never made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.api import AS_FOUND, PolicyLike, Reading, check, population_cells
from tclose.describe import hashes_of, left_out_of, policy_json, versions
from tclose.distance.numbers import exact
from tclose.errors import UnprovenError, UsageError
from tclose.policy.load import policy_from
from tclose.policy.model import Policy
from tclose.recode import Plan, Pseudonyms, Rewriter, insert_cells, make_plan, released_values
from tclose.recode.rewrite import released_schema
from tclose.release import Release, recounted, save_json
from tclose.search import (
    Budget,
    Method,
    Outcome,
    Problem,
    Progress,
    infeasible,
    method_named,
    problem_of,
)
from tclose.table import Bound, Cells, open_source, write_table
from tclose.table.frames import is_frame, reframed
from tclose.table.stream import Rows, rows_of, shuffled
from tclose.table.write import (
    WRITERS,
    CsvWriter,
    delimiter_for,
    refuse_in_text,
    refuse_unknown_kind,
    refuse_unwritable,
)
from tclose.utility import Quasi, Sizes, class_sizes, coded_quasi, partition_loss
from tclose.verify import Audit, Certificate, certify
from tclose.verify.certificate import file_hash, stream_hash

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Targets:
    """Where a release, its certificate and its plan are written, if anywhere."""

    output: Path | None = None
    certificate: Path | None = None
    plan: Path | None = None

    @property
    def given(self) -> list[Path]:
        """Those that are to be written."""
        return [path for path in (self.output, self.certificate, self.plan) if path is not None]


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
    rounds: int | None = None,
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
    own kind of frame. What is not given is taken from the policy's `[search]` and `[release]`. The
    clock limits the search; with `rounds` an amount of work does, and equal input, policy and seed
    then give equal bytes on any machine.

    >>> table = pa.table({"age": [21, 22, 23, 44, 45, 46], "ill": ["a", "b", "a", "b", "a", "b"]})
    >>> rules = {"k": 3, "columns": {"age": "quasi", "ill": {"role": "sensitive", "t": 0.2}}}
    >>> release = anonymize(table, rules, method="mondrian")
    >>> release.data.column("age").to_pylist()[0], release.holds
    ('[21, 23]', True)
    """
    targets = _targets(output, certificate, plan)
    share = None if suppression is None else _share(suppression)
    bound = check(data, policy, reading=reading)
    search = bound.policy.search
    chosen = method_named(method or search.method)
    rows = rows_of(bound.source, data)
    _refuse(bound, rows, targets, (data, policy, population))
    people = population_cells(bound, population, reading)
    budget = Budget(
        seconds=float(search.seconds if seconds is None else seconds),
        seed=search.seed if seed is None else seed,
        suppression=search.suppression if share is None else share,
        cancelled=cancelled,
        report=progress,
        rounds=search.rounds if rounds is None else rounds,
    )
    problem = problem_of(bound, people)
    _refuse_infeasible(problem)

    def attempt(method: Method, problem: Problem, budget: Budget) -> Release:
        outcome = method.run(problem, budget)
        if outcome.stopped == "cancelled" and not on_cancel(outcome):
            raise _dropped()
        return _released(
            _Work(data, reading, bound, rows, targets, people, _pseudonyms(key)),
            outcome,
            budget,
            command,
            lambda: outcome.stopped != "cancelled" and cancelled() and not on_cancel(outcome),
        )

    try:
        return attempt(chosen, problem, budget)
    except UnprovenError:
        stricter = _without_supersets(bound.policy)
        if stricter == bound.policy and not budget.suppression:
            raise
    plain = check(data, stricter, reading=reading)
    safe = replace(budget, suppression=Fraction(0))
    return attempt(method_named("auto"), problem_of(plain, people), safe)


@dataclass(frozen=True)
class _Work:
    """What a release is made from and where it goes."""

    data: Any
    reading: Reading
    bound: Bound
    rows: Rows
    targets: Targets
    people: Cells | None
    pseudonyms: Pseudonyms


def _released(
    work: _Work, outcome: Outcome, budget: Budget, command: str, stopped: Callable[[], bool]
) -> Release:
    """Publishes what a search proposed."""
    bound = work.bound
    quasi = coded_quasi(bound)
    released = released_values(bound, quasi, outcome.label, recoding=bound.policy.release.recoding)
    made = make_plan(
        policy_json(bound.policy), outcome.method, budget.seed, outcome.uses_sensitive, released
    )
    rewriter = Rewriter(bound, work.rows, outcome.label, released, work.pseudonyms)
    details = {
        "method": outcome.method,
        "stopped": outcome.stopped,
        "tried": [vars(trial) for trial in outcome.tried],
        "seed": budget.seed,
        "seconds": budget.seconds,
        "rounds": budget.rounds,
        "suppression": str(budget.suppression),
        "command": command,
    }
    return _publish(
        work.data, work.reading, rewriter, quasi, made, work.targets, details, work.people,
        outcome=outcome, stopped=stopped,
    )  # fmt: skip


def _without_supersets(policy: Policy) -> Policy:
    """Closeness to the whole table wherever closeness to a part is promised: it implies the latter.

    A release whose (n, t)-closeness rests on supersets that a recount cannot see from the released
    values alone is not proved; closeness to the table, the largest superset, always is. Likewise
    leaving rows out may take the last row of a value with it and change an ordered scale.
    """
    columns = {name: one.model_copy(update={"n": None}) for name, one in policy.columns.items()}
    return policy.model_copy(update={"columns": columns}).at(policy.base)


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
    rules = policy if policy is not None else policy_from(plan.policy, base)
    bound = check(data, rules, reading=reading)
    rows = rows_of(bound.source, data)
    _refuse(bound, rows, targets, (data, policy, population))
    people = population_cells(bound, population, reading)
    insertion = insert_cells(bound, plan, people)
    if not (insertion.label >= 0).any():
        raise UsageError(
            "no row fits a class of the plan and keeps the promise; nothing was written",
            where=bound.source.name,
            hint="anonymize the new table by itself",
        )
    rewriter = Rewriter(bound, rows, insertion.label, plan.columns, _pseudonyms(key))
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
    stopped: Callable[[], bool] = lambda: False,
) -> Release:
    """Writes (or frames) the release, counts it again, and certifies what was counted."""
    bound, label = rewriter.bound, rewriter.label
    loss = partition_loss(quasi.columns, quasi.codes, bound.cells.weight, label)
    described = {
        **details,
        "input_rows": bound.classes.rows,
        "left_out": left_out_of(bound, quasi, label),
        "loss": {"measure": "iyengar", "overall": loss.overall, "columns": loss.columns},
        "versions": versions(),
    }
    hashes = hashes_of(data, bound, plan)

    def certified(audit: Audit, output_hash: str) -> tuple[Audit, Certificate, Sizes]:
        sizes = class_sizes(audit.bound.classes.size, bound.classes.rows)
        told = described | {"hashes": hashes | {"output": output_hash}, "sizes": vars(sizes)}
        paper = certify(audit, policy_json(bound.policy), told)
        save_json(targets.certificate, paper.to_json())
        save_json(targets.plan, plan.to_json())
        return audit, paper, sizes

    released: Any = None
    if targets.output is not None:
        audit, paper, sizes = _written(
            rewriter, targets.output, people, reading, certified, stopped
        )
    else:
        released = _framed(data, rewriter)
        source = open_source(released)
        audit, paper, sizes = certified(
            recounted(source, bound.policy, people), stream_hash(source.reader(100_000))
        )
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
        people=people,
    )


def _written(
    rewriter: Rewriter,
    output: Path,
    people: Cells | None,
    reading: Reading,
    certified: Callable[[Audit, str], tuple[Audit, Certificate, Sizes]],
    stopped: Callable[[], bool],
) -> tuple[Audit, Certificate, Sizes]:
    """Writes the release beside its target, counts and certifies that, then moves it there."""
    found: list[tuple[Audit, Certificate, Sizes]] = []
    policy = rewriter.bound.policy
    delimiter = delimiter_for(output, rewriter.bound.source.delimiter)

    def recount(part: Path) -> None:
        fresh = Reading(delimiter=delimiter, memory=reading.memory).open(part)
        audit = recounted(fresh, policy, people)
        if stopped():
            raise _dropped()
        found.append(certified(audit, file_hash(part)))

    def watched() -> Iterator[pa.RecordBatch]:
        for batch in rewriter.batches():
            if stopped():
                raise _dropped()
            yield batch

    rows = watched()
    if policy.release.rows == "shuffle":
        rows = shuffled(rows, rewriter.schema())
    write_table(output, rewriter.schema(), rows, delimiter=delimiter, check=recount)
    return found[0]


def _framed(data: Any, rewriter: Rewriter) -> Any:
    """The release in the caller's own kind of frame; an Arrow table where a file was read."""
    recoded = pa.Table.from_batches(list(rewriter.batches()), rewriter.schema())
    order = np.arange(recoded.num_rows)
    if rewriter.bound.policy.release.rows == "shuffle":
        order = np.random.default_rng().permutation(len(order))
        recoded = recoded.take(pa.array(order))
    if not is_frame(data):
        return recoded
    changed = {
        name: recoded.column(name).to_pylist()
        for name in (*rewriter.bound.classes.quasi, *rewriter.bound.policy.identifiers)
        if name in recoded.column_names
    }
    return reframed(data, rewriter.kept_rows()[order], changed, rewriter.columns())


def _targets(*paths: str | Path | None) -> Targets:
    """Where to write; refused at once, not after the search, where nothing can be written."""
    targets = Targets(*(None if path is None else Path(path) for path in paths))
    if targets.output is not None:
        refuse_unknown_kind(targets.output)
    for path in targets.given:
        refuse_unwritable(path)
    return targets


def _share(suppression: float | str) -> Fraction:
    try:
        share = exact(suppression)
    except ValueError:
        share = Fraction(-1)
    if not 0 <= share <= 1:
        raise UsageError("suppression is a share of the rows, in [0, 1]", hint="such as 0.05")
    return share


def _dropped() -> UsageError:
    return UsageError("stopped; nothing was written", hint="or keep the best found so far")


def _pseudonyms(key: bytes | None) -> Pseudonyms:
    return Pseudonyms() if key is None else Pseudonyms(key)


def _refuse(bound: Bound, rows: Rows, targets: Targets, inputs: tuple[Any, ...]) -> None:
    """Everything that would only come to light after the search."""
    _refuse_overwriting(bound.policy, targets, inputs)
    if not bound.policy.promises_something:
        raise UsageError(
            "the policy promises nothing, so there is nothing to keep",
            where="policy",
            hint="state k, or t at a sensitive column",
        )
    if targets.output is not None:
        refuse_in_text(targets.output, released_schema(bound, rows))
        _refuse_empty_texts(bound, targets.output)


def _refuse_overwriting(policy: Policy, targets: Targets, inputs: tuple[Any, ...]) -> None:
    """What is read is never harmed, not even by a mistyped output."""
    read = [Path(one) for one in inputs if isinstance(one, str | Path)]
    read += [policy.base / one for one in policy.files]
    for path in targets.given:
        if path.exists() and any(one.exists() and path.samefile(one) for one in read):
            raise UsageError("the output is an input", where=str(path), hint="name another file")
    if len({path.resolve() for path in targets.given}) < len(targets.given):
        raise UsageError("two outputs have the same name", where=str(targets.given[0]))


def _refuse_empty_texts(bound: Bound, output: Path) -> None:
    """An empty text becomes a missing value in a CSV file, which is something else to count."""
    for name in bound.attributes:
        if (
            "" in bound.cells.dictionaries[name].labels
            and WRITERS[output.suffix.lower()] is CsvWriter
        ):
            raise UsageError(
                "a CSV file cannot tell its empty texts from missing values",
                where=f"column {name!r}",
                hint="write a .parquet file, or make them missing",
            )


def _refuse_infeasible(problem: Any) -> None:
    reasons = infeasible(problem)
    if reasons:
        told = "; ".join(str(reason) for reason in reasons)
        raise UsageError(f"no release can keep this promise: {told}", where="policy")
