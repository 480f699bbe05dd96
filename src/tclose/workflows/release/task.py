"""One search: the problem, the method, the budget, and the draft made from the outcome."""

from __future__ import annotations

import math
import platform
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from tclose.arrays import Flags
from tclose.data.binding import BoundTable, bind, hash_hierarchy
from tclose.data.encode.cells import Cells
from tclose.data.io.counting import file_hash
from tclose.errors import UsageError
from tclose.recode.division import choose_most_equal, divide_equal_rows
from tclose.recode.plan import Plan, Provenance, build_plan
from tclose.recode.rewrite import Pseudonyms, ReleasedRows, Rewriter
from tclose.recode.suppressed import SuppressedRows, treat_suppressed
from tclose.recode.values import Recoding
from tclose.search import Budget, Method, Outcome, SearchProblem, method_named, problem_of
from tclose.search.feasibility import refuse_infeasible
from tclose.search.local_search.level_masking import mask_levels
from tclose.search.local_search.masking import (
    EFFORT,
    Masking,
    count_masked,
    find_cost,
    mask_values,
    refuse_masking,
)
from tclose.search.outcome import Trial
from tclose.utility.loss import LossReport, Quasi
from tclose.verify.certificate import (
    LeftOutRecord,
    LeftoverRecord,
    LossRecord,
    MaskedRecord,
    OptimalityRecord,
    Origin,
    TargetRecord,
    TrialRecord,
)
from tclose.version import VERSION
from tclose.workflows.release.start import Start, read_start

MOST_ROWS = 20_000_000
"""Rows beyond which rows with equal values stay together: each of them takes memory otherwise."""
LEFTOVER = "asked rooted hidden generalized dropped reason".split()
"""What a certificate repeats of what became of the rows that a search left out."""


@dataclass(frozen=True)
class Draft:
    """A release before it is written, in one piece or in parts, and its future certificate."""

    rows: ReleasedRows
    n_rows: int
    loss: LossReport
    origin: Origin
    plan: Plan | None = None
    outcome: Outcome | None = None
    leftover: SuppressedRows | None = None
    original: BoundTable | None = None
    """The table itself, where it is in one place: reports show it beside the release."""
    notes: tuple[str, ...] = ()
    """What a steward is told of it beside what was foreseen."""


