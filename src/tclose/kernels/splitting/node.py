"""A class that is being split: its codes as ranks, its halves' histograms, and their judgement.

Codes are ranked among those that occur in the node, so that what follows costs the node's cells and
not the domains. Closeness may be to any large enough superset instead ((n, t)-closeness): those are
the nodes above, which `remember` keeps at hand.

What every cut along a column would lose is found in one sweep, from the codes that occur at each
rank: a bit per code of every other column, as many columns to a word as fit, or of a column of too
many codes the first and the last rank of each. N cells cost O(N · columns²) at most.
"""

import cython
from cython.cimports.libc.stdint import int32_t, int64_t
from cython.cimports.tclose.kernels.base.constraints import count_members, is_too_small
from cython.cimports.tclose.kernels.base.memory import Memory, clear, sort_ascending


class NodeWorkspace:
    """Memory to split one node after another in; every kernel may overwrite all of it."""

    def __init__(self, table) -> None:
        constraints, memory = table.constraints, Memory()
        cells, columns = table.n_cells, table.n_columns
        width = max(table.widest_column, columns) + 2
        self.table, self.constraints, self.memory = table, constraints, memory
        self.n_columns, self.cell_stride, self.code_stride = columns, cells, width
        self.cell_rows, self.column_loss = memory.longs(cells), memory.doubles(columns)
        self.rank, self.code = memory.ints(columns * cells), memory.ints(columns * width)
        self.code_rank, self.n_ranks = memory.ints(width), memory.longs(columns)
        self.bits, self.word_of = memory.longs(columns * cells), memory.longs(columns)
        self.bit_column, self.first_bit = memory.longs(columns * WORD_BITS), memory.longs(columns)
        self.rank_rows, self.rank_bits = memory.longs(width), memory.longs(columns * width)
        self.left_loss, self.right_loss = memory.doubles(width), memory.doubles(width)
        self.rank_end, self.order = memory.longs(width), memory.ints(cells)
        self.seen_bits = memory.longs(columns)
        self.spans = cython.cast(cython.pointer(Span), memory.longs(4 * columns))
        self.rank_spans = cython.cast(cython.pointer(Span), memory.longs(4 * width))
        self.first_rank, self.last_rank = memory.ints(width), memory.ints(width)
        self.best_saved, self.best_rank = memory.doubles(columns), memory.longs(columns)
        self.spare, self.scratch = memory.longs(cells), memory.longs(constraints.scratch_size)
        slots = constraints.n_slots
        self.left_hist, self.right_hist = memory.longs(slots), memory.longs(slots)
        self.whole_hist = memory.longs(slots)
        if (constraints.arrays.rows["superset_rows"] > 0).any():
            self.n_levels = MAX_LEVELS
        self.ancestor_nodes = memory.longs(self.n_levels * constraints.n_nodes)
        self.ancestor_known = memory.longs(self.n_levels * constraints.n_constraints)
        self.ancestor_members = memory.longs(self.n_levels)

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
        return self._keeps(left, left_rows, depth) and (
            self._keeps(right, self.rows - left_rows, depth)
        )

    def _keeps(self, hist, rows, depth):
        """Whether a half may be released, supersets included."""
        if self.n_levels == 0:
            return self.constraints.keeps(hist, rows, self.scratch)
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


def set_bits(node):
    """Words with a bit for every code of the node's cells."""
    n_cells = node.n_cells
    used: int64_t = WORD_BITS
    node.n_words = 0
    bits = node.bits
    for j in range(node.n_columns):
        n_ranks = node.n_ranks[j]
        node.word_of[j] = -1
        if n_ranks <= 1 or n_ranks > WORD_BITS:
            continue
        if used + n_ranks > WORD_BITS:
            bits = node.bits + node.n_words * node.cell_stride
            clear(bits, n_cells)
            node.n_words += 1
            used = 0
        rank = node.rank + j * node.cell_stride
        for p in range(n_cells):
            bits[p] |= cython.cast(int64_t, 1) << (rank[p] + used)
        node.word_of[j], node.first_bit[j] = node.n_words - 1, used
        for bit in range(used, used + n_ranks):
            node.bit_column[(node.n_words - 1) * WORD_BITS + bit] = j
        used += n_ranks


