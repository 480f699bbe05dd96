"""Changes of a partition that lower its loss and keep the constraints.

Destroy and repair: a union of classes that keep a monotone requirement keeps it
(`mathematics.md` 2.1), so neighbouring classes may be pooled and split anew. How many to pool,
to look at, and how many splits to try are *operators*, drawn by what they have lately saved per
effort (adaptive large neighbourhood search, Ropke and Pisinger 2006).

Suppression: a cell goes by itself where its absence saves more than it costs; cells that hold a
border of their class go together, with all beyond. A suppressed row loses everything everywhere.
"""

import cython
import numpy as np

PROMISING = 0.1
OPERATOR = np.dtype(
    [("pooled", "i8"), ("sampled", "i8"), ("tries", "i8"), ("saved", "f8"), ("effort", "f8")]
)
OPERATORS = [
    (pooled, sampled, tries, 1.0, 1e6)
    for pooled in (1, 2, 3, 4)
    for sampled in (16, 64, 256, 2048)
    for tries in (4, 10)
]


class DestroyAndRepair(Memory):
    """Works on a state that keeps members, with a partitioner for pools of its cells. Where it
    keeps histograms and cells per code too, `swaps` polish what the partitioner proposes."""

    def __init__(self, state, partitioner, swaps=None, learned=None) -> None:
        self.state, self.partitioner, self.swaps = state, partitioner, swaps
        self.stream = partitioner.stream
        self.learned = np.array(OPERATORS, dtype=OPERATOR) if learned is None else learned.copy()
        self.operators = cython.cast(cython.pointer(Operator), longs(self.learned.view("i8")))
        self.n_operators = len(OPERATORS)
        n_cells = state.table.n_cells
        self.may_polish = swaps is not None
        self.by_value, self.cells = self.longs(n_cells), self.longs(n_cells)

    def improve(
        self, pools: cython.longlong, tightness: cython.double, temperature: cython.double = 0.0
    ) -> tuple[float, float]:
        """Destroys and repairs so many pools; returns the loss saved and the steps it took. A loss
        that grows by the `temperature` is kept in one case of e (simulated annealing)."""
        saved: cython.double = 0.0
        steps: cython.double = 0.0
        with cython.nogil:
            for _ in range(pools):
                if steps > MOST_STEPS:
                    break
                operator = cython.address(self.operators[self._choose_operator()])
                a = self._choose_class()
                n_cells = self._choose_pool(a, operator.pooled, operator.sampled)
                sampled = min(operator.sampled, self.state.n_live) if operator.pooled > 1 else 0
                spent: cython.double = sampled * self.state.table.steps_per_cell + 100
                gain: cython.double = 0.0
                if n_cells <= LARGEST_POOL:
                    gain = self._repair(n_cells, operator.tries, tightness, temperature)
                    spent += self.partitioner.effort + self.polishing
                operator.saved = 0.995 * operator.saved + max(gain, 0.0)
                operator.effort = 0.995 * operator.effort + spent
                saved += gain
                steps += spent
        return saved, steps

    def _repair(self, n_cells, tries, tightness, temperature):
        """Splits the pool anew and polishes what comes near; the loss saved, 0 if nothing is."""
        before = self._load_pool()
        plainly: cython.bint = draw(self.stream, 4) == 0
        self.polishing = 0
        self.partitioner.begin(n_cells)
        for p in range(n_cells):
            self.by_value[p] = self.partitioner.ids[p]
        self.partitioner.split(INFINITY, tries, plainly, tightness)
        gain = before - self.partitioner.loss
        if not self.may_polish:
            if gain <= NO_GAIN:
                return 0.0
            self._replace_pool()
            return gain
        if gain <= -PROMISING * before:
            return 0.0
        if gain <= NO_GAIN and self.partitioner.n_classes == 1:
            return 0.0
        self._replace_pool()
        gain += self._polish(n_cells)
        if gain > NO_GAIN:
            return gain
        if temperature > 0.0 and gain > temperature * log(1.0 - draw_unit(self.stream)):
            return gain
        self._restore_pool()
        return 0.0

    def _polish(self, n_cells):
        """Exchanges and moves cells within the pool, as split anew; the loss saved."""
        total: cython.double = 0.0
        self.swaps.work = 0
        walked = self.state.walked
        first = self.state.n_live - self.partitioner.n_classes
        for _ in range(MOST_SWEEPS):
            swept: cython.double = 0.0
            for p in range(n_cells):
                x = self.by_value[p]
                if not self.swaps._can_leave(x):
                    continue
                lo = max(p - POOL_REACH, 0)
                self.swaps._look_at_cells(x, self.by_value, lo, min(p + POOL_REACH, n_cells))
                self.swaps._look_at_classes(x, self.state.live, first, self.state.n_live)
                swept += self.swaps._relocate(x)
            self.swaps.work += 4 * n_cells * self.state.table.n_columns
            total += swept
            if swept <= NO_GAIN:
                break
        self.polishing = self.swaps.work + (self.state.walked - walked) // WALKED_PER_STEP
        return total

    def _choose_class(self):
        """The one that loses most of a few that are drawn."""
        rows, loss, best = self.state.rows, self.state.loss, self._draw_class()
        for _ in range(RIVALS):
            c = self._draw_class()
            if rows[c] * loss[c] > rows[best] * loss[best]:
                best = c
        return best

    def _draw_class(self):
        return self.state.live[draw(self.stream, self.state.n_live)]

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
        """Pools class a and, by cost, those of a sample whose union with it costs least, as many as
        are not too large; how many cells that are."""
        self.pool[0].number, self.pool[0].cost = a, -INFINITY
        self.n_pooled = 1
        n_live = self.state.n_live
        all_of_them: cython.bint = sampled >= n_live
        for at in range(0 if want == 1 else min(sampled, n_live)):
            b = self.state.live[at if all_of_them else draw(self.stream, n_live)]
            is_pooled: cython.bint = False
            for q in range(self.n_pooled):
                is_pooled |= self.pool[q].number == b
            if is_pooled:
                continue
            luck = 0.9 + 0.2 * draw_unit(self.stream)
            most: cython.double = INFINITY
            if self.n_pooled == want:
                most = self.pool[want - 1].cost
            cost = luck * self.state.union_cost(a, b, most / luck)
            if cost >= most:
                continue
            self.n_pooled = min(self.n_pooled + 1, want)
            rank = self.n_pooled - 1
            while rank > 1 and self.pool[rank - 1].cost > cost:
                self.pool[rank] = self.pool[rank - 1]
                rank -= 1
            self.pool[rank].number, self.pool[rank].cost = b, cost
        largest: int64_t = USUAL_POOL if draw(self.stream, 20) > 0 else 10 * USUAL_POOL
        n_cells: int64_t = 0
        for q in range(self.n_pooled):
            n_cells += self.state.n_cells[self.pool[q].number]
        while self.n_pooled > 1 and n_cells > largest:
            self.n_pooled -= 1
            n_cells -= self.state.n_cells[self.pool[self.n_pooled].number]
        return n_cells

    def _load_pool(self):
        """Hands the cells of the pooled classes to the partitioner; returns what they lose."""
        count: cython.Py_ssize_t = 0
        loss: cython.double = 0.0
        for q in range(self.n_pooled):
            c = self.pool[q].number
            loss += self.state.rows[c] * self.state.loss[c]
            cell = self.state.first_cell[c]
            while cell >= 0:
                self.partitioner.ids[count] = self.cells[count] = cell
                count += 1
                cell = self.state.next_cell[cell]
            self.pool_end[q] = count
        return loss

    def _replace_pool(self):
        """Puts the classes that the partitioner found in the place of those that were pooled."""
        for q in range(self.n_pooled):
            self.state.dissolve(self.pool[q].number)
        lo: cython.Py_ssize_t = 0
        for q in range(self.partitioner.n_classes):
            self.state.create(self.partitioner.ids, lo, self.partitioner.class_end[q])
            lo = self.partitioner.class_end[q]

    def _restore_pool(self):
        """Puts the pooled classes back in the place of those that took theirs."""
        for _ in range(self.partitioner.n_classes):
            self.state.dissolve(self.state.live[self.state.n_live - 1])
        lo: cython.Py_ssize_t = 0
        for q in range(self.n_pooled):
            self.state.create(self.cells, lo, self.pool_end[q])
            lo = self.pool_end[q]


