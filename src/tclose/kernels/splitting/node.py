"""A class that is being split: its codes as ranks, its halves' histograms, and their judgement.

Codes are ranked among those that occur in the node, so that what follows costs the node's cells and
not the domains. Closeness may be to any large enough superset instead ((n, t)-closeness): those are
the nodes above, which `remember` keeps at hand.
"""

import cython
import numpy as np
from cython.cimports.libc.stdint import int32_t, int64_t
from cython.cimports.tclose.kernels.base.constraints import count_members, is_too_small
from cython.cimports.tclose.kernels.base.memory import clear, doubles, ints, longs
from cython.cimports.tclose.kernels.base.sorting import sort_ascending


class NodeWorkspace:
    """Memory to split one node after another in; every kernel may overwrite all of it."""

    def __init__(self, table) -> None:
        constraints = table.constraints
        cells, columns = table.n_cells, table.n_columns
        width = max(table.widest_column, columns) + 2
        self.table, self.constraints, self.memory = table, constraints, []
        self.n_columns, self.cell_stride, self.code_stride = columns, cells, width
        self.cell_rows = longs(self._room(cells))
        self.rank = ints(self._room(columns * cells, np.int32))
        self.code = ints(self._room(columns * width, np.int32))
        self.code_rank = ints(self._room(width, np.int32))
        self.column_loss = doubles(self._room(columns, np.float64))
        self.n_ranks = longs(self._room(columns))
        self.bits = longs(self._room(columns * cells))
        self.word_of = longs(self._room(columns))
        self.first_bit = longs(self._room(columns))
        self.bit_column = longs(self._room(columns * WORD_BITS))
        self.rank_rows = longs(self._room(width))
        self.rank_bits = longs(self._room(columns * width))
        self.left_loss = doubles(self._room(width, np.float64))
        self.right_loss = doubles(self._room(width, np.float64))
        self.rank_end = longs(self._room(width))
        self.order = ints(self._room(cells, np.int32))
        self.seen_bits = longs(self._room(columns))
        self.spans = cython.cast(cython.pointer(Span), longs(self._room(4 * columns)))
        self.rank_spans = cython.cast(cython.pointer(Span), longs(self._room(4 * width)))
        self.first_rank = ints(self._room(width, np.int32))
        self.last_rank = ints(self._room(width, np.int32))
        self.best_saved = doubles(self._room(columns, np.float64))
        self.best_rank = longs(self._room(columns))
        self.spare = longs(self._room(cells))
        self.whole_hist = longs(self._room(constraints.n_slots))
        self.left_hist = longs(self._room(constraints.n_slots))
        self.right_hist = longs(self._room(constraints.n_slots))
        self.scratch = longs(self._room(constraints.scratch_size))
        has_supersets = (constraints.arrays.rows["superset_rows"] > 0).any()
        self.n_levels = MAX_LEVELS if has_supersets else 0
        self.ancestor_nodes = longs(self._room(self.n_levels * constraints.n_nodes))
        self.ancestor_known = longs(self._room(self.n_levels * constraints.n_constraints))
        self.ancestor_members = longs(self._room(self.n_levels))

    def _room(self, count, dtype=np.int64):
        room = np.zeros(count, dtype)
        self.memory.append(room)
        return room

    def load(self, cells, n_cells):
        """Makes some cells the node: counts their rows and their histogram."""
        self.cells, self.n_cells = cells, n_cells
        self.rows = self.table.add_up(cells, 0, n_cells, self.whole_hist)

    def rank_codes(self):
        """The node's codes as ranks, and what each column loses."""
        cells, rows, codes = self.cells, self.table.rows, self.table.codes
        cell_rows, d = self.cell_rows, self.n_columns
        for p in range(self.n_cells):
            cell_rows[p] = rows[cells[p]]
        self.loss = 0.0
        for j in range(d):
            rank = self.rank + j * self.cell_stride
            for p in range(self.n_cells):
                rank[p] = codes[cells[p] * d + j]
            if self.table.columns[j].n_codes <= 4 * self.n_cells + 64:
                n_ranks = self._rank_by_marking(j)
            else:
                n_ranks = self._rank_by_sorting(j)
            self.n_ranks[j] = n_ranks
            self.column_loss[j] = loss_between(self, j, 0, n_ranks - 1, n_ranks)
            self.loss += self.column_loss[j]

    def _rank_by_marking(self, j):
        """Turns the codes of column j into ranks by marking those that occur; how many do."""
        rank, code = self.rank + j * self.cell_stride, self.code + j * self.code_stride
        code_rank, n_codes = self.code_rank, self.table.columns[j].n_codes
        found: int32_t = 0
        for v in range(n_codes):
            code_rank[v] = 0
        for p in range(self.n_cells):
            code_rank[rank[p]] = 1
        for v in range(n_codes):
            if code_rank[v] != 0:
                code[found] = v
                code_rank[v] = found
                found += 1
        for p in range(self.n_cells):
            rank[p] = code_rank[rank[p]]
        return found

    def _rank_by_sorting(self, j):
        """The same for a column of many more codes than the node has cells."""
        rank, code = self.rank + j * self.cell_stride, self.code + j * self.code_stride
        sorted_codes = self.spare
        for p in range(self.n_cells):
            sorted_codes[p] = (cython.cast(int64_t, rank[p]) << 32) | p
        sort_ascending(sorted_codes, self.n_cells)
        found: cython.Py_ssize_t = -1
        for q in range(self.n_cells):
            v = cython.cast(int32_t, sorted_codes[q] >> 32)
            if found < 0 or code[found] != v:
                found += 1
                code[found] = v
            rank[cython.cast(int32_t, sorted_codes[q])] = cython.cast(int32_t, found)
        return found + 1

    def remember(self, depth):
        """Makes the node a superset of what is split from it."""
        if depth >= self.n_levels:
            return
        hist = self.whole_hist
        below = self.ancestor_nodes + depth * self.constraints.n_nodes
        known = self.ancestor_known + depth * self.constraints.n_constraints
        clear(below, self.constraints.n_nodes)
        self.ancestor_members[depth] = count_members(self.constraints, hist, self.rows)
        for constraint in range(self.constraints.n_constraints):
            row = cython.address(self.constraints.rows[constraint])
            known[constraint] = 0
            if row.superset_rows == 0:
                continue
            for value in range(row.n_values):
                rows = hist[row.first_slot + value]
                below[self.constraints.leaf_node[row.first_value + value]] += rows
                known[constraint] += rows
            for at in range(row.first_node, row.end_node - 1):
                below[self.constraints.node_parent[at]] += below[at]

    def keep_both_halves(self, left_rows, depth):
        """Whether both halves may be released; `left_hist` is the left one's histogram."""
        whole, left, right = self.whole_hist, self.left_hist, self.right_hist
        for slot in range(self.constraints.n_slots):
            right[slot] = whole[slot] - left[slot]
        if self.n_levels == 0:
            return self.constraints.keeps(left, left_rows, self.scratch) and (
                self.constraints.keeps(right, self.rows - left_rows, self.scratch)
            )
        return self._keeps(left, left_rows, depth) and (
            self._keeps(right, self.rows - left_rows, depth)
        )

    def _keeps(self, hist, rows, depth):
        """Whether a half may be released, supersets included."""
        if is_too_small(self.constraints, hist, rows):
            return False
        members = count_members(self.constraints, hist, rows)
        for constraint in range(self.constraints.n_constraints):
            superset_rows = self.constraints.rows[constraint].superset_rows
            if superset_rows == 0:
                if not self.constraints.keeps_one(
                    constraint, hist, rows, self.constraints.node_rows, 0, self.scratch
                ):
                    return False
            elif members < superset_rows and not (
                self._is_near_ancestor(constraint, hist, rows, depth)
            ):
                return False
        return True

    def _is_near_ancestor(self, constraint, hist, rows, depth):
        """Whether a half is close to a large enough node above it."""
        superset_rows = self.constraints.rows[constraint].superset_rows
        for level in range(min(depth + 1, self.n_levels)):
            if self.ancestor_members[level] < superset_rows:
                return False
            if self.constraints.keeps_one(
                constraint, hist, rows,
                self.ancestor_nodes + level * self.constraints.n_nodes,
                self.ancestor_known[level * self.constraints.n_constraints + constraint],
                self.scratch,
            ):  # fmt: skip
                return True
        return False
