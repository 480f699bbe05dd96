"""anonymize: a release found by a search.

Open, bind the policy to the table, compile constraints, search, recode, write, recount, certify.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from tclose.data.binding import BoundTable, bind
from tclose.data.encode.cells import Cells
from tclose.data.io.paths import AS_FOUND, Address, Reading
from tclose.data.summary import TableSummary
from tclose.errors import UsageError
from tclose.notebook import show_progress
from tclose.recode import (
    Recoding,
    build_plan,
    mask_recoding,
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
from tclose.search.feasibility import foresee_one_class
from tclose.search.local_search.masking import Masking, count_masked, find_cost, mask_values
from tclose.search.outcome import Trial
from tclose.verify.certificate import (
    LeftoverRecord,
    MaskedRecord,
    OptimalityRecord,
    TrialRecord,
)
from tclose.workflows.inputs import PolicyLike, budget_of, count_population, open_table
from tclose.workflows.release.fragments import propose_in_parts
from tclose.workflows.release.given import EarlierGroups, find_earlier_groups, refuse_given
from tclose.workflows.release.publish import (
    Draft,
    Job,
    Targets,
    Unproven,
    confirm,
    count_by_part,
    draft_recoding,
    nothing_kept,
    publish,
    trace_inputs,
)

LEFTOVER = "asked rooted hidden generalized dropped reason".split()
"""What a certificate repeats of what became of the rows that a search left out."""


FALLBACK = (
    "ask for a stricter promise to be searched instead (search.fallback = true, or --fallback), or "
    "use another method"
)


@show_progress
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
    fallback: bool | None = None,
    polish: bool | None = None,
    population: Any = None,
    given: Any = None,
    given_key: str | None = None,
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
    amount of work limits the search (`effort`; if nothing else is said it grows with the table), so
    equal input, policy and seed give equal bytes on any machine and with any number of cores; with
    `seconds` the clock does. What the recount does not prove is refused; with `fallback` a stricter
    promise is then searched, and `headline` says so first. Without `polish` a method does what its
    paper says, and nothing after. `given` is an earlier release about the same people, or a list of
    them: groups of people who are in the same classes of all then keep the promise, too. Rows are
    linked by the column `given_key`.

    >>> import pyarrow as pa
    >>> table = pa.table({"age": [21, 22, 23, 44, 45, 46], "ill": ["a", "b", "a", "b", "a", "b"]})
    >>> rules = {"k": 3, "columns": {"age": "quasi", "ill": {"role": "sensitive", "t": 0.2}}}
    >>> release = anonymize(table, rules, method="mondrian")
    >>> sorted(set(release.data.column("age").to_pylist())), release.holds
    (['[21, 23]', '[44, 46]'], True)
    """
    targets = Targets.parse(output, certificate, plan)
    reading.refuse_idle_query(data)
    if given is None and given_key is not None:
        what = "a column to link rows by is of use only with earlier releases"
        raise UsageError(what, where="given_key", hint="name them, too (--given)")
    table = open_table(data, policy, reading)
    bound = table.bind_or_summarize()
    wishes = bound.policy.search
    budget = budget_of(
        wishes, seconds, effort, seed, suppression, polish, cancelled=cancelled, progress=progress
    )
    job = Job(
        data, reading, table.source, bound.policy, targets, command, key=key,
        begin=lambda phase: progress(Progress(0.0, 0.0, None, "", phase)),
    )  # fmt: skip
    if given is not None:
        refuse_given(bound, targets, population)
    if isinstance(bound, TableSummary):
        targets.refuse(bound.example(), table.source.stream(), (data, policy))
        draft = propose_in_parts(job, bound, method or wishes.method, budget)
        return confirm(publish(job, draft, cancelled))
    targets.refuse(bound, table.source.stream(), (data, policy, population))
    chosen = method_named(method or wishes.method)
    people = count_population(bound, population, reading)
    groups = None
    if given is not None:
        own = None if key is None else job.pseudonyms
        groups = find_earlier_groups(bound, given, given_key, own, reading)
        bound = groups.divide_cells()
    problem = problem_of(bound, people)
    refuse_infeasible(problem)
    if groups is not None:
        problem = groups.keep_apart(problem, bound)
    foreseen = tuple(foresee_one_class(problem))
    for note in foreseen:
        progress(Progress(0.0, 0.0, None, "", note=note))
    job, usual = replace(job, source=bound.source, people=people, notes=foreseen), budget.work
    if chosen.improves:
        budget = budget.scale_to(problem.n_cells)
    if budget.work > usual:
        progress(Progress(0.0, budget.work, None, "", note=foresee_work(problem, budget)))
    published = search_and_publish(job, bound, problem, chosen, budget, on_cancel, groups)
    if isinstance(published, Release):
        return published
    stricter = None if groups is not None else _make_stricter(bound, people, problem, budget)
    if stricter is None:
        return confirm(published)
    if not (wishes.fallback if fallback is None else fallback):
        raise UsageError(published.reason, where=f"method {chosen.name}", hint=FALLBACK)
    instead, (problem, budget) = _tell_fallback(chosen, problem, budget), stricter
    auto = method_named("auto")
    return confirm(search_and_publish(job, bound, problem, auto, budget, on_cancel, None, instead))


