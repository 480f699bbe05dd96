"""measure: how useful a release still is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tclose.data.io.paths import AS_FOUND, Reading
from tclose.notebook import show_progress
from tclose.utility.measures import EFFORT, measure_pair
from tclose.utility.pair import Utility, pair_of
from tclose.workflows.inputs import (
    PolicyLike,
    Progress,
    name_arguments,
    open_table,
    refuse_release,
    require_policy,
)


@show_progress
@name_arguments("measure(original=table, release=release, policy=policy)")
def measure(
    *,
    original: Any,
    release: Any,
    policy: PolicyLike | None = None,
    queries: int = 1000,
    columns: int = 3,
    share: float = 0.1,
    target: str | None = None,
    key: str | None = None,
    seed: int = 1,
    effort: float = EFFORT,
    without: Sequence[str] = (),
    reading: Reading = AS_FOUND,
    progress: Progress = lambda step: None,
) -> Utility:
    """Measures the utility of a release, made by tclose or any other program.

    `original` is the table before; `release` is a path, a frame, or a `Release`, which contains its
    own policy. Rows are linked by the column `key` or by their order; if neither is possible,
    measures that need the link give their expected value. `queries` random counting queries
    restrict `columns` quasi-identifiers and a sensitive range, and each should select a `share` of
    the rows. `target` is a column that models learn to predict. `effort` limits the work (in
    seconds of an ordinary core): beyond it `reconstruction` uses a sample, drawn with `seed`, and
    fewer queries are counted, as the notes say. `without` lists measures to leave out.

    >>> import pyarrow as pa
    >>> table = pa.table({"age": [20, 30, 40, 60], "ill": ["a", "b", "a", "b"]})
    >>> coarse = pa.table({"age": ["[20, 30]"] * 2 + ["[40, 60]"] * 2, "ill": list("abab")})
    >>> rules = {"columns": {"age": "quasi", "ill": "sensitive"}}
    >>> measure(original=table, release=coarse, policy=rules)["loss"].overall
    0.375
    """
    reading.refuse_idle_query(original, release)
    refuse_release(original)
    policy = require_policy(release, policy)
    mine = open_table(original, policy, reading, progress=progress).bind()
    theirs = open_table(release, policy, reading, progress=progress, is_clean=True).bind()
    progress("comparing the tables")
    pair = pair_of(mine, theirs, key=key)
    found = measure_pair(
        pair, progress, queries=queries, columns=columns, share=share, target=target, seed=seed,
        effort=effort, without=without,
    )  # fmt: skip
    for bound in (mine, theirs):
        bound.source.close()
    return found
