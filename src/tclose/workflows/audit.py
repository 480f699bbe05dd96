"""audit: how private a table is as it stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tclose.data.io.paths import AS_FOUND, Reading
from tclose.data.io.records import SupersetRecord
from tclose.data.summary import TableSummary
from tclose.notebook import show_progress
from tclose.verify.audit import Audit, audit_bound, audit_parts
from tclose.workflows.inputs import (
    OpenTable,
    PolicyLike,
    Progress,
    Thresholds,
    count_population,
    open_table,
    population_for,
    supersets_for,
)


@show_progress
def audit(
    data: Any,
    policy: PolicyLike | None = None,
    *,
    quasi: str | Sequence[str] = (),
    sensitive: str | Sequence[str] = (),
    fail_under: Thresholds = "",
    population: Any = None,
    reading: Reading = AS_FOUND,
    progress: Progress = lambda step: None,
) -> Audit:
    """Counts a table and returns which requirements hold and which classes break them.

    `data` is a path, a frame of any kind, the address of a table in a database, or a `Release`,
    which contains its own policy. Give a `policy`, or name the `quasi` and `sensitive` columns.
    Without a policy everything is measured, and the only requirements are those in `fail_under`,
    such as "k=5,t=0.2" (t applies to every sensitive attribute).

    >>> import pyarrow as pa
    >>> table = pa.table({"zip": ["476", "476", "479", "479"], "salary": [3, 4, 3, 4]})
    >>> result = audit(table, quasi="zip", sensitive="salary")
    >>> result.k, result.classes
    (2, 2)
    >>> audit(table, quasi="zip", sensitive="salary", fail_under="k=2,t=0.2").holds
    True
    """
    reading.refuse_idle_query(data, population)
    table = open_table(
        data, policy, reading, quasi=quasi, sensitive=sensitive, thresholds=fail_under,
        progress=progress,
    )  # fmt: skip
    people = population_for(data, population)
    named = supersets_for(data)
    return audit_table(table, people, reading, measure_all=True, progress=progress, supersets=named)


def audit_table(
    table: OpenTable,
    population: Any,
    reading: Reading,
    *,
    measure_all: bool,
    progress: Progress,
    supersets: Sequence[SupersetRecord] = (),
) -> Audit:
    """Counts a table, in one piece or in parts, and judges what its policy promises."""
    bound = table.bind_or_summarize()
    if isinstance(bound, TableSummary):
        return audit_parts(bound, table.source, measure_all=measure_all, progress=progress)
    people = count_population(bound, population, reading)
    table.source.close()
    return audit_bound(
        bound,
        population=people,
        measure_all=measure_all,
        progress=progress,
        supersets=supersets,
    )
