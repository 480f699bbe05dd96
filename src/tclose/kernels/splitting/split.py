"""Which cut of a node is taken (Mondrian, LeFevre 2006).

A node is cut along one column. Strict cuts send every cell with code ≤ v to the left, so the
classes are disjoint boxes and a release can be repeated on other rows; relaxed cuts may part cells
with equal codes. A column with a hierarchy is cut along it: between children of the lowest common
ancestor of the node, so that the halves are further down (FREE cuts need not be). The constraints
are such that a class which breaks one contains no partition that keeps it (`docs/mathematics.md`
2.1), so a refused cut is refused for good.
"""

import cython
from cython.cimports.libc.stdint import int64_t
from cython.cimports.libc.stdlib import llabs
from cython.cimports.tclose.kernels.base.memory import clear
from cython.cimports.tclose.kernels.base.table import (
    INTERVAL,
    SET,
    add_to_histogram,
    range_loss,
)
from cython.cimports.tclose.kernels.splitting.sweep import order_along, set_bits, weigh_cuts


def choose_split(node, rule, depth):
    """The cut that the loaded node takes."""
    if node.rows < 2 * node.constraints.k or node.n_cells < 2:
        return no_split()
    node.rank_codes()
    node.remember(depth)
    if rule in (MEDIAN, RELAXED):
        split = widest_median(node, rule, depth)
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
    """The allowed cut that saves most.

    The best cut of every column is weighed first, and judged in the order of what they save; the
    others of a column are judged only where its best is not allowed.
    """
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
        other = other_split(node, j, rule, depth, best.saved)
        if other.column >= 0:
            best = other
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
            saved = saved_by(node, v, left_rows, node.rows - left_rows)
            if saved > best.saved:
                best.column, best.rank, best.saved = j, v, saved
    return best


def other_split(node, j, rule, depth, least):
    """The best allowed cut of column j that saves more than `least`."""
    k = node.constraints.k
    weigh_cuts(node, j)
    order_along(node, j)
    clear(node.left_hist, node.constraints.n_slots)
    left_rows: int64_t = 0
    first: cython.Py_ssize_t = 0
    best = no_split()
    best.saved = least
    for v in range(node.n_ranks[j] - 1):
        left_rows += send_more_left(node, first, node.rank_end[v])
        first = node.rank_end[v]
        right_rows = node.rows - left_rows
        if right_rows < k:
            break
        if left_rows < k or not is_along_hierarchy(node, j, v, rule):
            continue
        saved = saved_by(node, v, left_rows, right_rows)
        if saved > best.saved and node.keep_both_halves(left_rows, depth):
            best.column, best.rank, best.saved = j, v, saved
    return best


def saved_by(node, v, left_rows, right_rows):
    """The loss that a cut after rank v saves, after `weigh_cuts`."""
    saved = node.rows * node.loss - left_rows * node.left_loss[v]
    return max(saved - right_rows * node.right_loss[v + 1], 0.0)


def widest_median(node, rule, depth):
    """The median cut of the widest column that allows it."""
    j = next_widest(node, -1)
    while j >= 0 and node.n_ranks[j] > 1:
        split = median_split(node, j, rule, depth)
        if split.column >= 0:
            return split
        j = next_widest(node, j)
    return no_split()


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
    """Where the median cut of column j falls, in its order.

    That is the first border at or after half of the rows; along a hierarchy the one nearest to
    half. Relaxed cuts of other columns may end at any cell.
    """
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
            count += list_cuts(node, j, rule, depth, found + count)
        j = next_widest(node, j)
    for at in range(count):
        set_code(node, found + at)
    return count


def list_cuts(node, j, rule, depth, found):
    """All allowed cuts of column j, after `weigh_cuts`; returns how many."""
    order_along(node, j)
    clear(node.left_hist, node.constraints.n_slots)
    left_rows: int64_t = 0
    first: cython.Py_ssize_t = 0
    count: cython.Py_ssize_t = 0
    for v in range(node.n_ranks[j] - 1):
        left_rows += send_more_left(node, first, node.rank_end[v])
        first = node.rank_end[v]
        if is_along_hierarchy(node, j, v, rule) and node.keep_both_halves(left_rows, depth):
            found[count] = no_split()
            found[count].column, found[count].rank = j, v
            found[count].saved = saved_by(node, v, left_rows, node.rows - left_rows)
            count += 1
    return count


def next_widest(node, last):
    """The widest column that is not wider than the last (−1: the first of all); −1 after the last.

    Equally wide columns come in their order.
    """
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
    """Whether a cut after rank v of column j goes along its hierarchy, if it has one.

    It does between two children of the node's lowest common ancestor: the neighbours there have no
    lower one, and so the same loss.
    """
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
