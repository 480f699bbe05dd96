"""Changes of a partition that lower its loss and keep the constraints.

Swaps: two cells with equal sensitive values and weights may change places unchecked, since no
distribution changes; any other change is checked on both classes. A suppressed cell is exchanged
only for its equal, so that the released distribution, by which classes are judged, stays the same.

Destroy and repair: a union of classes that keep a monotone requirement keeps it
(`docs/mathematics.md` 2.1), so neighbouring classes may be pooled and split anew. How many to pool,
to look at, and how many splits to try are *operators*, drawn by what they have lately saved per
effort (adaptive large neighbourhood search, Ropke and Pisinger 2006).
"""

from typing import Any

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY
from cython.cimports.libc.stdint import int64_t
from cython.cimports.tclose.kernels.base.memory import Memory, longs
from cython.cimports.tclose.kernels.base.random import draw, draw_unit
from cython.cimports.tclose.kernels.base.table import count_alike
from cython.cimports.tclose.kernels.partition.state import NO_GAIN

OPERATOR = np.dtype(
    [("pooled", "i8"), ("sampled", "i8"), ("tries", "i8"), ("saved", "f8"), ("effort", "f8")]
)
OPERATORS = [
    (pooled, sampled, tries, 10.0, 1000.0)
    for pooled in (1, 2, 3, 4)
    for sampled in (32, 128, 512, 2048)
    for tries in (4, 10)
]


class CellSwaps:
    """Works on a state that keeps histograms and cells per code."""

    def __init__(self, state: Any, stream: Any) -> None:
        self.state, self.stream = state, stream
        memory = Memory()
        self.memory = memory
        tie = np.ascontiguousarray(state.table.arrays.order_tie[0])
        peers, first_peer = group_by_tie(tie, np.arange(len(tie)))
        suppressed, first_suppressed = group_by_tie(tie, np.flatnonzero(state.label < 0))
        position = np.full(len(tie), -1)
        position[suppressed] = np.arange(len(suppressed))
        self.tie, self.position = memory.longs_of(tie), memory.longs_of(position)
        self.peers, self.first_peer = memory.longs_of(peers), memory.longs_of(first_peer)
        self.suppressed = memory.longs_of(suppressed)
        self.first_suppressed = memory.longs_of(first_suppressed)

    def improve(self, steps: cython.longlong, tries: cython.longlong) -> tuple[float, int]:
        """Visits random cells; those whose absence would help their class look for a better place:
        the loss saved, and the looks at a class that took."""
        n = self.state.table.n_cells
        total: cython.double = 0.0
        looks: int64_t = steps
        with cython.nogil:
            for _ in range(steps):
                x = draw(self.stream, n)
                a = self.state.cell_class[x]
                if a < 0 or self.state.n_cells[a] < 2:
                    continue
                if self.state.loss_if(a, x, -1) >= self.state.loss[a] - 1e-12:
                    continue
                saved = self._try_reinstating(x, tries)
                first = self.first_peer[self.tie[x]]
                count = self.first_peer[self.tie[x] + 1] - first
                for _ in range(tries):
                    if saved != 0.0:
                        break
                    looks += 1
                    kind = draw(self.stream, 4)
                    if kind < 2:
                        y = self.peers[first + draw(self.stream, count)]
                    else:
                        y = draw(self.stream, n)
                    b = self.state.cell_class[y]
                    if b >= 0:
                        saved = self._try_change(x, -1 if kind == 3 else y, b)
                total += saved
        return total, looks

    def _try_change(self, x, y, b):
        """The loss saved (or 0) by moving x to class b, for y if there is one (−1: none), if that
        pays."""
        state_rows, table_rows = self.state.rows, self.state.table.rows
        a = self.state.cell_class[x]
        if a == b:
            return 0.0
        moved = table_rows[x] - (table_rows[y] if y >= 0 else 0)
        saved: cython.double = state_rows[a] * self.state.loss[a]
        saved -= (state_rows[a] - moved) * self.state.loss_if(a, x, y)
        if saved <= NO_GAIN:
            return 0.0
        saved += state_rows[b] * self.state.loss[b]
        saved -= (state_rows[b] + moved) * self.state.loss_if(b, y, x)
        if saved <= NO_GAIN:
            return 0.0
        if y < 0 or self.tie[x] != self.tie[y] or not count_alike(self.state.table, x, y):
            if not (self.state.keeps_if(a, x, y) and self.state.keeps_if(b, y, x)):
                return 0.0
        self.state.exchange(a, x, y)
        self.state.exchange(b, y, x)
        return saved

    def _try_reinstating(self, x, tries):
        """The loss saved (or 0) by a suppressed cell with equal sensitive values in the place of
        x."""
        a, first = self.state.cell_class[x], self.first_suppressed[self.tie[x]]
        count = self.first_suppressed[self.tie[x] + 1] - first
        best: cython.double = NO_GAIN
        found: int64_t = -1
        for _ in range(min(tries, 2 * count)):
            y = self.suppressed[first + draw(self.stream, count)]
            saved = self.state.rows[a] * (self.state.loss[a] - self.state.loss_if(a, x, y))
            if saved > best and count_alike(self.state.table, x, y):
                best, found = saved, y
        if found < 0:
            return 0.0
        self.state.exchange(a, x, found)
        self.state.cell_class[x] = -1
        self.suppressed[self.position[found]] = x
        self.position[x] = self.position[found]
        return best


