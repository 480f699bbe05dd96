"""One partition of the cells into classes, and how sizes, boxes, losses and histograms change.

All searches that improve a partition work on this state. What a search does not need is not kept:

- `histograms`  rows per sensitive value, to judge a class;
- `code_cells`  cells per code, so that the box of a class without one of its cells is found in
  constant time, or by a short scan inwards where that cell alone held a border;
- `members`     the cells of each class as a list, so that classes can be dissolved and created.

Where cells change places one by one, and a column has many codes or the sensitive attributes have
many values, the members of a class are walked in place of these counts, which would mostly be 0.
"""

import cython
import numpy as np

NO_GAIN = 1e-9
LARGEST_CODE_CELLS = 250_000_000
"""Entries of the counts per class and code, and of the histograms, that are kept at most."""
MANY = 512
"""Codes of a column, and values, of which counts per class are mostly 0."""
KEEPS = cython.declare(cython.double, -1.0)
GONE = cython.declare(cython.double, -2.0)
"""In place of a distance: the class keeps the constraints; it was merged into another."""


def fits_code_cells(table, label) -> bool:
    """Whether cells per code can be kept for the classes of a labelling."""
    classes, widths = int(label.max(initial=-1)) + 1, table.arrays.columns["n_codes"]
    slots = table.constraints.n_slots
    kept = int(widths[widths <= MANY].sum()) + (2 * slots if slots <= MANY else 0)
    return classes * kept <= LARGEST_CODE_CELLS


