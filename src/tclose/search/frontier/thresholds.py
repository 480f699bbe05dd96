"""The t and k that a frontier is to look at, from what people write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from tclose.distance.numbers import exact
from tclose.errors import UsageError

Asked = str | float | Fraction | Iterable[float | str | Fraction] | None
"""A range such as `0.05:0.5`, values with commas between, one value, or values."""
POINTS, MOST_POINTS = 10, 200
FINE = 10_000
"""Points between the ends are multiples of its inverse, so that what is printed can be promised."""


def spread_t(asked: Asked, points: int, own: Fraction | None, highest: Fraction) -> list[Fraction]:
    """The t that were asked for, in order.

    >>> [str(t) for t in spread_t("0:0.5", 3, Fraction(1, 5), Fraction(1))]
    ['0', '1/5', '1/4', '1/2']
    """
    ends, values = _read(asked, points, "t", "such as 0.05:0.5 or 0.1,0.2,0.3")
    for value in (*ends, *values):
        if not 0 <= value <= highest:
            raise UsageError(
                f"t must lie in [0, {float(highest):g}]",
                where="--t",
                hint="a distance between distributions is at most 1, in proportion where "
                "attributes promise different t",
            )
    if ends:
        low, high = ends
        steps = [low + (high - low) * at / (points - 1) for at in range(1, points - 1)]
        values = [low, *(Fraction(round(step * FINE), FINE) for step in steps), high]
        values = [value for value in values if low <= value <= high]
        values += [own] if own is not None and low <= own <= high else []
    return sorted(set(values))


def spread_k(asked: Asked, points: int, own: int | None, rows: int) -> list[int]:
    """The k that were asked for, in order.

    >>> spread_k("2:20", 4, 5, 100), spread_k([3, 2], 4, 5, 100)
    ([2, 5, 8, 14, 20], [2, 3])
    """
    ends, values = _read(asked, points, "k", "such as 2:20 or 2,5,10")
    for value in (*ends, *values):
        if value.denominator > 1 or value < 1:
            raise UsageError("k is a whole number, at least 1", where="--k", hint="such as 2:20")
        if value > rows:
            raise UsageError(
                f"k is larger than the table, which has {rows:,} rows", where="--k",
                hint="no class can have more rows than the table",
            )  # fmt: skip
    whole = [int(value) for value in values]
    if ends:
        low, high = (int(end) for end in ends)
        whole = [low + round(Fraction((high - low) * at, points - 1)) for at in range(points)]
        whole += [own] if own is not None and low <= own <= high else []
    return sorted(set(whole))


def _read(
    asked: Asked, points: int, name: str, hint: str
) -> tuple[tuple[Fraction, ...], list[Fraction]]:
    """The two ends of a range, or values."""
    if not 2 <= points <= MOST_POINTS:
        raise UsageError(f"a curve has 2 to {MOST_POINTS} points", where="--points")
    given: Sequence[object]
    if isinstance(asked, str):
        given = asked.split(":") if ":" in asked else asked.split(",")
    else:
        given = list(asked) if isinstance(asked, Iterable) else [asked]
    try:
        numbers = [exact(one) for one in given]  # type: ignore[arg-type]
    except (ValueError, TypeError):
        numbers = []
    ranged = isinstance(asked, str) and ":" in asked
    if not numbers or (ranged and (len(numbers) != 2 or numbers[0] >= numbers[1])):
        what = "a range goes from a lower to a higher number" if ranged else "no numbers are given"
        raise UsageError(what, where=f"--{name}", hint=hint)
    if len(numbers) > MOST_POINTS:
        raise UsageError(f"a curve has at most {MOST_POINTS} points", where=f"--{name}")
    return (tuple(numbers), []) if ranged else ((), numbers)
