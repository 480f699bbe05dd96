"""explain: why a class is as far from the whole table as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tclose.data.io.paths import AS_FOUND, Reading
from tclose.errors import UsageError
from tclose.verify.explanation import Explanation, explain_class
from tclose.workflows.inputs import (
    PolicyLike,
    Progress,
    open_table,
)


def explain(
    data: Any,
    policy: PolicyLike | None = None,
    *,
    number: int | None = None,
    attribute: str | None = None,
    quasi: str | Sequence[str] = (),
    sensitive: str | Sequence[str] = (),
    reading: Reading = AS_FOUND,
    progress: Progress = lambda step: None,
) -> Explanation:
    """Why is a class as far from the whole table as it is? Which mass would have to move where?

    `number` counts classes from 1; without it the farthest class is explained.

    >>> import pyarrow as pa
    >>> table = pa.table({"zip": ["a", "a", "b", "b"], "salary": [14, 88, 27, 101]})
    >>> why = explain(table, quasi="zip", sensitive="salary", number=1)
    >>> why.exact, [(move.source, move.target, str(move.mass)) for move in why.moves]
    (Fraction(1, 6), [('14', '27', '1/4'), ('88', '101', '1/4')])
    """
    reading.refuse_idle_query(data)
    table = open_table(data, policy, reading, quasi=quasi, sensitive=sensitive, progress=progress)
    bound = table.bind()
    bound.source.close()
    if not bound.attributes:
        raise UsageError(
            "no column is sensitive, so there is no distance to explain",
            where=bound.source.name,
            hint="name one with --sensitive, or in the policy",
        )
    return explain_class(bound, number, attribute)
