"""The full-domain generalization with the least loss, proved; or the best so far and a bound.

The lattice is searched box by box. A box is all nodes between a lowest and a highest; the floor of
its lowest node is a bound for all of them, and boxes are opened in the order of their floors, so
the least floor that is still open is a bound for everything that has not been seen.

1. From the lowest node of a box a path climbs by the cheapest steps as long as the floor stays
   under the best loss known, and the node at its end is judged. Where merging keeps the promise and
   no row may be left out, a node that fails takes all finer nodes with it (*predictive tagging*,
   as in Flash, Kohlmayer 2012): what remains of the box is cut into boxes whose lowest nodes are
   above it. A node that holds is a new best, and bisection finds the lowest that holds on its path.
2. Where rows may be left out, failing is not inherited by finer nodes, but two things are: rows in
   classes of fewer than k are in such classes at every finer node too, and of a class at distance
   D > t a share of (D − t) / (1 − t) is lost however divided (`docs/mathematics.md` 2.5). Nodes
   that lose too many rows so are tagged like above; the rest is judged one by one, cheapest first.
3. Every new best is polished by single steps: a greedy dive, as in Lightning (Prasser 2016).

Boxes and tags take bounded memory. A box that must be given up leaves its floor behind, and the
bound counts it.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tclose.search.full_domain.domain import Domain, domain_of, nothing_found
from tclose.search.full_domain.lattice import Levels
from tclose.search.full_domain.rollup import NodeVerdict, Reference
from tclose.search.outcome import Budget, Clock, Outcome, Trial
from tclose.search.problem import SearchProblem

MOST_BOXES = 100_000
MOST_TAGS = 4_096
MOST_KNOWN = 100_000

Box = tuple[float, int, Levels, Levels, bool]
"""The floor, the height of the lowest node, the lowest and the highest node, and whether no node of
the box can be tagged."""


def optimal(
    problem: SearchProblem,
    budget: Budget,
    *,
    reference: Reference = "released",
    memory: int | None = None,
) -> Outcome:
    """The full-domain generalization with the least loss.

    Reference "table" is only to compare with tools that reckon so, not to publish.
    """
    search = _Search(domain_of(problem, Clock(budget), reference=reference, memory=memory))
    search.run()
    if search.best is None:
        raise nothing_found(finished=search.finished)
    return search.domain.outcome(
        search.best, "optimal", bound=search.bound, tried=tuple(search.tried), value=search.least
    )


@dataclass
class _Search:
    """One search: the best node so far, open boxes, and nodes below which nothing holds."""

    domain: Domain
    best: Levels | None = None
    least: float = math.inf
    tried: list[Trial] = field(default_factory=list)
    finished: bool = False
    _open: list[Box] = field(default_factory=list)
    _given_up: float = math.inf
    _known: dict[Levels, NodeVerdict] = field(default_factory=dict)
    _polishing: bool = False

    def __post_init__(self) -> None:
        domain = self.domain
        self.inherited = domain.problem.monotone and not domain.room
        """Whether a node that fails says that all finer nodes fail."""
        self._tags = np.zeros((MOST_TAGS, len(domain.ladders)), dtype=np.int64)
        self._tagged = 0

    @property
    def bound(self) -> float:
        """What any release loses at least."""
        following = min((box[0] for box in self._open), default=math.inf)
        return min(self.least, self._given_up, following)

    def run(self) -> None:
        """Searches until nothing is left that could be better, or time is up."""
        lattice = self.domain.lattice
        self._push(lattice.low, lattice.high, swept=False)
        if self._holds(lattice.high):
            self._raise()
            while self._open and self._open[0][0] < self.least:
                if self.domain.clock.is_over("searching the lattice"):
                    return
                self._visit(heapq.heappop(self._open))
        self._open.clear()
        self.finished = self._given_up >= self.least

    def _raise(self) -> None:
        """Columns below their lowest level that holds with all others at their highest can hold
        nowhere: the first box begins above."""
        low, high = self.domain.lattice.low, self.domain.lattice.high
        lowest = list(low)
        for at in range(len(low)):
            levels = range(low[at], high[at] + 1)
            column = [(*high[:at], level, *high[at + 1 :]) for level in levels]
            if self.domain.clock.is_over("searching the lattice"):
                return
            lowest[at] += self._bisect(column)
        self._open.clear()
        self._push(tuple(lowest), high, swept=False)

    def _visit(self, box: Box) -> None:
        floor, _, low, high, swept = box
        if swept:
            self._look(low)
            self._split(low, high, low, swept=True)
            return
        tag = self._tag(low, high)
        if tag is not None:
            self._split(low, high, tag, swept=False)
            return
        path = self._path(low, high)
        if not self._holds(path[-1]):
            self._split(low, high, path[-1], swept=False)
            return
        lowest = self._bisect(path)
        if lowest > 0:
            self._push(low, high, swept=False, floor=floor)
        elif not self.inherited:
            self._push(low, high, swept=True, floor=floor)

    def _bisect(self, path: list[Levels]) -> int:
        """The first node of a path that holds; the last is known to."""
        fails, holds = -1, len(path) - 1
        while holds - fails > 1:
            middle = (fails + holds) // 2
            if self._holds(path[middle]):
                holds = middle
            else:
                fails = middle
        return holds

    def _holds(self, node: Levels) -> bool:
        """Whether a node, and so every coarser one, has what is inherited; tags it if not."""
        verdict = self._look(node, bounding=not self.inherited)
        held = verdict.feasible if self.inherited else verdict.lost <= self.domain.room
        if not held:
            self._tags[self._tagged % MOST_TAGS] = node
            self._tagged += 1
        return held

    def _look(self, node: Levels, *, bounding: bool = False) -> NodeVerdict:
        """Judges a node; a new best is polished."""
        if node in self._known:
            return self._known[node]
        domain = self.domain
        verdict = domain.look(node, bounding=bounding)
        if len(self._known) < MOST_KNOWN:
            self._known[node] = verdict
        value = domain.value(node, verdict)
        if value < self.least:
            self.best, self.least = node, value
            self.tried.append(Trial("a better node", value, domain.clock.used))
            domain.clock.loss = value
            self._polish()
        return verdict

    def _polish(self) -> None:
        """Steps to better neighbours for as long as there are any."""
        if self._polishing:
            return
        self._polishing, node = True, None
        while node != self.best and self.best is not None:
            node = self.best
            for near in self._near(node):
                if self.best != node or self.domain.clock.is_over("searching the lattice"):
                    break
                if self.domain.measure.floor(near) < self.least and self._tag(near, near) is None:
                    self._holds(near)
        self._polishing = False

    def _near(self, node: Levels) -> list[Levels]:
        """The neighbours that may be better, the cheapest first."""
        lattice = self.domain.lattice
        near = list(lattice.predecessors(node))
        if not self.inherited:
            near += lattice.successors(node)
        return sorted(near, key=self.domain.measure.floor)

    def _tag(self, low: Levels, high: Levels) -> Levels | None:
        """Of the tags above the lowest node of a box, the one with most of the box below it."""
        tags = self._tags[: min(self._tagged, MOST_TAGS)]
        above = np.flatnonzero((tags >= low).all(axis=1))
        if not len(above):
            return None
        inside = np.minimum(tags[above], high)
        return tuple(inside[int(np.argmax(inside.sum(axis=1)))].tolist())

    def _path(self, low: Levels, high: Levels) -> list[Levels]:
        """From the lowest node up by the cheapest steps, while the floor is under the best."""
        path = self.domain.house.path(low, high)
        inside, outside = 0, len(path)
        while outside - inside > 1:
            middle = (inside + outside) // 2
            if self._floor(path[middle]) < self.least:
                inside = middle
            else:
                outside = middle
        return path[: inside + 1]

    def _split(self, low: Levels, high: Levels, gone: Levels, *, swept: bool) -> None:
        """What is left of a box without the nodes below `gone`: boxes that do not overlap."""
        for lowest, highest in _rest(low, high, gone, self._order(low, high, gone)):
            self._push(lowest, highest, swept=swept)

    def _order(self, low: Levels, high: Levels, gone: Levels) -> list[int]:
        """Columns in which a box goes on above a node, the dearest step first."""
        totals = self.domain.house.totals
        rising = [at for at, level in enumerate(gone) if level < high[at]]
        return sorted(rising, key=lambda at: totals[at][low[at]] - totals[at][gone[at] + 1])

    def _push(self, low: Levels, high: Levels, *, swept: bool, floor: float | None = None) -> None:
        floor = self._floor(low) if floor is None else floor
        if floor >= self.least:
            return
        heapq.heappush(self._open, (floor, sum(low), low, high, swept))
        if len(self._open) > MOST_BOXES:
            self._open.sort()
            half = MOST_BOXES // 2
            self._given_up = min(self._given_up, self._open[half][0])
            del self._open[half:]

    def _floor(self, node: Levels) -> float:
        """A bound for a node and all coarser ones."""
        domain = self.domain
        if domain.measure.by_columns:
            return domain.measure.floor(node)
        if node in self._known:
            tally = self._known[node].tally
        else:
            before = domain.roller.effort
            tally = domain.roller.sizes(node)
            domain.clock.spend(domain.roller.effort - before)
        return domain.measure.bound(node, tally, domain.room)


def _rest(
    low: Levels, high: Levels, gone: Levels, order: list[int]
) -> Iterator[tuple[Levels, Levels]]:
    """The box without the nodes at or below `gone`, as boxes that do not overlap.

    >>> list(_rest((0, 0), (2, 2), (1, 0), [0, 1]))
    [((2, 0), (2, 2)), ((0, 1), (1, 2))]
    """
    roof = list(high)
    for at in order:
        floor = list(low)
        floor[at] = gone[at] + 1
        yield tuple(floor), tuple(roof)
        roof[at] = gone[at]
