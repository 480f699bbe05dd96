"""A tree of splits, grown node by node: which node is next, and what becomes of its halves."""

import cython
import numpy as np
from cython.cimports.libc.stdint import int64_t
from cython.cimports.tclose.kernels.base.memory import longs
from cython.cimports.tclose.kernels.splitting.split import (
    FREE,
    GAIN,
    MEDIAN,
    RELAXED,
    choose_split,
    list_splits,
)
from cython.cimports.tclose.kernels.splitting.sweep import order_along


class SplitTree:
    """A tree that begins as one node of all cells.

    `rule` says which cut a node takes: "gain", "median", "relaxed" or "free" (`split`). `column`,
    `code`, `left` and `right` describe the first `n_nodes` nodes as `outcome.Cuts` does; `label` is
    the class of each cell.
    """

    def __init__(self, workspace, rule: str) -> None:
        n_cells = workspace.table.n_cells
        most = 2 * n_cells + 1
        self.workspace, self.rule = workspace, rule
        self.rule_number = {"gain": GAIN, "median": MEDIAN, "relaxed": RELAXED, "free": FREE}[rule]
        self.cells = np.arange(n_cells, dtype=np.int64)
        self.column = np.full(most, -1, dtype=np.int64)
        self.code = np.zeros(most, dtype=np.int64)
        self.left = np.zeros(most, dtype=np.int64)
        self.right = np.zeros(most, dtype=np.int64)
        self.label = np.zeros(n_cells, dtype=np.int64)
        self.waiting = np.zeros(4 * (n_cells + 2), dtype=np.int64)
        self.cell_order = longs(self.cells)
        self.split_column, self.split_code = longs(self.column), longs(self.code)
        self.left_node, self.right_node = longs(self.left), longs(self.right)
        self.class_of = longs(self.label)
        self.nodes_waiting = cython.cast(cython.pointer(TreeNode), longs(self.waiting))
        self.ring_size, self.oldest = n_cells + 2, 0
        self.n_waiting, self.n_nodes, self.n_classes = 0, 1, 0
        self.at_hand.depth = -1
        self._wait(0, n_cells, 0)

    def grow(self, effort: int) -> int:
        """Splits nodes until none waits or about `effort` steps are spent; returns how many were.

        Nodes are taken oldest first, so that a tree is grown evenly when time is up; but youngest
        first where their ancestors must be at hand.
        """
        most: int64_t = effort
        with cython.nogil:
            spent = self._grow(most)
        return spent

    def take_next(self) -> np.ndarray:
        """Takes the next node; returns its cells."""
        self._take_next()
        return self.cells[self.at_hand.start : self.at_hand.end]

    def candidates(self) -> list[tuple[int, int]]:
        """The splits of the node at hand that the compiled constraints allow, best first: by loss
        saved, or the widest column. Each is a column and a code (relaxed: how many cells go left).
        """
        room = np.empty(5 * (self.workspace.table.n_codes + 1), dtype=np.int64)
        found = cython.cast(cython.pointer(Split), longs(room))
        self.workspace.load(
            self.cell_order + self.at_hand.start, self.at_hand.end - self.at_hand.start
        )
        count = list_splits(self.workspace, self.rule_number, self.at_hand.depth, found)
        order = list(range(count))
        if self.rule_number == GAIN:
            order.sort(key=[-found[at].saved for at in range(count)].__getitem__)
        return [self._describe(found[at]) for at in order]

    def split(self, column: int, where: int) -> None:
        """Splits the node at hand at one of its candidates."""
        chosen: Split
        chosen.column = column
        chosen.code = chosen.n_left = where
        self._split(chosen)

    def close(self) -> None:
        """Makes the node at hand a class."""
        self._close()

    def close_all(self) -> None:
        """Makes every node that still waits a class as it is."""
        while self.n_waiting > 0:
            self.n_waiting -= 1
            self.at_hand = self.nodes_waiting[(self.oldest + self.n_waiting) % self.ring_size]
            self._close()

    def _grow(self, effort):
        steps_per_cell = self.workspace.n_columns * self.workspace.n_columns + 8
        spent: int64_t = 0
        while self.n_waiting > 0 and spent < effort:
            self._take_next()
            n_cells = self.at_hand.end - self.at_hand.start
            spent += n_cells * steps_per_cell
            self.workspace.load(self.cell_order + self.at_hand.start, n_cells)
            chosen = choose_split(self.workspace, self.rule_number, self.at_hand.depth)
            if chosen.column < 0:
                self._close()
            else:
                self._split(chosen)
        return spent

    def _take_next(self):
        """The node to be split next, into `at_hand`."""
        self.n_waiting -= 1
        if self.workspace.n_levels > 0:
            self.at_hand = self.nodes_waiting[(self.oldest + self.n_waiting) % self.ring_size]
        else:
            self.at_hand = self.nodes_waiting[self.oldest]
            self.oldest = (self.oldest + 1) % self.ring_size

    def _close(self):
        for p in range(self.at_hand.start, self.at_hand.end):
            self.class_of[self.cell_order[p]] = self.n_classes
        self.left_node[self.at_hand.number] = self.n_classes
        self.n_classes += 1

    def _split(self, split):
        """Parts the cells of the node at hand and has both halves wait, the left one last."""
        start, end, number = self.at_hand.start, self.at_hand.end, self.at_hand.number
        if self.rule_number == RELAXED:
            border = start + split.n_left
            self._sort_cells(split.column)
        else:
            border = self._divide_cells(split.column, split.code)
        self.split_column[number] = split.column
        self.split_code[number] = split.n_left if self.rule_number == RELAXED else split.code
        self.left_node[number], self.right_node[number] = self.n_nodes, self.n_nodes + 1
        self._wait(border, end, self.n_nodes + 1)
        self._wait(start, border, self.n_nodes)
        self.n_nodes += 2

    def _wait(self, start, end, number):
        node = cython.address(self.nodes_waiting[(self.oldest + self.n_waiting) % self.ring_size])
        node.start, node.end, node.number, node.depth = start, end, number, self.at_hand.depth + 1
        self.n_waiting += 1

    def _divide_cells(self, j, code):
        """Cells with at most this code in column j to the front, order kept; the border."""
        cells, spare = self.cell_order, self.workspace.spare
        codes, n_columns = self.workspace.table.codes + j, self.workspace.n_columns
        border = self.at_hand.start
        n_right: cython.Py_ssize_t = 0
        for p in range(self.at_hand.start, self.at_hand.end):
            cell = cells[p]
            if codes[cell * n_columns] <= code:
                cells[border] = cell
                border += 1
            else:
                spare[n_right] = cell
                n_right += 1
        for p in range(n_right):
            cells[border + p] = spare[p]
        return border

    def _sort_cells(self, j):
        """The cells of the node at hand by their codes in column j, order kept among equals."""
        cells, spare = self.cell_order + self.at_hand.start, self.workspace.spare
        n_cells = self.at_hand.end - self.at_hand.start
        order_along(self.workspace, j)
        for q in range(n_cells):
            spare[q] = cells[self.workspace.order[q]]
        for q in range(n_cells):
            cells[q] = spare[q]

    def _describe(self, split):
        return split.column, split.n_left if self.rule_number == RELAXED else split.code
