"""The classes that break the most promises, or come nearest to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.data.encode.classes import Classes
from tclose.requirements import Measurement
from tclose.verify.verdict import Verdict

MOST_REPORTED = 20


@dataclass(frozen=True)
class ClassReport:
    """A class that breaks a promise (or comes nearest to): who is in it, and by how much."""

    number: int
    size: int
    label: dict[str, str]
    margins: dict[str, float]
    """For each requirement, how far the class is from breaking it; negative: it does."""
    breaks: tuple[str, ...]


def find_worst(classes: Classes, verdicts: Sequence[Verdict]) -> tuple[ClassReport, ...]:
    """The classes that break the most promises, then those that break them by most."""
    plain = {
        v.title: v.measurement for v in verdicts if v.reading != "cross" and v.required is not None
    }
    spreads = [largest_margin(measured.margin) for measured in plain.values()]
    return tuple(report for _, report in rank_classes(classes, plain, spreads))


Rank = tuple[int, float]
"""Less is worse: of how many promises are broken, negative, and of by how much."""


def rank_classes(
    classes: Classes, measured: Mapping[str, Measurement], spreads: Sequence[float]
) -> list[tuple[Rank, ClassReport]]:
    """The worst classes by some requirements, each with its rank.

    The spreads are those of the requirements' margins in the whole table.
    """
    if not measured:
        return []
    plain = list(measured.values())
    broken = np.sum([one.fails for one in plain], axis=0)
    scaled = [
        # Margins of one requirement on a scale that can be added to those of another: −1 is worst.
        np.clip(one.margin / (spread or 1.0), -1.0, 1.0)
        for one, spread in zip(plain, spreads, strict=True)
    ]
    slack = np.sum(scaled, axis=0)
    order = np.lexsort((np.arange(classes.count), slack, -broken))[:MOST_REPORTED]
    return [
        (
            (-int(broken[at]), float(slack[at])),
            ClassReport(
                number=int(at) + 1,
                size=int(classes.class_rows[at]),
                label=classes.label(int(at)),
                margins={title: float(one.margin[at]) for title, one in measured.items()},
                breaks=tuple(title for title, one in measured.items() if one.fails[at]),
            ),
        )
        for at in order
    ]


def largest_margin(margin: NDArray[np.float64]) -> float:
    """The largest finite margin, whatever its sign."""
    finite = margin[np.isfinite(margin)]
    return float(abs(finite).max()) if len(finite) else 0.0
