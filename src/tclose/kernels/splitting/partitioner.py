"""A pool of cells, partitioned into classes from the top down by stratified splits."""

import cython
import numpy as np
from cython.cimports.libc.stdint import int64_t
from cython.cimports.tclose.kernels.base.memory import longs
from cython.cimports.tclose.kernels.base.random import draw
from cython.cimports.tclose.kernels.base.sorting import divide_stably, sort_ascending
from cython.cimports.tclose.kernels.splitting.stratified_split import NEGLIGIBLE_LOSS


class Partitioner:
    """Room to partition pools of up to all cells, one after another."""

    def __init__(self, splitter) -> None:
        n_cells = splitter.table.n_cells
        self.splitter, self.table = splitter, splitter.table
        self.cells = np.arange(n_cells, dtype=np.int64)
        self.ends = np.zeros(n_cells + 1, dtype=np.int64)
        self.waiting = np.zeros(n_cells + 1, dtype=np.int64)
        self.room = np.zeros(n_cells, dtype=np.int64)
        self.ids, self.spare = longs(self.cells), longs(self.room)
        self.class_end, self.waiting_end = longs(self.ends), longs(self.waiting)
        self.n_waiting = self.n_classes = self.next_start = self.curve = 0
        self.loss = self.effort = 0.0

    def begin_all(self, label=None) -> None:
        """Has all cells wait to be split: together, or each class of a labelling by itself."""
        self.begin(self.table.n_cells)
        if label is None:
            return
        self.cells[:] = self.cells[np.argsort(label[self.cells], kind="stable")]
        ends = np.cumsum(np.bincount(label))
        self.waiting[: len(ends)] = ends[::-1]
        self.n_waiting = len(ends)

    def split_some(self, most_cells: int, *, tries: int, plainly: bool, tightness: float) -> float:
        """Splits nodes until none waits or so many cells were handled; returns the steps spent."""
        before = self.effort
        most: int64_t = most_cells
        n_tries: int64_t = tries
        is_plain: cython.bint = plainly
        tight: cython.double = tightness
        with cython.nogil:
            self.split(most, n_tries, is_plain, tight)
        return self.effort - before

    def give_up(self) -> None:
        """Makes every node that still waits a class as it is; the loss is not kept."""
        while self.n_waiting > 0:
            self.n_waiting -= 1
            self.class_end[self.n_classes] = self.waiting_end[self.n_waiting]
            self.n_classes += 1

    def labels(self) -> np.ndarray:
        """The class of each cell, when all cells are in the pool and none waits."""
        ends = self.ends[: self.n_classes]
        label = np.empty(self.table.n_cells, dtype=np.int64)
        label[self.cells] = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
        return label

    def begin(self, n_cells):
        """Puts the first cells of the pool in sensitive order; splits keep it in every node."""
        n_curves, n = self.table.n_orders, self.table.n_cells
        if draw(self.splitter.stream, 5) < MIXED_CURVES:
            n_curves = (n_curves + 1) // 2
        self.curve = draw(self.splitter.stream, n_curves)
        ids, spare, order = self.ids, self.spare, self.table.order_rank + self.curve * n
        if n_cells == n:
            for cell in range(n):
                ids[order[cell]] = cell
        else:
            for p in range(n_cells):
                spare[p] = order[ids[p]] * n + ids[p]
            sort_ascending(spare, n_cells)
            for p in range(n_cells):
                ids[p] = spare[p] % n
        self.waiting_end[0] = n_cells
        self.n_waiting, self.next_start, self.n_classes = 1, 0, 0
        self.loss = self.effort = 0.0

    def split(self, most_cells, tries, plainly, tightness):
        """Splits the pool, a class that keeps the constraints, until it is done or so many cells
        were handled."""
        d = self.table.n_columns
        handled: int64_t = 0
        while self.n_waiting > 0 and handled < most_cells:
            start, end = self.next_start, self.waiting_end[self.n_waiting - 1]
            n_cells = end - start
            handled += n_cells
            result = self.splitter.best_split(
                self.ids + start, n_cells, self.curve, tries, plainly, tightness
            )
            self.effort += result.passes * (n_cells * d + STEPS_PER_PASS)
            if result.saved > NEGLIGIBLE_LOSS or (
                result.saved > -NEGLIGIBLE_LOSS and draw(self.splitter.stream, 2) == 0
            ):
                self.waiting_end[self.n_waiting] = divide_stably(
                    self.ids, start, end, self.splitter.best_goes_left, self.spare
                )
                self.n_waiting += 1
            else:
                self.class_end[self.n_classes] = end
                self.n_classes += 1
                self.loss += result.loss
                self.next_start = end
                self.n_waiting -= 1
