"""What a requirement answers about every class, and what it declares about itself."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tclose.data.encode.classes import Classes, Tally


@dataclass(frozen=True)
class Capabilities:
    """What a search may rely on; it reads these flags, never the names."""

    monotone: bool
    """Merging two classes never gives a value worse than the worse of theirs."""
    follows_table: bool = False
    """It compares with the table's distribution, which moves when rows are left out."""
    exact: bool = True
    """Its attained value is a fraction."""
    needs: str = ""
    """What it needs beyond the classes: hierarchies, a population table."""
    overlapping: bool = False
    """It is monotone also where classes have persons in common. A share of persons is not: of
    persons 1 and 2, and of 2 and 3, half have what 1 and 3 have, and two thirds of all three."""


@dataclass(frozen=True)
class Measurement:
    """What a table attains: the tightest value, the class that attains it, and all others.

    `value` and `fails` have an entry for each class; `decided` is False where a failure might be
    one of our knowledge only (the requirement says why in `note`).
    """

    value: NDArray[np.float64]
    fails: NDArray[np.bool_]
    achieved: float
    exact: Fraction | None
    worst: int
    margin: NDArray[np.float64]
    decided: bool = True
    note: str = ""
    small_is_bad: bool = False
    """Whether less is worse, as of a size or a number of values."""


class Requirement(Protocol):
    """One line of a promise."""

    @property
    def name(self) -> str:
        """What the field calls it."""
        ...

    @property
    def attribute(self) -> str | None:
        """The sensitive attribute that it is about, if it is about one."""
        ...

    @property
    def distance(self) -> str | None:
        """The distance that it uses, if it uses one."""
        ...

    @property
    def required(self) -> str | None:
        """The threshold as text; None where it is only measured."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What it promises to a search."""
        ...

    def measure(self, classes: Classes) -> Measurement:
        """What the table attains."""
        ...


def settle(
    classes: Classes,
    tally: Tally | None,
    value: NDArray[np.float64],
    fails: NDArray[np.bool_],
    worst: int,
    *,
    limit: float | None,
    exact: Fraction | None,
    small_is_bad: bool = False,
    note: str = "",
) -> Measurement:
    """From judged distributions to classes: the worst of a class's views counts.

    `value`, `fails` and `worst` speak of the rows of the tally (of the views, where it is None).
    """
    view = np.arange(classes.views) if tally is None else tally.view
    sign = -1.0 if small_is_bad else 1.0
    per_view = np.full(classes.views, -np.inf)
    np.maximum.at(per_view, view, sign * value)
    broken = np.zeros(classes.views, dtype=bool)
    broken[view[fails]] = True
    per_class = np.full(classes.count, -np.inf)
    np.maximum.at(per_class, classes.class_of, per_view[classes.view_of])
    failing = np.zeros(classes.count, dtype=bool)
    failing[classes.class_of[broken[classes.view_of]]] = True
    attained = sign * per_class
    margin = np.broadcast_to(np.inf, classes.count)
    if limit is not None:
        margin = sign * (limit - attained)
    first = int(np.searchsorted(classes.view_of, view[worst]))
    return Measurement(
        value=attained,
        fails=failing,
        achieved=float(value[worst]),
        exact=exact,
        worst=int(classes.class_of[first]),
        margin=margin,
        note=note,
        small_is_bad=small_is_bad,
    )


def shown(number: Fraction | int | None) -> str | None:
    """A threshold as a report writes it: a decimal where it ends, else a fraction.

    >>> shown(Fraction(1, 5)), shown(Fraction(1, 3)), shown(None)
    ('0.2', '1/3', None)
    """
    if number is None:
        return None
    whole = Fraction(number)
    decimal = f"{float(whole):.12g}"
    return decimal if Fraction(decimal) == whole else str(whole)
