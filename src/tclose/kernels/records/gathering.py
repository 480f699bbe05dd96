"""Records gathered around the farthest of them: MDAV (Domingo-Ferrer and Torra 2005).

The record farthest from the centre of those left takes its k − 1 nearest; the record farthest from
that one does the same; and so on while 3k are left. Then one more class of k if 2k are left, and
the rest is the last class: sizes from k to 2k − 1. The centre is, column by column, the middle
code, or for sets the commonest: an average of categories does not exist. Of equal distances the
first along the curve counts.

A record looks at all that are left, so a table of n costs n² / k looks. Large tables are therefore
cut into blocks along the space-filling curve, and gathered block by block.

While a class is formed it may exchange records (Soria-Comas et al. 2015, second algorithm): those
next in distance are taken up one by one, each for the member whose leaving brings the class nearest
to the table, if that is nearer than before, until the class is close.
"""

from typing import Any

import cython
import numpy as np
from cython.cimports.libc.math import INFINITY
from cython.cimports.libc.stdint import int64_t
from cython.cimports.tclose.kernels.base.memory import clear, doubles, longs
from cython.cimports.tclose.kernels.base.table import SET, pair_loss
from cython.cimports.tclose.kernels.records.growing_box import cell_distance
from numpy.typing import NDArray


class RecordPool:
    """The records without a class, and room to find the nearest.

    `candidates` is how many of the nearest may be exchanged for members of a class.
    """

    def __init__(
        self, table: Any, cell: NDArray[np.int64], k: int, block: int, candidates: int
    ) -> None:
        self.table = table
        self.k, self.block = k, block
        self.n_left = self.next_record = self.n_classes = 0
        self.n_records, self.most_near = len(cell), k + candidates
        self.label = np.full(len(cell), -1, dtype=np.int64)
        cells = np.array(cell, dtype=np.int64)
        left = np.zeros(block + 2 * k, dtype=np.int64)
        code_count = np.zeros(self.table.n_codes, dtype=np.int64)
        middle = np.zeros(self.table.n_columns, dtype=np.int64)
        near, distance = np.zeros(self.most_near, dtype=np.int64), np.zeros(self.most_near)
        hist = np.zeros(table.constraints.n_slots, dtype=np.int64)
        scratch = np.zeros(table.constraints.scratch_size, dtype=np.int64)
        self.owners = (left, cells, code_count, middle, near, distance, hist, scratch)
        self.cell, self.record_class, self.left = longs(cells), longs(self.label), longs(left)
        self.code_count, self.middle = longs(code_count), longs(middle)
        self.near, self.near_distance = longs(near), doubles(distance)
        self.hist, self.scratch = longs(hist), longs(scratch)

    @property
    def is_empty(self) -> bool:
        """Whether every record has a class."""
        return self.n_left == 0 and self.next_record == self.n_records

    def list_left(self) -> NDArray[np.int64]:
        """The records of the block that have no class yet, along the curve."""
        return np.array(self.owners[0][: self.n_left])

    def gather(self, effort: cython.longlong) -> int:
        """Gathers classes until so many looks are spent or all records have one.

        Returns the looks at records that this took.
        """
        with cython.nogil:
            looks = self._gather(effort)
        return looks

    def _gather(self, effort):
        looks: int64_t = 0
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
            seed = self._farthest_from_centre()
            looks += self.n_left + self.table.n_codes // 16
            looks += self._form_class(seed)
            if is_pair:
                looks += self.n_left
                looks += self._form_class(self._farthest_from(seed))
        return looks

    def _start_block(self):
        """Takes up the records of the next block; the last has fewer than 2k more."""
        d = self.table.n_columns
        first = self.next_record
        last = first + self.block
        if last + 2 * self.k > self.n_records:
            last = self.n_records
        clear(self.code_count, self.table.n_codes)
        for record in range(first, last):
            self.left[record - first] = record
            count = self.code_count
            for j in range(d):
                count[self.table.codes[self.cell[record] * d + j]] += 1
                count += self.table.columns[j].n_codes
        self.n_left = last - first
        self.next_record = last

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
            self.middle[j] = best
            count += self.table.columns[j].n_codes

    def _farthest_from_centre(self):
        d = self.table.n_columns
        best: cython.double = -1.0
        found: int64_t = -1
        for p in range(self.n_left):
            codes = self.table.codes + self.cell[self.left[p]] * d
            distance: cython.double = 0.0
            for j in range(d):
                distance += pair_loss(self.table, j, self.middle[j], codes[j])
            if distance > best:
                best = distance
                found = self.left[p]
        return found

    def _farthest_from(self, record):
        """The record left that is farthest from one that need not be."""
        best: cython.double = -1.0
        found: int64_t = -1
        for p in range(self.n_left):
            distance = cell_distance(
                self.table, self.cell[record], self.cell[self.left[p]], INFINITY
            )
            if distance > best:
                best = distance
                found = self.left[p]
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
                near[at] = near[at - 1]
                distances[at] = distances[at - 1]
                at -= 1
            near[at] = record
            distances[at] = distance
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
        """Exchanges the first k of `near` for later ones while that brings the class nearer.

        Returns how many exchanges were weighed.
        """
        near = self.near
        clear(self.hist, self.table.constraints.n_slots)
        for p in range(self.k):
            self._count(near[p], 1)
        slack: cython.double = self.table.constraints.slack(self.hist, self.k, self.scratch)
        weighed: int64_t = 1
        for p in range(self.k, count):
            if slack >= 0.0:
                break
            other = near[p]
            best: cython.double = slack
            worst: cython.Py_ssize_t = -1
            self._count(other, 1)
            for q in range(self.k):
                self._count(near[q], -1)
                found = self.table.constraints.slack(self.hist, self.k, self.scratch)
                self._count(near[q], 1)
                if found > best:
                    best = found
                    worst = q
            weighed += self.k
            if worst < 0:
                self._count(other, -1)
            else:
                self._count(near[worst], -1)
                near[p] = near[worst]
                near[worst] = other
                slack = best
        return weighed

    def _count(self, record, times):
        """Counts a record's sensitive values in or out."""
        slots = self.table.slots + self.cell[record] * self.table.n_fields
        for field in range(self.table.n_fields):
            self.hist[slots[field]] += times

    def _close_class(self):
        """Makes the first k records of `near` a class and takes them off those left."""
        d = self.table.n_columns
        for p in range(self.k):
            record = self.near[p]
            self.record_class[record] = self.n_classes
            count = self.code_count
            for j in range(d):
                count[self.table.codes[self.cell[record] * d + j]] -= 1
                count += self.table.columns[j].n_codes
        self.n_classes += 1
        kept: cython.Py_ssize_t = 0
        for p in range(self.n_left):
            if self.record_class[self.left[p]] < 0:
                self.left[kept] = self.left[p]
                kept += 1
        self.n_left = kept
