"""anonymize: a release found by a search.

Open, bind the policy to the table, compile constraints, search, recode, write, recount, certify.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from tclose.data.binding import BoundTable, bind
from tclose.data.encode.cells import Cells
from tclose.data.io.paths import AS_FOUND, Address, Reading
from tclose.data.summary import TableSummary
from tclose.errors import UsageError
from tclose.policy.model import Policy
from tclose.recode import (
    Pseudonyms,
    Recoding,
    SuppressedRows,
    build_plan,
    recode_and_repair,
    treat_suppressed,
)
from tclose.release import Release
from tclose.search import (
    Budget,
    Method,
    Outcome,
    Progress,
    SearchProblem,
    infeasible,
    method_named,
    problem_of,
)
from tclose.search.outcome import Trial
from tclose.verify.certificate import LeftoverRecord, OptimalityRecord, Origin, TrialRecord
from tclose.workflows.inputs import PolicyLike, budget_of, count_population, open_table
from tclose.workflows.parts.fragments import propose_in_parts
from tclose.workflows.publish import (
    Draft,
    Job,
    Targets,
    confirm,
    count_by_part,
    describe_recoding,
    draft_recoding,
    make_pseudonyms,
    nothing_kept,
    publish,
)


def anonymize(
    data: Any,
    policy: PolicyLike,
    *,
    output: str | Path | Address | None = None,
    certificate: str | Path | None = None,
    plan: str | Path | None = None,
    method: str | None = None,
    seconds: float | None = None,
    effort: float | None = None,
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
    own kind of frame. What is not given is taken from the policy's `[search]` and `[release]`. An
    amount of work limits the search (`effort`, 20 if nothing else is said), so equal input, policy
    and seed give equal bytes on any machine; with `seconds` the clock does.

    >>> import pyarrow as pa
    >>> table = pa.table({"age": [21, 22, 23, 44, 45, 46], "ill": ["a", "b", "a", "b", "a", "b"]})
    >>> rules = {"k": 3, "columns": {"age": "quasi", "ill": {"role": "sensitive", "t": 0.2}}}
    >>> release = anonymize(table, rules, method="mondrian")
    >>> release.data.column("age").to_pylist()[0], release.holds
    ('[21, 23]', True)
    """
    targets = Targets.parse(output, certificate, plan)
    pseudonyms = make_pseudonyms(key)
    reading.refuse_idle_query(data)
    table = open_table(data, policy, reading)
    bound = table.bind_or_summarize()
    wishes = bound.policy.search
    budget = budget_of(
        wishes, seconds, effort, seed, suppression, cancelled=cancelled, progress=progress
    )
    job = Job(data, reading, table.source, bound.policy, targets, command)
    if isinstance(bound, TableSummary):
        targets.refuse(bound.example(), table.source.stream(), (data, policy))
        draft = propose_in_parts(job, bound, method or wishes.method, budget, pseudonyms)
        return confirm(publish(job, draft, cancelled))
    chosen = method_named(method or wishes.method)
    targets.refuse(bound, table.source.stream(), (data, policy, population))
    people = count_population(bound, population, reading)
    job = replace(job, people=people)
    problem = problem_of(bound, people)
    refuse_infeasible(problem)
    for attempt, limits, using in _list_attempts(bound, people, problem, budget, chosen):
        found = search(using, attempt, limits, on_cancel)
        outcome, recoding = recode_and_repair(bound, people, attempt, found)
        draft = draft_release(bound, people, outcome, recoding, limits, pseudonyms)
        # Write, recount, certify; what a recount does not confirm is not there.
        published = publish(job, draft, _stop_late(outcome, limits, on_cancel))
        if isinstance(published, Release):
            break
    return confirm(published)


def refuse_infeasible(problem: SearchProblem) -> None:
    """Raises where no release, however coarse, keeps the promise."""
    reasons = infeasible(problem)
    if reasons:
        listed = "; ".join(str(reason) for reason in reasons)
        raise UsageError(f"no release can keep this promise: {listed}", where="policy")