class CellSuppression:
    """Works on a state that keeps histograms and cells per code; `room` rows may be suppressed."""

    def __init__(self, state, room: int) -> None:
        self.state = state
        self.room = room - int(state.table.arrays.rows[state.label < 0].sum())

    def reinstate(self, order, tries: cython.longlong, stream: RandomStream) -> None:
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

    def suppress(self, order) -> None:
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

    def trim(self, members, ends) -> None:
        """All cells of a class at or beyond a code go together, if that saves more than it costs;
        `members`, which is used up, are the cells of each class side by side, ending at `ends`."""
        cells, end = longs(members), longs(ends)
        lo: cython.Py_ssize_t = 0
        for c in range(self.state.capacity):
            self.number, self.cells, self.n_cells = c, cells + lo, end[c] - lo
            while self._trim_class():
                pass
            lo = end[c]

    def _trim_class(self):
        """Suppresses what lies beyond the best edge of the class; whether anything did."""
        self._choose_edge()
        if self.edge.saved <= NO_GAIN or not self._keeps_without():
            return False
        kept: cython.Py_ssize_t = 0
        for p in range(self.n_cells):
            x = self.cells[p]
            if is_beyond(self, x):
                self.state.remove(self.number, x)
                self.room -= self.state.table.rows[x]
            else:
                self.cells[kept] = x
                kept += 1
        self.n_cells = kept
        return True

    def _choose_edge(self):
        """The edge that saves most if all beyond it goes, of a few outermost codes per column."""
        d, size = self.state.table.n_columns, self.state.rows[self.number]
        best: Edge
        best.saved, best.column, best.upper, best.code = 0.0, -1, False, -1
        for side in range(2 * d):
            self.edge.column, self.edge.upper = side // 2, side % 2 == 1
            if self.state.table.columns[self.edge.column].form == SET:
                continue
            self.edge.code = FAR_CODE if self.edge.upper else -1
            for _ in range(EDGES):
                self.edge.code = self._next_code()
                if self.edge.code == -1 or self.edge.code == FAR_CODE:
                    break
                rows, loss = self._measure_without()
                if rows > self.room or rows >= size:
                    break
                saved = size * self.state.loss[self.number] - (size - rows) * loss - rows * d
                if saved > best.saved:
                    best = self.edge
                    best.saved = saved
        self.edge = best

    def _next_code(self):
        """The next code of the class inwards of the edge; −1 or FAR_CODE after the last."""
        codes, d = self.state.table.codes + self.edge.column, self.state.table.n_columns
        following: int64_t = -1 if self.edge.upper else FAR_CODE
        for p in range(self.n_cells):
            here: int64_t = codes[self.cells[p] * d]
            if not is_beyond(self, self.cells[p]):
                following = max(following, here) if self.edge.upper else min(following, here)
        return following

    def _measure_without(self):
        """The rows of the class beyond the edge, and the loss per row of what would be left."""
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
                code: int64_t = codes[x * d + i]
                if is_beyond(self, x):
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

    def _keeps_without(self):
        """Whether the class keeps the constraints without what is beyond the edge."""
        if not self.state.histograms:
            kept: cython.Py_ssize_t = 0
            for p in range(self.n_cells):
                if not is_beyond(self, self.cells[p]):
                    self.state.ids[kept] = self.cells[p]
                    kept += 1
            return self.state.keep_cells(kept)
        now, probe = self.state.histogram(self.number), self.state.probe
        for slot in range(self.state.table.constraints.n_slots):
            probe[slot] = now[slot]
        rows = self.state.rows[self.number]
        for p in range(self.n_cells):
            if is_beyond(self, self.cells[p]):
                rows += add_cell(self.state.table, self.cells[p], -1, probe)
        return rows > 0 and self.state.table.constraints.keeps(probe, rows, self.state.scratch)


def is_beyond(suppression, cell):
    """Whether a cell lies at or beyond the edge that is tried."""
    at = cell * suppression.state.table.n_columns + suppression.edge.column
    code, edge = suppression.state.table.codes[at], suppression.edge.code
    return code >= edge if suppression.edge.upper else code <= edge