def group_by_tie(tie: Any, cells: Any) -> tuple[Any, Any]:
    """Cells by their sensitive values, and where each combination of these begins."""
    cells = cells[np.argsort(tie[cells], kind="stable")]
    return cells, np.searchsorted(tie[cells], np.arange(int(tie.max(initial=-1)) + 2))


class DestroyAndRepair:
    """Works on a state that keeps members, with a partitioner for pools of its cells."""

    def __init__(self, state: Any, partitioner: Any) -> None:
        self.state, self.partitioner = state, partitioner
        self.stream = partitioner.splitter.stream
        self.memory = np.array(OPERATORS, dtype=OPERATOR)
        self.operators = cython.cast(cython.pointer(Operator), longs(self.memory.view("i8")))
        self.n_operators = len(OPERATORS)

    def improve(self, steps: cython.longlong, tightness: cython.double) -> tuple[float, float]:
        """Destroys and repairs so many pools; returns the loss saved and the steps it took."""
        saved: cython.double = 0.0
        effort: cython.double = 0.0
        handled: int64_t = 0
        with cython.nogil:
            for _ in range(steps):
                if handled > 100 * USUAL_POOL:
                    break
                operator = cython.address(self.operators[self._choose_operator()])
                a = self.state.live[draw(self.stream, self.state.n_live)]
                self._choose_pool(a, operator.pooled, operator.sampled)
                effort += min(operator.sampled, 4 * self.state.n_live) * self.state.table.n_columns
                effort += 100
                most: int64_t = USUAL_POOL if draw(self.stream, 20) > 0 else 10 * USUAL_POOL
                while self.n_pooled > 1 and self._count_pooled_cells() > most:
                    self.n_pooled -= 1
                n_cells = self._count_pooled_cells()
                if n_cells > LARGEST_POOL:
                    continue
                before = self._load_pool()
                plainly: cython.bint = draw(self.stream, 4) == 0
                self.partitioner.begin(n_cells)
                self.partitioner.split(
                    cython.cast(int64_t, 1) << 60, operator.tries, plainly, tightness
                )
                handled += n_cells
                gain = before - self.partitioner.loss
                effort += self.partitioner.effort
                operator.saved = 0.99 * operator.saved + max(gain, 0.0)
                operator.effort = 0.99 * operator.effort + n_cells * (2 + operator.tries)
                if gain > NO_GAIN:
                    saved += gain
                    self._replace_pool()
        return saved, effort

    def _choose_operator(self):
        """One in proportion to what it saved per effort lately; one time in ten, any."""
        if draw(self.stream, 10) == 0:
            return draw(self.stream, self.n_operators)
        total: cython.double = 0.0
        for q in range(self.n_operators):
            total += self.operators[q].saved / self.operators[q].effort
        mark = draw_unit(self.stream) * total
        for q in range(self.n_operators):
            mark -= self.operators[q].saved / self.operators[q].effort
            if mark <= 0.0:
                return q
        return self.n_operators - 1

    def _choose_pool(self, a, want, sampled):
        """Pools class a and those of a random sample whose union with it costs least."""
        self.pool[0].number, self.pool[0].cost = a, -INFINITY
        self.n_pooled = 1
        for _ in range(min(sampled, 4 * self.state.n_live)):
            b = self.state.live[draw(self.stream, self.state.n_live)]
            if self._is_pooled(b):
                continue
            cost = self.state.union_cost(a, b) * (0.9 + 0.2 * draw_unit(self.stream))
            if want > 1 and (self.n_pooled < want or cost < self.pool[want - 1].cost):
                self._insert(b, cost, want)

    def _is_pooled(self, c):
        for q in range(self.n_pooled):
            if self.pool[q].number == c:
                return True
        return False

    def _insert(self, c, cost, want):
        """Puts a class among the pooled, which stand by cost behind the first."""
        self.n_pooled = min(self.n_pooled + 1, want)
        q = self.n_pooled - 1
        while q > 1 and self.pool[q - 1].cost > cost:
            self.pool[q] = self.pool[q - 1]
            q -= 1
        self.pool[q].number, self.pool[q].cost = c, cost

    def _count_pooled_cells(self):
        found: int64_t = 0
        for q in range(self.n_pooled):
            found += self.state.n_cells[self.pool[q].number]
        return found

    def _load_pool(self):
        """Hands the cells of the pooled classes to the partitioner; returns what they lose."""
        count: cython.Py_ssize_t = 0
        loss: cython.double = 0.0
        for q in range(self.n_pooled):
            c = self.pool[q].number
            loss += self.state.rows[c] * self.state.loss[c]
            cell = self.state.first_cell[c]
            while cell >= 0:
                self.partitioner.ids[count] = cell
                count += 1
                cell = self.state.next_cell[cell]
        return loss

    def _replace_pool(self):
        """Puts the classes that the partitioner found in the place of those that were pooled."""
        for q in range(self.n_pooled):
            self.state.dissolve(self.pool[q].number)
        lo: cython.Py_ssize_t = 0
        for q in range(self.partitioner.n_classes):
            self.state.create(self.partitioner.ids, lo, self.partitioner.class_end[q])
            lo = self.partitioner.class_end[q]
