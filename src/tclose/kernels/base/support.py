"""Classes judged by the values they have, however many the table has.

The support of some cells are the slots that they have rows in; histograms of them, or of some of
them, are 0 elsewhere. An earth mover's distance is a sum over the edges of a tree, and where a
class has no rows below an edge it adds what the table has there. So

    Σ len·|n·c − r·N|  =  r · Σ len·N  +  Σ len·(|n·c − r·N| − r·N),

where the last sum goes over nodes with rows of the class below. Along a *chain* (nodes numbered one
after another, each the parent of the one before) c stays the same until further rows enter, and N
never falls; so the nodes up to which r·N ≤ n·c are found by bisection, and prefix sums of len and
len·N give the rest. In whole numbers, so that decisions are those of the sum over all edges.
"""

import cython
import numpy as np


class Support(Memory):
    """The slots that cells have, found for one node or class after another, and room to judge."""

    def __init__(self, table) -> None:
        self.table, self.constraints = table, table.constraints
        slots, nodes = self.constraints.n_slots, self.constraints.n_nodes
        self.slots, self.slot_mark = self.longs(slots), self.longs(slots)
        self.entry, self.node_mark = self.longs(nodes), self.longs(nodes)
        self.stop, self.into = self.longs(nodes), self.longs(nodes)
        self.first_entry = self.longs(self.constraints.n_constraints)
        self.end_entry = self.longs(self.constraints.n_constraints)
        self.scratch = self.longs(self.constraints.scratch_size)

    def judge(self, cells) -> bool:
        """Whether some cells (int64), as one class, keep every constraint."""
        hist = np.zeros(max(self.constraints.n_slots, 1), dtype=np.int64)
        return self.keep_cells(longs(cells), len(cells), longs(hist))

    def find(self, cells, count):
        """Makes the slots of some cells the support, where these are few."""
        fields, found = self.table.n_fields, 0
        self.is_sparse = count * fields * SPARSE <= self.constraints.n_slots
        if not self.is_sparse:
            return
        self.mark += 1
        slots, mark = self.slots, self.slot_mark
        for p in range(count):
            for field in range(fields):
                slot = self.table.slots[cells[p] * fields + field]
                if mark[slot] != self.mark:
                    mark[slot] = self.mark
                    slots[found] = slot
                    found += 1
        self.n_slots = found
        last: cython.Py_ssize_t = 0
        for at in range(self.constraints.n_constraints):
            row = cython.address(self.constraints.rows[at])
            self.first_entry[at] = last
            if row.kind == EMD:
                last = self._find_entries(row, last)
                if (last - self.first_entry[at]) * SPARSE > row.end_node - row.first_node:
                    last = self.first_entry[at]
            self.end_entry[at] = last
        self.walked += count * fields + STEPS_PER_ENTRY * last

    def _find_entries(self, row, first):
        """Adds where rows enter the chains of a constraint's tree, children before parents."""
        parent, chain_end, mark = (
            self.constraints.node_parent,
            self.constraints.chain_end,
            self.mark,
        )
        leaf = self.constraints.leaf_node + row.first_value
        entry, met, last = self.entry, self.node_mark, first
        for q in range(self.n_slots):
            value = self.slots[q] - row.first_slot
            if not 0 <= value < row.n_values:
                continue
            node = leaf[value]
            while node >= 0 and met[node] != mark:
                met[node] = mark
                entry[last] = node
                last += 1
                node = parent[chain_end[node]]
        sort_ascending(entry + first, last - first)
        for q in range(first, last):
            end = chain_end[entry[q]]
            is_followed: cython.bint = q + 1 < last and entry[q + 1] <= end
            self.stop[q] = entry[q + 1] if is_followed else end + 1
            self.into[q] = entry[q + 1] if is_followed else parent[end]
        return last

    def clear(self, hist):
        """Makes a histogram of the support 0 everywhere."""
        if not self.is_sparse:
            clear(hist, self.constraints.n_slots)
            return
        for q in range(self.n_slots):
            hist[self.slots[q]] = 0

    def subtract(self, whole, part, rest):
        """The histogram of what is left of a whole without a part."""
        if not self.is_sparse:
            for slot in range(self.constraints.n_slots):
                rest[slot] = whole[slot] - part[slot]
            self.walked += self.constraints.n_slots
            return
        for q in range(self.n_slots):
            slot = self.slots[q]
            rest[slot] = whole[slot] - part[slot]
        self.walked += self.n_slots

    def add_up(self, cells, count, hist):
        """Finds the support of some cells; their histogram into `hist`, which is 0, their rows."""
        self.find(cells, count)
        rows: int64_t = 0
        for p in range(count):
            rows += add_cell(self.table, cells[p], 1, hist)
        return rows

    def keep_cells(self, cells, count, hist):
        """Whether some cells, as one class, keep every constraint; `hist` is 0, and is left so."""
        rows = self.add_up(cells, count, hist)
        kept: cython.bint = rows > 0 and self.keeps(hist, rows)
        self.clear(hist)
        return kept

    def keeps(self, hist, rows):
        """Whether a class with a histogram on the support keeps every constraint."""
        if is_too_small(self.constraints, hist, rows):
            return False
        for at in range(self.constraints.n_constraints):
            if not self.keeps_one(at, hist, rows):
                return False
        return True

    def keeps_one(self, at, hist, rows):
        """Whether it keeps one constraint."""
        row = cython.address(self.constraints.rows[at])
        if not self._is_exact(at, hist, rows):
            self.walked += row.n_values + row.end_node - row.first_node
            return self.constraints.keeps_one(row, hist, rows, self.scratch)
        rows = self._whole(row, hist, rows)
        return self._work(at, hist, rows) * row.denominator <= row.numerator * row.known_rows * rows

    def slack(self, hist, rows):
        """The smallest 1 − EMD/t: how much room a class has left; to rank candidates only."""
        least: cython.double = 1.0
        for at in range(self.constraints.n_constraints):
            row = cython.address(self.constraints.rows[at])
            if row.kind != EMD:
                continue
            if row.numerator > 0 and self._is_exact(at, hist, rows):
                whole = self._whole(row, hist, rows)
                work: cython.double = self._work(at, hist, whole) * row.denominator
                least = min(least, 1.0 - work / (row.numerator * row.known_rows * whole))
            else:
                self.walked += row.n_values + row.end_node - row.first_node
                distance = self.constraints.emd(row, hist, rows, self.scratch)
                least = min(least, 1.0 - distance / max(row.threshold, 1e-12))
        return least

    def _is_exact(self, at, hist, rows):
        """Whether the entries of a constraint decide it, in 64 bits."""
        row = cython.address(self.constraints.rows[at])
        if not self.is_sparse or self.first_entry[at] == self.end_entry[at]:
            return False
        if hidden_rows(row, hist) > 0:
            return False
        return 4 * self._whole(row, hist, rows) <= row.largest_exact  # sums of several products

    def _whole(self, row, hist, rows):
        """What a share is of: the rows of a class, or what these weigh."""
        if row.whole_first == row.whole_end:
            return rows
        total: int64_t = 0
        for q in range(self.n_slots):
            if row.whole_first <= self.slots[q] < row.whole_end:
                total += hist[self.slots[q]]
        return total

    def _work(self, at, hist, rows):
        """Σ len·|n·c − r·N| over the edges of a constraint's tree."""
        row = cython.address(self.constraints.rows[at])
        leaf, known = self.constraints.leaf_node + row.first_value, row.known_rows
        length, reference = self.constraints.node_length, self.constraints.node_rows
        lengths, moments = self.constraints.length_up_to, self.constraints.moment_up_to
        scratch, first, end = self.scratch, self.first_entry[at], self.end_entry[at]
        for q in range(first, end):
            scratch[self.entry[q]] = 0
        for q in range(self.n_slots):
            value = self.slots[q] - row.first_slot
            if 0 <= value < row.n_values:
                scratch[leaf[value]] += hist[row.first_slot + value]
        total: int64_t = rows * moments[row.end_node - 1]
        for q in range(first, end):
            node, stop = self.entry[q], self.stop[q]
            count = scratch[node]
            if self.into[q] >= 0:
                scratch[self.into[q]] += count
            if count == 0:
                continue
            mine = known * count
            # from `node` to `low` the class has more below, from there on the table
            low, high = node, stop
            while low < high:
                middle = (low + high) // 2
                if rows * reference[middle] <= mine:
                    low = middle + 1
                else:
                    high = middle
            before = lengths[node] - length[node]
            begun = moments[node] - length[node] * reference[node]
            if low > node:
                total += mine * (lengths[low - 1] - before)
                total -= 2 * rows * (moments[low - 1] - begun)
                before = lengths[low - 1]
            total -= mine * (lengths[stop - 1] - before)
        self.walked += self.n_slots + STEPS_PER_ENTRY * (end - first)
        return total