def weigh_cuts(node, j):
    """Rows at each rank of column j, losses of the prefix to it and the suffix from it; False where
    no cut leaves k rows on both sides. `set_bits` comes before."""
    n_ranks, n_cells = node.n_ranks[j], node.n_cells
    rank, rank_rows, cell_rows = node.rank + j * node.cell_stride, node.rank_rows, node.cell_rows
    clear(rank_rows, n_ranks)
    for p in range(n_cells):
        rank_rows[rank[p]] += cell_rows[p]
    first: cython.Py_ssize_t = 0
    left_rows = rank_rows[0]
    while first < n_ranks - 1 and left_rows < node.constraints.k:
        first += 1
        left_rows += rank_rows[first]
    last = n_ranks - 2
    right_rows = rank_rows[n_ranks - 1]
    while last >= 0 and right_rows < node.constraints.k:
        right_rows += rank_rows[last]
        last -= 1
    if first > last:
        return False
    for at in range(last + 1):
        node.left_loss[at] = 0.0
    for at in range(first + 1, n_ranks):
        node.right_loss[at] = 0.0
    n_right = n_ranks - 1 - first
    for i in range(node.n_columns):
        if node.word_of[i] < 0 and node.n_ranks[i] > 1:
            other = node.rank + i * node.cell_stride
            for u in range(node.n_ranks[i]):
                node.first_rank[u], node.last_rank[u] = NO_RANK, -1
            for p in range(n_cells):
                node.first_rank[other[p]] = min(node.first_rank[other[p]], rank[p])
                node.last_rank[other[p]] = max(node.last_rank[other[p]], rank[p])
            sweep_column(node, j, i, node.first_rank, 0, last + 1, 1, node.left_loss)
            sweep_column(node, j, i, node.last_rank, n_ranks - 1, n_right, -1, node.right_loss)
    if node.n_words > 0:
        for word in range(node.n_words):
            bits = node.bits + word * node.cell_stride
            rank_bits = node.rank_bits + word * node.code_stride
            clear(rank_bits, n_ranks)
            for p in range(n_cells):
                rank_bits[rank[p]] |= bits[p]
        sweep_bits(node, 0, last + 1, 1, node.left_loss)
        sweep_bits(node, n_ranks - 1, n_right, -1, node.right_loss)
    return True


def sweep_bits(node, start, count, step, losses):
    """Adds the loss of every prefix (or suffix) along a column in the columns that have words; only
    those in which a code is new are weighed again."""
    spans, n_columns, n_words = node.spans, node.n_columns, node.n_words
    clear(node.seen_bits, n_words)
    for i in range(n_columns):
        spans[i].low, spans[i].high, spans[i].n_ranks, spans[i].loss = NO_RANK, -1, 0, 0.0
    total: cython.double = 0.0
    at = start
    for _ in range(count):
        has_changed: cython.bint = False
        for word in range(n_words):
            fresh = node.rank_bits[word * node.code_stride + at] & ~node.seen_bits[word]
            if fresh == 0:
                continue
            has_changed = True
            node.seen_bits[word] |= fresh
            i = -1
            end: int64_t = -1
            while fresh != 0:
                bit = lowest_bit(fresh)
                fresh &= fresh - 1
                if bit >= end:
                    if i >= 0:
                        spans[i].loss = loss_between(
                            node, i, spans[i].low, spans[i].high, spans[i].n_ranks
                        )
                    i = node.bit_column[word * WORD_BITS + bit]
                    end = node.first_bit[i] + node.n_ranks[i]
                other = bit - node.first_bit[i]
                spans[i].low = min(spans[i].low, other)
                spans[i].high = max(spans[i].high, other)
                spans[i].n_ranks += 1
            spans[i].loss = loss_between(node, i, spans[i].low, spans[i].high, spans[i].n_ranks)
        if has_changed:
            total = 0.0
            for i in range(n_columns):
                total += spans[i].loss
        losses[at] += total
        at += step


def sweep_column(node, j, i, occurs, start, count, step, losses):
    """Adds the losses of column i, whose codes are first met at the ranks `occurs` of column j."""
    spans = node.rank_spans
    for at in range(node.n_ranks[j]):
        spans[at].low, spans[at].high, spans[at].n_ranks = NO_RANK, -1, 0
    for u in range(node.n_ranks[i]):
        span = cython.address(spans[occurs[u]])
        span.low = min(span.low, u)
        span.high = max(span.high, u)
        span.n_ranks += 1
    low: int64_t = NO_RANK
    high: int64_t = -1
    n_ranks: int64_t = 0
    loss: cython.double = 0.0
    at = start
    for _ in range(count):
        if spans[at].n_ranks > 0:
            low, high = min(low, spans[at].low), max(high, spans[at].high)
            n_ranks += spans[at].n_ranks
            loss = loss_between(node, i, low, high, n_ranks)
        losses[at] += loss
        at += step


def order_along(node, j):
    """Positions by rank of column j into `order`; `rank_end[v]` is the end of rank v."""
    rank, end, n_ranks = node.rank + j * node.cell_stride, node.rank_end, node.n_ranks[j]
    clear(end, n_ranks + 1)
    for p in range(node.n_cells):
        end[rank[p] + 1] += 1
    for v in range(n_ranks):
        end[v + 1] += end[v]
    for p in range(node.n_cells):
        node.order[end[rank[p]]] = cython.cast(int32_t, p)
        end[rank[p]] += 1
