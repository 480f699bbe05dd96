"""explain: why a class is as far from the whole table as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from warnings import warn

from tclose.data.io.paths import AS_FOUND, Reading
from tclose.errors import UsageError
from tclose.notebook import show_progress
from tclose.verify.explanation import RANGES, Explanation, explain_class
from tclose.workflows.inputs import PolicyLike, Progress, open_table


@show_progress
def explain(
    data: Any,
    policy: PolicyLike | None = None,
    *,
    class_number: int | None = None,
    attribute: str | None = None,
    quasi: str | Sequence[str] = (),
    sensitive: str | Sequence[str] = (),
    number: int | None = None,
    ranges: int = RANGES,
    reading: Reading = AS_FOUND,
    progress: Progress = lambda step: None,
) -> Explanation:
    """Why is a class as far from the whole table as it is? Which mass would have to move where?

    `data` is a path, a frame, or a `Release`, which has a policy of its own. `class_number` counts
    classes from 1, as an audit does; without it the farthest class is explained. (`number` is its
    former name, understood in this version.) Very many numbers or dates are shown in so many
    `ranges`; the distance and the costs are exact all the same.

    >>> import pyarrow as pa
    >>> table = pa.table({"zip": ["a", "a", "b", "b"], "salary": [14, 88, 27, 101]})
    >>> why = explain(table, quasi="zip", sensitive="salary", class_number=1)
    >>> why.exact, [(move.source, move.target, str(move.mass)) for move in why.moves]
    (Fraction(1, 6), [('14', '27', '1/4'), ('88', '101', '1/4')])
    """
    if number is not None:
        warn("number is now class_number", DeprecationWarning, stacklevel=2)
        class_number = number if class_number is None else class_number
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
    return explain_class(bound, class_number, attribute, ranges)
