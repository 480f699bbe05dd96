"""attack: what somebody who means ill could learn from a release."""

from __future__ import annotations

from typing import Any

from tclose.attacks.finding import AttackReport
from tclose.attacks.suite import Other, attack_release
from tclose.data.alignment import align, link_rows
from tclose.data.io.paths import AS_FOUND, Reading
from tclose.workflows.inputs import PolicyLike, Progress, count_population, open_table


def attack(
    release: Any,
    policy: PolicyLike,
    *,
    original: Any = None,
    population: Any = None,
    other: Any = None,
    key: str | None = None,
    seed: int = 1,
    reading: Reading = AS_FOUND,
    progress: Progress = lambda step: None,
) -> AttackReport:
    """What could somebody who means ill learn from a release? Every known attack, as findings.

    The original's quasi-identifiers, a population table and another release about the same people
    each allow further attacks. Rows of two tables are linked by the column `key`, or by their order
    where both have equally many.

    >>> import pyarrow as pa
    >>> table = pa.table({"zip": ["a", "a", "b", "b"], "illness": ["flu", "flu", "flu", "ulcer"]})
    >>> report = attack(table, {"columns": {"zip": "quasi", "illness": "sensitive"}})
    >>> [(finding.attack, finding.affected) for finding in report.of("homogeneity")]
    [('homogeneity', 2)]
    """
    reading.refuse_idle_query(release, original, population, other)
    bound = open_table(release, policy, reading, progress=progress).bind()
    mine = theirs = None
    if original is not None:
        mine = open_table(original, policy, reading, progress=progress).bind()
    if other is not None:
        theirs = open_table(other, policy, reading, progress=progress).bind()
    report = attack_release(
        bound,
        original=None if mine is None else align(mine, bound, key),
        population=count_population(bound, population, reading),
        other=None if theirs is None else Other(theirs, link_rows(bound, theirs, key)),
        seed=seed,
        progress=progress,
    )
    for table in (bound, mine, theirs):
        if table is not None:
            table.source.close()
    return report
