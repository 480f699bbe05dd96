"""The lattice of level vectors, by arithmetic: nothing is stored, however many nodes there are."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

Levels = tuple[int, ...]


@dataclass(frozen=True)
class Lattice:
    """All level vectors between a lowest and a highest one.

    >>> small = Lattice((0, 1), (2, 2))
    >>> small.size, small.height
    (6, 3)
    >>> small.index((2, 1)), small.node(4)
    (4, (2, 1))
    >>> list(small.successors((0, 2))), list(small.predecessors((0, 2)))
    ([(1, 2)], [(0, 1)])
    """

    low: Levels
    high: Levels

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return math.prod(b - a + 1 for a, b in zip(self.low, self.high, strict=True))

    @property
    def height(self) -> int:
        """Steps from the lowest node to the highest."""
        return sum(self.high) - sum(self.low)

    def index(self, node: Levels) -> int:
        """A node's number: its levels as the digits of a mixed radix."""
        number = 0
        for level, a, b in zip(node, self.low, self.high, strict=True):
            number = number * (b - a + 1) + level - a
        return number

    def node(self, index: int) -> Levels:
        """The node of a number."""
        levels = []
        for a, b in zip(reversed(self.low), reversed(self.high), strict=True):
            index, digit = divmod(index, b - a + 1)
            levels.append(a + digit)
        return tuple(reversed(levels))

    def nodes(self) -> Iterator[Levels]:
        """Every node, in the order of their numbers; each comes after all that it generalizes."""
        return itertools.product(
            *(range(a, b + 1) for a, b in zip(self.low, self.high, strict=True))
        )

    def successors(self, node: Levels) -> Iterator[Levels]:
        """The nodes one level higher in one column."""
        for at, level in enumerate(node):
            if level < self.high[at]:
                yield (*node[:at], level + 1, *node[at + 1 :])

    def predecessors(self, node: Levels) -> Iterator[Levels]:
        """The nodes one level lower in one column."""
        for at, level in enumerate(node):
            if level > self.low[at]:
                yield (*node[:at], level - 1, *node[at + 1 :])


def below(one: Levels, other: Levels) -> bool:
    """Whether a node is another or generalizes to it.

    >>> below((0, 1), (1, 1)), below((0, 2), (1, 1))
    (True, False)
    """
    return all(a <= b for a, b in zip(one, other, strict=True))
