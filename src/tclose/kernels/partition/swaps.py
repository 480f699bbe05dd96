"""Cells that change places one by one, as long as that lowers the loss and keeps the constraints.

Two cells with equal sensitive values and weights may change places unchecked, since no distribution
changes; any other change is checked on both classes. A suppressed cell is exchanged only for its
equal, so that the released distribution, by which classes are judged, stays the same.

The places that are tried are those of cells with like sensitive values, and of the cells of those
classes that would lose least more with the cell that leaves.

A class that cannot spare a cell may have another in its place, from any class that can: a chain of
two moves, of which each class is judged once. Its two ends are chosen one after the other.

A class loses less without a cell only where that cell alone holds a border of its box. Where a few
cells hold one together they leave one after another, each for the best place that is left to it; if
they do not all find one, or what they lose there is more than the border costs, they return. All
cells of a small class leave it likewise, which is then gone; and cells that their classes can spare
become a small class of their own.
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
        self.low, self.high, self.width = self.longs(d), self.longs(d), self.doubles(d)
        self.near_cells = self.longs(len(tie) + 1)
        for j in range(d):
            is_set: cython.bint = self.state.table.columns[j].form == SET
            self.has_wide_sets |= is_set and self.state.column_start[j] < 0
        if state.n_live == 0:
            numbers = np.flatnonzero(np.bincount(state.label[state.label >= 0]) > 0)
            self.numbers, self.n_numbers = self.longs_of(numbers), len(numbers)

    def improve(self, steps: cython.longlong, reach: cython.longlong) -> tuple[float, float]:
        """Visits random cells and finds the best of some places for each: those of `reach` cells
        with like sensitive values, of so many classes, and of the cells of classes near it. Now and
        then a small class is dissolved or gathered. The loss saved, and the work."""
        total: cython.double = 0.0
        self.work = 0
        walked = self.state.walked
        with cython.nogil:
            for _ in range(steps):
                x = draw(self.stream, self.state.table.n_cells)
                self.work += 4 * self.state.table.n_columns
                way = draw(self.stream, WAYS) if self.state.live else WAYS
                if way == 0:
                    total += self._dissolve(self.state.cell_class[x])
                elif way == 1:
                    total += self._gather(x)
                else:
                    total += self._improve_place(x, reach)
        return total, self.work + (self.state.walked - walked) / WALKED_PER_STEP

    def _improve_place(self, x, reach):
        """Finds the best of some places for a cell; the loss saved."""
        if not self._can_leave(x):
            return self._clear_border(x, reach)
        saved = self._try_reinstating(x, reach)
        if saved > 0.0:
            return saved
        self._look_anywhere(x, reach)
        return self._relocate(x)

    def _can_leave(self, x):
        """Whether the class of a cell would lose less without it, which is then to leave."""
        a = self.state.cell_class[x]
        if a < 0 or self.state.n_cells[a] < 2:
            return False
        self.leaving[0], self.next_leaving, self.n_leaving = x, 0, 1
        self.loss_without = 0.0
        d = self.state.table.n_columns
        for j in range(d):
            low, high = self.state._range_if(a, j, x, -1)
            self.low[j], self.high[j] = low, high
            if low == self.state.low[a * d + j] and high == self.state.high[a * d + j]:
                self.width[j] = self.state.column_loss[a * d + j]
            else:
                self.width[j] = range_loss(self.state.table, j, low, high)
            self.loss_without += self.width[j]
        self.before = self.state.rows[a] * self.state.loss[a]
        self._forget_places()
        return self.loss_without < self.state.loss[a] - 1e-12

    def _forget_places(self):
        self.best_saved, self.best_cell, self.best_class = NO_GAIN, -1, -1
        self.best_filler, self.best_source = -1, -1
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
            self.source[self.next_leaving] = self.best_source
            saved = self._relocate(cell)
            self.next_leaving += 1
        return saved

    def _dissolve(self, a):
        """The loss saved (or 0) where every cell of a small class goes to the class that takes it
        best, one after another; they return if that costs more than the class."""
        if a < 0 or self.state.n_cells[a] > SMALL_CLASS:
            return 0.0
        self.n_leaving = self.next_leaving = 0
        cell = self.state.first_cell[a]
        while cell >= 0:
            self.leaving[self.n_leaving] = cell
            self.n_leaving += 1
            cell = self.state.next_cell[cell]
        left: cython.double = self.state.rows[a] * self.state.loss[a] - NO_GAIN
        least: cython.double = 0.0
        for q in range(self.n_leaving):
            if least < left:
                least += self._choose_class(self.leaving[q], a, left - least, False)
        if least >= left:
            return 0.0
        while self.next_leaving < self.n_leaving:
            x = self.leaving[self.next_leaving]
            left -= self._choose_class(x, a, left, True)
            if left <= 0.0:
                break
            self.state.exchange(a, x, -1)
            self.state.exchange(self.chosen, -1, x)
            self.entered[self.next_leaving] = self.chosen
            self.next_leaving += 1
        if left > 0.0:
            self.state.dissolve(a)
            return left + NO_GAIN
        while self.next_leaving > 0:
            self.next_leaving -= 1
            q = self.next_leaving
            self.state.exchange(self.entered[q], self.leaving[q], -1)
            self.state.exchange(a, -1, self.leaving[q])
        return 0.0

    def _choose_class(self, x, a, most, must_keep):
        """How much more the class loses that takes a cell of class a best, if less than `most`, and
        if it must keep the constraints does; it is `chosen`."""
        rows = self.state.table.rows[x]
        self.work += self.state.n_live * self.state.table.n_columns // 2
        for p in range(self.state.n_live):
            b = self.state.live[p]
            if b == a:
                continue
            together, alone = self.state.rows[b] + rows, self.state.rows[b] * self.state.loss[b]
            cost = together * self._loss_of_both(b, x, (most + alone) / together) - alone
            if cost < most and (not must_keep or self.state.keeps_if(b, -1, x)):
                most, self.chosen = cost, b
        return most

    def _gather(self, x):
        """The loss saved (or 0) where a cell of a small class and others near it become a class of
        their own, all of which their classes can spare; the next is the one that costs least."""
        a, k = self.state.cell_class[x], self.state.table.constraints.least_rows[0]
        if a < 0 or self.state.n_cells[a] > SMALL_CLASS or self.state.n_free == 0:
            return 0.0
        rest = self.state.rows[a] - self.state.table.rows[x]
        saved = self.state.rows[a] * self.state.loss[a] - rest * self.state.loss_if(a, x, -1)
        if rest < k or saved <= NO_GAIN or not self.state.keeps_if(a, x, -1):
            return 0.0
        self._find_near_cells(x)
        self.state.exchange(a, x, -1)
        self.leaving[0], self.entered[0], self.n_leaving = x, a, 1
        self.state.create(self.leaving, 0, 1)
        c = self.state.live[self.state.n_live - 1]
        is_done: cython.bint = self.state.rows[c] >= k and self.state.keeps_if(c, -1, -1)
        while not is_done and self.n_leaving < SMALL_CLASS:
            cost = self._choose_cell(c)
            if self.chosen < 0:
                break
            saved -= cost
            y, q = self.chosen, self.n_leaving
            self.leaving[q], self.entered[q] = y, self.state.cell_class[y]
            self.n_leaving += 1
            self.state.exchange(self.entered[q], y, -1)
            self.state.exchange(c, -1, y)
            is_done = self.state.rows[c] >= k and self.state.keeps_if(c, -1, -1)
        if is_done and saved > NO_GAIN:
            return saved
        for q in range(self.n_leaving):
            self.state.exchange(c, self.leaving[q], -1)
            self.state.exchange(self.entered[q], -1, self.leaving[q])
        self.state.dissolve(c)
        return 0.0

    def _choose_cell(self, c):
        """How much more is lost where class c takes the best of the near cells that their classes
        can spare; it is `chosen` (−1: none)."""
        best: cython.double = INFINITY
        self.chosen = -1
        self.work += self.n_near_cells * self.state.table.n_columns
        for q in range(self.n_near_cells):
            y = self.near_cells[q]
            b, rows = self.state.cell_class[y], self.state.table.rows[y]
            rest = self.state.rows[b] - rows
            if b == c or rest < self.state.table.constraints.least_rows[0]:
                continue
            cost = (self.state.rows[c] + rows) * self.state.loss_if(c, -1, y)
            cost -= self.state.rows[c] * self.state.loss[c]
            cost -= self.state.rows[b] * self.state.loss[b]
            if cost >= best:
                continue
            cost += rest * self.state.loss_if(b, y, -1)
            if cost < best and self.state.keeps_if(b, y, -1):
                best, self.chosen = cost, y
        return best

    def _find_near_cells(self, x):
        """Has the nearest cells that their classes can spare in `near_cells`."""
        k, most = self.state.table.constraints.least_rows[0], INFINITY
        self.n_near_cells = 0
        self.work += 2 * self.state.table.n_cells
        for y in range(self.state.table.n_cells):
            b = self.state.cell_class[y]
            if y == x or b < 0 or self.state.rows[b] - self.state.table.rows[y] < k:
                continue
            far = cell_distance(self.state.table, x, y, most)
            if far >= most:
                continue
            self.n_near_cells = min(self.n_near_cells + 1, MOST_GATHERED)
            rank = self.n_near_cells - 1
            while rank > 0 and self.far[rank - 1] > far:
                self.far[rank] = self.far[rank - 1]
                self.near_cells[rank] = self.near_cells[rank - 1]
                rank -= 1
            self.far[rank], self.near_cells[rank] = far, y
            if self.n_near_cells == MOST_GATHERED:
                most = self.far[MOST_GATHERED - 1]

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
            self.width[j] = range_loss(self.state.table, j, self.low[j], self.high[j])
            self.loss_without += self.width[j]
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
        if not has_code(self.state, a, j, code):
            return False
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
        self.n_near, self.near_room = 0, MOST_NEAR if self.state.live else 0
        self._look_at_classes(x, numbers, first, min(first + reach, count))
        self._look_at_classes(x, numbers, 0, min(first, max(first + reach - count, 0)))
        self.near_room = 0
        if self.n_near > 0:
            self._look_nearby(x)

    def _look_nearby(self, x):
        """Looks at the cells of those classes that would lose least more with a leaving cell."""
        count: cython.Py_ssize_t = 0
        for q in range(self.n_near):
            cell = self.state.first_cell[self.near[q].number]
            while cell >= 0 and count < NEAR_CELLS:
                self.near_cells[count] = cell
                count += 1
                cell = self.state.next_cell[cell]
        filler = self.filler
        self._look_at_cells(x, self.near_cells, 0, count)
        if self.filler != filler:
            for q in range(self.n_near):
                self.near_cells[q] = self.near[q].number
            self._look_at_classes(x, self.near_cells, 0, self.n_near)

    def _note_near(self, b, cost):
        """Keeps a class among those that lose least more with the leaving cell."""
        self.n_near = min(self.n_near + 1, self.near_room)
        rank = self.n_near - 1
        while rank > 0 and self.near[rank - 1].cost > cost:
            self.near[rank] = self.near[rank - 1]
            rank -= 1
        self.near[rank].number, self.near[rank].cost = b, cost

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
                self.best_filler = -1
            rest = self.state.rows[b] - rows[y]
            if here <= self.filled or rest < self.state.table.constraints.least_rows[0]:
                continue
            self.work += 2 * self.state.table.n_columns
            filled = here - rest * self.state.loss_if(b, y, -1)
            if filled <= self.filled or not self.state.keeps_if(b, y, -1):
                continue
            if is_alike or self.state.keeps_if(a, x, y):
                self.filled, self.filler, self.filler_class = filled, y, b

    def _loss_with(self, a, x, y, most):
        """Loss per row of class a with y in place of what leaves; beyond `most` not counted on."""
        if self.has_wide_sets:
            return self.state.loss_if(a, x, y)
        total, columns = self.loss_without, self.state.table.columns
        codes = self.state.table.codes + y * self.state.table.n_columns
        lows, highs, width = self.low, self.high, self.width
        for j in range(self.state.table.n_columns):
            code: int64_t = codes[j]
            low: int64_t = min(lows[j], code)
            high: int64_t = max(highs[j], code)
            if columns[j].form == SET:
                if self._has_value_without(a, j, code):
                    continue
                low, high = 0, highs[j] + 1
            elif low == lows[j] and high == highs[j]:
                continue
            total += range_loss(self.state.table, j, low, high) - width[j]
            if total >= most:
                break
        return total

    def _look_at_classes(self, x, numbers, lo, hi):
        """Looks for a better class for a leaving cell, whose place is filled or left empty."""
        a, rows = self.state.cell_class[x], self.state.table.rows[x]
        left: cython.double = self.before - (self.state.rows[a] - rows) * self.loss_without
        may_leave: cython.bint = False
        self.work += (hi - lo) * self.state.table.n_columns
        for p in range(lo, hi):
            b = numbers[p]
            if b == a:
                continue
            is_filled: cython.bint = self.filled > left and b != self.filler_class
            saved = self.filled if is_filled else left
            most: cython.double = saved - self.best_saved
            if self.n_near < self.near_room:
                most = INFINITY
            elif self.near_room > 0:
                most = max(most, self.near[self.n_near - 1].cost)
            if most <= 0.0:
                continue
            together, alone = self.state.rows[b] + rows, self.state.rows[b] * self.state.loss[b]
            cost = together * self._loss_of_both(b, x, (most + alone) / together) - alone
            if cost >= most:
                continue
            if self.n_near < self.near_room or (
                self.near_room > 0 and cost < self.near[self.n_near - 1].cost
            ):
                self._note_near(b, cost)
            if saved - cost <= self.best_saved:
                continue
            if not is_filled and not may_leave:
                may_leave = self.state.keeps_if(a, x, -1)
                if not may_leave:
                    left = -INFINITY
                    saved, is_filled = self.filled, b != self.filler_class
                    if not is_filled or saved - cost <= self.best_saved:
                        continue
            if self.state.keeps_if(b, -1, x):
                self.best_saved, self.best_cell, self.best_class = saved - cost, -1, b
                self.best_filler = self.filler if is_filled else -1
                self.best_source = self.filler_class

    def _loss_of_both(self, b, x, most):
        """Loss per row of class b together with cell x; infinite where that is `most` or more."""
        d, total = self.state.table.n_columns, self.state.loss[b]
        if self.has_wide_sets:
            total = self.state.loss_if(b, -1, x)
        if total >= most:
            return INFINITY
        if self.has_wide_sets:
            return total
        columns, codes = self.state.table.columns, self.state.table.codes + x * d
        lows, highs = self.state.low + b * d, self.state.high + b * d
        losses = self.state.column_loss + b * d
        for j in range(d):
            code: int64_t = codes[j]
            low: int64_t = min(lows[j], code)
            high: int64_t = max(highs[j], code)
            if columns[j].form == SET:
                if has_code(self.state, b, j, code):
                    continue
                low, high = 0, highs[j] + 1
            elif low == lows[j] and high == highs[j]:
                continue
            total += range_loss(self.state.table, j, low, high)
            total -= losses[j]
            if total >= most:
                return INFINITY
        return total

    def _relocate(self, x):
        """Moves x to the best place that was seen, if any; the loss saved."""
        if self.best_class < 0:
            return 0.0
        a = self.state.cell_class[x]
        if self.best_filler >= 0:
            self.state.exchange(a, x, self.best_filler)
            self.state.exchange(self.best_source, self.best_filler, -1)
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
