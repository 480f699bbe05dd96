"""Swaps and moves of single cells between classes that lower the loss and keep the constraints.

Swapping two cells with equal sensitive values and weights changes no distribution, so it needs no
check; any other swap or move is checked on both classes. Suppressed cells take part only in
exchanges for a cell with equal sensitive values and weights: the released distribution, by which
all classes are judged, then stays the same.
"""

from typing import Any

import cython
import numpy as np
from cython.cimports.libc.stdint import int64_t
from cython.cimports.tclose.kernels.base.memory import longs
from cython.cimports.tclose.kernels.base.random import draw
from cython.cimports.tclose.kernels.base.table import count_alike
from cython.cimports.tclose.kernels.partition.state import NO_GAIN


class CellSwaps:
    """Works on a state that keeps histograms and cells per code."""

    def __init__(self, state: Any, stream: Any) -> None:
        self.state = state
        self.stream = stream
        tie = np.ascontiguousarray(state.table.arrays.order_tie[0])
        combinations = int(tie.max(initial=-1)) + 1
        peers, first_peer = _group_by_tie(tie, np.arange(len(tie)), combinations)
        suppressed, first_suppressed = _group_by_tie(
            tie, np.flatnonzero(state.label < 0), combinations
        )
        position = np.full(len(tie), -1, dtype=np.int64)
        position[suppressed] = np.arange(len(suppressed))
        self.owners = (tie, peers, first_peer, suppressed, first_suppressed, position)
        self.tie = longs(tie)
        self.peers = longs(peers)
        self.first_peer = longs(first_peer)
        self.suppressed = longs(suppressed)
        self.first_suppressed = longs(first_suppressed)
        self.position = longs(position)

    def improve(self, steps: cython.longlong, tries: cython.longlong) -> tuple[float, int]:
        """Visits random cells; those whose absence would help their class look for a better place.

        Returns the loss saved, and how many looks at a class that took.
        """
        with cython.nogil:
            saved, looks = self._improve(steps, tries)
        return saved, looks

    def _improve(self, steps, tries):
        n = self.state.table.n_cells
        total: cython.double = 0.0
        looks: int64_t = steps
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
                y = (
                    self.peers[first + draw(self.stream, count)]
                    if kind < 2
                    else draw(self.stream, n)
                )
                b = self.state.cell_class[y]
                if b >= 0:
                    saved = self._try_change(x, -1 if kind == 3 else y, b)
            total += saved
        return total, looks

    def _try_change(self, x, y, b):
        """Moves x to class b, in exchange for y if there is one (−1: none), if that pays.

        Returns the loss saved, or 0.
        """
        state_rows = self.state.rows
        table_rows = self.state.table.rows
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
        """Replaces x by a suppressed cell with equal sensitive values that fits its class better.

        Returns the loss saved, or 0.
        """
        a = self.state.cell_class[x]
        first = self.first_suppressed[self.tie[x]]
        count = self.first_suppressed[self.tie[x] + 1] - first
        best: cython.double = NO_GAIN
        found: int64_t = -1
        for _ in range(min(tries, 2 * count)):
            y = self.suppressed[first + draw(self.stream, count)]
            saved = self.state.rows[a] * (self.state.loss[a] - self.state.loss_if(a, x, y))
            if saved > best and count_alike(self.state.table, x, y):
                best = saved
                found = y
        if found < 0:
            return 0.0
        self.state.exchange(a, x, found)
        self.state.cell_class[x] = -1
        self.suppressed[self.position[found]] = x
        self.position[x] = self.position[found]
        return best


def _group_by_tie(tie: Any, cells: Any, combinations: int) -> tuple[Any, Any]:
    """Cells by their sensitive values, and where each combination of these begins."""
    cells = cells[np.argsort(tie[cells], kind="stable")]
    first = np.searchsorted(tie[cells], np.arange(combinations + 1))
    return cells.astype(np.int64), first.astype(np.int64)
