"""explain: why a class is as far from the whole table as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from warnings import warn

from tclose.data.io.paths import AS_FOUND, Reading
from tclose.errors import UsageError
from tclose.notebook import show_progress
from tclose.verify.explanation import RANGES, Explanation, explain_class
from tclose.workflows.inputs import PolicyLike, Progress, open_table, require_policy

if TYPE_CHECKING:
    from tclose.search.by_construction.matrix import FragmentMatrix


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
    """Explains how far a class is from the table; returns both distributions and the moves.

    `data` is a path, a frame, or a `Release`, which contains its own policy. `class_number` counts
    from 1, like an audit; by default the farthest class is explained. (`number` is the former name
    of this argument.) A numeric attribute with many values is shown in at most `ranges` ranges; the
    distance and the costs remain exact.

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


@show_progress
def explain_fragments(
    data: Any,
    policy: PolicyLike | None = None,
    *,
    reading: Reading = AS_FOUND,
    progress: Progress = lambda step: None,
) -> FragmentMatrix:
    """Returns how the method `fragments` divides two sensitive attributes, as a matrix.

    The matrix has the fragments that keep t, and the classes that follow from them: as many as
    exact proportions allow, and as many as are assigned. `data` is a path, a frame, or a `Release`,
    which contains its own policy.

    >>> import pyarrow as pa
    >>> table = pa.table({"zip": list("aabb"), "pay": [1, 1, 2, 2], "age": [3, 4, 3, 4]})
    >>> promised = {"role": "sensitive", "distance": "ordered", "t": 0}
    >>> rules = {"columns": {"zip": "quasi", "pay": promised, "age": promised}}
    >>> found = explain_fragments(table, rules)
    >>> len(found.fragments), found.q, found.r
    (4, 1, 4)
    """
    from tclose.requirements import compile_constraints, state_requirements
    from tclose.search.by_construction.matrix import make_matrix

    reading.refuse_idle_query(data)
    rules = require_policy(data, policy)
    bound = open_table(data, rules, reading, progress=progress).bind()
    bound.source.close()
    constraints = compile_constraints(state_requirements(bound), bound.classes)
    found = make_matrix(bound.classes, constraints, bound.attributes)
    if found is None:
        raise UsageError(
            "fragments need two sensitive columns with t by ordered or numeric "
            "distances, without missing values or weights",
            where="policy",
            hint="state t at exactly two columns of numbers",
        )
    return found
