"""What a full-domain release loses, by the measure that is asked for.

Every measure has a *floor*: no release at a node, or at any node above it, loses less, however many
rows are left out. Three measures are sums over columns: a row loses something in each column by the
level alone, and leaving it out costs it at least as much as the highest level would. Their floor is
what the node loses without leaving rows out, and needs no grouping. The other two look at the sizes
of classes, which only grow on the way up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tclose.errors import UsageError, nearest
from tclose.search.full_domain.lattice import Ladder, Levels
from tclose.search.problem import SearchProblem

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NodeTally:
    """What counts at a node: its classes, and those of them that are left out."""

    classes: int
    squares: int
    """Σ size² over all classes."""
    left_rows: int = 0
    left_classes: int = 0
    left_squares: int = 0
    left_price: float = 0.0
    """Σ over the rows left out of what leaving them out costs beyond the node's own loss."""


@dataclass(frozen=True)
class ByColumns:
    """A weighted mean over rows and columns; `totals[column][level]` is what a column adds."""

    name: str
    totals: tuple[tuple[float, ...], ...]
    price: Floats
    """What leaving out a row adds, by column, level and code, laid out like the ladders' groups."""
    by_columns: bool = True
    """Whether the floor needs no grouping."""

    def floor(self, levels: Levels) -> float:
        """What the node loses with all rows."""
        return sum([column[level] for column, level in zip(self.totals, levels, strict=True)])

    def path(self, low: Levels, high: Levels) -> list[Levels]:
        """From one node up to another by the cheapest steps, both ends included."""
        node, path = list(low), [low]
        while path[-1] != high:
            step = [
                (self.totals[at][level + 1] - self.totals[at][level], at)
                for at, level in enumerate(node) if level < high[at]
            ]  # fmt: skip
            node[min(step)[1]] += 1
            path.append(tuple(node))
        return path

    def bound(self, levels: Levels, tally: NodeTally, room: int) -> float:
        """The floor: grouping adds nothing to it."""
        return self.floor(levels)

    def value(self, levels: Levels, tally: NodeTally) -> float:
        """The floor and what is left out."""
        return self.floor(levels) + tally.left_price


@dataclass(frozen=True)
class Discernibility:
    """Σ size², and the whole table for every row left out (Bayardo and Agrawal 2005).

    A class that is left out costs rows · size ≥ size², and uniting classes makes Σ size² larger.
    """

    rows: int
    price: Floats
    name: str = "discernibility"
    by_columns: bool = False

    def floor(self, levels: Levels) -> float:
        """Nothing is known without sizes, but that every row is in a class."""
        return float(self.rows)

    def bound(self, levels: Levels, tally: NodeTally, room: int) -> float:
        """What the node loses with all rows."""
        return float(tally.squares)

    def value(self, levels: Levels, tally: NodeTally) -> float:
        """The released classes, and the rows left out."""
        return float(tally.squares - tally.left_squares + self.rows * tally.left_rows)


@dataclass(frozen=True)
class ClassSize:
    """Released rows per class. Classes only get fewer on the way up and by leaving some out."""

    rows: int
    price: Floats
    name: str = "class-size"
    by_columns: bool = False

    def floor(self, levels: Levels) -> float:
        """Nothing is known without sizes."""
        return 0.0

    def bound(self, levels: Levels, tally: NodeTally, room: int) -> float:
        """As few rows as may be released in as many classes as there are."""
        return (self.rows - room) / max(tally.classes, 1)

    def value(self, levels: Levels, tally: NodeTally) -> float:
        """The average size of a released class."""
        return (self.rows - tally.left_rows) / max(tally.classes - tally.left_classes, 1)


LossMeasure = ByColumns | Discernibility | ClassSize
"""A loss, and how it bounds itself: `floor` is at most what any release at the node or above it
loses, `bound` the same once the node is grouped, `value` what the release at the node loses."""


def iyengar(problem: SearchProblem, ladders: Sequence[Ladder], share: Sequence[float]) -> ByColumns:
    """The house's loss: leaves below a value's node; a row left out loses 1 in every column."""
    loss = [ladder.loss for ladder in ladders]
    return _by_columns("iyengar", problem, loss, [1.0 - table for table in loss], share)


