"""Cells grouped at a node of the lattice and the classes judged, from a finer grouping.

A grouping is a key, a size and a sparse histogram per class. Classes of a coarser node are unions
of classes of a finer one, and sizes and histograms add up: so any finer grouping will do as the
source (*roll-up*, LeFevre 2005), and the smaller it is the less there is to do. A class costs its
own entries, whatever the number of sensitive values.
"""

import cython
import numpy as np

SURE_ROWS = cython.declare(cython.double, 1e-3)
"""Far above what rounding can add to a sum of distances over all classes."""


class KeyLayout:
    """How the codes of all columns are packed into a key's words, and their group at each level."""

    def __init__(self, columns, group, n_words: int) -> None:
        self.arrays, self.n_columns, self.n_words = (columns, group), len(columns), n_words
        self.columns = cython.cast(cython.pointer(KeyColumn), longs(columns.view("i8")))
        self.group = longs(group)


class Grouping:
    """Classes with sparse histograms."""

    def __init__(self, key, size, start, slot, count) -> None:
        self.arrays = (key, size, start, slot, count)
        self.n_words, self.capacity = key.shape
        self.n_classes, self.n_entries = self.capacity, len(slot)
        self.key, self.size, self.start = longs(key), longs(size), longs(start)
        self.slot, self.count = ints(slot), longs(count)

    @property
    def n_bytes(self) -> int:
        """How much memory it takes."""
        return sum(array.nbytes for array in self.arrays)

    def copy(self) -> "Grouping":
        """A copy without the room to spare."""
        ends = (self.n_classes, self.n_classes, self.n_classes + 1, self.n_entries, self.n_entries)
        return Grouping(*(a[..., :end].copy() for a, end in zip(self.arrays, ends, strict=True)))


