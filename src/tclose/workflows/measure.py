"""measure: what a release is still good for."""

from __future__ import annotations

from typing import Any

from tclose.data.io.paths import AS_FOUND, Reading
from tclose.utility.measures import measure_pair
from tclose.utility.pair import Utility, pair_of
from tclose.workflows.inputs import PolicyLike, Progress, open_table


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
