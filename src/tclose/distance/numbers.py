"""Exact rational numbers from what people write: 0.2 is 1/5, never the nearest binary float."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation, localcontext
from fractions import Fraction

CLEAR = 1e-9
"""Two floats of the house that differ by more than this differ exactly: every float here is
computed from exact integers with a relative error many orders of magnitude smaller."""

LONGEST = 1000
"""Exponents beyond this are no quantity (`1e999999999` is an article number) but fill memory."""


Written = int | float | str | Decimal | Fraction
"""What people write numbers as."""


def exact(number: Written) -> Fraction:
    """The rational number that was written, read digit by digit.

    >>> exact(0.2), exact("1/8"), exact("2.50")
    (Fraction(1, 5), Fraction(1, 8), Fraction(5, 2))
    """
    if isinstance(number, bool):
        raise ValueError("a truth value is not a number")
    if isinstance(number, Fraction | int):
        return Fraction(number)
    text = str(number).strip()
    try:
        if "/" in text:
            above, below = text.split("/")
            return _written(above) / _written(below)
        return _written(text)
    except (InvalidOperation, ValueError, OverflowError, ZeroDivisionError) as error:
        raise ValueError("not a number or a fraction such as 1/8") from error


def _written(text: str) -> Fraction:
    """A decimal number; one with thousands of digits before or after its point is refused."""
    if "_" in text:
        raise ValueError("a name or a code, though Python reads 1_0 as ten")
    number = Decimal(text)
    if number.is_finite() and abs(number.adjusted()) > LONGEST:
        raise ValueError("a number too large or too small to be meant")
    return Fraction(number)


def to_integers(numbers: Sequence[Fraction]) -> tuple[list[int], int]:
    """Whole numbers in the ratio of the given ones, and the factor that makes them whole.

    >>> to_integers([Fraction(1, 2), Fraction(1, 3)])
    ([3, 2], 6)
    """
    scale = math.lcm(1, *(number.denominator for number in numbers))
    return [int(number * scale) for number in numbers], scale


def decimal_of(number: Fraction) -> Decimal:
    """The number in the precision of the current decimal context."""
    return Decimal(number.numerator) / Decimal(number.denominator)


def compare(value: Callable[[], Decimal], guess: float, limit: Fraction) -> int:
    """The sign of `value - limit`, where the value is a sum of logarithms of rational numbers.

    The float decides where it is far from the limit. Near it the value is computed again with 60,
    300 and 1 200 digits; logarithms of rational numbers that agree with a rational number to a
    thousand digits are taken to be equal to it (they are, in every table whose counts are small
    enough to write down: equality then comes from counts that are powers of each other).

    >>> compare(lambda: Decimal(8).ln() / Decimal(2).ln(), 3.0000000001, Fraction(3))
    0
    """
    if abs(guess - float(limit)) > CLEAR * max(1.0, abs(guess)):
        return 1 if guess > limit else -1
    for digits in (60, 300, 1200):
        with localcontext() as context:
            context.prec = digits
            difference = value() - decimal_of(limit)
            if abs(difference) > Decimal(10) ** (20 - digits):
                return 1 if difference > 0 else -1
    return 0