class NodeGrouping(Memory):
    """The classes of one node after another, and how they stand to the constraints."""

    def __init__(self, layout, strict, lenient, n_cells: int, n_entries: int) -> None:
        self.layout, self.strict, self.lenient = layout, strict, lenient
        self.made = Grouping(
            np.zeros((layout.n_words, n_cells), np.int64), np.zeros(n_cells, np.int64),
            np.zeros(n_cells + 1, np.int64), np.zeros(n_entries, np.int32),
            np.zeros(n_entries, np.int64),
        )  # fmt: skip
        room = 1 << max(3, (2 * max(n_cells, 1) - 1).bit_length())
        self.owner = np.zeros(max(n_cells, 1), np.int64)
        self.state = np.zeros(max(n_cells, 1), np.int8)
        self.owners, self.states = longs(self.owner), bytes_of(self.state)
        self.first_member, self.next_member = self.longs(room), self.longs(room)
        self.table, self.scratch = self.longs(room), self.longs(strict.scratch_size)
        self.hist, self.touched = self.longs(strict.n_slots), self.longs(strict.n_slots)

    def regroup(self, source: Grouping, changes) -> None:
        """Keys and sizes of the classes at coarser levels, their members linked for `merge`;
        `changes` has a row (column, level) for each column that is not at its level yet."""
        n_changes: cython.Py_ssize_t = len(changes)
        room: cython.Py_ssize_t = 8
        while room < 2 * source.n_classes:
            room *= 2
        steps, made, layout = longs(changes), self.made, self.layout
        table, owner = self.table, self.owners
        first_member, next_member = self.first_member, self.next_member
        n_words = layout.n_words
        spot: cython.Py_ssize_t
        groups: cython.Py_ssize_t = 0
        with cython.nogil:
            for spot in range(room):
                table[spot] = -1
            for c in range(source.n_classes):
                for w in range(n_words):
                    made.key[w * made.capacity + groups] = source.key[w * source.capacity + c]
                for at in range(n_changes):
                    column = layout.columns[steps[2 * at]]
                    key = made.key + column.word * made.capacity + groups
                    code = (key[0] >> column.shift) & column.mask
                    level = column.first_group + steps[2 * at + 1] * column.n_codes
                    key[0] ^= (code ^ layout.group[level + code]) << column.shift
                mixed: uint64_t = 0
                for w in range(n_words):
                    mixed ^= cython.cast(uint64_t, made.key[w * made.capacity + groups])
                    mixed *= cython.cast(uint64_t, 11400714819323198485)
                    mixed ^= mixed >> 32
                spot = cython.cast(cython.Py_ssize_t, mixed & (room - 1))
                while True:
                    found = table[spot]
                    if found < 0:
                        table[spot], owner[c] = groups, groups
                        made.size[groups] = source.size[c]
                        first_member[groups], next_member[c] = c, -1
                        groups += 1
                        break
                    same: cython.bint = True
                    for w in range(n_words):
                        line = made.key + w * made.capacity
                        if line[found] != line[groups]:
                            same = False
                            break
                    if same:
                        made.size[found] += source.size[c]
                        next_member[c], first_member[found] = first_member[found], c
                        owner[c] = found
                        break
                    spot = (spot + 1) & (room - 1)
        made.n_classes = groups
        self.small_rows = self.sum_of_squares = 0
        for g in range(groups):
            size = made.size[g]
            self.sum_of_squares += size * size
            self.small_rows += size if size < self.strict.k else 0

    def merge(
        self, source: Grouping, room: cython.longlong, whole: cython.bint, bounding: cython.bint
    ) -> bool:
        """Adds up the histograms of the classes that `regroup` found, and judges each.

        Judging ends as soon as more than `room` rows are in failing classes (where `bounding`, as
        soon as every finer node is known to lose more than that), and so does adding up, unless
        the `whole` grouping is wanted. Returns whether all classes were judged.
        """
        made, hist, touched = self.made, self.hist, self.touched
        self.failed_rows = self.n_unsure = self.n_failed = 0
        self.lost_rows = self.small_rows
        judging: cython.bint = self.small_rows <= room
        at: int64_t = 0
        with cython.nogil:
            for g in range(made.n_classes):
                made.start[g] = at
                seen = self._add_members(source, g)
                if judging:
                    self._judge(g, made.size[g])
                for q in range(seen):
                    slot = touched[q]
                    made.slot[at], made.count[at] = slot, hist[slot]
                    hist[slot] = 0
                    at += 1
                if judging and self.failed_rows > room:
                    judging = bounding and self.lost_rows <= room + SURE_ROWS
                if not judging and not whole:
                    break
        made.start[made.n_classes] = made.n_entries = at
        return judging

    def judge_again(self) -> int:
        """Judges the classes that have not failed yet, against another reference; how many fail."""
        before = self.n_failed
        made = self.made
        with cython.nogil:
            for g in range(made.n_classes):
                if self.states[g] == KEPT:
                    self._add_histogram(g, 1, self.hist)
                    self._judge(g, made.size[g])
                    self._add_histogram(g, -1, self.hist)
        return self.n_failed - before

    def count_released(self) -> np.ndarray:
        """The rows of each slot in classes that have not failed."""
        released = np.zeros(self.strict.n_slots, np.int64)
        rows = longs(released)
        for g in range(self.made.n_classes):
            if self.states[g] == KEPT:
                self._add_histogram(g, 1, rows)
        return released

    def rest_keeps(self) -> bool:
        """Whether the classes that fail keep the constraints together, as one class."""
        made = self.made
        size: int64_t = 0
        for g in range(made.n_classes):
            if self.states[g] != KEPT:
                size += made.size[g]
                self._add_histogram(g, 1, self.hist)
        kept: cython.bint = self.strict.keeps(self.hist, size, self.scratch)
        clear(self.hist, self.strict.n_slots)
        return kept

    def price_of_failed(self, levels, price) -> tuple[int, float]:
        """Over the classes that fail: Σ size², and Σ size · Σ price of the class in each column."""
        level, prices, made, layout = longs(levels), doubles(price), self.made, self.layout
        squares: int64_t = 0
        cost: cython.double = 0.0
        with cython.nogil:
            for g in range(made.n_classes):
                if self.states[g] == KEPT:
                    continue
                squares += made.size[g] * made.size[g]
                each = 0.0
                for j in range(layout.n_columns):
                    column = layout.columns[j]
                    key = made.key[column.word * made.capacity + g]
                    code = (key >> column.shift) & column.mask
                    each += prices[column.first_group + level[j] * column.n_codes + code]
                cost += made.size[g] * each
        return squares, cost

    def overrule(self, failed, failed_rows: int) -> None:
        """Takes over which classes fail, as the requirements have judged them."""
        self.state[: len(failed)] = np.where(failed, int(TOO_CLOSE), int(KEPT))
        self.failed_rows, self.n_failed = failed_rows, int(failed.sum())

    def label_cells(self, n_cells: int) -> np.ndarray:
        """The class of each source class, −1 where it has failed."""
        owner = self.owner[:n_cells]
        return np.where(self.state[owner] == int(KEPT), owner, -1)

    def _add_members(self, source, g):
        """The histogram of a class, from those of its members; how many slots it has."""
        hist, touched = self.hist, self.touched
        seen: cython.Py_ssize_t = 0
        member = self.first_member[g]
        while member >= 0:
            for e in range(source.start[member], source.start[member + 1]):
                slot = source.slot[e]
                if hist[slot] == 0:
                    touched[seen] = slot
                    seen += 1
                hist[slot] += source.count[e]
            member = self.next_member[member]
        return seen

    def _judge(self, g, size):
        """Writes down how a class stands to the constraints."""
        self.states[g] = KEPT
        if self.strict.keeps(self.hist, size, self.scratch):
            return
        self.states[g] = FAILS
        self.failed_rows += size
        self.n_failed += 1
        if size < self.strict.k:
            return
        self.lost_rows += size * self._surely_lost(size)
        if self.lenient.n_constraints > 0 and self.lenient.keeps(self.hist, size, self.scratch):
            self.states[g] = TOO_CLOSE
            self.n_unsure += 1

    def _surely_lost(self, size):
        """The share of a class's rows that fail the same constraints however it is divided.

        An earth mover's distance D is convex and at most 1. If a share f of the rows is in parts
        that fail, D ≤ (1 − f)·t + f, so f ≥ (D − t) / (1 − t). By convexity again, finer parts have
        larger sums of size · (D − t)⁺: the bound is inherited by all finer nodes. Where rows have
        weights it is one of weight, which says nothing about rows.
        """
        most: cython.double = 0.0
        for at in range(self.strict.n_constraints):
            row = cython.address(self.strict.rows[at])
            is_plain: cython.bint = row.hidden_slot < 0 and row.whole_first == row.whole_end
            if row.kind == EMD and is_plain and row.threshold < 1.0:
                far = self.strict.emd(row, self.hist, size, self.scratch) - row.threshold
                most = max(most, far / (1.0 - row.threshold))
        return most

    def _add_histogram(self, g, times, hist):
        """Adds the histogram of a class to another, or takes it out again (times −1)."""
        for e in range(self.made.start[g], self.made.start[g + 1]):
            hist[self.made.slot[e]] += times * self.made.count[e]