@dataclass(frozen=True)
class SearchTask:
    """A problem, the method and the budget by which it is searched, and the table behind it."""

    bound: BoundTable
    people: Cells | None
    """The population that the promise is about, if there is one."""
    problem: SearchProblem
    method: Method
    budget: Budget
    fallback: str | None = None
    """What is searched in place of what was asked for, if that is so."""
    start: Start | None = None
    """A partition that the search starts from."""
    undivided: int | None = None
    """How many rows a cell would have at most, if the table's engine did not rewrite rows."""

    @classmethod
    def of(
        cls, bound: BoundTable, people: Cells | None, name: str, budget: Budget,
        target: str | None = None, plan: Plan | None = None, *, rewrites: bool = False,
    ) -> SearchTask:  # fmt: skip
        """The constraints of a table, compiled; raises where no release can keep its promise.

        `rewrites` says that the table's engine will rewrite the rows itself.
        """
        method = method_named(name)
        most = choose_division(bound, [method], plan)
        bound = divide_table(bound, most, plan, rewrites=rewrites)
        problem = problem_of(bound, people, target)
        refuse_infeasible(problem)
        if bound.policy.search.masking != "none":
            refuse_masking(problem)
        budget = budget.scale_to(problem.n_cells) if method.improves else budget
        start = None if plan is None else read_start(bound, problem, plan, method, budget)
        undivided = most if rewrites else None
        return cls(bound, people, problem, method, budget, start=start, undivided=undivided)

    def search(self) -> Outcome:
        """Proposes classes."""
        if self.start is None:
            return self.method.run(self.problem, self.budget)
        found = self.method.run(self.problem, self.budget, self.start.outcome.label)
        return self.start.keep_better(found)

    @property
    def _masking(self) -> Masking | None:
        wishes = self.bound.policy.search
        if wishes.masking == "none":
            return None
        return Masking(wishes.masking, float(wishes.masking_cost), float(wishes.masking_share))

    def mask(self, found: Outcome) -> Outcome:
        """Divides classes by masked values, or recodes columns less far, where the policy asks."""
        masking, effort = self._masking, EFFORT * self.budget.expected
        if masking is None:
            return found
        if found.levels is not None:
            return mask_levels(self.problem, found, masking, effort)
        return mask_values(self.problem, found, masking, effort)

    def draft(self, pseudonyms: Pseudonyms, outcome: Outcome, recoding: Recoding) -> Draft:
        """The draft of an outcome, with its plan and the treatment of suppressed rows."""
        bound, budget = self.bound, self.budget
        leftover = treated = levels = None
        if bound.policy.release.leftover != "drop":
            recoding, leftover = treat_suppressed(bound, self.people, outcome, recoding)
            treated = LeftoverRecord(
                **{name: getattr(leftover, name) for name in LEFTOVER},
                merged_classes=leftover.merged,
                parts=count_by_part(bound, recoding.quasi, leftover.treated),
            )
        plan = build_plan(bound, outcome, recoding, budget.seed)
        plan = plan.model_copy(update={"provenance": trace_inputs(bound)})
        # Central values are at no level, and no bound is about their loss.
        local = bound.policy.release.covers_values
        if local and outcome.levels is not None:
            levels = recoding.quasi.name_levels(outcome.levels)
        draft = draft_recoding(
            bound,
            recoding,
            plan,
            pseudonyms,
            method=outcome.method,
            why=outcome.why or None,
            stopped=outcome.stopped,
            tried=record_trials(outcome.tried),
            seed=budget.seed,
            seconds=budget.seconds,
            effort=budget.effort,
            polish=None if budget.polish else False,
            suppression=str(budget.suppression),
            levels=levels,
            optimality=_record_optimality(outcome) if local else None,
            leftover=treated,
            fallback=self.fallback,
            masked=self._record_masked(outcome),
            target=self._record_target(),
        )
        return replace(draft, outcome=outcome, leftover=leftover)

    def _record_masked(self, outcome: Outcome) -> MaskedRecord | None:
        how, masking = self.bound.policy.search.masking, self._masking
        if outcome.masked is None or masking is None or how == "none":
            return None
        rows = count_masked(self.problem, outcome.masked)
        return MaskedRecord(
            how=how, rows=rows, cost=find_cost(self.problem, outcome.masked, masking)
        )

    def _record_target(self) -> TargetRecord | None:
        aim, weights = self.problem.objective.target, self.problem.objective.weights
        if aim is None:
            return None
        counted = {name: str(weight) for name, weight in weights.items()}
        information = dict(aim.information)
        return TargetRecord(column=aim.column, information=information, weights=counted)

    def make_stricter(self) -> SearchTask | None:
        """A promise that implies the one that was not proved, if there is another.

        A release whose (n, t)-closeness rests on supersets that a recount cannot see from the
        released values alone is not proved; closeness to the table, the largest superset, always
        is. Likewise leaving rows out may take the last row of a value with it and change an
        ordered scale.
        """
        policy, budget = self.bound.policy, self.budget
        columns = {
            name: column.model_copy(update={"n": None}) for name, column in policy.columns.items()
        }
        stricter = policy.model_copy(update={"columns": columns})
        if stricter == policy and not budget.suppression:
            return None
        words = [] if self.method.name == "auto" else [f"auto in place of {self.method.name}"]
        if self.problem.constraints.supersets:
            words.append("closeness to the whole table in place of (n, t)-closeness")
        if budget.suppression:
            words.append("no row left out")
        aim = self.problem.objective.target
        target = None if aim is None else aim.column
        because = "because what was asked for could not be proved"
        bound, further = bind(stricter, self.bound.source), self.bound.further
        if further is not None and further.most is not None:
            bound = divide_equal_rows(bound, further.most)
        return replace(
            self,
            problem=problem_of(bound, self.people, target),
            method=method_named("auto"),
            budget=replace(budget, suppression=Fraction(0)),
            fallback=f"fallback: {', '.join(words)}, {because}",
            start=None,
        )


def choose_division(
    bound: BoundTable, methods: Sequence[Method], plan: Plan | None = None
) -> int | None:
    """How many rows with equal values a cell should have at most; None: all that there are.

    A plan of the same rows says itself how they are divided.
    """
    if plan is not None and plan.own_rows is not None:
        return plan.own_rows.most
    policy, search = bound.policy, bound.policy.search
    stays = (
        not any(method.divides for method in methods)
        or bound.further is not None
        or bound.cells.n_rows > MOST_ROWS
        or policy.counting is not None
        or policy.release.suppresses_cells
        or search.masking != "none"
        or search.loss is not None
        or search.levels is not None
        or any(column.n is not None for column in policy.columns.values())
    )
    return None if stays else choose_most_equal(bound.cells.rows)


