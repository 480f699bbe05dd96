"""Recursive (c, l)-diversity: the commonest value is not too common beside the rarer ones."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from tclose.data.encode.classes import Classes
from tclose.distance import Histogram, Ratios
from tclose.requirements.requirement import Capabilities, Measurement, settle, shown


@dataclass(frozen=True)
class RecursiveDiversity:
    """r₁ < c · (r_l + … + r_m), counts from the largest down, strictly."""

    attribute: str
    l: int = 2
    c: Fraction | None = None
    name: str = "recursive-(c,l)-diversity"
    distance: str | None = None
    capabilities: ClassVar[Capabilities] = Capabilities(monotone=True)

    @property
    def required(self) -> str | None:
        """c and l."""
        return None if self.c is None else f"c={shown(self.c)}, l={self.l}"

    def measure(self, classes: Classes) -> Measurement:
        """The largest r₁ / (r_l + … + r_m): the table has (c, l)-diversity for every c above it."""
        tally = classes.tally(self.attribute)
        ratio = heads_to_tails(tally.histogram, self.l)
        worst = ratio.largest()
        fails = np.zeros(len(ratio.value), dtype=bool) if self.c is None else ~ratio.under(self.c)
        return settle(
            classes, tally, ratio.value, fails, worst,
            limit=None if self.c is None else float(self.c), exact=ratio.exact(worst),
            note=f"l={self.l}",
        )  # fmt: skip


def heads_to_tails(histogram: Histogram, l: int) -> Ratios:
    """The largest count over the sum of the l-th largest and all smaller ones, per class."""
    owner = histogram.owner()
    order = np.lexsort((-histogram.count, owner))
    rank = np.arange(len(owner)) - histogram.start[owner]
    count = histogram.count[order]
    head = np.zeros(histogram.classes, dtype=count.dtype)
    tail = np.zeros(histogram.classes, dtype=count.dtype)
    head[owner[rank == 0]] = count[rank == 0]
    np.add.at(tail, owner[rank >= l - 1], count[rank >= l - 1])
    return Ratios((head,), (tail,))
