"""A release found by a search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from tclose.data import AS_FOUND, Reading
from tclose.data.io.address import Address
from tclose.describe import fixed_hierarchies, policy_json, rows_from, search_details
from tclose.errors import TooManyCells, UnprovenError, UsageError
from tclose.policy.model import Policy, Search
from tclose.recode import Recoding, planned, recoded_as_read, with_leftover
from tclose.release import Release
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
from tclose.workflows.budget import budget_of
from tclose.workflows.inputs import (
    PolicyLike,
    check,
    count_population,
    open_table,
    resolve_policy,
)
from tclose.workflows.parts.rows import anonymize_parts
from tclose.workflows.release.delivery import dropped
from tclose.workflows.release.publish import Work, pseudonyms_of
from tclose.workflows.release.targets import Targets


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
    targets = Targets.named(output, certificate, plan)
    pseudonyms = pseudonyms_of(key)

    def budgeted(search: Search) -> Budget:
        return budget_of(
            search, seconds, effort, seed, suppression, cancelled=cancelled, progress=progress
        )

    reading.refuse_idle_query(data)
    opened = open_table(data, policy, reading)
    try:
        bound = opened.bind()
    except TooManyCells:
        search = resolve_policy(policy).search
        name, budget = method or search.method, budgeted(search)
        return anonymize_parts(
            opened, data, policy, targets, name, budget, pseudonyms, reading, command
        )
    search = bound.policy.search
    budget = budgeted(search)
    chosen = method_named(method or search.method)
    rows = bound.source.stream()
    targets.refuse(bound, rows, (data, policy, population))
    people = count_population(bound, population, reading)
    problem = problem_of(bound, people)
    refuse_infeasible(problem)
    work = Work(data, reading, bound, rows, targets, people, pseudonyms)

    def attempt(method: Method, problem: Problem, budget: Budget) -> Release:
        outcome = method.run(problem, budget)
        if outcome.stopped == "cancelled" and not on_cancel(outcome):
            raise dropped()
        outcome, recoding = recoded_as_read(bound, people, problem, outcome)
        return _released(
            work,
            outcome,
            recoding,
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
    plain = check(bound.source, stricter)
    safe = replace(budget, suppression=Fraction(0))
    return attempt(method_named("auto"), problem_of(plain, people), safe)


def _released(
    work: Work,
    outcome: Outcome,
    recoding: Recoding,
    budget: Budget,
    command: str,
    stopped: Callable[[], bool],
) -> Release:
    """Publishes what a search proposed."""
    bound, rules = work.bound, policy_json(work.bound.policy)
    recoding, leftover = with_leftover(bound, work.people, outcome, recoding)
    plan = planned(bound, outcome, recoding, rules, budget.seed, fixed_hierarchies(bound))
    details = search_details(bound, outcome, budget, command)
    if leftover is not None:
        where = rows_from(bound, recoding.quasi, leftover.treated)
        details["leftover"] = leftover.to_json() | {"from": where["from"]}
    release = work.publish(recoding, plan, details, outcome=outcome, stopped=stopped)
    return replace(release, leftover=leftover)


def _without_supersets(policy: Policy) -> Policy:
    """Closeness to the whole table wherever closeness to a part is promised: it implies the latter.

    A release whose (n, t)-closeness rests on supersets that a recount cannot see from the released
    values alone is not proved; closeness to the table, the largest superset, always is. Likewise
    leaving rows out may take the last row of a value with it and change an ordered scale.
    """
    columns = {name: one.model_copy(update={"n": None}) for name, one in policy.columns.items()}
    return policy.model_copy(update={"columns": columns}).at(policy.base)


def refuse_infeasible(problem: Problem) -> None:
    """Raises where no release, however coarse, keeps the promise."""
    reasons = infeasible(problem)
    if reasons:
        told = "; ".join(str(reason) for reason in reasons)
        raise UsageError(f"no release can keep this promise: {told}", where="policy")
