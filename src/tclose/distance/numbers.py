"""Exact rational numbers: as people write them, in parts of a policy, and many at once.

0.2 is 1/5, never the nearest binary float. A float computed from exact whole numbers has a relative
error below 10⁻¹⁵, so it decides every comparison that is not close; close ones are decided by the
fraction itself, or by computing a logarithm to as many digits as it takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache, cached_property
from typing import Annotated, Any, ClassVar, Self, TypeVar

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)

from tclose.arrays import Flags, Floats
from tclose.distance.histogram import Counts
from tclose.plain import exact

CLOSE = 1e-8
"""Differences of logarithms below this, far above rounding errors, take more digits."""
NEAR = 1e-12
"""Differences of quotients of whole numbers below this are decided by the fractions."""
K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


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


def must(words: str, allows: Callable[[Any], bool]) -> AfterValidator:
    """Makes a validator that refuses values for which `allows` is False, with these words."""

    def check(value: T) -> T:
        if not allows(value):
            raise ValueError(words)
        return value

    return AfterValidator(check)


class MisuseError(ValueError):
    """Something that a policy must not state, with a hint at what it could state."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(f"{what}; {hint}")
        self.what, self.hint = what, hint


Misuse = tuple[str, str]
"""What must not be stated, and a hint at what could be; an empty one where none is needed."""


class Part(BaseModel):
    """The base of every part of a policy: immutable, and unknown keys are refused."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        arbitrary_types_allowed=True,
        defer_build=True,
        hide_input_in_errors=True,
    )

    short_key: ClassVar[str] = ""
    """The key that a plain value stands for, if one is given in place of all keys."""

    @model_validator(mode="before")
    @classmethod
    def expand(cls, value: object) -> Any:
        """Replaces a plain value by what it stands for."""
        if not cls.short_key or isinstance(value, dict | BaseModel | bool):
            return value
        return {cls.short_key: value}

    @model_validator(mode="after")
    def _refuse_first_misuse(self) -> Self:
        for what, hint in self.find_misuses():
            raise MisuseError(what, hint) if hint else ValueError(what)
        return self

    def find_misuses(self) -> Iterator[Misuse]:
        """Yields what must not be stated together or so, each with a hint at what could be."""
        yield from ()


def to_integers(numbers: Sequence[Fraction]) -> tuple[list[int], int]:
    """Scales fractions to whole numbers in the same ratio; also returns the scale.

    >>> to_integers([Fraction(1, 2), Fraction(1, 3)])
    ([3, 2], 6)
    """
    scale = math.lcm(1, *(number.denominator for number in numbers))
    return [number.numerator * (scale // number.denominator) for number in numbers], scale


def decimal_of(number: Fraction) -> Decimal:
    """Converts to a decimal in the precision of the current decimal context."""
    return Decimal(number.numerator) / Decimal(number.denominator)


def is_product_one(powers: Iterable[tuple[int, int]]) -> bool:
    """Whether a product of powers of positive integers, each with its exponent, is exactly 1.

    Nothing is multiplied out: two bases with a common divisor are split at it, which leaves their
    product smaller, until one is coprime to all others. Its primes are then in no other power.

    >>> is_product_one([(8, 2), (2, -6)]), is_product_one([(6, 1), (2, -1), (9, -1)])
    (True, False)
    """
    left = [(base, exponent) for base, exponent in powers if base > 1 and exponent]
    while left:
        base, exponent = left.pop()
        for at, (other, its) in enumerate(left):
            if (common := math.gcd(base, other)) > 1:
                split = (other // common, its), (base // common, exponent), (common, its + exponent)
                left[at : at + 1] = [each for each in split if each[0] > 1 and each[1]]
                break
        else:
            return False
    return True


def find_sign(value: Callable[[], Decimal]) -> int:
    """Returns the sign of a sum of logarithms of rational numbers.

    `value` computes the sum in the current decimal context; it is called with 60, 300 and 1 200
    digits. A sum that is 0 to a thousand digits is taken to be 0 (it is, for every table whose
    counts are small enough to write down: equality then comes from counts that are powers of each
    other).

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
    difference: Floats, key: Callable[[int], K], excess: Callable[[K], Decimal]
) -> Floats:
    """Returns the sign of each difference of logarithms; close to 0, with as many digits as needed.

    `key(index)` returns the numbers that the difference is made of, and `excess` computes it from
    them in the current decimal context: once for all differences made of the same numbers.
    """
    signs: Floats = np.sign(difference)

    @cache
    def decide(numbers: K) -> int:
        return find_sign(lambda: excess(numbers))

    for index in np.flatnonzero(abs(difference) < CLOSE):
        signs[index] = decide(key(int(index)))
    return signs


