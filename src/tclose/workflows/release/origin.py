"""How a release came about, as its certificate tells it: no raw value among it."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterable, Sequence

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.attacks import Finding
from tclose.data import BoundTable, Source
from tclose.data.encode.hierarchies import hash_hierarchy
from tclose.data.io.records import json_hash
from tclose.data.summary import TableSummary
from tclose.recode import Leftover, Plan, Recoding
from tclose.release import Applied
from tclose.search import Budget, Outcome
from tclose.search.outcome import Trial
from tclose.utility import LossReport, Quasi
from tclose.verify.certificate import (
    AttackRecord,
    Hashes,
    LeftOutRecord,
    LeftoverRecord,
    LossRecord,
    OptimalityRecord,
    Origin,
    ProjectionRecord,
    TrialRecord,
)
from tclose.version import VERSION


def describe_search(
    bound: BoundTable,
    outcome: Outcome,
    budget: Budget,
    recoding: Recoding,
    leftover: Leftover | None,
) -> Origin:
    """How a search went: by what means, how it ended, and how good its result is known to be."""
    # Central values are at no level, and no bound is about their loss.
    local = bound.policy.release.recoding == "local"
    quasi = recoding.quasi
    return Origin(
        method=outcome.method,
        why=outcome.why or None,
        stopped=outcome.stopped,
        tried=record_trials(outcome.tried),
        seed=budget.seed,
        seconds=budget.seconds,
        effort=budget.effort,
        suppression=str(budget.suppression),
        levels=quasi.name_levels(outcome.levels) if local and outcome.levels is not None else None,
        optimality=_optimality(outcome) if local else None,
        leftover=None if leftover is None else _record_leftover(bound, quasi, leftover),
        input_rows=bound.classes.n_rows,
        left_out=_record_left_out(bound, recoding),
        loss=_record_loss(recoding.loss),
        versions=library_versions(),
    )


def describe_applied(bound: BoundTable, plan: Plan, applied: Applied, recoding: Recoding) -> Origin:
    """How new rows found their classes in a plan."""
    return Origin(
        method=f"apply ({plan.method})",
        seed=plan.seed,
        way=applied.way,
        outside=applied.outside,
        held_back=applied.held_back,
        widened=applied.widened,
        changed_hierarchies=applied.changed,
        input_rows=bound.classes.n_rows,
        left_out=_record_left_out(bound, recoding),
        loss=_record_loss(recoding.loss),
        versions=library_versions(),
    )


def describe_parts(
    table: TableSummary,
    budget: Budget,
    loss: LossReport,
    *,
    method: str,
    fragments: int,
    cells: int,
) -> Origin:
    """How a table was released whose cells are too many for one place."""
    return Origin(
        method=f"{method}, in fragments",
        fragments=fragments,
        cells=cells,
        seed=budget.seed,
        seconds=budget.seconds,
        effort=budget.effort,
        input_rows=table.n_rows,
        left_out=LeftOutRecord(rows=0, parts={}),
        loss=_record_loss(loss),
        versions=library_versions(),
    )


def describe_split(
    bound: BoundTable,
    budget: Budget,
    findings: Iterable[Finding],
    command: str,
    *,
    method: str,
    stopped: str | None = None,
    tried: Sequence[TrialRecord] | None = None,
    projections: Sequence[ProjectionRecord] | None = None,
) -> Origin:
    """How the tables of a release in several came about, and what they tell together."""
    attacks = tuple(
        AttackRecord.model_validate(found.to_json(), strict=False) for found in findings
    )
    return Origin(
        method=method,
        stopped=stopped,
        tried=None if tried is None else tuple(tried),
        projections=None if projections is None else tuple(projections),
        attacks=attacks or None,
        seed=budget.seed,
        seconds=budget.seconds,
        effort=budget.effort,
        command=command,
        input_rows=bound.classes.n_rows,
        versions=library_versions(),
    )


def hash_inputs(
    table: BoundTable | TableSummary, source: Source, plan: Plan | None = None
) -> Hashes:
    """The hashes of everything that a release was made from."""
    attributes = {name: attribute.hierarchy for name, attribute in table.attributes.items()}
    trees = {**table.hierarchies, **{name: tree for name, tree in attributes.items() if tree}}
    return Hashes(
        input=source.digest(),
        policy=json_hash(table.policy.to_json()),
        hierarchies={name: hash_hierarchy(tree) for name, tree in sorted(trees.items())},
        plan=None if plan is None else json_hash(plan.to_json()),
    )


def library_versions() -> dict[str, str]:
    """The versions of everything that counted and wrote."""
    return {
        "tclose": VERSION,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "pyarrow": pa.__version__,
        "duckdb": duckdb.__version__,
    }


def record_trials(tried: Iterable[Trial], *, losses: bool = True) -> tuple[TrialRecord, ...]:
    """What a search tried; with what each lost, where that is comparable."""
    return tuple(
        TrialRecord(
            step=trial.step,
            seconds=trial.seconds,
            loss=float(trial.loss) if losses and math.isfinite(trial.loss) else None,
        )
        for trial in tried
    )


def _optimality(outcome: Outcome) -> OptimalityRecord | None:
    if outcome.bound is None:
        return None
    return OptimalityRecord(
        measure=outcome.measure,
        loss=outcome.loss if outcome.value is None else outcome.value,
        no_less_than=outcome.bound,
        optimal=outcome.gap == 0,
    )


def _record_loss(loss: LossReport) -> LossRecord:
    return LossRecord(measure="iyengar", overall=loss.overall, columns=loss.columns)


def _record_left_out(bound: BoundTable, recoding: Recoding) -> LeftOutRecord:
    gone = recoding.label < 0
    rows = int(bound.cells.rows[gone].sum())
    return LeftOutRecord(rows=rows, parts=_count_parts(bound, recoding.quasi, gone))


def _record_leftover(bound: BoundTable, quasi: Quasi, leftover: Leftover) -> LeftoverRecord:
    return LeftoverRecord(
        asked=leftover.asked,
        rooted=leftover.rooted,
        hidden=leftover.hidden,
        generalized=leftover.generalized,
        dropped=leftover.dropped,
        merged_classes=leftover.merged,
        reason=leftover.reason,
        parts=_count_parts(bound, quasi, leftover.treated),
    )


def _count_parts(
    bound: BoundTable, quasi: Quasi, some: NDArray[np.bool_]
) -> dict[str, dict[str, int]]:
    """From which coarse parts of each quasi-identifier the rows of some cells are."""
    rows = bound.cells.rows[some].tolist()
    found: dict[str, dict[str, int]] = {}
    for at, column in enumerate(quasi.columns):
        counts: dict[str, int] = {}
        code = quasi.codes[some, at]
        parts = column.coarse(np.maximum(code, 0))
        for part, is_known, number in zip(parts, code >= 0, rows, strict=True):
            name = part if is_known else "unknown"
            counts[name] = counts.get(name, 0) + number
        found[column.name] = dict(sorted(counts.items()))
    return found
