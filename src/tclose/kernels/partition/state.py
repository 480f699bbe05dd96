"""One partition of the cells into classes, and how sizes, boxes, losses and histograms change.

All searches that improve a partition work on this state. What a search does not need is not kept:

- `histograms`  rows per sensitive value, to judge a class;
- `code_cells`  cells per code, so that the box of a class without one of its cells is found in
  constant time, or by a short scan inwards where that cell alone held a border;
- `members`     the cells of each class as a list, so that classes can be dissolved and created.
"""

from typing import Any

import cython
import numpy as np
from cython.cimports.libc.stdint import int64_t
from cython.cimports.tclose.kernels.base.memory import Memory, longs
from cython.cimports.tclose.kernels.base.table import (
    FAR_CODE,
    SET,
    add_to_histogram,
    count_bits,
    range_loss,
)  # fmt: skip

NO_GAIN = 1e-9
LARGEST_CODE_CELLS = 250_000_000
"""Entries of the counts per class and code, and of the histograms, that are kept at most."""


def fits_code_cells(table: Any, label: Any) -> bool:
    """Whether cells per code can be kept for the classes of a labelling."""
    classes = int(label.max(initial=-1)) + 1
    return classes * (table.n_codes + 2 * table.constraints.n_slots) <= LARGEST_CODE_CELLS