def precision(
    problem: SearchProblem, ladders: Sequence[Ladder], share: Sequence[float]
) -> ByColumns:
    """The level over the highest level (Sweeney 2002); a row left out loses 1 in every column."""
    loss = [
        np.repeat(np.arange(ladder.levels)[:, None] / max(ladder.levels - 1, 1), ladder.values, 1)
        for ladder in ladders
    ]
    return _by_columns("precision", problem, loss, [1.0 - table for table in loss], share)


def entropy(problem: SearchProblem, ladders: Sequence[Ladder], share: Sequence[float]) -> ByColumns:
    """Bits per row that its generalized values no longer tell (non-uniform entropy).

    A value tells log(rows of its group) − log(rows of the value) less than it did, counted on the
    table; divided by what the highest level would lose. A row left out loses that much.
    """
    loss, price = [], []
    for at, ladder in enumerate(ladders):
        count = np.bincount(problem.codes[:, at], problem.rows, ladder.values)
        inside = np.stack(
            [np.bincount(group, count, ladder.values)[group] for group in ladder.group]
        )
        bits = np.log2(np.maximum(inside, 1))
        lost, whole = bits - np.log2(np.maximum(count, 1)), np.log2(max(problem.n_rows, 1))
        most = float((whole - np.log2(np.maximum(count, 1))) @ count) / max(problem.n_rows, 1)
        loss.append(lost / (most or 1.0))
        price.append((whole - bits) / (most or 1.0))
    return _by_columns("entropy", problem, loss, price, share)


def _by_columns(
    name: str,
    problem: SearchProblem,
    loss: list[Floats],
    price: list[Floats],
    share: Sequence[float],
) -> ByColumns:
    totals, prices = [], [np.zeros(0)]
    for at, part in enumerate(share):
        count = np.bincount(problem.codes[:, at], problem.rows, loss[at].shape[1])
        per_row = part / max(problem.n_rows, 1)
        totals.append(tuple((loss[at] @ count * per_row).tolist()))
        prices.append(price[at].ravel() * per_row)
    return ByColumns(name, tuple(totals), np.concatenate(prices))


COLUMNS: Mapping[str, Callable[[SearchProblem, Sequence[Ladder], Sequence[float]], ByColumns]] = {
    "iyengar": iyengar, "precision": precision, "entropy": entropy,
}  # fmt: skip
SIZES: Mapping[str, Callable[[int, Floats], Discernibility | ClassSize]] = {
    "discernibility": Discernibility, "class-size": ClassSize,
}  # fmt: skip
MEASURES = (*COLUMNS, *SIZES)


def measure_of(problem: SearchProblem, ladders: Sequence[Ladder]) -> LossMeasure:
    """The measure that the problem's objective names."""
    objective = problem.objective
    if objective.loss in SIZES:
        if objective.weights:
            raise UsageError(
                f"{objective.loss} does not look at columns, so they have no weights",
                where="search.weights",
                hint=f"weights go with {', '.join(COLUMNS)}",
            )
        room = sum(ladder.group.size for ladder in ladders)
        return SIZES[objective.loss](problem.n_rows, np.zeros(room))
    if objective.loss not in COLUMNS:
        raise UsageError(
            "there is no such loss", where="search.loss", hint=nearest(objective.loss, MEASURES)
        )
    return COLUMNS[objective.loss](problem, ladders, _shares(problem, objective.weights))


def house_loss(problem: SearchProblem, ladders: Sequence[Ladder]) -> ByColumns:
    """The house's loss, all columns alike."""
    return iyengar(problem, ladders, [1 / max(len(ladders), 1)] * len(ladders))


def _shares(problem: SearchProblem, weights: Mapping[str, Fraction]) -> list[float]:
    known = {column.name for column in problem.columns}
    if not set(weights) <= known:
        raise UsageError("a weight is given to no quasi-identifier", where="search.weights")
    each = [weights.get(column.name, Fraction(1)) for column in problem.columns]
    total = sum(each, Fraction(0))
    if total <= 0:
        raise UsageError("all weights are 0, so nothing would be lost", where="search.weights")
    return [float(weight / total) for weight in each]