class PartitionState(Memory):
    """The classes of a labelling, numbered from 0; cells labelled −1 are suppressed."""

    def __init__(self, table, label, *, histograms=False, code_cells=False, members=False) -> None:
        classes = int(label.max(initial=-1)) + 1
        if members:  # of at least k rows each, and a few to spare while classes are replaced
            most = min(table.n_cells, int(table.arrays.rows.sum()) // table.constraints.k)
            classes = max(classes, most) + 8
        boxes, slots = classes * table.n_columns, table.constraints.n_slots
        self.table, self.capacity = table, classes
        self.label, self.owner = np.array(label, dtype=np.int64), np.arange(classes)
        self.cell_class, self.merged_into = longs(self.label), longs(self.owner)
        self.rows, self.n_cells = self.longs(classes), self.longs(classes)
        self.low, self.high, self.present = self.longs(boxes), self.longs(boxes), self.longs(boxes)
        self.column_loss = self.doubles(boxes)
        self.loss, self.scratch = self.doubles(classes), self.longs(table.constraints.scratch_size)
        self.seen = self.longs(table.widest_column + 2)
        widths = table.arrays.columns["n_codes"]
        is_sparse = code_cells and slots > MANY
        if histograms:
            self.probe = self.longs(slots)
        if histograms and not is_sparse:
            self.histograms = self.longs(classes * slots)
        if code_cells:
            narrow = np.where(widths <= MANY, widths, 0)
            self.n_codes = int(narrow.sum())
            self.code_cells = self.ints(classes * self.n_codes)
            self.column_start = self.longs_of(np.where(narrow, np.cumsum(narrow) - narrow, -1))
        if members or is_sparse or (code_cells and (widths > MANY).any()):
            self.first_cell = self.longs_of(np.full(classes, -1))
            self.next_cell = self.longs_of(np.full(table.n_cells, -1))
            self.previous_cell = self.longs_of(np.full(table.n_cells, NO_MEMBER))
            self.support, self.ids = Support(table), self.longs(table.n_cells + 1)
        if members:
            self.live, self.live_position = self.longs(classes), self.longs(classes)
            self.free, self.n_free = self.longs_of(np.arange(classes)[::-1]), classes
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
        for c in range(self.capacity):
            self._empty(c)
        for cell in range(self.table.n_cells):
            if self.cell_class[cell] >= 0:
                self._add(self.cell_class[cell], cell)
        for c in range(self.capacity):
            if self.n_cells[c] > 0:
                self._describe(c)

    def read_labels(self) -> np.ndarray:
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

    def _empty(self, c):
        self.rows[c] = self.n_cells[c] = 0
        if self.first_cell:
            self.first_cell[c] = -1
        for at in range(c * self.table.n_columns, (c + 1) * self.table.n_columns):
            self.low[at], self.high[at], self.present[at] = FAR_CODE, -1, 0

    def _add(self, c, cell):
        """Takes a cell into class c, which is described anew when all are there."""
        d = self.table.n_columns
        codes, low, high = self.table.codes + cell * d, self.low + c * d, self.high + c * d
        for j in range(d):
            code: int64_t = codes[j]
            low[j], high[j] = min(low[j], code), max(high[j], code)
            self.present[c * d + j] |= cython.cast(int64_t, 1) << (code & 63)
        self._count(c, cell, 1)
        if self.first_cell:
            self._link(c, cell)

    def _count(self, c, cell, times):
        """Counts a cell into class c (times 1) or out of it (−1)."""
        d = self.table.n_columns
        self.n_cells[c] += times
        self.rows[c] += times * self.table.rows[cell]
        if self.histograms:
            add_cell(self.table, cell, times, self.histogram(c))
        if self.code_cells:
            cells = self.code_cells + c * self.n_codes
            for j in range(d):
                if self.column_start[j] < 0:
                    continue
                code = self.table.codes[cell * d + j]
                cells[self.column_start[j] + code] += times
                if self.table.columns[j].n_codes <= NARROW:
                    bit = cython.cast(int64_t, 1) << code
                    self.present[c * d + j] |= bit
                    if cells[self.column_start[j] + code] == 0:
                        self.present[c * d + j] ^= bit

    def _link(self, c, cell):
        """Puts a cell in front of the members of class c."""
        first = self.first_cell[c]
        self.next_cell[cell], self.previous_cell[cell], self.first_cell[c] = first, -1, cell
        if first >= 0:
            self.previous_cell[first] = cell

    def _unlink(self, cell):
        """Takes a cell out of the members of its class, if it is there."""
        before, after = self.previous_cell[cell], self.next_cell[cell]
        if before == NO_MEMBER:
            return
        self.previous_cell[cell] = NO_MEMBER
        if before >= 0:
            self.next_cell[before] = after
        else:
            self.first_cell[self.cell_class[cell]] = after
        if after >= 0:
            self.previous_cell[after] = before

    def _describe(self, c):
        """The loss of class c from its lowest and highest codes, and from its values in sets."""
        total: cython.double = 0.0
        for j in range(self.table.n_columns):
            at = c * self.table.n_columns + j
            if self.table.columns[j].form == SET:
                self.low[at] = self.high[at] = 0
                if self.first_cell:
                    self.high[at] = self._count_member_values(c, j)
                else:
                    self.high[at] = self._count_values(c, c, j)
            self.column_loss[at] = range_loss(self.table, j, self.low[at], self.high[at])
            total += self.column_loss[at]
        self.loss[c] = total

    def _count_member_values(self, c, j):
        """How many codes of column j the members of class c have."""
        found: int64_t = 0
        for again in range(2):
            cell = self.first_cell[c]
            while cell >= 0:
                code = self.table.codes[cell * self.table.n_columns + j]
                if again:
                    found += 1 - self.seen[code]
                self.seen[code] = again
                cell = self.next_cell[cell]
        return found

    def create(self, cells, lo, hi):
        """Makes cells[lo … hi − 1] a new class."""
        self.n_free -= 1
        c = self.free[self.n_free]
        self.live[self.n_live], self.live_position[c] = c, self.n_live
        self.n_live += 1
        self._empty(c)
        for p in range(lo, hi):
            self.cell_class[cells[p]] = c
            self._add(c, cells[p])
        self._describe(c)

    def dissolve(self, c):
        """Takes a class out; its cells are in none until they are made one again."""
        if self.histograms or self.code_cells:
            cell = self.first_cell[c]
            while cell >= 0:
                self._count(c, cell, -1)
                cell = self.next_cell[cell]
        self.n_live -= 1
        last = self.live[self.n_live]
        self.live[self.live_position[c]] = last
        self.live_position[last] = self.live_position[c]
        self.free[self.n_free] = c
        self.n_free += 1

    def keeps(self, c):
        """Whether class c keeps every constraint."""
        return self.table.constraints.keeps(self.histogram(c), self.rows[c], self.scratch)

    def union_loss(self, a, b):
        """Loss per row of two classes together; a lower bound where sets have many values."""
        total: cython.double = 0.0
        for j in range(self.table.n_columns):
            low, high = self._range_of_both(a, b, j)
            total += range_loss(self.table, j, low, high)
        return total

    def union_cost(self, a, b, most):
        """How much more two classes lose together; infinite where that is `most` or more."""
        rows = self.rows[a] + self.rows[b]
        before = self.rows[a] * self.loss[a] + self.rows[b] * self.loss[b]
        total: cython.double = 0.0
        for j in range(self.table.n_columns):
            low, high = self._range_of_both(a, b, j)
            total += range_loss(self.table, j, low, high)
            if rows * total - before >= most:
                return INFINITY
        return rows * total - before

    def union_keeps(self, a, b):
        """Whether two classes together keep every constraint."""
        first, second = self.histogram(a), self.histogram(b)
        for slot in range(self.table.constraints.n_slots):
            self.probe[slot] = first[slot] + second[slot]
        rows = self.rows[a] + self.rows[b]
        return self.table.constraints.keeps(self.probe, rows, self.scratch)

    def merge(self, a, b):
        """Takes class b into class a; labels follow when they are read."""
        d, n_codes = self.table.n_columns, self.n_codes
        self.loss[a] = self.union_loss(a, b)
        for j in range(d):
            low, high = self._range_of_both(a, b, j)
            self.low[a * d + j], self.high[a * d + j] = low, high
            self.column_loss[a * d + j] = range_loss(self.table, j, low, high)
            self.present[a * d + j] |= self.present[b * d + j]
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

    def loss_if(self, c, gone, new):
        """Loss per row of class c without cell `gone` and with cell `new` (−1: none)."""
        d = self.table.n_columns
        total: cython.double = 0.0
        for j in range(d):
            low, high = self._range_if(c, j, gone, new)
            if low == self.low[c * d + j] and high == self.high[c * d + j]:
                total += self.column_loss[c * d + j]
            else:
                total += range_loss(self.table, j, low, high)
        return total

    def keeps_if(self, c, gone, new):
        """Whether class c keeps every constraint after the change."""
        if not self.histograms:
            return self._members_keep(c, gone, new)
        now, probe = self.histogram(c), self.probe
        for slot in range(self.table.constraints.n_slots):
            probe[slot] = now[slot]
        self.walked += 6 * self.table.constraints.n_slots
        self.walked += PER_CHECK * self.table.constraints.n_constraints
        rows = self.rows[c] + add_cell(self.table, gone, -1, probe)
        rows += add_cell(self.table, new, 1, probe)
        return rows > 0 and self.table.constraints.keeps(probe, rows, self.scratch)

    def _members_keep(self, c, gone, new):
        """The same by the members of the class."""
        count: cython.Py_ssize_t = 0
        cell = self.first_cell[c]
        while cell >= 0:
            if cell != gone:
                self.ids[count] = cell
                count += 1
            cell = self.next_cell[cell]
        if new >= 0:
            self.ids[count] = new
            count += 1
        return self.keep_cells(count)

    def keep_cells(self, count):
        """Whether the first cells of `ids`, as one class, keep every constraint."""
        walked = self.support.walked
        kept: cython.bint = self.support.keep_cells(self.ids, count, self.probe)
        self.walked += self.support.walked - walked
        return kept

    def exchange(self, c, gone, new):
        """Takes cell `gone` out of class c and cell `new` in (−1: none)."""
        d = self.table.n_columns
        total: cython.double = 0.0
        for j in range(d):
            low, high = self._range_if(c, j, gone, new)
            self.low[c * d + j], self.high[c * d + j] = low, high
            self.column_loss[c * d + j] = range_loss(self.table, j, low, high)
            total += self.column_loss[c * d + j]
        self.loss[c] = total
        if gone >= 0:
            self._count(c, gone, -1)
            if self.first_cell and self.cell_class[gone] == c:
                self._unlink(gone)
        if new >= 0:
            self._count(c, new, 1)
            if self.first_cell:
                self._unlink(new)
                self._link(c, new)
            self.cell_class[new] = c

    def remove(self, c, cell):
        """Takes a cell out of class c: it is suppressed."""
        self.exchange(c, cell, -1)
        self.cell_class[cell] = -1

    def _count_values(self, a, b, j):
        """How many codes of column j two classes have together, or have at least."""
        found: int64_t = 0
        x, y = a * self.table.n_columns + j, b * self.table.n_columns + j
        if self.table.columns[j].n_codes <= NARROW:
            return count_bits(self.present[x] | self.present[y])
        if not self.code_cells:
            found = count_bits(self.present[x] | self.present[y])
            return max(found, max(self.high[x], self.high[y]))
        first = self.code_cells + a * self.n_codes + self.column_start[j]
        second = self.code_cells + b * self.n_codes + self.column_start[j]
        for code in range(self.table.columns[j].n_codes):
            found += first[code] + second[code] > 0
        return found

    def _range_of_both(self, a, b, j):
        """The lowest and highest code of two classes in column j; of a set 0 and how many."""
        if self.table.columns[j].form == SET:
            return 0, self._count_values(a, b, j)
        x, y = a * self.table.n_columns + j, b * self.table.n_columns + j
        return min(self.low[x], self.low[y]), max(self.high[x], self.high[y])

    def _range_if(self, c, j, gone, new):
        """The same of class c without cell `gone` and with cell `new` (−1: none)."""
        d = self.table.n_columns
        low, high = self.low[c * d + j], self.high[c * d + j]
        u: int64_t = self.table.codes[gone * d + j] if gone >= 0 else -1
        v: int64_t = self.table.codes[new * d + j] if new >= 0 else -1
        if u == v:
            return low, high
        if self.table.columns[j].form != SET and u != low and u != high:
            return (min(low, v), max(high, v)) if v >= 0 else (low, high)
        if self.column_start[j] < 0:
            return self._range_of_members(c, j, gone, v)
        cells = self.code_cells + c * self.n_codes + self.column_start[j]
        is_last: cython.bint = u >= 0 and cells[u] == 1
        if self.table.columns[j].form == SET:
            return low, high - is_last + (v >= 0 and cells[v] == 0)
        if is_last and low == high:
            return (v, v) if v >= 0 else (low, high)
        if is_last and u == low:
            low += 1
            while low < high and cells[low] == 0:
                low += 1
        elif is_last and u == high:
            high -= 1
            while high > low and cells[high] == 0:
                high -= 1
        if v >= 0:
            low, high = min(low, v), max(high, v)
        return low, high

    def _range_of_members(self, c, j, gone, v):
        """The same by the members of the class, in a column of many codes; `v` is the new one."""
        d, codes = self.table.n_columns, self.table.codes + j
        low, high = self.low[c * d + j], self.high[c * d + j]
        u: int64_t = codes[gone * d] if gone >= 0 else -1
        is_set: cython.bint = self.table.columns[j].form == SET
        if (u >= 0 and (is_set or u == low or u == high)) or (is_set and v >= 0):
            has_u: cython.bint = False
            has_v: cython.bint = False
            least: int64_t = FAR_CODE
            most: int64_t = -1
            cell = self.first_cell[c]
            while cell >= 0:
                if cell != gone:
                    code: int64_t = codes[cell * d]
                    least, most = min(least, code), max(most, code)
                    has_u |= code == u
                    has_v |= code == v
                cell = self.next_cell[cell]
            self.walked += self.n_cells[c]
            if is_set:
                return low, high - (u >= 0 and not has_u) + (v >= 0 and not has_v)
            if most >= 0:
                low, high = least, most
            elif v >= 0:
                low = high = v
        if v >= 0:
            low, high = min(low, v), max(high, v)
        return low, high


class ClassMerger(Memory):
    """Classes that fail, merged with neighbours until they keep the constraints.

    The whole table keeps whatever can be kept, so merging ends well. Histograms are kept, the
    classes are numbered along a space-filling curve, and partners are neighbours there.
    """

    def __init__(self, state) -> None:
        self.state, classes = state, state.capacity
        self.n_leaves = 1 << max(classes - 1, 0).bit_length()
        self.ahead = self.longs_of(np.append(np.arange(1, classes), -1))
        self.behind = self.longs_of(np.arange(-1, classes - 1))
        self.distance = self.doubles_of(np.full(self.n_leaves, GONE))
        self.winner = self.longs(2 * self.n_leaves)

    def merge_failing(
        self, c: cython.Py_ssize_t, neighbours: cython.longlong, effort: cython.longlong
    ) -> tuple[int, int]:
        """Merges failing classes from c on with the cheapest neighbour that mends them, else the
        cheapest, until so many looks are spent: the class to go on with, and the looks."""
        looks: int64_t = 0
        with cython.nogil:
            while c < self.state.capacity:
                if self.state.rows[c] == 0 or self.state.keeps(c):
                    c += 1
                    continue
                if looks >= effort:
                    break
                b, more = self._choose_partner(c, neighbours, True)
                looks += more
                if b < 0:
                    c += 1
                else:
                    self._merge(c, b)
        return c, looks

    def merge_marked(self, marked, neighbours: cython.longlong) -> None:
        """Merges each class that is marked with one neighbour; both are then no longer marked."""
        for c in np.flatnonzero(marked):
            at: cython.Py_ssize_t = c
            if marked[at] and self.state.rows[at] > 0:
                b, _ = self._choose_partner(at, neighbours, True)
                if b >= 0:
                    self._merge(at, b)
                    marked[at] = marked[b] = False

    def start_tournament(self) -> None:
        """Measures all classes, so that the farthest is known."""
        for c in range(self.state.capacity):
            self._measure(c)
        for c in range(self.n_leaves):
            self.winner[self.n_leaves + c] = c
        for node in range(self.n_leaves - 1, 0, -1):
            self._play(node)

    def merge_farthest(self, neighbours: cython.longlong, most: cython.longlong) -> int:
        """Merges the farthest failing class with the nearest until none fails; the merges."""
        merges: int64_t = 0
        with cython.nogil:
            while merges < most:
                c = self.winner[1] if self.n_leaves > 1 else 0
                if self.distance[c] < 0.0:
                    break
                b, _ = self._choose_partner(c, neighbours, False)
                if b < 0:
                    break
                self._merge(c, b)
                self.distance[b] = GONE
                self._measure(c)
                self._replay(b)
                self._replay(c)
                merges += 1
        return merges

    def _choose_partner(self, c, neighbours, prefer_keeping):
        """The neighbour whose union adds least loss, first among those that would keep the
        constraints if so preferred (−1: none is left), and how many were looked at."""
        best: cython.double = INFINITY
        found: cython.Py_ssize_t = -1
        keeps: cython.bint = False
        looks: int64_t = 0
        ahead, behind = self.ahead[c], self.behind[c]
        for _ in range(neighbours):
            for side in range(2):
                b = ahead if side == 0 else behind
                if b < 0:
                    continue
                looks += 1
                cost = self.state.union_cost(c, b, INFINITY)
                if not prefer_keeping:
                    if cost < best:
                        best, found = cost, b
                    continue
                if keeps and cost >= best:
                    continue
                mends = self.state.union_keeps(c, b)
                if (mends and not keeps) or (mends == keeps and cost < best):
                    best, found, keeps = cost, b, mends
            ahead = self.ahead[ahead] if ahead >= 0 else -1
            behind = self.behind[behind] if behind >= 0 else -1
            if ahead < 0 and behind < 0:
                break
        return found, looks

    def _merge(self, c, b):
        """Takes class b into class c and out of the row."""
        self.state.merge(c, b)
        before, after = self.behind[b], self.ahead[b]
        if before >= 0:
            self.ahead[before] = after
        if after >= 0:
            self.behind[after] = before

    def _measure(self, c):
        """Sets how far a class is from the table, over t."""
        if self.state.keeps(c):
            self.distance[c] = KEEPS
            return
        hist, rows = self.state.histogram(c), self.state.rows[c]
        slack = self.state.table.constraints.slack(hist, rows, self.state.scratch)
        self.distance[c] = max(0.0, 1.0 - slack)

    def _play(self, node):
        """Sets which of two halves of the tournament has the farther class; of equals the first."""
        left, right = self.winner[2 * node], self.winner[2 * node + 1]
        self.winner[node] = left if self.distance[left] >= self.distance[right] else right

    def _replay(self, c):
        node = (self.n_leaves + c) // 2
        while node >= 1:
            self._play(node)
            node //= 2
