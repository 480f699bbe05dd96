"""Suppression of rows: which cells cost their class more than they are worth.

A cell goes by itself where its absence saves more than it costs; cells that hold a border of their
class together go together, with all beyond. A suppressed row loses everything, in every column.
"""

from typing import Any

import cython
from cython.cimports.libc.stdint import int64_t
from cython.cimports.tclose.kernels.base.memory import longs
from cython.cimports.tclose.kernels.base.random import RandomStream, draw
from cython.cimports.tclose.kernels.base.table import FAR_CODE, SET, add_to_histogram, range_loss
from cython.cimports.tclose.kernels.partition.state import NO_GAIN


class CellSuppression:
    """Works on a state that keeps histograms and cells per code; `room` rows may be suppressed."""

    def __init__(self, state: Any, room: int) -> None:
        self.state = state
        self.room = room - int(state.table.arrays.rows[state.label < 0].sum())

    def reinstate(self, order: Any, tries: cython.longlong, stream: RandomStream) -> None:
        """Suppressed cells return where a class can take them for less than they cost outside."""
        d, cells = self.state.table.n_columns, longs(order)
        for at in range(len(order)):
            cell = cells[at]
            if self.state.cell_class[cell] >= 0:
                continue
            rows = self.state.table.rows[cell]
            best: cython.double = NO_GAIN
            found: cython.Py_ssize_t = -1
            for _ in range(tries):
                b = draw(stream, self.state.capacity)
                saved: cython.double = rows * d + self.state.rows[b] * self.state.loss[b]
                saved -= (self.state.rows[b] + rows) * self.state.loss_if(b, -1, cell)
                if saved > best and self.state.keeps_if(b, -1, cell):
                    best, found = saved, b
            if found >= 0:
                self.state.exchange(found, -1, cell)
                self.room += rows

    def suppress(self, order: Any) -> None:
        """Cells whose absence saves their class more than they cost go, while there is room."""
        d, cells = self.state.table.n_columns, longs(order)
        for at in range(len(order)):
            cell = cells[at]
            a = self.state.cell_class[cell]
            rows = self.state.table.rows[cell]
            if a < 0 or self.state.n_cells[a] < 2 or rows > self.room:
                continue
            saved: cython.double = self.state.rows[a] * self.state.loss[a] - rows * d
            saved -= (self.state.rows[a] - rows) * self.state.loss_if(a, cell, -1)
            if saved > NO_GAIN and self.state.keeps_if(a, cell, -1):
                self.state.remove(a, cell)
                self.room -= rows

    def trim(self, members: Any, ends: Any) -> None:
        """All cells of a class at or beyond a code go together, if that saves more than it costs;
        `members` are the cells of each class side by side, `ends` where each class ends."""
        cells, end = longs(members), longs(ends)
        lo: cython.Py_ssize_t = 0
        for c in range(self.state.capacity):
            self.number, self.cells, self.n_cells = c, cells + lo, end[c] - lo
            while self._trim_class():
                pass
            lo = end[c]

    def _trim_class(self):
        """Suppresses what lies beyond the best edge of the class; whether anything did."""
        d = self.state.table.n_columns
        edge = self._choose_edge()
        if edge.saved <= NO_GAIN or not self._keeps_without(cython.address(edge)):
            return False
        for p in range(self.n_cells):
            x = self.cells[p]
            code = self.state.table.codes[x * d + edge.column]
            if self.state.cell_class[x] == self.number and is_beyond(code, edge.upper, edge.code):
                self.state.remove(self.number, x)
                self.room -= self.state.table.rows[x]
        return True

    def _choose_edge(self):
        """The edge that saves most if what is beyond it goes, of a few outermost codes per
        column."""
        d, size = self.state.table.n_columns, self.state.rows[self.number]
        best: Edge
        best.saved, best.column, best.upper, best.code = 0.0, -1, False, -1
        edge: Edge
        edge.saved = 0.0
        for side in range(2 * d):
            edge.column, edge.upper = side // 2, side % 2 == 1
            if self.state.table.columns[edge.column].form == SET:
                continue
            edge.code = FAR_CODE if edge.upper else -1
            for _ in range(EDGES):
                edge.code = self._next_code(cython.address(edge))
                if edge.code == -1 or edge.code == FAR_CODE:
                    break
                rows, loss = self._measure_without(cython.address(edge))
                if rows > self.room or rows >= size:
                    break
                edge.saved = size * self.state.loss[self.number] - (size - rows) * loss - rows * d
                if edge.saved > best.saved:
                    best = edge
        return best

    def _next_code(self, edge):
        """The next code of the class inwards of an edge; −1 or FAR_CODE after the last."""
        codes, d = self.state.table.codes + edge.column, self.state.table.n_columns
        following: int64_t = -1 if edge.upper else FAR_CODE
        for p in range(self.n_cells):
            x = self.cells[p]
            here: int64_t = codes[x * d]
            if self.state.cell_class[x] == self.number and (
                not is_beyond(here, edge.upper, edge.code)
            ):
                following = max(following, here) if edge.upper else min(following, here)
        return following

    def _measure_without(self, edge):
        """The rows of the class beyond an edge, and the loss per row of what would be left."""
        d, codes, seen = self.state.table.n_columns, self.state.table.codes, self.state.seen
        rows: int64_t = 0
        total: cython.double = 0.0
        for i in range(d):
            low: int64_t = FAR_CODE
            high: int64_t = -1
            found: int64_t = 0
            for p in range(self.n_cells):
                seen[codes[self.cells[p] * d + i]] = 0
            for p in range(self.n_cells):
                x = self.cells[p]
                if self.state.cell_class[x] != self.number:
                    continue
                code: int64_t = codes[x * d + i]
                if is_beyond(codes[x * d + edge.column], edge.upper, edge.code):
                    rows += self.state.table.rows[x] if i == 0 else 0
                else:
                    low, high = min(low, code), max(high, code)
                    found += 1 - seen[code]
                    seen[code] = 1
            if found > 0:
                if self.state.table.columns[i].form == SET:
                    low, high = 0, found
                total += range_loss(self.state.table, i, low, high)
        return rows, total

    def _keeps_without(self, edge):
        """Whether the class keeps the constraints without what is beyond an edge."""
        d, probe = self.state.table.n_columns, self.state.probe
        now = self.state.histogram(self.number)
        for slot in range(self.state.table.constraints.n_slots):
            probe[slot] = now[slot]
        rows = self.state.rows[self.number]
        for p in range(self.n_cells):
            x = self.cells[p]
            code = self.state.table.codes[x * d + edge.column]
            if self.state.cell_class[x] == self.number and is_beyond(code, edge.upper, edge.code):
                rows -= self.state.table.rows[x]
                add_to_histogram(self.state.table, x, -1, probe)
        return rows > 0 and self.state.table.constraints.keeps(probe, rows, self.state.scratch)


def is_beyond(code, upper, edge):
    """Whether a code lies at or beyond an edge."""
    return code >= edge if upper else code <= edge
