"""Exact numbers from text and back: what the builders compute with, so that levels nest exactly."""

from __future__ import annotations

from fractions import Fraction

from tclose.distance.numbers import Written
from tclose.distance.numbers import exact as written

_MOST_DIGITS = 301  # within a float's range


def exact(number: Written) -> Fraction | None:
    """The exact value of a number or of its text; None if it is no finite number.

    A float means its shortest text: 0.1 is a tenth. A text with a slash may be a date.

    >>> exact("2.50"), exact(0.1), exact("n/a"), exact("inf"), exact("12/2020")
    (Fraction(5, 2), Fraction(1, 10), None, None, None)
    """
    if isinstance(number, str) and "/" in number:
        return None
    try:
        value = written(number)
    except ValueError:
        return None
    within = max(abs(value.numerator), value.denominator) < 10**_MOST_DIGITS
    return value if within else None


def plain(number: Fraction) -> str:
    """The shortest exact text of a number: decimal if that ends, else a fraction.

    >>> plain(Fraction(5, 2)), plain(Fraction(-20)), plain(Fraction(1, 3))
    ('2.5', '-20', '1/3')
    """
    places = _decimal_places(number.denominator)
    if places is None or places == 0:
        return str(number)
    digits = str(abs(number.numerator) * 10**places // number.denominator).rjust(places + 1, "0")
    sign = "-" if number < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}"


def _decimal_places(denominator: int) -> int | None:
    """The fewest decimal places that show a fraction with this denominator exactly."""
    powers = []
    for prime in (2, 5):
        power = 0
        while denominator % prime == 0:
            denominator //= prime
            power += 1
        powers.append(power)
    return max(powers) if denominator == 1 else None