def _list_attempts(
    bound: BoundTable, people: Cells | None, problem: SearchProblem, budget: Budget, method: Method
) -> Iterator[tuple[SearchProblem, Budget, Method]]:
    """What is searched: the promise as it stands; where it is not proved, one that implies it.

    A release whose (n, t)-closeness rests on supersets that a recount cannot see from the released
    values alone is not proved; closeness to the table, the largest superset, always is. Likewise
    leaving rows out may take the last row of a value with it and change an ordered scale.
    """
    yield problem, budget, method
    stricter = _without_supersets(bound.policy)
    if stricter != bound.policy or budget.suppression:
        plain = problem_of(bind(stricter, bound.source), people)
        yield plain, replace(budget, suppression=Fraction(0)), method_named("auto")


def _without_supersets(policy: Policy) -> Policy:
    """Closeness to the whole table wherever closeness to a part is promised."""
    columns = {
        name: column.model_copy(update={"n": None}) for name, column in policy.columns.items()
    }
    return policy.model_copy(update={"columns": columns}).at(policy.base)


def search(
    method: Method, problem: SearchProblem, budget: Budget, on_cancel: Callable[[Outcome], bool]
) -> Outcome:
    """What a method finds; raises where it was cancelled and nothing is to be kept."""
    outcome = method.run(problem, budget)
    if outcome.stopped == "cancelled" and not on_cancel(outcome):
        raise nothing_kept()
    return outcome


def _stop_late(
    outcome: Outcome, budget: Budget, on_cancel: Callable[[Outcome], bool]
) -> Callable[[], bool]:
    """Tells, after the search, whether somebody cancelled and wants nothing."""

    def stop() -> bool:
        late = outcome.stopped != "cancelled" and budget.cancelled()
        return late and not on_cancel(outcome)

    return stop


def draft_release(
    bound: BoundTable,
    people: Cells | None,
    outcome: Outcome,
    recoding: Recoding,
    budget: Budget,
    pseudonyms: Pseudonyms,
) -> Draft:
    """What a search found, with its plan and the rows that it left out, to be published."""
    leftover = None
    if bound.policy.release.leftover != "drop":
        recoding, leftover = treat_suppressed(bound, people, outcome, recoding)
    plan = build_plan(bound, outcome, recoding, budget.seed)
    origin = _describe_search(bound, outcome, budget, recoding, leftover)
    draft = draft_recoding(bound, recoding, plan, pseudonyms, origin)
    return replace(draft, outcome=outcome, leftover=leftover)


# --- how the search went, as a certificate tells it


def _describe_search(
    bound: BoundTable,
    outcome: Outcome,
    budget: Budget,
    recoding: Recoding,
    leftover: SuppressedRows | None,
) -> Origin:
    """By what means, how it ended, and how good its result is known to be."""
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
        optimality=_record_optimality(outcome) if local else None,
        leftover=None if leftover is None else _record_leftover(bound, recoding, leftover),
        **describe_recoding(bound, recoding),
    )


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


def _record_optimality(outcome: Outcome) -> OptimalityRecord | None:
    if outcome.bound is None:
        return None
    return OptimalityRecord(
        measure=outcome.measure,
        loss=outcome.loss if outcome.value is None else outcome.value,
        no_less_than=outcome.bound,
        optimal=outcome.gap == 0,
    )


def _record_leftover(
    bound: BoundTable, recoding: Recoding, leftover: SuppressedRows
) -> LeftoverRecord:
    return LeftoverRecord(
        asked=leftover.asked,
        rooted=leftover.rooted,
        hidden=leftover.hidden,
        generalized=leftover.generalized,
        dropped=leftover.dropped,
        merged_classes=leftover.merged,
        reason=leftover.reason,
        parts=count_by_part(bound, recoding.quasi, leftover.treated),
    )
