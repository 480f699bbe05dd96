"""Records gathered around the farthest of them: MDAV (Domingo-Ferrer and Torra 2005).

The record farthest from the centre of those left takes its k − 1 nearest, then the record farthest
from that one, and so on while 3k are left; then one more class of k if 2k are left, and the rest is
the last class. The centre is, column by column, the middle code, or for sets the commonest. Of
equal distances the first along the space-filling curve counts, along which tables are cut into
blocks, since n records cost n² / k looks.

A class may exchange records (Soria-Comas et al. 2015, second algorithm): those next in distance are
taken up one by one, each for the member whose leaving brings the class nearest to the table, until
the class is close. Groups of single rows are halved along two orders at once.
"""

import cython
import numpy as np


def count_record(table, cell, times, hist):
    """Counts the sensitive values of a single record in or out."""
    slots = table.slots + cell * table.n_fields
    for field in range(table.n_fields):
        hist[slots[field]] += times


class RecordPool(Memory):
    """The records without a class; `candidates` of the nearest may be exchanged for members."""

    def __init__(self, table, cell, k: int, block: int, candidates: int) -> None:
        self.table, self.k, self.block = table, k, block
        self.n_records, self.most_near = len(cell), k + candidates
        self.label, self.cell = np.full(len(cell), -1), self.longs_of(cell)
        self.record_class, self.middle = longs(self.label), self.ints(table.n_columns)
        self.left, self.code_count = self.longs(block + 2 * k), self.longs(table.n_codes)
        self.near, self.near_distance = self.longs(k + candidates), self.doubles(k + candidates)
        self.hist = self.longs(table.constraints.n_slots)
        self.scratch = self.longs(table.constraints.scratch_size)

    @property
    def is_empty(self) -> bool:
        """Whether every record has a class."""
        return self.n_left == 0 and self.next_record == self.n_records

    def gather(self, effort: cython.longlong) -> int:
        """Gathers classes until so many looks are spent or all records have one; the looks."""
        looks: int64_t = 0
        with cython.nogil:
            while looks < effort and (self.n_left > 0 or self.next_record < self.n_records):
                if self.n_left == 0:
                    self._start_block()
                if self.n_left < 2 * self.k:
                    for p in range(self.n_left):
                        self.record_class[self.left[p]] = self.n_classes
                    self.n_classes += 1
                    self.n_left = 0
                    continue
                is_pair: cython.bint = self.n_left >= 3 * self.k
                self._find_centre()
                seed = self._farthest_from(self.middle)
                looks += self.n_left + self.table.n_codes // 16
                looks += self._form_class(seed)
                if is_pair:
                    looks += self.n_left
                    codes = self.table.codes + self.cell[seed] * self.table.n_columns
                    looks += self._form_class(self._farthest_from(codes))
        return looks

    def _start_block(self):
        """Takes up the records of the next block; the last has fewer than 2k more."""
        first = self.next_record
        last = first + self.block
        if last + 2 * self.k > self.n_records:
            last = self.n_records
        clear(self.code_count, self.table.n_codes)
        for record in range(first, last):
            self.left[record - first] = record
            self._count_codes(record, 1)
        self.n_left, self.next_record = last - first, last

    def _count_codes(self, record, times):
        """Counts the codes of a record among those of the records left, or out of them."""
        count, d = self.code_count, self.table.n_columns
        for j in range(d):
            count[self.table.codes[self.cell[record] * d + j]] += times
            count += self.table.columns[j].n_codes

    def _find_centre(self):
        """Sets the middle code of each column among the records left; of a set the commonest."""
        count = self.code_count
        for j in range(self.table.n_columns):
            below: int64_t = 0
            best: int64_t = 0
            for v in range(self.table.columns[j].n_codes):
                if self.table.columns[j].form == SET:
                    if count[v] > count[best]:
                        best = v
                else:
                    below += count[v]
                    best = v
                    if 2 * below >= self.n_left:
                        break
            self.middle[j] = cython.cast(int32_t, best)
            count += self.table.columns[j].n_codes

    def _farthest_from(self, codes):
        """The record left that is farthest from some codes."""
        d = self.table.n_columns
        best: cython.double = -1.0
        found: int64_t = -1
        for p in range(self.n_left):
            here = self.table.codes + self.cell[self.left[p]] * d
            distance: cython.double = 0.0
            for j in range(d):
                distance += pair_loss(self.table, j, codes[j], here[j])
            if distance > best:
                best, found = distance, self.left[p]
        return found

    def _find_near(self, seed):
        """The records nearest to a seed, itself first, into `near`; how many there are."""
        near, distances = self.near, self.near_distance
        most = min(self.most_near, self.n_left)
        count: cython.Py_ssize_t = 0
        for p in range(self.n_left):
            record = self.left[p]
            limit: cython.double = distances[count - 1] if count == most else INFINITY
            distance: cython.double = -1.0
            if record != seed:
                distance = cell_distance(self.table, self.cell[seed], self.cell[record], limit)
            if distance >= limit:
                continue
            at = count if count < most else most - 1
            while at > 0 and distances[at - 1] > distance:
                near[at], distances[at] = near[at - 1], distances[at - 1]
                at -= 1
            near[at], distances[at] = record, distance
            count = min(count + 1, most)
        return count

    def _form_class(self, seed):
        """One class around a seed; returns what it took, in looks at a record."""
        looks: int64_t = self.n_left
        count = self._find_near(seed)
        if self.most_near > self.k:
            looks += self._exchange(count) * (1 + self.table.constraints.n_nodes // 8)
        self._close_class()
        return looks

    def _exchange(self, count):
        """Exchanges the first k of `near` for later ones that bring the class nearer; the tries."""
        near, cell, hist, k = self.near, self.cell, self.hist, self.k
        clear(hist, self.table.constraints.n_slots)
        for p in range(k):
            count_record(self.table, cell[near[p]], 1, hist)
        slack: cython.double = self.table.constraints.slack(hist, k, self.scratch)
        weighed: int64_t = 1
        for p in range(k, count):
            if slack >= 0.0:
                break
            best: cython.double = slack
            worst: cython.Py_ssize_t = p
            count_record(self.table, cell[near[p]], 1, hist)
            for q in range(k):
                count_record(self.table, cell[near[q]], -1, hist)
                found = self.table.constraints.slack(hist, k, self.scratch)
                count_record(self.table, cell[near[q]], 1, hist)
                if found > best:
                    best, worst = found, q
            weighed += k
            count_record(self.table, cell[near[worst]], -1, hist)
            near[p], near[worst] = near[worst], near[p]
            slack = best
        return weighed

    def _close_class(self):
        """Makes the first k records of `near` a class and takes them off those left."""
        for p in range(self.k):
            self.record_class[self.near[p]] = self.n_classes
            self._count_codes(self.near[p], -1)
        self.n_classes += 1
        kept: cython.Py_ssize_t = 0
        for p in range(self.n_left):
            if self.record_class[self.left[p]] < 0:
                self.left[kept] = self.left[p]
                kept += 1
        self.n_left = kept


class GroupHalving(Memory):
    """Every cell of the table is a single row."""

    def __init__(self, table, stream) -> None:
        rows, slots = table.n_cells, table.constraints.n_slots
        self.table, self.stream, self.goes_left = table, stream, self.ints(rows)
        self.first_partner, self.second_partner = self.longs(rows), self.longs(rows)
        self.half, self.spare = self.longs(rows), self.longs(rows)
        self.first_hist, self.second_hist = self.longs(slots), self.longs(slots)
        self.scratch = self.longs(table.constraints.scratch_size)

    def find_failing(self, first, members) -> np.ndarray:
        """Which groups fail; group g has the rows members[first[g] … first[g + 1] − 1]."""
        n_groups: cython.Py_ssize_t = len(first) - 1
        fails = np.zeros(n_groups, dtype=np.int8)
        start, row, failing, hist = longs(first), longs(members), bytes_of(fails), self.first_hist
        with cython.nogil:
            for g in range(n_groups):
                clear(hist, self.table.constraints.n_slots)
                for at in range(start[g], start[g + 1]):
                    count_record(self.table, row[at], 1, hist)
                rows = start[g + 1] - start[g]
                failing[g] = not self.table.constraints.keeps(hist, rows, self.scratch)
        return fails.astype(bool)

    def halve(self, first, orders) -> tuple[np.ndarray, int]:
        """Halves groups again and again, as long as both halves keep the constraints: along every
        pair of orders, and each with itself. Returns the group of each row, and the looks at rows.

        `orders` [orders, rows] are the rows along each order, and `first` is where groups begin.
        """
        n = self.table.n_cells
        top: cython.Py_ssize_t = len(first) - 1
        n_orders: cython.Py_ssize_t = len(orders)
        borders = np.zeros((2, n + 1), dtype=np.int64)
        borders[:, :top] = first[:top], first[1:]
        members = np.array(orders, dtype=np.int64, order="C")
        found = np.zeros(n, dtype=np.int64)
        starts, ends = longs(borders[0]), longs(borders[1])
        member, result = longs(members), longs(found)
        made: int64_t = 0
        looks: int64_t = 0
        with cython.nogil:
            while top > 0:
                top -= 1
                lo, hi = starts[top], ends[top]
                left: cython.Py_ssize_t = 0
                if hi - lo >= 2 * self.table.constraints.k:
                    for turn in range(n_orders * n_orders):
                        p, q = turn // n_orders, turn % n_orders
                        if q < p:
                            continue
                        self._part_in_two(lo, hi, member + p * n, member + q * n, p == q)
                        left = self._both_keep(lo, hi, member)
                        looks += 3 * (hi - lo) + self.table.constraints.n_slots
                        if left > 0:
                            break
                if left == 0:
                    for at in range(lo, hi):
                        result[member[at]] = made
                    made += 1
                    continue
                for order in range(n_orders):
                    along = member + order * n
                    for at in range(lo, hi):
                        self.goes_left[at - lo] = self.half[along[at]] == 0
                    divide_stably(along, lo, hi, self.goes_left, self.spare)
                starts[top], ends[top] = lo, lo + left
                starts[top + 1], ends[top + 1] = lo + left, hi
                top += 2
        return found, looks

    def _part_in_two(self, lo, hi, first, second, shifted):
        """Partners of either order go to different halves: the pairings are paths and even cycles.
        Along one order alone the second is `shifted` by a row, so that the rows alternate."""
        self._pair(lo, lo, hi, first, self.first_partner)
        self._pair(lo, lo + shifted, hi, second, self.second_partner)
        for at in range(lo, hi):
            self.half[first[at]] = -1
        for at in range(lo, hi):
            row = first[at]
            if self.half[row] < 0 and self.second_partner[row] < 0:
                self._walk(row, False)
            elif self.half[row] < 0 and self.first_partner[row] < 0:
                self._walk(row, True)
        for at in range(lo, hi):
            if self.half[first[at]] < 0:
                self._walk(first[at], False)

    def _pair(self, lo, start, hi, order, partner):
        """Neighbours along an order, from `start` on, become partners; −1 for a row without one."""
        for at in range(lo, hi):
            partner[order[at]] = -1
        for at in range(start, hi - 1, 2):
            partner[order[at]] = order[at + 1]
            partner[order[at + 1]] = order[at]

    def _walk(self, row, along_second):
        """Halves a path or a cycle from a row on, beginning with a random half."""
        half = draw(self.stream, 2)
        while row >= 0 and self.half[row] < 0:
            self.half[row] = half
            row = self.second_partner[row] if along_second else self.first_partner[row]
            half = 1 - half
            along_second = not along_second

    def _both_keep(self, lo, hi, member):
        """The size of the first half where both keep every constraint, else 0."""
        left: cython.Py_ssize_t = 0
        clear(self.first_hist, self.table.constraints.n_slots)
        clear(self.second_hist, self.table.constraints.n_slots)
        for at in range(lo, hi):
            is_first: cython.bint = self.half[member[at]] == 0
            left += is_first
            hist = self.first_hist if is_first else self.second_hist
            count_record(self.table, member[at], 1, hist)
        right = hi - lo - left
        if left == 0 or right == 0:
            return 0
        if not self.table.constraints.keeps(self.first_hist, left, self.scratch):
            return 0
        return left if self.table.constraints.keeps(self.second_hist, right, self.scratch) else 0
