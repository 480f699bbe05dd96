"""Which cut of a node is taken (Mondrian, LeFevre 2006), and a tree of splits.

Strict cuts send every cell with code ≤ v of a column left, so that classes are disjoint boxes and a
release can be repeated on other rows; relaxed cuts may part cells with equal codes. A column with a
hierarchy is cut between children of the lowest common ancestor of the node (FREE cuts need not be).
A class that breaks a constraint contains no partition that keeps it (`docs/mathematics.md` 2.1), so
a refused cut is refused for good.
"""

import cython
import numpy as np
from cython.cimports.libc.stdint import int64_t
from cython.cimports.libc.stdlib import llabs
from cython.cimports.tclose.kernels.base.memory import Memory, clear, divide_stably, longs
from cython.cimports.tclose.kernels.base.table import INTERVAL, SET, add_to_histogram, range_loss
from cython.cimports.tclose.kernels.splitting.node import order_along, set_bits, weigh_cuts


def choose_split(node, rule, depth):
    """The cut that the loaded node takes."""
    if node.rows < 2 * node.constraints.k or node.n_cells < 2:
        return no_split()
    node.rank_codes()
    node.remember(depth)
    split = no_split()
    if rule in (MEDIAN, RELAXED):
        j = next_widest(node, -1)
        while split.column < 0 and j >= 0 and node.n_ranks[j] > 1:
            split = median_split(node, j, rule, depth)
            j = next_widest(node, j)
    else:
        split = best_split(node, rule, depth)
    set_code(node, cython.address(split))
    return split


def set_code(node, split):
    """Says at which code a cut is."""
    if split.column >= 0 and split.rank < node.n_ranks[split.column]:
        split.code = node.code[split.column * node.code_stride + split.rank]


def no_split():
    """That there is none."""
    split: Split
    split.column, split.rank, split.code, split.n_left, split.saved = -1, -1, -1, 0, -1.0
    return split


def best_split(node, rule, depth):
    """The allowed cut that saves most: the best of every column are judged in the order of what
    they save, the others of a column only where its best is not allowed."""
    set_bits(node)
    for j in range(node.n_columns):
        node.best_saved[j] = -1.0
        if node.n_ranks[j] > 1 and weigh_cuts(node, j):
            top = top_split(node, j, rule)
            node.best_saved[j], node.best_rank[j] = top.saved, top.rank
    best = no_split()
    j = next_best(node, best.saved)
    while j >= 0:
        left_rows = send_left(node, j, node.best_rank[j])
        if node.keep_both_halves(left_rows, depth):
            best.column, best.rank, best.saved = j, node.best_rank[j], node.best_saved[j]
            return best
        weigh_cuts(node, j)
        judge_cuts(node, j, rule, depth, best.saved, True, cython.address(best))
        node.best_saved[j] = -1.0
        j = next_best(node, best.saved)
    return best


def top_split(node, j, rule):
    """The cut of column j that saves most if it is allowed."""
    k = node.constraints.k
    left_rows: int64_t = 0
    best = no_split()
    for v in range(node.n_ranks[j] - 1):
        left_rows += node.rank_rows[v]
        if left_rows >= k and node.rows - left_rows >= k and is_along_hierarchy(node, j, v, rule):
            saved = measure_saving(node, v, left_rows, node.rows - left_rows)
            if saved > best.saved:
                best.column, best.rank, best.saved = j, v, saved
    return best


def judge_cuts(node, j, rule, depth, least, only_best, found):
    """The allowed cuts of column j that save more than `least`, after `weigh_cuts`; how many."""
    k = node.constraints.k
    order_along(node, j)
    clear(node.left_hist, node.constraints.n_slots)
    left_rows: int64_t = 0
    first: cython.Py_ssize_t = 0
    count: cython.Py_ssize_t = 0
    for v in range(node.n_ranks[j] - 1):
        left_rows += send_more_left(node, first, node.rank_end[v])
        first = node.rank_end[v]
        right_rows = node.rows - left_rows
        if right_rows < k:
            break
        if left_rows < k or not is_along_hierarchy(node, j, v, rule):
            continue
        saved = measure_saving(node, v, left_rows, right_rows)
        if saved > least and node.keep_both_halves(left_rows, depth):
            at = 0 if only_best else count
            found[at] = no_split()
            found[at].column, found[at].rank, found[at].saved = j, v, saved
            least = saved if only_best else least
            count = at + 1
    return count