def search_and_publish(
    job: Job,
    bound: BoundTable,
    problem: SearchProblem,
    method: Method,
    budget: Budget,
    on_cancel: Callable[[Outcome], bool],
    groups: EarlierGroups | None = None,
    fallback: str | None = None,
) -> Release | Unproven:
    """Search, recode, write, recount, certify; what a recount does not confirm is not there."""
    if groups is None:
        found = method.run(problem, budget)
    else:
        found = groups.search(method, bound, problem, budget)
    if found.stopped == "cancelled" and not on_cancel(found):
        raise nothing_kept()
    wishes = bound.policy.search
    masking = Masking(wishes.masking, float(wishes.masking_cost), float(wishes.masking_share))
    if wishes.masking != "none":
        found = mask_values(problem, found, masking, budget)
    outcome, recoding = recode_and_repair(bound, job.people, problem, found)
    recoding = mask_recoding(bound, outcome, recoding)
    draft = draft_release(job, bound, outcome, recoding, budget, fallback)
    if outcome.masked is not None and wishes.masking != "none":
        told = MaskedRecord(
            how=wishes.masking,
            rows=count_masked(problem, outcome.masked),
            cost=find_cost(problem, outcome.masked, masking),
        )
        draft = replace(draft, origin=draft.origin.model_copy(update={"masked": told}))
    if groups is not None:
        draft = groups.complete(draft, bound, recoding)
        assert draft.origin.given is not None
        job = replace(job, notes=(draft.origin.given.sentence, *job.notes))
    return publish(job, draft, partial(_wants_nothing, outcome, budget, on_cancel))


def foresee_work(problem: SearchProblem, budget: Budget) -> str:
    """What a search of a large table takes, where nobody has said what it may take."""
    threads = budget.count_threads()
    cores = "1 core" if threads == 1 else f"{threads} cores"
    return (
        f"{problem.n_cells:,} distinct rows: the search takes {budget.work:g} seconds of an "
        f"ordinary core, about {budget.work / threads:.0f} by the clock with {cores}; --effort "
        "sets how long"
    )


def refuse_infeasible(problem: SearchProblem) -> None:
    """Raises where no release, however coarse, keeps the promise."""
    reasons = infeasible(problem)
    if reasons:
        listed = "; ".join(str(reason) for reason in reasons)
        raise UsageError(f"no release can keep this promise: {listed}", where="policy")


def _make_stricter(
    bound: BoundTable, people: Cells | None, problem: SearchProblem, budget: Budget
) -> tuple[SearchProblem, Budget] | None:
    """A promise that implies the one that was not proved, if there is another.

    A release whose (n, t)-closeness rests on supersets that a recount cannot see from the released
    values alone is not proved; closeness to the table, the largest superset, always is. Likewise
    leaving rows out may take the last row of a value with it and change an ordered scale.
    """
    policy = bound.policy
    columns = {
        name: column.model_copy(update={"n": None}) for name, column in policy.columns.items()
    }
    stricter = policy.model_copy(update={"columns": columns}).at(policy.base)
    if stricter == policy and not budget.suppression:
        return None
    plain = problem_of(bind(stricter, bound.source), people)
    return plain, replace(budget, suppression=Fraction(0))


def _tell_fallback(method: Method, problem: SearchProblem, budget: Budget) -> str:
    """What was searched in place of what was asked for."""
    words = [] if method.name == "auto" else [f"auto in place of {method.name}"]
    if problem.constraints.supersets:
        words.append("closeness to the whole table in place of (n, t)-closeness")
    if budget.suppression:
        words.append("no row left out")
    return f"fallback: {', '.join(words)}, because what was asked for could not be proved"


def _wants_nothing(outcome: Outcome, limits: Budget, on_cancel: Callable[[Outcome], bool]) -> bool:
    """Tells, after the search, whether somebody cancelled and wants nothing."""
    late = outcome.stopped != "cancelled" and limits.cancelled()
    return late and not on_cancel(outcome)


def draft_release(
    job: Job,
    bound: BoundTable,
    outcome: Outcome,
    recoding: Recoding,
    budget: Budget,
    fallback: str | None = None,
) -> Draft:
    """What a search found, with its plan and the rows that it left out, to be published."""
    leftover = treated = levels = optimality = None
    if bound.policy.release.leftover != "drop":
        recoding, leftover = treat_suppressed(bound, job.people, outcome, recoding)
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
    if local and outcome.levels is not None and outcome.bound is not None:
        optimality = OptimalityRecord(
            measure=outcome.measure,
            loss=outcome.cost,
            no_less_than=outcome.bound,
            optimal=outcome.gap == 0,
        )
    draft = draft_recoding(
        bound,
        recoding,
        plan,
        job.pseudonyms,
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
        optimality=optimality,
        leftover=treated,
        fallback=fallback,
    )
    return replace(draft, outcome=outcome, leftover=leftover)


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
