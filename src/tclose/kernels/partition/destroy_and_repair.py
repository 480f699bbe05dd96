"""Destroy and repair: pool a few neighbouring classes, split the pool anew, keep what is cheaper.

A union of classes that keep a monotone requirement keeps it (`docs/mathematics.md` 2.1), so a pool
is always a valid class to split, and every state of the search keeps the constraints. Undoing and
splitting again contains merging, moving and swapping as special cases. How many classes to pool,
how many to look at for neighbours and how many splits to try are *operators*, drawn by what they
have lately saved per effort (adaptive large neighbourhood search, Ropke and Pisinger 2006).
"""

from typing import Any

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY
from cython.cimports.libc.stdint import int64_t
from cython.cimports.tclose.kernels.base.memory import longs
from cython.cimports.tclose.kernels.base.random import draw, draw_unit
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


class DestroyAndRepair:
    """Works on a state that keeps members, with a partitioner for pools of its cells."""

    def __init__(self, state: Any, partitioner: Any) -> None:
        self.state = state
        self.partitioner = partitioner
        self.stream = partitioner.splitter.stream
        self.memory = np.array(OPERATORS, dtype=OPERATOR)
        self.operators = cython.cast(cython.pointer(Operator), longs(self.memory.view("i8")))
        self.n_operators = len(OPERATORS)

    def improve(self, steps: cython.longlong, tightness: cython.double) -> tuple[float, float]:
        """Destroys and repairs so many pools; returns the loss saved and the steps it took."""
        with cython.nogil:
            saved, effort = self._improve(steps, tightness)
        return saved, effort

    def _improve(self, steps, tightness):
        saved: cython.double = 0.0
        effort: cython.double = 0.0
        handled: int64_t = 0
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
        self.pool[0].number = a
        self.pool[0].cost = -INFINITY
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
        self.pool[q].number = c
        self.pool[q].cost = cost

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