class PartitionState:
    """The classes of a labelling, numbered from 0; cells labelled −1 are suppressed."""

    def __init__(
        self,
        table: Any,
        label: Any,
        *,
        histograms: bool = False,
        code_cells: bool = False,
        members: bool = False,
    ) -> None:
        self.table = table
        classes = int(label.max(initial=-1)) + 1
        if members:  # of at least k rows each, and a few to spare while classes are replaced
            most = min(self.table.n_cells, int(table.arrays.rows.sum()) // table.constraints.k)
            classes = max(classes, most) + 8
        boxes, slots = classes * self.table.n_columns, self.table.constraints.n_slots
        memory = Memory()
        self.capacity, self.memory = classes, memory
        self.label, self.owner = np.array(label, dtype=np.int64), np.arange(classes)
        self.cell_class, self.merged_into = longs(self.label), longs(self.owner)
        self.rows, self.n_cells = memory.longs(classes), memory.longs(classes)
        self.low, self.high = memory.longs(boxes), memory.longs(boxes)
        self.present, self.loss = memory.longs(boxes), memory.doubles(classes)
        self.scratch = memory.longs(table.constraints.scratch_size)
        self.seen = memory.longs(self.table.widest_column + 2)
        if histograms:
            self.histograms, self.probe = memory.longs(classes * slots), memory.longs(slots)
        if code_cells:
            self.code_cells = memory.ints(classes * self.table.n_codes)
            widths = table.arrays.columns["n_codes"]
            self.column_start = memory.longs_of(np.cumsum(widths) - widths)
        if members:
            self.first_cell = memory.longs_of(np.full(classes, -1))
            self.next_cell = memory.longs_of(np.full(self.table.n_cells, -1))
            self.live, self.live_position = memory.longs(classes), memory.longs(classes)
            self.free, self.n_free = memory.longs_of(np.arange(classes)[::-1]), classes
            self._create_all()
        else:
            self._fill()

    def _create_all(self) -> None:
        order = np.argsort(self.label, kind="stable")
        order = order[self.label[order] >= 0]
        cells, lo = longs(order), 0
        for hi in np.flatnonzero(np.diff(self.label[order], append=-1)) + 1:
            self.create(cells, lo, hi)
            lo = hi

    def _fill(self) -> None:
        """Sizes, boxes, losses, histograms and counts from the labels."""
        d = self.table.n_columns
        for c in range(self.capacity):
            self._empty_box(c)
        for cell in range(self.table.n_cells):
            c = self.cell_class[cell]
            if c < 0:
                continue
            self.n_cells[c] += 1
            self.rows[c] += self.table.rows[cell]
            self._widen_box(c, cell)
            if self.histograms:
                add_to_histogram(self.table, cell, 1, self.histogram(c))
            if self.code_cells:
                cells = self.code_cells + c * self.table.n_codes
                for j in range(d):
                    cells[self.column_start[j] + self.table.codes[cell * d + j]] += 1
        for c in range(self.capacity):
            if self.n_cells[c] > 0:
                self._describe_boxes(c)

    def read_labels(self) -> Any:
        """The class of each cell, merges followed; numbers are in no particular order."""
        owner = self.owner
        while (owner[owner] != owner).any():
            owner = owner[owner]
        return np.where(self.label >= 0, owner[self.label], -1) if len(owner) else self.label.copy()

    def count_failing(self) -> int:
        """How many classes break a constraint; histograms are kept."""
        found = 0
        for c in range(self.capacity):
            found += self.rows[c] > 0 and not self.keeps(c)
        return found

    def histogram(self, c):
        """Rows of class c by sensitive value."""
        return self.histograms + c * self.table.constraints.n_slots

    def _empty_box(self, c):
        for at in range(c * self.table.n_columns, (c + 1) * self.table.n_columns):
            self.low[at], self.high[at], self.present[at] = FAR_CODE, -1, 0

    def _widen_box(self, c, cell):
        """Takes the codes of a cell into the box of class c."""
        d = self.table.n_columns
        codes, low, high = self.table.codes + cell * d, self.low + c * d, self.high + c * d
        for j in range(d):
            code: int64_t = codes[j]
            low[j], high[j] = min(low[j], code), max(high[j], code)
            self.present[c * d + j] |= cython.cast(int64_t, 1) << (code & 63)

    def _describe_boxes(self, c):
        """The loss of class c from its lowest and highest codes, and from its values in sets."""
        total: cython.double = 0.0
        for j in range(self.table.n_columns):
            at = c * self.table.n_columns + j
            if self.table.columns[j].form == SET:
                self.low[at] = 0
                if self.code_cells:
                    self.high[at] = self._count_union_values(c, c, j)
                elif self.first_cell:
                    self.high[at] = self._count_member_values(c, j)
                else:
                    self.high[at] = count_bits(self.present[at])
            total += range_loss(self.table, j, self.low[at], self.high[at])
        self.loss[c] = total

    def _count_member_values(self, c, j):
        """How many codes of column j the members of class c have."""
        found: int64_t = 0
        cell = self.first_cell[c]
        while cell >= 0:
            self.seen[self.table.codes[cell * self.table.n_columns + j]] = 0
            cell = self.next_cell[cell]
        cell = self.first_cell[c]
        while cell >= 0:
            code = self.table.codes[cell * self.table.n_columns + j]
            found += 1 - self.seen[code]
            self.seen[code] = 1
            cell = self.next_cell[cell]
        return found

    def create(self, cells, lo, hi):
        """Makes cells[lo … hi − 1] a new class."""
        self.n_free -= 1
        c = self.free[self.n_free]
        self.live[self.n_live], self.live_position[c] = c, self.n_live
        self.n_live += 1
        self._empty_box(c)
        self.first_cell[c] = cells[lo]
        rows: int64_t = 0
        for p in range(lo, hi):
            cell = cells[p]
            self.cell_class[cell] = c
            self.next_cell[cell] = cells[p + 1] if p + 1 < hi else -1
            rows += self.table.rows[cell]
            self._widen_box(c, cell)
        self.rows[c] = rows
        self.n_cells[c] = hi - lo
        self._describe_boxes(c)

    def dissolve(self, c):
        """Takes a class out; its cells are in none until they are made one again."""
        last = self.live[self.n_live - 1]
        self.live[self.live_position[c]] = last
        self.live_position[last] = self.live_position[c]
        self.n_live -= 1
        self.free[self.n_free] = c
        self.n_free += 1

    def keeps(self, c):
        """Whether class c keeps every constraint."""
        return self.table.constraints.keeps(self.histogram(c), self.rows[c], self.scratch)

    def union_loss(self, a, b):
        """Loss per row of two classes together; a lower bound where sets have many values."""
        d = self.table.n_columns
        total: cython.double = 0.0
        for j in range(d):
            if self.table.columns[j].form == SET:
                total += range_loss(self.table, j, 0, self._count_union_values(a, b, j))
            else:
                low = min(self.low[a * d + j], self.low[b * d + j])
                high = max(self.high[a * d + j], self.high[b * d + j])
                total += range_loss(self.table, j, low, high)
        return total

    def _count_union_values(self, a, b, j):
        """How many codes of column j two classes have together, or have at least."""
        if not self.code_cells:
            x, y = a * self.table.n_columns + j, b * self.table.n_columns + j
            found: int64_t = count_bits(self.present[x] | self.present[y])
            return max(found, max(self.high[x], self.high[y]))
        first = self.code_cells + a * self.table.n_codes + self.column_start[j]
        second = self.code_cells + b * self.table.n_codes + self.column_start[j]
        found = 0
        for code in range(self.table.columns[j].n_codes):
            if first[code] + second[code] > 0:
                found += 1
        return found

    def union_cost(self, a, b):
        """How much more two classes lose together."""
        both = self.union_loss(a, b)
        return self.rows[a] * (both - self.loss[a]) + self.rows[b] * (both - self.loss[b])

    def union_keeps(self, a, b):
        """Whether two classes together keep every constraint."""
        first, second = self.histogram(a), self.histogram(b)
        for slot in range(self.table.constraints.n_slots):
            self.probe[slot] = first[slot] + second[slot]
        rows = self.rows[a] + self.rows[b]
        return self.table.constraints.keeps(self.probe, rows, self.scratch)

    def merge(self, a, b):
        """Takes class b into class a; labels follow when they are read."""
        d, n_codes = self.table.n_columns, self.table.n_codes
        self.loss[a] = self.union_loss(a, b)
        for j in range(d):
            x, y = a * d + j, b * d + j
            if self.table.columns[j].form == SET:
                self.high[x] = self._count_union_values(a, b, j)
            else:
                self.low[x] = min(self.low[x], self.low[y])
                self.high[x] = max(self.high[x], self.high[y])
            self.present[x] |= self.present[y]
        if self.histograms:
            into, taken = self.histogram(a), self.histogram(b)
            for slot in range(self.table.constraints.n_slots):
                into[slot] += taken[slot]
        if self.code_cells:
            for code in range(n_codes):
                self.code_cells[a * n_codes + code] += self.code_cells[b * n_codes + code]
        self.rows[a] += self.rows[b]
        self.n_cells[a] += self.n_cells[b]
        self.rows[b], self.n_cells[b], self.merged_into[b] = 0, 0, a

    def _box_if(self, c, j, gone, new):
        """The lowest and highest code of class c in column j with one code less and one more (−1:
        none); of a set the second number is how many values there are."""
        at = c * self.table.n_columns + j
        low, high = self.low[at], self.high[at]
        if gone == new:
            return low, high
        cells = self.code_cells + c * self.table.n_codes + self.column_start[j]
        is_last: cython.bint = gone >= 0 and cells[gone] == 1
        if self.table.columns[j].form == SET:
            if is_last:
                high -= 1
            if new >= 0 and cells[new] == 0:
                high += 1
            return low, high
        if is_last and low == high:
            return (new, new) if new >= 0 else (low, high)
        if is_last and gone == low:
            low += 1
            while low < high and cells[low] == 0:
                low += 1
        elif is_last and gone == high:
            high -= 1
            while high > low and cells[high] == 0:
                high -= 1
        if new >= 0:
            low, high = min(low, new), max(high, new)
        return low, high

    def loss_if(self, c, gone, new):
        """Loss per row of class c without cell `gone` and with cell `new` (−1: none)."""
        d = self.table.n_columns
        total: cython.double = 0.0
        for j in range(d):
            u: int64_t = self.table.codes[gone * d + j] if gone >= 0 else -1
            v: int64_t = self.table.codes[new * d + j] if new >= 0 else -1
            low, high = self._box_if(c, j, u, v)
            total += range_loss(self.table, j, low, high)
        return total

    def keeps_if(self, c, gone, new):
        """Whether class c keeps every constraint after the change."""
        now = self.histogram(c)
        for slot in range(self.table.constraints.n_slots):
            self.probe[slot] = now[slot]
        rows = self.rows[c]
        if gone >= 0:
            rows -= self.table.rows[gone]
            add_to_histogram(self.table, gone, -1, self.probe)
        if new >= 0:
            rows += self.table.rows[new]
            add_to_histogram(self.table, new, 1, self.probe)
        return rows > 0 and self.table.constraints.keeps(self.probe, rows, self.scratch)

    def exchange(self, c, gone, new):
        """Takes cell `gone` out of class c and cell `new` in (−1: none)."""
        d = self.table.n_columns
        total: cython.double = 0.0
        for j in range(d):
            u: int64_t = self.table.codes[gone * d + j] if gone >= 0 else -1
            v: int64_t = self.table.codes[new * d + j] if new >= 0 else -1
            low, high = self._box_if(c, j, u, v)
            self.low[c * d + j], self.high[c * d + j] = low, high
            total += range_loss(self.table, j, low, high)
            cells = self.code_cells + c * self.table.n_codes + self.column_start[j]
            if u >= 0:
                cells[u] -= 1
            if v >= 0:
                cells[v] += 1
        self.loss[c] = total
        if gone >= 0:
            self.rows[c] -= self.table.rows[gone]
            self.n_cells[c] -= 1
            add_to_histogram(self.table, gone, -1, self.histogram(c))
        if new >= 0:
            self.rows[c] += self.table.rows[new]
            self.n_cells[c] += 1
            add_to_histogram(self.table, new, 1, self.histogram(c))
            self.cell_class[new] = c

    def remove(self, c, cell):
        """Takes a cell out of class c: it is suppressed."""
        self.exchange(c, cell, -1)
        self.cell_class[cell] = -1
