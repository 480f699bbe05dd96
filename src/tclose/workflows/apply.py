"""A release of new rows, recoded as an earlier release was."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from tclose.data.io.paths import AS_FOUND, Address, Reading
from tclose.errors import UsageError
from tclose.plain import rows_text
from tclose.recode.insertion import insert_cells
from tclose.recode.plan import Plan, find_changed_hierarchies
from tclose.release import Release
from tclose.workflows.inputs import PolicyLike, check, count_population, parse_embedded_policy
from tclose.workflows.release.publish import Job, Targets, confirm, publish
from tclose.workflows.release.task import divide_table, draft_recoding


def apply(
    plan: Plan,
    data: Any,
    *,
    policy: PolicyLike | None = None,
    base: str | Path = ".",
    output: str | Path | Address | None = None,
    certificate: str | Path | None = None,
    population: Any = None,
    key: bytes | None = None,
    reading: Reading = AS_FOUND,
    command: str = "",
) -> Release:
    """Recodes new rows with the plan of an earlier release and returns the verified release.

    Rows that no class covers, or that would break the promise, are left out and counted
    (`release.left_out`). The promise is that of the plan's policy, or of `policy` if one is given,
    judged on the new rows. Relative paths in the plan's policy start from the folder `base`.

    >>> import pyarrow as pa, tclose
    >>> table = pa.table({"age": [21, 22, 23, 44, 45, 46], "ill": ["a", "b", "a", "b", "a", "b"]})
    >>> rules = {"k": 3, "columns": {"age": "quasi", "ill": {"role": "sensitive", "t": 0.2}}}
    >>> plan = tclose.anonymize(table, rules, method="mondrian").plan
    >>> april = pa.table({"age": [22, 45, 23, 44, 46, 21], "ill": ["a", "b", "b", "a", "a", "b"]})
    >>> sorted(set(apply(plan, april).data.column("age").to_pylist()))
    ['[21, 23]', '[44, 46]']
    """
    if not isinstance(plan, Plan):
        raise UsageError(
            "the first argument is a plan, the second the new rows",
            where="plan",
            hint="release.plan, or Plan.load(path)",
        )
    targets = Targets.parse(output, certificate, None)
    rules = (
        policy if policy is not None else parse_embedded_policy(plan.policy, base, keeper="plan")
    )
    bound = check(data, rules, reading=reading, unknown_values="keep")
    widened = [name for name, column in bound.policy.columns.items() if column.borders is not None]
    if widened:
        what = "a plan whose intervals were widened does not say where new values belong"
        hint = "give the column a hierarchy (intervals, cuts) in place of `borders`"
        raise UsageError(what, where=f"columns.{widened[0]}.borders", hint=hint)
    targets.refuse(bound, (data, policy, population))
    people = count_population(bound, population, reading)
    rewrites = targets.leave_rows_to(bound.source)
    bound = divide_table(bound, plan.most_equal, plan, rewrites=rewrites)
    recoding, applied = insert_cells(bound, plan, people)
    if not (recoding.label >= 0).any():
        what = (
            f"no row fits a class of the plan and keeps the promise ({applied.outside:,} rows fit "
            f"none, {applied.held_back:,} would break it); nothing was written"
        )
        listed = ", ".join(f"{name} ({rows_text(rows)})" for name, rows in applied.beyond.items())
        beyond = f"; columns with values beyond the plan's: {listed}" if listed else ""
        hint = f"anonymize the new table by itself{beyond}"
        raise UsageError(what, where=bound.source.name, hint=hint)
    applied = replace(applied, changed=find_changed_hierarchies(plan, bound))
    job = Job(data, reading, bound.source, bound.policy, targets, command, people, key)
    draft = draft_recoding(
        bound,
        recoding,
        plan,
        job.pseudonyms,
        method=f"apply ({plan.method})",
        seed=plan.seed,
        way=applied.way,
        outside=applied.outside,
        held_back=applied.held_back,
        widened=applied.widened,
        changed_hierarchies=applied.changed,
    )
    return replace(confirm(publish(job, draft)), applied=applied)
