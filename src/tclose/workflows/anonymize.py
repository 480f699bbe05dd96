"""anonymize: a release found by a search.

Open, bind the policy to the table, compile constraints, search, recode, write, recount, certify.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from tclose.data.binding import BoundTable, bind
from tclose.data.io.paths import Address
from tclose.data.io.reading import AS_FOUND, Reading
from tclose.errors import UsageError
from tclose.policy.model import Policy
from tclose.recode import Pseudonyms, Recoding, build_plan, recoded_as_read, with_leftover
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
from tclose.workflows.inputs import PolicyLike, count_population, open_table
from tclose.workflows.parts.rows import propose_in_parts
from tclose.workflows.release.delivery import Unproven, nothing_kept
from tclose.workflows.release.origin import describe_search
from tclose.workflows.release.publish import (
    Job,
    Proposal,
    confirm,
    make_pseudonyms,
    publish,
    recode_proposal,
)
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
    pseudonyms = make_pseudonyms(key)
    reading.refuse_idle_query(data)
    table = open_table(data, policy, reading)
    bound = table.bind_within_limit()
    rules = table.valid_policy
    name = method or rules.search.method
    budget = budget_of(
        rules.search, seconds, effort, seed, suppression, cancelled=cancelled, progress=progress
    )
    if bound is None:
        summary = table.summarize()
        targets.refuse(summary.example(), table.source.stream(), (data, policy))
        proposal = propose_in_parts(summary, table.source, targets, name, budget, pseudonyms)
        job = Job(data, reading, table.source, rules, summary.n_rows, targets, command)
        return confirm(publish(job, proposal, cancelled))
    chosen = method_named(name)
    targets.refuse(bound, table.source.stream(), (data, policy, population))
    people = count_population(bound, population, reading)
    problem = problem_of(bound, people)
    refuse_infeasible(problem)
    job = Job(data, reading, table.source, rules, bound.classes.n_rows, targets, command, people)
    search = ReleaseSearch(job, bound, pseudonyms, on_cancel)
    release = search.run(chosen, problem, budget)
    stricter = _without_supersets(rules)
    if isinstance(release, Unproven) and (stricter != rules or budget.suppression):
        plain = problem_of(bind(stricter, table.source), people)
        release = search.run(method_named("auto"), plain, replace(budget, suppression=Fraction(0)))
    return confirm(release)


@dataclass(frozen=True)
class ReleaseSearch:
    """Searches of one table for a release, each published if its promise is confirmed."""

    job: Job
    bound: BoundTable
    pseudonyms: Pseudonyms
    on_cancel: Callable[[Outcome], bool] = lambda outcome: False

    def run(self, method: Method, problem: Problem, budget: Budget) -> Release | Unproven:
        """Searches, recodes and publishes."""
        outcome = method.run(problem, budget)
        if outcome.stopped == "cancelled" and not self.on_cancel(outcome):
            raise nothing_kept()
        outcome, recoding = recoded_as_read(self.bound, self.job.people, problem, outcome)

        def stopped() -> bool:
            late = outcome.stopped != "cancelled" and budget.cancelled()
            return late and not self.on_cancel(outcome)

        return publish(self.job, self.propose(outcome, recoding, budget), stopped)

    def propose(self, outcome: Outcome, recoding: Recoding, budget: Budget) -> Proposal:
        """What a search found, with its plan and the rows that it left out, to be published."""
        bound = self.bound
        recoding, leftover = with_leftover(bound, self.job.people, outcome, recoding)
        plan = build_plan(bound, outcome, recoding, budget.seed)
        origin = describe_search(bound, outcome, budget, recoding, leftover)
        proposal = recode_proposal(bound, recoding, plan, self.pseudonyms, origin)
        return replace(proposal, outcome=outcome, leftover=leftover)


def _without_supersets(policy: Policy) -> Policy:
    """Closeness to the whole table wherever closeness to a part is promised: it implies the latter.

    A release whose (n, t)-closeness rests on supersets that a recount cannot see from the released
    values alone is not proved; closeness to the table, the largest superset, always is. Likewise
    leaving rows out may take the last row of a value with it and change an ordered scale.
    """
    columns = {
        name: column.model_copy(update={"n": None}) for name, column in policy.columns.items()
    }
    return policy.model_copy(update={"columns": columns}).at(policy.base)


def refuse_infeasible(problem: Problem) -> None:
    """Raises where no release, however coarse, keeps the promise."""
    reasons = infeasible(problem)
    if reasons:
        listed = "; ".join(str(reason) for reason in reasons)
        raise UsageError(f"no release can keep this promise: {listed}", where="policy")
