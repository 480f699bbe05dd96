"""Halves of a node that are too far from the table, brought near by the cells that help most.

An earth mover's distance is Σ len·|N·c − r·n| / (N·r) over the edges of a tree. Its derivative in
the rows of one value is a sum of ± len over the edges above that value (a *dual potential*), so
that one pass over the tree tells for every value how much nearer a half is by a row less.

Cells change sides one after another, those near the border between the halves first; each time the
cell is taken that lowers most the excess of both halves over what is allowed. Each helps less than
the one before. So nothing is tried where as many cells as may change sides would not do even if all
helped as much as the best does at first.
"""

import cython

LEAST_HELP = 1e-9


class HalfBalancer(Memory):
    """Room to balance the halves of one node after another."""

    def __init__(self, node) -> None:
        self.node, self.table, self.constraints = node, node.table, node.table.constraints
        slots, nodes = self.constraints.n_slots, self.constraints.n_nodes
        self.relief, self.change = self.doubles(2 * slots), self.doubles(slots)
        self.below = self.longs(2 * nodes)
        self.pull, self.above = self.longs(nodes), self.longs(nodes)
        self.slot = self.ints(self.table.n_fields * MOST_CELLS)
        self.turn = self.doubles(MOST_CELLS)
        self.applies = self.constraints.n_constraints > 0 and self.constraints.person_slot < 0
        self.applies &= self.constraints.n_nodes <= MOST_NODES
        for at in range(self.constraints.n_constraints):
            row = cython.address(self.constraints.rows[at])
            is_plain: cython.bint = row.hidden_slot < 0 and row.whole_first == row.whole_end
            self.applies &= row.kind == EMD and is_plain
            self.applies &= row.superset_rows == 0 and row.numerator > 0

    def balance(self, goes_left, by_key, border, left_rows):
        """Whether both halves keep the constraints after some cells have changed sides."""
        n_cells, least_rows = self.node.n_cells, self.constraints.least_rows[0]
        self.left_rows = left_rows
        if n_cells > MOST_CELLS:
            return False
        for at in range(self.constraints.n_constraints):
            if self.node.rows > self.constraints.rows[at].largest_exact:
                return False
        self._list_cells(goes_left, by_key)
        excess = self._measure()
        reach: cython.Py_ssize_t = n_cells
        changes: cython.Py_ssize_t = n_cells // MOST_CHANGED + 2
        failures: cython.Py_ssize_t = 0
        is_first: cython.bint = True
        while changes > 0:
            lo, hi = max(border - reach, 0), min(border + reach, n_cells)
            found = self._find_best(lo, hi)
            is_enough: cython.bint = found >= 0 and excess + changes * self.expected <= 0.0
            if hi - lo == n_cells and (not is_enough or failures == MOST_FAILURES):
                return False
            if is_first:
                reach, is_first = n_cells // 8 + 2, False
                continue
            if not is_enough or failures == MOST_FAILURES:
                reach, failures = 2 * reach, 0
                continue
            self.turn[found] = 0.0
            self._change_side(by_key[found], goes_left)
            if min(self.left_rows, self.node.rows - self.left_rows) < least_rows:
                self._change_side(by_key[found], goes_left)
                failures += 1
                continue
            after = self._measure()
            if after >= excess:
                self._change_side(by_key[found], goes_left)
                excess = self._measure()
                failures += 1
                continue
            excess = after
            changes -= 1
            if excess <= 0.0 and self.node.keep_both_halves(self.left_rows):
                return True
        return False

    def _list_cells(self, goes_left, by_key):
        """Sets what is at hand of each place along the key, and the rows below each node."""
        n_cells, fields = self.node.n_cells, self.table.n_fields
        for q in range(n_cells):
            p = by_key[q]
            cell = self.node.cells[p]
            rows: cython.double = self.node.cell_rows[p]
            self.turn[q] = rows if goes_left[p] != 0 else -rows
            for field in range(fields):
                slot = self.table.slots[cell * fields + field]
                self.slot[field * n_cells + q] = cython.cast(int32_t, slot)
        left, whole = self.below, self.below + self.constraints.n_nodes
        for at in range(self.constraints.n_constraints):
            row = cython.address(self.constraints.rows[at])
            self.constraints._sum_up(row, self.node.left_hist, left)
            self.constraints._sum_up(row, self.node.whole_hist, whole)
            for node in range(row.first_node, row.end_node):
                whole[node] -= left[node]

    def _find_best(self, lo, hi):
        """The first place from lo to hi whose cell is `expected` to lower the excess most; −1: none
        lowers it."""
        each: cython.double = self.each[0] - self.each[1]
        best: cython.double = -LEAST_HELP
        found: cython.Py_ssize_t = -1
        n_cells, fields = self.node.n_cells, self.table.n_fields
        slot, turn, change = self.slot, self.turn, self.change
        self.node.support.walked += WALKED_PER_CELL * (hi - lo)
        for q in range(lo, hi):
            expected = each + change[slot[q]]
            for field in range(1, fields):
                expected += change[slot[field * n_cells + q]]
            expected *= turn[q]
            if expected < best:
                best, found = expected, q
        self.expected = best
        return found

    def _measure(self):
        """By how much both halves are too far, as shares of t, and what would relieve them."""
        n_slots = self.constraints.n_slots
        self.node.support.walked += n_slots + 6 * self.constraints.n_nodes
        excess = self._measure_half(0) + self._measure_half(1)
        for slot in range(n_slots):
            self.change[slot] = self.relief[n_slots + slot] - self.relief[slot]
        return excess

    def _measure_half(self, side):
        """The same of one half."""
        length, parent = self.constraints.node_length, self.constraints.node_parent
        reference, pull, above = self.constraints.node_rows, self.pull, self.above
        below = self.below + side * self.constraints.n_nodes
        rows = self.left_rows if side == 0 else self.node.rows - self.left_rows
        relief = self.relief + side * self.constraints.n_slots
        total: cython.double = 0.0
        self.each[side] = 0.0
        for slot in range(self.constraints.n_slots):
            relief[slot] = 0.0
        for at in range(self.constraints.n_constraints):
            row = cython.address(self.constraints.rows[at])
            known = row.known_rows
            work: int64_t = 0
            common: int64_t = 0
            for node in range(row.first_node, row.end_node - 1):
                excess = known * below[node] - rows * reference[node]
                sign: int64_t = (excess > 0) - (excess < 0)
                edge = length[node] * sign
                pull[node] = edge
                work += edge * excess
                common += edge * reference[node]
            per_row: cython.double = row.denominator / (
                cython.cast(cython.double, row.numerator) * known * rows
            )
            far = work * per_row - 1.0
            if far <= 0.0:
                continue
            total += far
            self.each[side] += per_row * (common + work / cython.cast(cython.double, rows))
            above[row.end_node - 1] = 0
            for node in range(row.end_node - 2, row.first_node - 1, -1):
                above[node] = above[parent[node]] + pull[node]
            leaf = self.constraints.leaf_node + row.first_value
            for value in range(row.n_values):
                relief[row.first_slot + value] += per_row * known * above[leaf[value]]
        return total

    def _change_side(self, p, goes_left):
        """Sends a cell to the other half."""
        times: int64_t = -1 if goes_left[p] != 0 else 1
        cell, fields = self.node.cells[p], self.table.n_fields
        goes_left[p] = -1 if goes_left[p] == 0 else 0
        self.left_rows += add_cell(self.table, cell, times, self.node.left_hist)
        left, right = self.below, self.below + self.constraints.n_nodes
        for at in range(self.constraints.n_constraints):
            row = cython.address(self.constraints.rows[at])
            for field in range(fields):
                value = self.table.slots[cell * fields + field] - row.first_slot
                if not 0 <= value < row.n_values:
                    continue
                rows = times * weight_of(self.table, cell, field)
                node = self.constraints.leaf_node[row.first_value + value]
                while node >= 0:
                    left[node] += rows
                    right[node] -= rows
                    node = self.constraints.node_parent[node]
