"""Exact rational numbers: as people write them, as parts of a policy hold them, and many at once.

0.2 is 1/5, never the nearest binary float. A float made of exact whole numbers is off by less than
10⁻¹⁵ of its size, so it settles every comparison that is not close; the close ones are settled by
the fraction itself, or by as many digits of a logarithm as it takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation, localcontext
from fractions import Fraction
from functools import cache, cached_property
from typing import Annotated, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)

from tclose.distance.histogram import Counts

CLOSE = 1e-8
"""Differences of logarithms below this are decided by their digits. Every float here is computed
from exact integers with a relative error many orders of magnitude smaller."""
NEAR = 1e-12
"""The same for differences of quotients of whole numbers, decided by the fractions."""
LONGEST = 1000
"""Exponents beyond this are no quantity (`1e999999999` is an article number) but fill memory."""

Written = int | float | str | Decimal | Fraction
"""What people write numbers as."""
K = TypeVar("K", bound=Hashable)


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
            return _read_decimal(above) / _read_decimal(below)
        return _read_decimal(text)
    except (InvalidOperation, ValueError, OverflowError, ZeroDivisionError) as error:
        raise ValueError("not a number or a fraction such as 1/8") from error


def _read_decimal(text: str) -> Fraction:
    """A decimal number; one with thousands of digits before or after its point is refused."""
    if "_" in text:
        raise ValueError("a name or a code, though Python reads 1_0 as ten")
    number = Decimal(text)
    if number.is_finite() and abs(number.adjusted()) > LONGEST:
        raise ValueError("a number too large or too small to be meant")
    return Fraction(number)


Number = Annotated[
    Fraction,
    BeforeValidator(exact),
    PlainSerializer(str, return_type=str),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number"},
                {"type": "string", "pattern": r"^\s*-?[0-9.]+(\s*/\s*[0-9.]+)?\s*$"},
            ],
            "description": "a number, read exactly as written, or a fraction such as '1/8'",
        }
    ),
]


def must(words: str, allows: Callable[[Fraction], bool]) -> AfterValidator:
    """Refuses every number but those that a key allows, in these words."""

    def check(number: Fraction) -> Fraction:
        if not allows(number):
            raise ValueError(words)
        return number

    return AfterValidator(check)


class MisuseError(ValueError):
    """What a policy may not say, with a hint at what it could say."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(f"{what}; {hint}")
        self.what, self.hint = what, hint


class Part(BaseModel):
    """The base of every part of a policy: immutable, and no unknown key passes."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, arbitrary_types_allowed=True, defer_build=True
    )

    short_key: ClassVar[str] = ""
    """The key that a plain value stands for, written in place of all keys."""

    @model_validator(mode="before")
    @classmethod
    def expand(cls, value: Any) -> Any:
        """What a plain value stands for."""
        if not cls.short_key or isinstance(value, dict | BaseModel | bool):
            return value
        return {cls.short_key: value}


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


def find_sign(value: Callable[[], Decimal]) -> int:
    """The sign of a sum of logarithms of rational numbers, computed in the decimal context.

    It is computed with 60, 300 and 1 200 digits; a sum that is 0 to a thousand digits is taken to
    be 0 (it is, in every table whose counts are small enough to write down: equality then comes
    from counts that are powers of each other).

    >>> find_sign(lambda: Decimal(8).ln() / Decimal(2).ln() - 3)
    0
    """
    for digits in (60, 300, 1200):
        with localcontext() as context:
            context.prec = digits
            found = value()
            if abs(found) > Decimal(10) ** (20 - digits):
                return 1 if found > 0 else -1
    return 0


def compare_each(
    difference: NDArray[np.float64], key: Callable[[int], K], excess: Callable[[K], Decimal]
) -> NDArray[np.float64]:
    """The sign of each difference of logarithms; of one next to 0, by as many digits as it takes.

    `key(index)` has the numbers that it is made of, and `excess` of these computes it in the
    current decimal context: once for all that are made of the same numbers.
    """
    signs: NDArray[np.float64] = np.sign(difference)

    @cache
    def decide(numbers: K) -> int:
        return find_sign(lambda: excess(numbers))

    for index in np.flatnonzero(abs(difference) < CLOSE):
        signs[index] = decide(key(int(index)))
    return signs


@dataclass(frozen=True)
class Ratios:
    """`Π above[i] / Π below[i]` for each index i; a zero below stands for infinity.

    >>> r = Ratios((np.array([1, 2]),), (np.array([3, 6]),))
    >>> r.exact(1), r.within(Fraction(1, 3)), r.under(Fraction(1, 3)), r.largest()
    (Fraction(1, 3), array([ True,  True]), array([False, False]), 0)
    """

    above: tuple[Counts, ...]
    below: tuple[Counts, ...]

    @cached_property
    def value(self) -> NDArray[np.float64]:
        """Each ratio, rounded to a float."""
        try:
            over, under = _multiply(self.above), _multiply(self.below)
        except OverflowError:
            return np.array([self._round(index) for index in range(len(self.above[0]))])
        result = np.full(len(over), np.inf)
        np.divide(over, under, out=result, where=under != 0)
        return result

    def exact(self, index: int) -> Fraction | None:
        """One ratio as a fraction; None where it is infinite."""
        over, under = (
            math.prod(int(part[index]) for part in side) for side in (self.above, self.below)
        )
        return Fraction(over, under) if under else None

    def _round(self, index: int) -> float:
        """One ratio of numbers too large for a float."""
        exact = self.exact(index)
        return np.inf if exact is None else exact.numerator / exact.denominator

    def within(self, limit: Fraction) -> NDArray[np.bool_]:
        """Whether each is at most the limit."""
        return self._decide(limit, self.value <= float(limit), lambda exact: exact <= limit)

    def under(self, limit: Fraction) -> NDArray[np.bool_]:
        """Whether each is less than the limit."""
        return self._decide(limit, self.value < float(limit), lambda exact: exact < limit)

    def largest(self) -> int:
        """The first index of the largest."""
        top = self.value.max()
        if np.isinf(top):
            return int(np.argmax(self.value))
        rest = np.flatnonzero(self.value >= top - NEAR * max(1.0, top))
        best, found = None, 0
        while len(rest):
            first = int(rest[0])
            exact = self.exact(first)
            if exact is not None and (best is None or exact > best):
                best, found = exact, first
            # Those that are written with the same numbers need no look of their own.
            differs = np.zeros(len(rest), dtype=bool)
            for part in (*self.above, *self.below):
                differs |= np.asarray(part[rest] != part[first], dtype=bool)
            rest = rest[differs]
        return found

    def _decide(
        self, limit: Fraction, guess: NDArray[np.bool_], holds: Callable[[Fraction], bool]
    ) -> NDArray[np.bool_]:
        close = abs(self.value - float(limit)) <= NEAR * max(1.0, float(limit))
        for index in np.flatnonzero(close):
            exact = self.exact(int(index))
            guess[index] = exact is not None and holds(exact)
        return guess


def _multiply(parts: tuple[Counts, ...]) -> NDArray[np.float64]:
    result = parts[0].astype(float)
    for part in parts[1:]:
        result = result * part.astype(float)
    return result
