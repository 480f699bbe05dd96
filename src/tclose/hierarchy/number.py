"""Exact numbers from text and back: what the builders compute with, so that levels nest exactly."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from fractions import Fraction

Number = int | float | str | Decimal | Fraction

_MOST_DIGITS = 300  # within a float's range; keeps "1e999999999" from becoming a huge integer


def exact(number: Number) -> Fraction | None:
    """The exact value of a number or of its text; None if it is no finite number.

    A float means its shortest text: 0.1 is a tenth.

    >>> exact("2.50"), exact(0.1), exact("n/a"), exact("inf")
    (Fraction(5, 2), Fraction(1, 10), None, None)
    """
    if isinstance(number, bool):
        return None
    if isinstance(number, int | Fraction):
        within = max(abs(number.numerator), number.denominator) <= 10**_MOST_DIGITS
        return Fraction(number) if within else None
    try:
        decimal = Decimal(str(number))
    except InvalidOperation:
        return None
    if not decimal.is_finite() or "_" in str(number):
        return None
    exponent = decimal.as_tuple().exponent
    if not isinstance(exponent, int) or exponent < -_MOST_DIGITS:
        return None
    return Fraction(decimal) if decimal.adjusted() <= _MOST_DIGITS else None


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
