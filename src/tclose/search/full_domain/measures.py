"""The loss of full-domain releases, by the measure that the policy chooses.

Every measure has a *floor*: no release at a node, or at any node above it, loses less, however many
rows are left out. Sums over columns lose something in each by the level alone, and leaving a row
out costs at least as much as the highest level, so their floor needs no grouping. The other two
look at the sizes of classes, which only grow on the way up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tclose.arrays import Floats
from tclose.errors import UsageError, nearest
from tclose.search.full_domain.lattice import Ladder, Levels
from tclose.search.problem import SearchProblem


@dataclass(frozen=True)
class NodeVerdict:
    """A node's classes, whether a release exists, and how many rows it leaves out."""

    classes: int
    squares: int
    """Σ size² over all classes."""
    lost: float = 0.0
    """So many rows at least are lost here and at every finer node."""
    feasible: bool = False
    left_rows: int = 0
    left_classes: int = 0
    left_squares: int = 0
    left_price: float = 0.0
    """Σ over the rows left out of what leaving them out costs beyond the node's own loss."""


@dataclass(frozen=True)
class ByColumns:
    """A weighted mean over rows and columns; `totals[column][level]` is a column's contribution."""

    name: str
    totals: tuple[tuple[float, ...], ...]
    price: Floats
    """What leaving out a row adds, by column, level and code, laid out like the ladders' groups."""
    by_columns = True
    """Whether the floor needs no grouping."""

    def floor(self, levels: Levels) -> float:
        """The loss of the node if no row is left out."""
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

    def bound(self, levels: Levels, verdict: NodeVerdict, room: int) -> float:
        """The floor: grouping adds nothing to it."""
        return self.floor(levels)

    def value(self, levels: Levels, verdict: NodeVerdict) -> float:
        """The loss of the node, including rows that are left out."""
        return self.floor(levels) + verdict.left_price


@dataclass(frozen=True)
class Discernibility:
    """Σ size², and the whole table for every row left out (Bayardo and Agrawal 2005). A class that
    is left out costs rows · size ≥ size², and uniting classes makes Σ size² larger."""

    rows: int
    price: Floats
    name = "discernibility"
    by_columns = False

    def floor(self, levels: Levels) -> float:
        """Nothing is known without sizes, but that every row is in a class."""
        return float(self.rows)

    def bound(self, levels: Levels, verdict: NodeVerdict, room: int) -> float:
        """The loss of the node if no row is left out."""
        return float(verdict.squares)

    def value(self, levels: Levels, verdict: NodeVerdict) -> float:
        """The released classes, and the rows left out."""
        return float(verdict.squares - verdict.left_squares + self.rows * verdict.left_rows)


@dataclass(frozen=True)
class ClassSize:
    """Released rows per class. Classes only get fewer on the way up and by leaving some out."""

    rows: int
    price: Floats
    name = "class-size"
    by_columns = False

    def floor(self, levels: Levels) -> float:
        """Nothing is known without sizes."""
        return 0.0

    def bound(self, levels: Levels, verdict: NodeVerdict, room: int) -> float:
        """As few rows as may be released in as many classes as there are."""
        return (self.rows - room) / max(verdict.classes, 1)

    def value(self, levels: Levels, verdict: NodeVerdict) -> float:
        """The average size of a released class."""
        return (self.rows - verdict.left_rows) / max(verdict.classes - verdict.left_classes, 1)


LossMeasure = ByColumns | Discernibility | ClassSize
"""A loss with bounds: `floor` of the node and above it, `bound` once it is grouped."""


def iyengar(ladder: Ladder, count: Floats) -> tuple[Floats, Floats]:
    """Leaves below a value's node (`utility.loss`); a row left out loses 1 in every column."""
    return ladder.loss, 1.0 - ladder.loss


def precision(ladder: Ladder, count: Floats) -> tuple[Floats, Floats]:
    """The level over the highest level (Sweeney 2002); a row left out loses 1 in every column."""
    height = np.arange(ladder.levels)[:, None] / max(ladder.levels - 1, 1)
    loss = np.repeat(height, ladder.values, 1)
    return loss, 1.0 - loss


def entropy(ladder: Ladder, count: Floats) -> tuple[Floats, Floats]:
    """The bits per row that are lost by generalizing its values (non-uniform entropy).

    A value tells log(rows of its group) − log(rows of the value) less than it did, counted on the
    table; divided by what the highest level would lose. A row left out loses that much.
    """
    rows = max(count.sum(), 1)
    inside = np.stack([np.bincount(group, count, len(count))[group] for group in ladder.group])
    bits, own = np.log2(np.maximum(inside, 1)), np.log2(np.maximum(count, 1))
    most = float((np.log2(rows) - own) @ count) / rows or 1.0
    return (bits - own) / most, (np.log2(rows) - bits) / most


COLUMNS: Mapping[str, Callable[[Ladder, Floats], tuple[Floats, Floats]]] = {
    "iyengar": iyengar, "precision": precision, "entropy": entropy,
}  # fmt: skip
"""What codes lose at each level of a column, and what leaving them out adds, from their rows."""
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
                where="search.weights" if objective.target is None else "search.target",
                hint=f"weights go with {', '.join(COLUMNS)}",
            )
        room = sum(ladder.group.size for ladder in ladders)
        return SIZES[objective.loss](problem.n_rows, np.zeros(room))
    if objective.loss not in COLUMNS:
        raise UsageError(
            "there is no such loss", where="search.loss", hint=nearest(objective.loss, MEASURES)
        )
    return _by_columns(objective.loss, problem, ladders, _shares(problem, objective.weights))


def loss_of(
    problem: SearchProblem, ladders: Sequence[Ladder], weights: Mapping[str, Fraction] = {}
) -> ByColumns:
    """The loss that all methods report, columns alike unless they have weights."""
    return _by_columns("iyengar", problem, ladders, _shares(problem, weights))


def _by_columns(
    name: str, problem: SearchProblem, ladders: Sequence[Ladder], shares: Sequence[float]
) -> ByColumns:
    totals, prices = [], [np.zeros(0)]
    for ladder, codes, share in zip(ladders, problem.codes.T, shares, strict=True):
        count = np.asarray(np.bincount(codes, problem.rows, ladder.values), dtype=np.float64)
        loss, price = COLUMNS[name](ladder, count)
        per_row = share / max(problem.n_rows, 1)
        totals.append(tuple((loss @ count * per_row).tolist()))
        prices.append(price.ravel() * per_row)
    return ByColumns(name, tuple(totals), np.concatenate(prices))


def _shares(problem: SearchProblem, weights: Mapping[str, Fraction]) -> list[float]:
    known = {column.name for column in problem.columns}
    if not set(weights) <= known:
        raise UsageError("a weight is given to no quasi-identifier", where="search.weights")
    each = [weights.get(column.name, Fraction(1)) for column in problem.columns]
    total = sum(each, Fraction(0))
    if total <= 0:
        raise UsageError("all weights are 0, so nothing would be lost", where="search.weights")
    return [float(weight / total) for weight in each]