@dataclass(frozen=True)
class Ratios:
    """`Π above[i] / Π below[i]` for each index i; a zero in `below` makes it infinite.

    >>> r = Ratios((np.array([1, 2]),), (np.array([3, 6]),))
    >>> r.exact(1), r.within(Fraction(1, 3)), r.within(Fraction(1, 3), strictly=True), r.largest()
    (Fraction(1, 3), array([ True,  True]), array([False, False]), 0)
    """

    above: tuple[Counts, ...]
    below: tuple[Counts, ...]

    @cached_property
    def value(self) -> Floats:
        """Each ratio, rounded to a float."""
        try:
            over, under = (
                np.prod([part.astype(float) for part in side], axis=0)
                for side in (self.above, self.below)
            )
        except OverflowError:
            every = map(self.exact, range(len(self.above[0])))
            return np.array([np.inf if exact is None else float(exact) for exact in every])
        result = np.full(len(over), np.inf)
        np.divide(over, under, out=result, where=under != 0)
        return result

    def exact(self, index: int) -> Fraction | None:
        """Returns one ratio as a fraction; None if it is infinite."""
        over, under = (
            math.prod(int(part[index]) for part in side) for side in (self.above, self.below)
        )
        return Fraction(over, under) if under else None

    def within(self, limit: Fraction, *, strictly: bool = False) -> Flags:
        """Flags the ratios that are at most the limit, or strictly less."""
        result: Flags = self.value <= float(limit)
        close = abs(self.value - float(limit)) <= NEAR * max(1.0, float(limit))
        for index in np.flatnonzero(close):
            exact = self.exact(int(index))
            result[index] = exact is not None and (exact < limit if strictly else exact <= limit)
        return result

    def largest(self) -> int:
        """Returns the first index of the largest ratio."""
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
            # Ratios made of the same numbers are equal and need not be compared.
            differs = np.zeros(len(rest), dtype=bool)
            for part in (*self.above, *self.below):
                differs |= np.asarray(part[rest] != part[first], dtype=bool)
            rest = rest[differs]
        return found


@dataclass(frozen=True)
class LogDistances:
    """Distances that are sums of logarithms, each of which can be computed to many digits."""

    value: Floats
    counts: Callable[[int], Hashable]
    """Returns the counts that a class's distance is computed from."""
    compute: Callable[[Any], Decimal]
    """Computes a distance from its counts, in the current decimal context."""
    is_zero: Callable[[int], bool]
    """Whether a class equals its reference, decided in whole numbers without logarithms."""

    def exact(self, index: int) -> Fraction | None:
        """Returns 0 for equal distributions, else None: there is no fraction."""
        return Fraction(0) if self.value[index] < CLOSE and self.is_zero(index) else None

    def within(self, limit: Fraction) -> Flags:
        """Flags the classes whose distance is at most the limit."""
        if limit == 0:
            near = self.value < CLOSE
            return np.array([near[at] and self.is_zero(at) for at in range(len(near))], dtype=bool)

        def find_excess(counts: Hashable) -> Decimal:
            return self.compute(counts) - decimal_of(limit)

        return compare_each(self.value - float(limit), self.counts, find_excess) <= 0

    def largest(self) -> int:
        """Returns the first of the classes with the largest distance."""
        return int(np.flatnonzero(self.value >= self.value.max() - 1e-13)[0])


Distances = Ratios | LogDistances
"""The distance of every class: `value` for display and ranking, everything else exact."""
