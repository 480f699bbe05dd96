"""measure and attack: what a release is still good for, and what it gives away."""

from __future__ import annotations

from typing import Any

from tclose.attacks.finding import AttackReport
from tclose.attacks.suite import Other, attack_release
from tclose.data.alignment import align, link_rows
from tclose.data.io.paths import AS_FOUND, Reading
from tclose.utility.measures import measure_pair
from tclose.utility.pair import Utility, pair_of
from tclose.workflows.inputs import PolicyLike, Progress, count_population, open_table


def measure(
    original: Any,
    release: Any,
    policy: PolicyLike,
    *,
    queries: int = 1000,
    columns: int = 3,
    share: float = 0.1,
    target: str | None = None,
    key: str | None = None,
    seed: int = 1,
    reading: Reading = AS_FOUND,
    progress: Progress = lambda step: None,
) -> Utility:
    """What is a release still good for? Every measure of utility, ours or anybody's release.

    `release` is a path, a frame, or what `anonymize` returned. Rows are linked by their order, or
    by the column `key`; without either, measures that need the link give what is to be expected.
    `queries` random counts about `columns` quasi-identifiers and a sensitive range are asked, each
    meant to select a `share` of the rows; `target` is a column that models learn to tell.

    >>> import pyarrow as pa
    >>> table = pa.table({"age": [20, 30, 40, 60], "ill": ["a", "b", "a", "b"]})
    >>> coarse = pa.table({"age": ["[20, 30]"] * 2 + ["[40, 60]"] * 2, "ill": list("abab")})
    >>> measure(table, coarse, {"columns": {"age": "quasi", "ill": "sensitive"}})["loss"].overall
    0.375
    """
    reading.refuse_idle_query(original, release)
    mine = open_table(original, policy, reading, progress=progress).bind()
    theirs = open_table(release, policy, reading, progress=progress).bind()
    progress("comparing the tables")
    pair = pair_of(mine, theirs, key=key)
    found = measure_pair(
        pair, progress, queries=queries, columns=columns, share=share, target=target, seed=seed
    )
    for bound in (mine, theirs):
        bound.source.close()
    return found


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