def measure_saving(node, v, left_rows, right_rows):
    """The loss that a cut after rank v saves, after `weigh_cuts`."""
    saved = node.rows * node.loss - left_rows * node.left_loss[v]
    return max(saved - right_rows * node.right_loss[v + 1], 0.0)


def median_split(node, j, rule, depth):
    """The median cut of column j, if it is allowed."""
    order_along(node, j)
    split = nearest_to_half(node, j, rule)
    if split.column < 0:
        return split
    clear(node.left_hist, node.constraints.n_slots)
    left_rows = send_more_left(node, 0, split.n_left)
    return split if node.keep_both_halves(left_rows, depth) else no_split()


def nearest_to_half(node, j, rule):
    """The first border of column j at or after half of the rows; along a hierarchy the one nearest
    to half. Relaxed cuts of other columns may end at any cell."""
    form = node.table.columns[j].form
    has_tree: cython.bint = form not in (INTERVAL, SET)
    may_part: cython.bint = rule == RELAXED and not has_tree
    best_gap = 2 * node.rows
    rows: int64_t = 0
    first: cython.Py_ssize_t = 0
    best = no_split()
    for v in range((node.n_cells if may_part else node.n_ranks[j]) - 1):
        end = v + 1 if may_part else node.rank_end[v]
        for q in range(first, end):
            rows += node.cell_rows[node.order[q]]
        first = end
        gap = llabs(2 * rows - node.rows)
        is_past_half: cython.bint = 2 * rows >= node.rows
        if (
            (is_past_half or has_tree)
            and gap < best_gap
            and (may_part or is_along_hierarchy(node, j, v, rule))
        ):
            best_gap = gap
            best.column, best.rank, best.n_left = j, v, end
        if is_past_half and best.column >= 0:
            break
    return best


def list_splits(node, rule, depth, found):
    """All allowed cuts of the loaded node, by the width of their columns; returns how many."""
    count: cython.Py_ssize_t = 0
    if node.rows < 2 * node.constraints.k or node.n_cells < 2:
        return count
    node.rank_codes()
    node.remember(depth)
    set_bits(node)
    j = next_widest(node, -1)
    while j >= 0 and node.n_ranks[j] > 1:
        if rule in (MEDIAN, RELAXED):
            found[count] = median_split(node, j, rule, depth)
            count += found[count].column >= 0
        elif weigh_cuts(node, j):
            count += judge_cuts(node, j, rule, depth, -1.0, False, found + count)
        j = next_widest(node, j)
    for at in range(count):
        set_code(node, found + at)
    return count


def next_widest(node, last):
    """The widest column that is not wider than the last (−1: of all), equals in their order; −1
    after the last."""
    loss = node.column_loss
    best: cython.Py_ssize_t = -1
    for j in range(node.n_columns):
        if last >= 0 and (loss[j] > loss[last] or (loss[j] == loss[last] and j <= last)):
            continue
        if best < 0 or loss[j] > loss[best]:
            best = j
    return best


def next_best(node, least):
    """The column whose best cut would save most, and more than `least`; −1: none. The widest of
    equals."""
    saved, loss = node.best_saved, node.column_loss
    best: cython.Py_ssize_t = -1
    for j in range(node.n_columns):
        if saved[j] > least and (
            best < 0 or saved[j] > saved[best] or (saved[j] == saved[best] and loss[j] > loss[best])
        ):
            best = j
    return best


def is_along_hierarchy(node, j, v, rule):
    """Whether a cut after rank v of column j goes along its hierarchy, if it has one: neighbours in
    different children of the lowest common ancestor have the loss of the whole."""
    form = node.table.columns[j].form
    if rule == FREE or form in (INTERVAL, SET):
        return True
    code = node.code + j * node.code_stride
    return range_loss(node.table, j, code[v], code[v + 1]) == node.column_loss[j]


