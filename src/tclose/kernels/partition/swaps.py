"""Cells that change places one by one, as long as that lowers the loss and keeps the constraints.

Two cells with equal sensitive values and weights may change places unchecked, since no distribution
changes; any other change is checked on both classes. A suppressed cell is exchanged only for its
equal, so that the released distribution, by which classes are judged, stays the same.

A class that cannot spare a cell may have another in its place, from any class that can: a chain of
two moves, of which each class is judged once. Its two ends are chosen one after the other.

A class loses less without a cell only where that cell alone holds a border of its box. Where a few
cells hold one together they leave one after another, each for the best place that is left to it; if
they do not all find one, or what they lose there is more than the border costs, they return.
"""

import cython
import numpy as np


class CellSwaps(Memory):
    """Works on a state that keeps histograms and cells per code."""

    def __init__(self, state, stream) -> None:
        self.state, self.stream = state, stream
        d: cython.Py_ssize_t = self.state.table.n_columns
        tie = np.ascontiguousarray(state.table.arrays.order_tie[0])
        peers, first_peer = group_by_tie(tie, np.arange(len(tie)))
        suppressed, first_suppressed = group_by_tie(tie, np.flatnonzero(state.label < 0))
        position = np.full(len(tie), -1)
        position[suppressed] = np.arange(len(suppressed))
        place = np.empty_like(peers)
        place[peers] = np.arange(len(peers))
        self.tie, self.position = self.longs_of(tie), self.longs_of(position)
        self.peers, self.first_peer = self.longs_of(peers), self.longs_of(first_peer)
        self.place = self.longs_of(place)
        self.suppressed = self.longs_of(suppressed)
        self.first_suppressed = self.longs_of(first_suppressed)
        self.low, self.high = self.longs(d), self.longs(d)
        for j in range(d):
            is_set: cython.bint = self.state.table.columns[j].form == SET
            self.has_wide_sets |= is_set and self.state.column_start[j] < 0
        if state.n_live == 0:
            numbers = np.flatnonzero(np.bincount(state.label[state.label >= 0]) > 0)
            self.numbers, self.n_numbers = self.longs_of(numbers), len(numbers)

    def improve(self, steps: cython.longlong, reach: cython.longlong) -> tuple[float, float]:
        """Visits random cells and finds the best of some places for each: those of `reach` cells
        with like sensitive values, and of so many classes. The loss saved, and the work."""
        n = self.state.table.n_cells
        total: cython.double = 0.0
        self.work = 0
        walked = self.state.walked
        with cython.nogil:
            for _ in range(steps):
                x = draw(self.stream, n)
                self.work += 4 * self.state.table.n_columns
                if not self._can_leave(x):
                    total += self._clear_border(x, reach)
                    continue
                saved = self._try_reinstating(x, reach)
                if saved == 0.0:
                    self._look_anywhere(x, reach)
                    saved = self._relocate(x)
                total += saved
        return total, self.work + (self.state.walked - walked) / WALKED_PER_STEP

    def _can_leave(self, x):
        """Whether the class of a cell would lose less without it, which is then to leave."""
        a = self.state.cell_class[x]
        if a < 0 or self.state.n_cells[a] < 2:
            return False
        self.leaving[0], self.next_leaving, self.n_leaving = x, 0, 1
        self.loss_without = 0.0
        for j in range(self.state.table.n_columns):
            self.low[j], self.high[j] = self.state._range_if(a, j, x, -1)
            self.loss_without += range_loss(self.state.table, j, self.low[j], self.high[j])
        self.before = self.state.rows[a] * self.state.loss[a]
        self._forget_places()
        return self.loss_without < self.state.loss[a] - 1e-12

    def _forget_places(self):
        self.best_saved, self.best_cell, self.best_class, self.best_filler = NO_GAIN, -1, -1, -1
        self.filled, self.filler, self.filler_class = -INFINITY, -1, -1

    def _clear_border(self, x, reach):
        """The loss saved (or 0) where the cells that hold a border together with x leave."""
        if not self.state.live or self.has_wide_sets or not self._find_holders(x):
            return 0.0
        a, saved = self.state.cell_class[x], 0.0
        self.before = self.state.rows[a] * self.state.loss[a]
        while self.next_leaving < self.n_leaving:
            self._measure_without(a)
            if self.next_leaving > 0:
                self.before = saved + self.state.rows[a] * self.loss_without
            elif self.before - self.state.rows[a] * self.loss_without <= NO_GAIN:
                return 0.0
            cell = self.leaving[self.next_leaving]
            self._forget_places()
            self._look_anywhere(cell, reach)
            if self.best_class < 0:
                self._return_all(a)
                return 0.0
            self.taken[self.next_leaving] = self.best_cell
            self.entered[self.next_leaving] = self.best_class
            self.filling[self.next_leaving] = self.best_filler
            self.source[self.next_leaving] = self.filler_class
            saved = self._relocate(cell)
            self.next_leaving += 1
        return saved

    def _find_holders(self, x):
        """Has those cells leave that hold a border of their class, or a value of its set, together
        with x in a random column; whether there are several, and few."""
        a, d = self.state.cell_class[x], self.state.table.n_columns
        if a < 0 or self.state.n_cells[a] < 3:
            return False
        j = draw(self.stream, d)
        codes, code = self.state.table.codes + j, self.state.table.codes[x * d + j]
        low, high = self.state.low[a * d + j], self.state.high[a * d + j]
        if self.state.table.columns[j].form == SET:
            if high < 2:
                return False
        elif low == high or (code != low and code != high):
            return False
        self.next_leaving = self.n_leaving = 0
        self.work += self.state.n_cells[a]
        cell = self.state.first_cell[a]
        while cell >= 0:
            if codes[cell * d] == code:
                if self.n_leaving == MOST_LEAVING:
                    return False
                self.leaving[self.n_leaving] = cell
                self.n_leaving += 1
            cell = self.state.next_cell[cell]
        return 1 < self.n_leaving < self.state.n_cells[a]

    def _measure_without(self, a):
        """The box and the loss per row of class a without the cells that are still to leave."""
        d = self.state.table.n_columns
        for j in range(d):
            self.low[j], self.high[j] = FAR_CODE, -1
        cell = self.state.first_cell[a]
        while cell >= 0:
            if not self._is_leaving(cell):
                for j in range(d):
                    code: int64_t = self.state.table.codes[cell * d + j]
                    self.low[j], self.high[j] = min(self.low[j], code), max(self.high[j], code)
            cell = self.state.next_cell[cell]
        self.loss_without = 0.0
        for j in range(d):
            if self.state.table.columns[j].form == SET:
                self.low[j], self.high[j] = 0, self.state.high[a * d + j]
                for q in range(self.next_leaving, self.n_leaving):
                    self.high[j] -= self._is_last_of_value(a, j, q)
            self.loss_without += range_loss(self.state.table, j, self.low[j], self.high[j])
        self.work += (self.state.n_cells[a] + self.n_leaving) * d

    def _is_leaving(self, cell):
        """Whether a cell is still to leave."""
        for q in range(self.next_leaving, self.n_leaving):
            if self.leaving[q] == cell:
                return True
        return False

    def _is_last_of_value(self, a, j, q):
        """Whether a value of a set leaves class a with this cell, if those before it have left."""
        codes, d = self.state.table.codes + j, self.state.table.n_columns
        code: int64_t = codes[self.leaving[q] * d]
        for later in range(q + 1, self.n_leaving):
            if codes[self.leaving[later] * d] == code:
                return False
        return not self._has_value_without(a, j, code)

    def _has_value_without(self, a, j, code):
        """Whether class a has a code of a set without the cells that are still to leave."""
        d = self.state.table.n_columns
        held: int64_t = self.state.code_cells[
            a * self.state.n_codes + self.state.column_start[j] + code
        ]
        for q in range(self.next_leaving, self.n_leaving):
            held -= self.state.table.codes[self.leaving[q] * d + j] == code
        return held > 0

    def _return_all(self, a):
        """Puts the cells that have left class a back, the last one first."""
        while self.next_leaving > 0:
            self.next_leaving -= 1
            q = self.next_leaving
            b, x, y, z = self.entered[q], self.leaving[q], self.taken[q], self.filling[q]
            self.state.exchange(b, x, y)
            self.state.exchange(a, z if z >= 0 else y, x)
            if z >= 0:
                self.state.exchange(self.source[q], -1, z)

    def _look_anywhere(self, x, reach):
        """Looks for the best of some places for a leaving cell: of other cells, or in classes."""
        n = self.state.table.n_cells
        lo, hi = self.first_peer[self.tie[x]], self.first_peer[self.tie[x] + 1]
        if hi - lo < reach:  # further cells are those whose values are next in order
            lo = max(self.place[x] - reach // 2, 0)
            hi = min(lo + reach, n)
            self._look_at_cells(x, self.peers, lo, hi)
        else:
            begin = lo + draw(self.stream, hi - lo)
            end = min(begin + reach, hi)
            self._look_at_cells(x, self.peers, begin, end)
            self._look_at_cells(x, self.peers, lo, min(lo + reach - (end - begin), begin))
        numbers, count = self.numbers, self.n_numbers
        if self.state.live:
            numbers, count = self.state.live, self.state.n_live
        first = draw(self.stream, count)
        self._look_at_classes(x, numbers, first, min(first + reach, count))
        self._look_at_classes(x, numbers, 0, min(first, max(first + reach - count, 0)))

    def _look_at_cells(self, x, cells, lo, hi):
        """Looks for a better exchange of a leaving cell for one of another class, and for a better
        cell to fill its place that another class can spare, wherever the first goes."""
        a, rows = self.state.cell_class[x], self.state.table.rows
        self.work += (hi - lo) * (self.state.table.n_columns // 2 + 1)
        for p in range(lo, hi):
            y = cells[p]
            b = self.state.cell_class[y]
            if b == a or b < 0:
                continue
            moved = rows[x] - rows[y]
            left = self.state.rows[a] - moved
            here = self.before - left * self._loss_with(a, x, y, self.before / left)
            if here <= NO_GAIN:
                continue
            self.work += 4 * self.state.table.n_columns
            here += self.state.rows[b] * self.state.loss[b]
            saved = here - (self.state.rows[b] + moved) * self.state.loss_if(b, y, x)
            is_alike: cython.bint = self.tie[x] == self.tie[y] and count_alike(
                self.state.table, x, y
            )
            if saved > self.best_saved and (
                is_alike or (self.state.keeps_if(a, x, y) and self.state.keeps_if(b, y, x))
            ):
                self.best_saved, self.best_cell, self.best_class = saved, y, b
            rest = self.state.rows[b] - rows[y]
            if here <= self.filled or rest < self.state.table.constraints.k:
                continue
            self.work += 2 * self.state.table.n_columns
            filled = here - rest * self.state.loss_if(b, y, -1)
            if filled <= self.filled or not self.state.keeps_if(b, y, -1):
                continue
            if is_alike or self.state.keeps_if(a, x, y):
                self.filled, self.filler, self.filler_class = filled, y, b

    def _loss_with(self, a, x, y, most):
        """Loss per row of class a with y in place of what leaves; beyond `most` not counted on."""
        total: cython.double = 0.0
        if self.has_wide_sets:
            return self.state.loss_if(a, x, y)
        for j in range(self.state.table.n_columns):
            code: int64_t = self.state.table.codes[y * self.state.table.n_columns + j]
            low: int64_t = self.low[j]
            high: int64_t = self.high[j]
            if self.state.table.columns[j].form == SET:
                high += not self._has_value_without(a, j, code)
            else:
                low, high = min(low, code), max(high, code)
            total += range_loss(self.state.table, j, low, high)
            if total >= most:
                break
        return total

    def _look_at_classes(self, x, numbers, lo, hi):
        """Looks for a better class for a leaving cell, whose place is filled or left empty."""
        a, rows = self.state.cell_class[x], self.state.table.rows[x]
        left: cython.double = self.before - (self.state.rows[a] - rows) * self.loss_without
        may_leave: cython.bint = False
        self.work += (hi - lo) * self.state.table.n_columns
        p: cython.Py_ssize_t = lo
        while p < hi:
            b = numbers[p]
            is_filled: cython.bint = self.filled > left and b != self.filler_class
            saved = self.filled if is_filled else left
            if b == a or saved <= NO_GAIN:
                p += 1
                continue
            saved += self.state.rows[b] * self.state.loss[b]
            together = self.state.rows[b] + rows
            saved -= together * self._loss_of_both(b, x, (saved - self.best_saved) / together)
            if saved > self.best_saved:
                if not is_filled and not may_leave:
                    may_leave = self.state.keeps_if(a, x, -1)
                    if not may_leave:
                        left = -INFINITY
                        if self.filler < 0:
                            break
                        continue
                if self.state.keeps_if(b, -1, x):
                    self.best_saved, self.best_cell, self.best_class = saved, -1, b
                    self.best_filler = self.filler if is_filled else -1
            p += 1

    def _loss_of_both(self, b, x, most):
        """Loss per row of class b together with cell x; beyond `most` not counted on."""
        d = self.state.table.n_columns
        total: cython.double = 0.0
        if self.has_wide_sets:
            return self.state.loss_if(b, -1, x)
        for j in range(d):
            code: int64_t = self.state.table.codes[x * d + j]
            low: int64_t = self.state.low[b * d + j]
            high: int64_t = self.state.high[b * d + j]
            if self.state.table.columns[j].form == SET:
                at = b * self.state.n_codes + self.state.column_start[j] + code
                high += self.state.code_cells[at] == 0
            else:
                low, high = min(low, code), max(high, code)
            total += range_loss(self.state.table, j, low, high)
            if total >= most:
                break
        return total

    def _relocate(self, x):
        """Moves x to the best place that was seen, if any; the loss saved."""
        if self.best_class < 0:
            return 0.0
        a = self.state.cell_class[x]
        if self.best_filler >= 0:
            self.state.exchange(a, x, self.best_filler)
            self.state.exchange(self.filler_class, self.best_filler, -1)
        else:
            self.state.exchange(a, x, self.best_cell)
        self.state.exchange(self.best_class, self.best_cell, x)
        return self.best_saved

    def _try_reinstating(self, x, tries):
        """The loss saved (or 0) by a suppressed cell of equal sensitive values in place of x."""
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


def group_by_tie(tie, cells):
    """Cells by their sensitive values, and where each combination of these begins."""
    cells = cells[np.argsort(tie[cells], kind="stable")]
    return cells, np.searchsorted(tie[cells], np.arange(int(tie.max(initial=-1)) + 2))