def divide_table(
    bound: BoundTable, most: int | None, plan: Plan | None = None, *, rewrites: bool
) -> BoundTable:
    """The table with cells of at most so many rows; as it is where its engine rewrites the rows,
    unless a plan divides them: then it is refused."""
    if rewrites and plan is not None and plan.most_equal is not None:
        raise UsageError(
            "the plan has rows with equal values in several classes, and the table's engine "
            "rewrites rows by their values",
            where="plan",
            hint="read the table from a file, or give a frame in memory",
        )
    return bound if most is None or rewrites else divide_equal_rows(bound, most)


def record_trials(tried: Iterable[Trial], *, losses: bool = True) -> tuple[TrialRecord, ...]:
    """The steps of a search for the certificate, with their losses where these are comparable."""
    return tuple(
        TrialRecord(
            step=trial.step,
            seconds=trial.seconds,
            loss=float(trial.loss) if losses and math.isfinite(trial.loss) else None,
        )
        for trial in tried
    )


def _record_optimality(outcome: Outcome) -> OptimalityRecord | None:
    """The proof, if any, of how little any choice of levels can lose."""
    if outcome.levels is None or outcome.bound is None:
        return None
    return OptimalityRecord(
        measure=outcome.measure,
        loss=outcome.cost,
        no_less_than=outcome.bound,
        optimal=outcome.gap == 0,
    )


def draft_recoding(
    bound: BoundTable, recoding: Recoding, plan: Plan, pseudonyms: Pseudonyms, **how: Any
) -> Draft:
    """A recoding of a table that is in one place, ready to be published; `how` it came about."""
    gone = recoding.label < 0
    rows, parts = int(bound.cells.rows[gone].sum()), count_by_part(bound, recoding.quasi, gone)
    left_out = LeftOutRecord(rows=rows, parts=parts)
    return Draft(
        rows=Rewriter(bound, bound.source.stream(), recoding, pseudonyms),
        n_rows=bound.cells.n_rows - rows,
        loss=recoding.loss,
        origin=Origin(**how, **describe_loss(bound.classes.n_rows, recoding.loss, left_out)),
        plan=plan,
        original=bound.plain,
    )


def describe_loss(input_rows: int, loss: LossReport, left_out: LeftOutRecord) -> dict[str, Any]:
    """The fields of a certificate about input rows, rows left out, losses and versions."""
    return {
        "input_rows": input_rows,
        "left_out": left_out,
        "loss": LossRecord(measure="iyengar", overall=loss.overall, columns=loss.columns),
        "versions": list_versions(),
    }


def trace_inputs(bound: BoundTable) -> Provenance:
    """The hashes of everything that a release was made from, which are not passed on."""
    attributes = {name: attribute.hierarchy for name, attribute in bound.attributes.items()}
    trees = {**bound.hierarchies, **{name: tree for name, tree in attributes.items() if tree}}
    places = {name: bound.policy.base / name for name in bound.policy.files}
    return Provenance(
        input=(bound.source.original or bound.source).digest(),
        hierarchies={name: hash_hierarchy(tree) for name, tree in sorted(trees.items())},
        files={name: file_hash(place) for name, place in places.items() if place.is_file()},
    )


def list_versions() -> dict[str, str]:
    """The versions of everything that counted and wrote."""
    return {
        "tclose": VERSION,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "pyarrow": pa.__version__,
        "duckdb": duckdb.__version__,
    }


def count_by_part(bound: BoundTable, quasi: Quasi, some: Flags) -> dict[str, dict[str, int]]:
    """From which coarse parts of each quasi-identifier the rows of some cells are."""
    rows = bound.cells.rows[some].tolist()
    found = {}
    for at, column in enumerate(quasi.columns):
        counts: Counter[str] = Counter()
        code = quasi.codes[some, at]
        parts = column.coarse(np.maximum(code, 0))
        for part, is_known, number in zip(parts, code >= 0, rows, strict=True):
            counts[part if is_known else "unknown"] += number
        found[column.name] = dict(sorted(counts.items()))
    return found