def send_left(node, j, v):
    """Makes the cells up to rank v of column j the left half; returns their rows."""
    clear(node.left_hist, node.constraints.n_slots)
    rank = node.rank + j * node.cell_stride
    rows: int64_t = 0
    for p in range(node.n_cells):
        if rank[p] <= v:
            rows += node.cell_rows[p]
            add_to_histogram(node.table, node.cells[p], 1, node.left_hist)
    return rows


def send_more_left(node, first, end):
    """Adds some cells along the column to the left half; returns their rows."""
    rows: int64_t = 0
    for q in range(first, end):
        p = node.order[q]
        rows += node.cell_rows[p]
        add_to_histogram(node.table, node.cells[p], 1, node.left_hist)
    return rows


class SplitTree:
    """A tree that begins as one node of all cells and is split by a rule: gain, median, relaxed,
    free.

    `column`, `code`, `left` and `right` describe the first `n_nodes` nodes as `outcome.Cuts` does;
    `label` is the class of each cell.
    """

    def __init__(self, workspace, rule: str) -> None:
        n_cells = workspace.table.n_cells
        most = 2 * n_cells + 1
        self.workspace, self.rule, self.memory = workspace, rule, Memory()
        self.rule_number = {"gain": GAIN, "median": MEDIAN, "relaxed": RELAXED, "free": FREE}[rule]
        self.cells, self.label = np.arange(n_cells), np.zeros(n_cells, dtype=np.int64)
        self.column, self.code = np.full(most, -1), np.zeros(most, dtype=np.int64)
        self.left, self.right = np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64)
        self.cell_order, self.class_of = longs(self.cells), longs(self.label)
        self.split_column, self.split_code = longs(self.column), longs(self.code)
        self.left_node, self.right_node = longs(self.left), longs(self.right)
        self.nodes_waiting = cython.cast(
            cython.pointer(TreeNode), self.memory.longs(4 * (n_cells + 2))
        )
        self.n_waiting, self.n_nodes, self.n_classes = 0, 1, 0
        self.ring_size, self.at_hand.depth = n_cells + 2, -1
        self._wait(0, n_cells, 0)

    def grow(self, effort: cython.longlong) -> int:
        """Splits nodes until none waits or about `effort` steps are spent; returns how many were.
        Oldest first, for an even tree when time is up; youngest where ancestors must be at hand."""
        steps_per_cell = self.workspace.n_columns * self.workspace.n_columns + 8
        spent: int64_t = 0
        with cython.nogil:
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
        is_relaxed = self.rule_number == RELAXED
        return [
            (found[at].column, found[at].n_left if is_relaxed else found[at].code) for at in order
        ]

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

    def _take_next(self):
        """The node to be split next, into `at_hand`."""
        self.n_waiting -= 1
        if self.workspace.n_levels > 0:
            self.at_hand = self.nodes_waiting[(self.oldest + self.n_waiting) % self.ring_size]
        else:
            self.at_hand = self.nodes_waiting[self.oldest]
            self.oldest = (self.oldest + 1) % self.ring_size

    def _close(self):
        """Makes the node at hand a class."""
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
        start, end, n_columns = self.at_hand.start, self.at_hand.end, self.workspace.n_columns
        codes, goes_left = self.workspace.table.codes + j, self.workspace.order
        for p in range(start, end):
            goes_left[p - start] = codes[self.cell_order[p] * n_columns] <= code
        return divide_stably(self.cell_order, start, end, goes_left, self.workspace.spare)

    def _sort_cells(self, j):
        """The cells of the node at hand by their codes in column j, order kept among equals."""
        cells, spare = self.cell_order + self.at_hand.start, self.workspace.spare
        n_cells = self.at_hand.end - self.at_hand.start
        order_along(self.workspace, j)
        for q in range(n_cells):
            spare[q] = cells[self.workspace.order[q]]
        for q in range(n_cells):
            cells[q] = spare[q]
