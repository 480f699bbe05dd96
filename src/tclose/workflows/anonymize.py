"""anonymize: a release found by a search.

Open, bind the policy to the table, compile constraints, search, recode, write, recount, certify.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tclose.data.io.paths import AS_FOUND, Address, Reading
from tclose.data.summary import TableSummary
from tclose.errors import UsageError
from tclose.notebook import show_progress
from tclose.plain import rows_text
from tclose.recode.plan import Plan
from tclose.recode.recoding import recode_and_repair
from tclose.recode.suppressed import mask_recoding
from tclose.release import Release
from tclose.search import Budget, Outcome, Progress
from tclose.search.feasibility import foresee_bare_columns, foresee_one_class
from tclose.workflows.inputs import PolicyLike, budget_of, count_population, open_table
from tclose.workflows.release.fragments import propose_in_parts
from tclose.workflows.release.given import (
    GroupedTask,
    find_earlier_groups,
    refuse_given,
    refuse_lone_key,
)
from tclose.workflows.release.publish import Job, Targets, Unproven, confirm, nothing_kept, publish
from tclose.workflows.release.start import START, refuse_start
from tclose.workflows.release.task import SearchTask

CODE = re.compile(r"0\d+")
FALLBACK = (
    "ask for a stricter promise to be searched instead (search.fallback = true, or --fallback), or "
    "use another method"
)

MANY_GAPS = 0.01
"""The share of rows without a number from which on a note says what they hide."""


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
    target: str | None = None,
    fallback: bool | None = None,
    polish: bool | None = None,
    population: Any = None,
    start_from: Plan | None = None,
    given: Any = None,
    given_key: str | None = None,
    key: bytes | None = None,
    reading: Reading = AS_FOUND,
    progress: Callable[[Progress], None] = lambda step: None,
    cancelled: Callable[[], bool] = lambda: False,
    on_cancel: Callable[[Outcome], bool] = lambda outcome: False,
    command: str = "",
) -> Release:
    """Anonymizes a table and returns the verified release with the least loss that was found.

    `data` is a path or a frame; `policy` states what the release must guarantee. With `output` the
    release is written to that file (.csv, .parquet, .xlsx, …), which appears only after it has been
    recounted; otherwise `release.data` is a frame of the same kind as `data`. `certificate` and
    `plan` are further files to write.

    - `method`, `suppression`, `seed`: override `[search]` of the policy.
    - `effort`: limits the search by an amount of work, in seconds of an ordinary core. It grows
      with the table by default. Equal input, policy, effort and seed give equal bytes on any
      machine.
    - `seconds`: limits the search by the clock instead; another run may find another release.
    - `fallback`: if a recount does not confirm the promise, searches again with a stricter promise
      instead of raising an error; `release.headline` then says so first.
    - `polish=False`: leaves out all improvements that are not part of the published method.
    - `target`: a column that will be predicted from the release. Quasi-identifiers that carry
      information about it weigh more in the loss.
    - `start_from`: a plan of the same rows. If its classes keep the promise, the result is at least
      as good.
    - `given`: one or several earlier releases about the same people. Groups of people who share
      their classes in all releases then also keep the promise. `given_key` is the column that links
      the rows.
    - `population`: a table of the population, for k-map and δ-presence.
    - `key`: the secret key for pseudonyms, at least 16 bytes. By default it is random and not kept.

    >>> import pyarrow as pa
    >>> table = pa.table({"age": [21, 22, 23, 44, 45, 46], "ill": ["a", "b", "a", "b", "a", "b"]})
    >>> rules = {"k": 3, "columns": {"age": "quasi", "ill": {"role": "sensitive", "t": 0.2}}}
    >>> release = anonymize(table, rules, method="mondrian")
    >>> sorted(set(release.data.column("age").to_pylist())), release.holds
    (['[21, 23]', '[44, 46]'], True)
    """
    targets = Targets.parse(output, certificate, plan)
    reading.refuse_idle_query(data)
    if given_key is not None:
        refuse_lone_key(given)
    if start_from is not None:
        refuse_start(start_from, given=given)
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
    target = target or wishes.target
    if isinstance(bound, TableSummary):
        refuse_parts(target, start_from)
        targets.refuse(bound.example(table.source), (data, policy))
        draft = propose_in_parts(job, bound, method or wishes.method, budget)
        return confirm(publish(job, draft, cancelled))
    targets.refuse(bound, (data, policy, population))
    people = count_population(bound, population, reading)
    if given is None:
        rewrites = targets.leave_rows_to(bound.source)
        task = SearchTask.of(
            bound, people, method or wishes.method, budget, target, start_from, rewrites=rewrites
        )
    else:
        groups = find_earlier_groups(bound, given, given_key, job)
        task = GroupedTask.of_groups(groups, method or wishes.method, budget, target)
    job = replace(job, people=people, notes=tuple(foresee(task)))
    for note in (*job.notes, *foresee_work(task, budget)):
        progress(Progress(0.0, 0.0, None, "", note=note))
    published = search_and_publish(job, task, on_cancel)
    if isinstance(published, Unproven) and (stricter := task.make_stricter()) is not None:
        if not (wishes.fallback if fallback is None else fallback):
            raise UsageError(published.reason, where=f"method {task.method.name}", hint=FALLBACK)
        published = search_and_publish(job, stricter, on_cancel)
    return confirm(published)


def refuse_parts(target: str | None, start_from: Plan | None) -> None:
    """Raises where a search was asked for that needs the whole table in one place."""
    hint = "allow more cells in one place (--cells)"
    if target is not None:
        what = "what columns tell about a target is counted in a table in one place only"
        hint += ", or say search.weights instead"
        raise UsageError(what, where="search.target", hint=hint)
    if start_from is not None:
        what = "a table in parts is not searched from a plan"
        raise UsageError(what, where=START, hint=hint)


def search_and_publish(
    job: Job, task: SearchTask, on_cancel: Callable[[Outcome], bool]
) -> Release | Unproven:
    """Searches, recodes, writes, recounts, certifies; `Unproven`, and no file, if it fails."""
    found = task.search()
    if found.stopped == "cancelled" and not on_cancel(found):
        raise nothing_kept()
    outcome, recoding = recode_and_repair(task.bound, task.people, task.problem, task.mask(found))
    if outcome.masked is not None:
        recoding = mask_recoding(task.bound, outcome.masked, recoding)
    draft = task.draft(job.pseudonyms, outcome, recoding)

    def wants_nothing() -> bool:
        late = outcome.stopped != "cancelled" and task.budget.cancelled()
        return late and not on_cancel(outcome)

    return publish(job, draft, wants_nothing)


def foresee(task: SearchTask) -> Iterator[str]:
    """What a user should know of the release before it is searched for."""
    yield from foresee_one_class(task.problem)
    if task.start is not None:
        yield task.start.note
    if task.undivided is not None:
        yield (
            "rows with equal values stay together, because the table's engine rewrites them by "
            "their values; read from a file or a frame in memory, the release may lose less"
        )
    if task.method.takes_objective and not task.method.local:
        yield from foresee_bare_columns(task.problem)
    else:
        yield from foresee_code_ranges(task)
        yield from foresee_hidden_ranges(task)


def foresee_code_ranges(task: SearchTask) -> Iterator[str]:
    """Names codes, such as postcodes, that without a hierarchy are generalized like numbers."""
    known = task.bound.cells.dictionaries
    columns = () if task.problem.objective.stars else task.problem.columns
    codes = [
        each.name
        for each in columns
        if each.kind == "interval"
        and each.name in known
        and any(map(CODE.fullmatch, known[each.name].labels))
    ]
    if codes:
        yield (
            f"{', '.join(codes)}: codes that begin with 0 are generalized like numbers, to ranges; "
            "with a hierarchy such as { prefix = [3, 2, 0] } they keep their first characters"
        )


def foresee_hidden_ranges(task: SearchTask) -> Iterator[str]:
    """A note on numbers and dates of which some are missing: no interval holds a missing one."""
    cells, is_local = task.bound.cells, task.bound.policy.release.recoding == "local"
    for column in task.problem.columns if is_local else ():
        if column.kind != "interval" or column.name not in cells.dictionaries:
            continue
        known = cells.codes[column.name] < cells.dictionaries[column.name].known
        gaps, rows = int(cells.rows[~known].sum()), int(cells.rows.sum())
        if rows > gaps >= MANY_GAPS * rows:
            yield (
                f"{column.name}: {rows_text(gaps)} {'has' if gaps == 1 else 'have'} no value, and "
                "the column is released as * in every class that has such a row beside others; "
                "complete these values, or remove the rows, to keep more of the column"
            )


def foresee_work(task: SearchTask, usual: Budget) -> Iterator[str]:
    """Says how long the search takes where the default effort grew with the table."""
    budget, threads = task.budget, task.budget.count_threads()
    if budget.work > usual.work:
        cores = "1 core" if threads == 1 else f"{threads} cores"
        yield (
            f"{task.problem.n_cells:,} distinct rows: the search takes {budget.work:g} seconds of "
            f"an ordinary core, about {budget.work / threads:.0f} by the clock with {cores}; "
            "--effort sets how long"
        )
