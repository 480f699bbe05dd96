"""Suppression of rows: which cells cost their class more than they are worth.

A cell whose absence saves more than it costs is suppressed by itself. Where several cells hold a
border of their class, none of them saves anything alone: they go together, with all that lie
beyond. A suppressed row loses everything, in every column.
"""

from typing import Any

import cython
from cython.cimports.libc.stdint import int64_t
from cython.cimports.tclose.kernels.base.memory import longs
from cython.cimports.tclose.kernels.base.random import RandomStream, draw
from cython.cimports.tclose.kernels.base.table import (
    FAR_CODE,
    SET,
    add_to_histogram,
    range_loss,
)
from cython.cimports.tclose.kernels.partition.state import NO_GAIN


class CellSuppression:
    """Works on a state that keeps histograms and cells per code; `room` rows may be suppressed."""

    def __init__(self, state: Any, room: int) -> None:
        self.state = state
        self.room = room - int(state.table.arrays.rows[state.label < 0].sum())

    def reinstate(self, order: Any, tries: cython.longlong, stream: RandomStream) -> None:
        """Suppressed cells return where a class can take them for less than they cost outside."""
        self._reinstate(longs(order), len(order), tries, stream)

    def suppress(self, order: Any) -> None:
        """Cells whose absence saves their class more than they cost go, while there is room."""
        self._suppress(longs(order), len(order))

    def trim(self, members: Any, ends: Any) -> None:
        """All cells of a class at or beyond a code go together, if that saves more than it costs.

        `members` are the cells of each class side by side, `ends` where each class ends.
        """
        self._trim(longs(members), longs(ends))

    def _reinstate(self, order, count, tries, stream):
        d = self.state.table.n_columns
        for at in range(count):
            x = order[at]
            if self.state.cell_class[x] >= 0:
                continue
            rows = self.state.table.rows[x]
            best: cython.double = NO_GAIN
            found: cython.Py_ssize_t = -1
            for _ in range(tries):
                b = draw(stream, self.state.capacity)
                saved: cython.double = rows * d + self.state.rows[b] * self.state.loss[b]
                saved -= (self.state.rows[b] + rows) * self.state.loss_if(b, -1, x)
                if saved > best and self.state.keeps_if(b, -1, x):
                    best = saved
                    found = b
            if found >= 0:
                self.state.exchange(found, -1, x)
                self.room += rows

    def _suppress(self, order, count):
        d = self.state.table.n_columns
        for at in range(count):
            x = order[at]
            a = self.state.cell_class[x]
            rows = self.state.table.rows[x]
            if a < 0 or self.state.n_cells[a] < 2 or rows > self.room:
                continue
            saved: cython.double = self.state.rows[a] * self.state.loss[a] - rows * d
            saved -= (self.state.rows[a] - rows) * self.state.loss_if(a, x, -1)
            if saved > NO_GAIN and self.state.keeps_if(a, x, -1):
                self.state.remove(a, x)
                self.room -= rows

    def _trim(self, members, ends):
        lo: cython.Py_ssize_t = 0
        for c in range(self.state.capacity):
            while self._trim_class(c, members, lo, ends[c]):
                pass
            lo = ends[c]

    def _trim_class(self, c, members, lo, hi):
        """Suppresses what lies beyond the best edge of class c; whether anything did."""
        d = self.state.table.n_columns
        edge = self._choose_edge(c, members, lo, hi)
        if edge.saved <= NO_GAIN or not self._keeps_without(
            c, members, lo, hi, cython.address(edge)
        ):
            return False
        for p in range(lo, hi):
            x = members[p]
            code = self.state.table.codes[x * d + edge.column]
            if self.state.cell_class[x] == c and _is_beyond(code, edge.upper, edge.code):
                self.state.remove(c, x)
                self.room -= self.state.table.rows[x]
        return True

    def _choose_edge(self, c, members, lo, hi):
        """The edge of class c that saves most if what is beyond it goes.

        The outermost few codes of every column but sets are tried.
        """
        d = self.state.table.n_columns
        size = self.state.rows[c]
        best: Edge
        best.saved = 0.0
        best.column = -1
        best.upper = False
        best.code = -1
        edge: Edge
        edge.saved = 0.0
        for j in range(d):
            if self.state.table.columns[j].form == SET:
                continue
            for side in range(2):
                edge.column = j
                edge.upper = side == 1
                edge.code = FAR_CODE if edge.upper else -1
                for _ in range(EDGES):
                    edge.code = self._next_code(c, members, lo, hi, j, edge.upper, edge.code)
                    if edge.code == -1 or edge.code == FAR_CODE:
                        break
                    rows, loss = self._measure_without(c, members, lo, hi, cython.address(edge))
                    if rows > self.room or rows >= size:
                        break
                    edge.saved = size * self.state.loss[c] - (size - rows) * loss - rows * d
                    if edge.saved > best.saved:
                        best = edge
        return best

    def _next_code(self, c, members, lo, hi, j, upper, code):
        """The next code inwards of class c in column j; −1 or FAR_CODE after the last."""
        d = self.state.table.n_columns
        following: int64_t = -1 if upper else FAR_CODE
        for p in range(lo, hi):
            x = members[p]
            here: int64_t = self.state.table.codes[x * d + j]
            if self.state.cell_class[x] == c and not _is_beyond(here, upper, code):
                following = max(following, here) if upper else min(following, here)
        return following

    def _measure_without(self, c, members, lo, hi, edge):
        """The rows of class c beyond an edge, and the loss per row of what would be left of it."""
        d = self.state.table.n_columns
        codes = self.state.table.codes
        seen = self.state.seen
        rows: int64_t = 0
        total: cython.double = 0.0
        for i in range(d):
            low: int64_t = FAR_CODE
            high: int64_t = -1
            found: int64_t = 0
            for p in range(lo, hi):
                seen[codes[members[p] * d + i]] = 0
            for p in range(lo, hi):
                x = members[p]
                if self.state.cell_class[x] != c:
                    continue
                code: int64_t = codes[x * d + i]
                if _is_beyond(codes[x * d + edge.column], edge.upper, edge.code):
                    rows += self.state.table.rows[x] if i == 0 else 0
                else:
                    low = min(low, code)
                    high = max(high, code)
                    found += 1 - seen[code]
                    seen[code] = 1
            if found > 0:
                if self.state.table.columns[i].form == SET:
                    total += range_loss(self.state.table, i, 0, found)
                else:
                    total += range_loss(self.state.table, i, low, high)
        return rows, total

    def _keeps_without(self, c, members, lo, hi, edge):
        """Whether class c keeps the constraints without what is beyond an edge."""
        d = self.state.table.n_columns
        now = self.state.histogram(c)
        for slot in range(self.state.table.constraints.n_slots):
            self.state.probe[slot] = now[slot]
        rows = self.state.rows[c]
        for p in range(lo, hi):
            x = members[p]
            code = self.state.table.codes[x * d + edge.column]
            if self.state.cell_class[x] == c and _is_beyond(code, edge.upper, edge.code):
                rows -= self.state.table.rows[x]
                add_to_histogram(self.state.table, x, -1, self.state.probe)
        return rows > 0 and self.state.table.constraints.keeps(
            self.state.probe, rows, self.state.scratch
        )


def _is_beyond(code, upper, edge):
    """Whether a code lies at or beyond an edge."""
    return code >= edge if upper else code <= edge
