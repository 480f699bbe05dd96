"""A node that is being split, the cut that is taken (Mondrian, LeFevre 2006), and trees of them.

Codes are ranked among those that occur in the node, so that what follows costs the node's cells and
not the domains. What every cut along a column would lose is found in one sweep, from the codes that
occur at each rank: a bit per code of every other column, as many columns to a word as fit, or of a
column of too many codes the first and the last rank of each. N cells cost O(N · columns²) at most.

Strict cuts send every cell with code ≤ v of a column left, so that classes are disjoint boxes and a
release can be repeated on other rows; relaxed cuts may part cells with equal codes. A column with a
hierarchy is cut between children of the lowest common ancestor of the node (FREE cuts need not be).
A class that breaks a constraint contains no partition that keeps it (`mathematics.md` 2.1), so
a refused cut is refused for good. Closeness may be to any large enough superset instead
((n, t)-closeness): those are the nodes above, which `remember` keeps at hand.
"""

import cython
import numpy as np


class NodeWorkspace(Memory):
    """Memory to split one node after another in; every kernel may overwrite all of it."""

    def __init__(self, table) -> None:
        constraints, cells, columns = table.constraints, table.n_cells, table.n_columns
        width = max(table.widest_column, columns) + 2
        self.table, self.constraints = table, constraints
        self.n_columns, self.cell_stride, self.code_stride = columns, cells, width
        self.cell_rows, self.column_loss = self.longs(cells), self.doubles(columns)
        self.rank, self.code = self.ints(columns * cells), self.ints(columns * width)
        self.code_rank, self.n_ranks = self.ints(width), self.longs(columns)
        self.bits, self.word_of = self.longs(columns * cells), self.longs(columns)
        self.bit_column, self.first_bit = self.longs(columns * WORD_BITS), self.longs(columns)
        self.rank_rows, self.rank_bits = self.longs(width), self.longs(columns * width)
        self.left_loss, self.right_loss = self.doubles(width), self.doubles(width)
        self.rank_end, self.order = self.longs(width), self.ints(cells)
        self.spans = cython.cast(cython.pointer(Span), self.longs(4 * columns))
        self.rank_spans = cython.cast(cython.pointer(Span), self.longs(4 * width))
        self.first_rank, self.last_rank = self.ints(width), self.ints(width)
        self.best_saved, self.best_rank = self.doubles(columns), self.longs(columns)
        self.spare, self.support, slots = self.longs(cells), Support(table), constraints.n_slots
        self.left_hist, self.right_hist = self.longs(slots), self.longs(slots)
        self.whole_hist, self.seen_bits = self.longs(slots), self.longs(columns)
        if (constraints.arrays.rows["superset_rows"] > 0).any():
            self.n_levels = MAX_LEVELS
        self.ancestor_nodes = self.longs(self.n_levels * constraints.n_nodes)
        self.ancestor_known = self.longs(self.n_levels * constraints.n_constraints)
        self.ancestor_members = self.longs(self.n_levels)

    def load(self, cells, n_cells, rule, depth):
        """Makes some cells the node: counts their rows and their histogram."""
        self.cells, self.n_cells, self.rule, self.depth = cells, n_cells, rule, depth
        self.support.clear(self.whole_hist)
        self.support.clear(self.left_hist)
        self.support.clear(self.right_hist)
        self.rows = self.support.add_up(cells, n_cells, self.whole_hist)

    def rank_codes(self):
        """The node's codes as ranks, and what each column loses."""
        cells, rows, codes = self.cells, self.table.rows, self.table.codes
        cell_rows, d, columns = self.cell_rows, self.n_columns, self.table.columns
        for p in range(self.n_cells):
            cell_rows[p] = rows[cells[p]]
        self.loss = 0.0
        span: Span
        span.low = 0
        for j in range(d):
            rank, code, n_codes = ranks_of(self, j), codes_of(self, j), columns[j].n_codes
            for p in range(self.n_cells):
                rank[p] = codes[cells[p] * d + j]
            if n_codes <= 4 * self.n_cells + 64:
                span.n_ranks = self._rank_by_marking(rank, code, n_codes)
            else:
                span.n_ranks = self._rank_by_sorting(rank, code)
            span.high = span.n_ranks - 1
            self.n_ranks[j] = span.n_ranks
            self.column_loss[j] = span_loss(self, j, cython.address(span))
            self.loss += self.column_loss[j]

    def _rank_by_marking(self, rank, code, n_codes):
        """Turns codes into ranks by marking those that occur; how many do."""
        code_rank = self.code_rank
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

    def _rank_by_sorting(self, rank, code):
        """The same for a column of many more codes than the node has cells."""
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

    def remember(self):
        """Makes the node a superset of what is split from it."""
        if self.depth >= self.n_levels:
            return
        hist = self.whole_hist
        below = self.ancestor_nodes + self.depth * self.constraints.n_nodes
        known = self.ancestor_known + self.depth * self.constraints.n_constraints
        clear(below, self.constraints.n_nodes)
        self.support.walked += self.constraints.n_slots + self.constraints.n_nodes
        self.ancestor_members[self.depth] = count_members(self.constraints, hist, self.rows)
        for at in range(self.constraints.n_constraints):
            row = cython.address(self.constraints.rows[at])
            known[at] = 0
            if row.superset_rows == 0:
                continue
            for value in range(row.n_values):
                rows = hist[row.first_slot + value]
                below[self.constraints.leaf_node[row.first_value + value]] += rows
                known[at] += rows
            for node in range(row.first_node, row.end_node - 1):
                below[self.constraints.node_parent[node]] += below[node]

    def keep_both_halves(self, left_rows):
        """Whether both halves may be released; `left_hist` is the left one's histogram."""
        left, right = self.left_hist, self.right_hist
        self.support.subtract(self.whole_hist, left, right)
        return self._keeps(left, left_rows) and self._keeps(right, self.rows - left_rows)

    def _keeps(self, hist, rows):
        """Whether a half may be released, supersets included."""
        if self.n_levels == 0:
            return self.support.keeps(hist, rows)
        if is_too_small(self.constraints, hist, rows):
            return False
        for at in range(self.constraints.n_constraints):
            row = cython.address(self.constraints.rows[at])
            if row.superset_rows == 0:
                if not self.support.keeps_one(at, hist, rows):
                    return False
            elif count_members(self.constraints, hist, rows) < row.superset_rows:
                if not self._is_near_ancestor(at, hist, rows):
                    return False
        return True

    def _is_near_ancestor(self, at, hist, rows):
        """Whether a half is close to a large enough node above it, by one constraint."""
        row = cython.address(self.constraints.rows[at])
        for level in range(min(self.depth + 1, self.n_levels)):
            if self.ancestor_members[level] < row.superset_rows:
                return False
            below = self.ancestor_nodes + level * self.constraints.n_nodes
            known = self.ancestor_known[level * self.constraints.n_constraints + at]
            self.support.walked += row.n_values + row.end_node - row.first_node
            if self.constraints.is_near(row, hist, rows, below, known, self.support.scratch):
                return True
        return False

    def choose_split(self):
        """The cut that the loaded node takes."""
        split = self.make_split(-1, -1, -1.0)
        if self.rows < 2 * self.constraints.least_rows[0] or self.n_cells < 2:
            return split
        self.rank_codes()
        self.remember()
        if self.rule not in (MEDIAN, RELAXED):
            self.set_bits()
            return self.best_split()
        j = self.next_widest(-1)
        while split.column < 0 and j >= 0 and self.n_ranks[j] > 1:
            split = self.median_split(j)
            j = self.next_widest(j)
        return split

    def make_split(self, j, rank, saved):
        """A cut of column j after a rank; column −1: none."""
        split: Split
        split.column, split.rank, split.saved = j, rank, saved
        split.where = codes_of(self, j)[rank] if j >= 0 else -1
        return split

    def best_split(self):
        """The allowed cut that saves most; of columns that are wider than they may be first.
        `set_bits` comes before."""
        if self.loss >= FORBIDDEN:
            split = self.best_split_of(FORBIDDEN)
            if split.column >= 0:
                return split
        return self.best_split_of(0.0)

    def best_split_of(self, least_loss):
        """The same of columns that lose so much: the best of every column are judged in the order
        of what they save, the others of a column only where its best is not allowed."""
        for j in range(self.n_columns):
            self.best_saved[j] = -1.0
            if self.column_loss[j] >= least_loss:
                self.find_best_cut(j)
        best = self.make_split(-1, -1, -1.0)
        j = self.next_best(best.saved)
        while j >= 0:
            left_rows = self.send_left(j, self.best_rank[j])
            if self.keep_both_halves(left_rows):
                return self.make_split(j, self.best_rank[j], self.best_saved[j])
            self.weigh_cuts(j)
            self.judge_cuts(j, best.saved, True, cython.address(best))
            self.best_saved[j] = -1.0
            j = self.next_best(best.saved)
        return best

    def find_best_cut(self, j):
        """Sets which cut of column j would save most, and what it would save (−1: no cut)."""
        least_rows = self.constraints.least_rows[0]
        left_rows: int64_t = 0
        self.best_saved[j], self.best_rank[j] = -1.0, -1
        if self.n_ranks[j] <= 1 or not self.weigh_cuts(j):
            return
        for v in range(self.n_ranks[j] - 1):
            left_rows += self.rank_rows[v]
            if left_rows >= least_rows <= self.rows - left_rows and self.is_along_hierarchy(j, v):
                saved = self.measure_saving(v, left_rows)
                if saved > self.best_saved[j]:
                    self.best_saved[j], self.best_rank[j] = saved, v

    def judge_cuts(self, j, least, only_best, found):
        """The allowed cuts of column j that save more than `least`; how many. Cuts are weighed."""
        least_rows = self.constraints.least_rows[0]
        self.order_along(j)
        self.support.clear(self.left_hist)
        left_rows: int64_t = 0
        first: cython.Py_ssize_t = 0
        count: cython.Py_ssize_t = 0
        for v in range(self.n_ranks[j] - 1):
            left_rows += self.send_more_left(first, self.rank_end[v])
            first = self.rank_end[v]
            if self.rows - left_rows < least_rows:
                break
            if left_rows < least_rows or not self.is_along_hierarchy(j, v):
                continue
            saved = self.measure_saving(v, left_rows)
            if saved > least and self.keep_both_halves(left_rows):
                at = 0 if only_best else count
                found[at] = self.make_split(j, v, saved)
                least = saved if only_best else least
                count = at + 1
        return count

    def measure_saving(self, v, left_rows):
        """The loss that a cut after rank v saves, after `weigh_cuts`."""
        saved = self.rows * self.loss - left_rows * self.left_loss[v]
        return max(saved - (self.rows - left_rows) * self.right_loss[v + 1], 0.0)

    def median_split(self, j):
        """The first border of column j at or after half of the rows, or along a hierarchy the one
        nearest to half, if it is allowed. Relaxed cuts of other columns may end at any cell."""
        has_tree: cython.bint = self.table.columns[j].form not in (INTERVAL, SET)
        may_part: cython.bint = self.rule == RELAXED and not has_tree
        best_gap = 2 * self.rows
        rows: int64_t = 0
        first: cython.Py_ssize_t = 0
        n_left: cython.Py_ssize_t = 0
        rank: cython.Py_ssize_t = 0
        self.order_along(j)
        for v in range((self.n_cells if may_part else self.n_ranks[j]) - 1):
            end = v + 1 if may_part else self.rank_end[v]
            for q in range(first, end):
                rows += self.cell_rows[self.order[q]]
            first = end
            gap = llabs(2 * rows - self.rows)
            is_past_half: cython.bint = 2 * rows >= self.rows
            is_nearer: cython.bint = (is_past_half or has_tree) and gap < best_gap
            if is_nearer and (may_part or self.is_along_hierarchy(j, v)):
                best_gap, n_left, rank = gap, end, 0 if may_part else v
            if is_past_half and n_left > 0:
                break
        self.support.clear(self.left_hist)
        left_rows = self.send_more_left(0, n_left)
        if n_left == 0 or not self.keep_both_halves(left_rows):
            return self.make_split(-1, -1, -1.0)
        split = self.make_split(j, rank, -1.0)
        if self.rule == RELAXED:
            split.where = n_left
        return split

    def list_splits(self, found):
        """All allowed cuts of the loaded node, by the width of their columns; returns how many."""
        count: cython.Py_ssize_t = 0
        if self.rows < 2 * self.constraints.least_rows[0] or self.n_cells < 2:
            return count
        self.rank_codes()
        self.remember()
        self.set_bits()
        j = self.next_widest(-1)
        while j >= 0 and self.n_ranks[j] > 1:
            if self.rule in (MEDIAN, RELAXED):
                found[count] = self.median_split(j)
                count += found[count].column >= 0
            elif self.weigh_cuts(j):
                count += self.judge_cuts(j, -1.0, False, found + count)
            j = self.next_widest(j)
        return count

    def next_widest(self, last):
        """The widest column after the last one (−1: of all), equals in their order; −1: no more."""
        loss = self.column_loss
        best: cython.Py_ssize_t = -1
        for j in range(self.n_columns):
            if last >= 0 and (loss[j] > loss[last] or (loss[j] == loss[last] and j <= last)):
                continue
            if best < 0 or loss[j] > loss[best]:
                best = j
        return best

    def next_best(self, least):
        """The column, the widest of equals, whose best cut would save most, and more than that."""
        saved, loss = self.best_saved, self.column_loss
        best: cython.Py_ssize_t = -1
        for j in range(self.n_columns):
            is_wider: cython.bint = best >= 0 and saved[j] == least and loss[j] > loss[best]
            if saved[j] > least or is_wider:
                best, least = j, saved[j]
        return best

    def is_along_hierarchy(self, j, v):
        """Whether a cut after rank v goes along the hierarchy of column j, if any: neighbours in
        different children of the lowest common ancestor have the loss of the whole."""
        form = self.table.columns[j].form
        if self.rule == FREE or form in (INTERVAL, SET):
            return True
        code = codes_of(self, j)
        return range_loss(self.table, j, code[v], code[v + 1]) == self.column_loss[j]

    def send_left(self, j, v):
        """Makes the cells up to rank v of column j the left half; returns their rows."""
        self.support.clear(self.left_hist)
        rank = ranks_of(self, j)
        rows: int64_t = 0
        for p in range(self.n_cells):
            if rank[p] <= v:
                rows += add_cell(self.table, self.cells[p], 1, self.left_hist)
        return rows

    def send_more_left(self, first, end):
        """Adds some cells along the column to the left half; returns their rows."""
        rows: int64_t = 0
        for q in range(first, end):
            rows += add_cell(self.table, self.cells[self.order[q]], 1, self.left_hist)
        return rows

    def set_bits(self):
        """Words with a bit for every code of the node's cells."""
        n_cells = self.n_cells
        used: int64_t = WORD_BITS
        self.n_words = 0
        bits = self.bits
        for j in range(self.n_columns):
            n_ranks = self.n_ranks[j]
            self.word_of[j] = -1
            if n_ranks <= 1 or n_ranks > WORD_BITS:
                continue
            if used + n_ranks > WORD_BITS:
                bits = self.bits + self.n_words * self.cell_stride
                clear(bits, n_cells)
                self.n_words += 1
                used = 0
            rank = ranks_of(self, j)
            for p in range(n_cells):
                bits[p] |= cython.cast(int64_t, 1) << (rank[p] + used)
            self.word_of[j], self.first_bit[j] = self.n_words - 1, used
            for bit in range(used, used + n_ranks):
                self.bit_column[(self.n_words - 1) * WORD_BITS + bit] = j
            used += n_ranks

    def weigh_cuts(self, j):
        """Rows at each rank of column j, losses of the prefix to it and the suffix from it; False
        where no cut leaves k rows on both sides. `set_bits` comes before."""
        n_ranks, n_cells = self.n_ranks[j], self.n_cells
        rank, rank_rows, cell_rows = ranks_of(self, j), self.rank_rows, self.cell_rows
        clear(rank_rows, n_ranks)
        for p in range(n_cells):
            rank_rows[rank[p]] += cell_rows[p]
        first: cython.Py_ssize_t = 0
        left_rows = rank_rows[0]
        while first < n_ranks - 1 and left_rows < self.constraints.least_rows[0]:
            first += 1
            left_rows += rank_rows[first]
        last = n_ranks - 2
        right_rows = rank_rows[n_ranks - 1]
        while last >= 0 and right_rows < self.constraints.least_rows[0]:
            right_rows += rank_rows[last]
            last -= 1
        if first > last:
            return False
        for at in range(last + 1):
            self.left_loss[at] = 0.0
        for at in range(first + 1, n_ranks):
            self.right_loss[at] = 0.0
        n_right = n_ranks - 1 - first
        for i in range(self.n_columns):
            if self.word_of[i] < 0 and self.n_ranks[i] > 1:
                other = ranks_of(self, i)
                for u in range(self.n_ranks[i]):
                    self.first_rank[u], self.last_rank[u] = NO_RANK, -1
                for p in range(n_cells):
                    self.first_rank[other[p]] = min(self.first_rank[other[p]], rank[p])
                    self.last_rank[other[p]] = max(self.last_rank[other[p]], rank[p])
                self.sweep_column(j, i, 0, last + 1)
                self.sweep_column(j, i, n_ranks - 1, n_right)
        if self.n_words > 0:
            for word in range(self.n_words):
                bits = self.bits + word * self.cell_stride
                rank_bits = self.rank_bits + word * self.code_stride
                clear(rank_bits, n_ranks)
                for p in range(n_cells):
                    rank_bits[rank[p]] |= bits[p]
            self.sweep_bits(0, last + 1)
            self.sweep_bits(n_ranks - 1, n_right)
        return True

    def sweep_bits(self, start, count):
        """Adds the loss of every prefix (or suffix, where it does not start at rank 0) along a
        column in the columns that have words; only where a code is new are they weighed again."""
        spans, n_columns, n_words = self.spans, self.n_columns, self.n_words
        losses, step = self.left_loss if start == 0 else self.right_loss, 1 if start == 0 else -1
        clear(self.seen_bits, n_words)
        for i in range(n_columns):
            start_span(spans + i)
        total: cython.double = 0.0
        at = start
        for _ in range(count):
            has_changed: cython.bint = False
            for word in range(n_words):
                fresh = self.rank_bits[word * self.code_stride + at] & ~self.seen_bits[word]
                if fresh == 0:
                    continue
                has_changed = True
                self.seen_bits[word] |= fresh
                i = -1
                end: int64_t = -1
                while fresh != 0:
                    bit = lowest_bit(fresh)
                    fresh &= fresh - 1
                    if bit >= end:
                        if i >= 0:
                            spans[i].loss = span_loss(self, i, spans + i)
                        i = self.bit_column[word * WORD_BITS + bit]
                        end = self.first_bit[i] + self.n_ranks[i]
                    other = bit - self.first_bit[i]
                    widen_span(spans + i, other, other, 1)
                spans[i].loss = span_loss(self, i, spans + i)
            if has_changed:
                total = 0.0
                for i in range(n_columns):
                    total += spans[i].loss
            losses[at] += total
            at += step

    def sweep_column(self, j, i, start, count):
        """The same for column i, whose codes are first met at some rank of column j."""
        spans, occurs = self.rank_spans, self.first_rank if start == 0 else self.last_rank
        losses, step = self.left_loss if start == 0 else self.right_loss, 1 if start == 0 else -1
        for at in range(self.n_ranks[j]):
            start_span(spans + at)
        for u in range(self.n_ranks[i]):
            widen_span(spans + occurs[u], u, u, 1)
        whole: Span
        start_span(cython.address(whole))
        at = start
        for _ in range(count):
            if spans[at].n_ranks > 0:
                widen_span(cython.address(whole), spans[at].low, spans[at].high, spans[at].n_ranks)
                whole.loss = span_loss(self, i, cython.address(whole))
            losses[at] += whole.loss
            at += step

    def order_along(self, j):
        """Positions by rank of column j into `order`; `rank_end[v]` is the end of rank v."""
        rank, end, n_ranks = ranks_of(self, j), self.rank_end, self.n_ranks[j]
        clear(end, n_ranks + 1)
        for p in range(self.n_cells):
            end[rank[p] + 1] += 1
        for v in range(n_ranks):
            end[v + 1] += end[v]
        for p in range(self.n_cells):
            self.order[end[rank[p]]] = cython.cast(int32_t, p)
            end[rank[p]] += 1


class SplitTree(Memory):
    """A tree that begins as one node of all cells and is split by a rule.

    `column`, `code`, `left` and `right` describe the first `n_nodes` nodes as `outcome.Cuts` does;
    `label` is the class of each cell.
    """

    def __init__(self, workspace, rule: str) -> None:
        n_cells = workspace.table.n_cells
        most = 2 * n_cells + 1
        self.workspace, self.rule = workspace, rule
        self.rule_number = {"gain": GAIN, "median": MEDIAN, "relaxed": RELAXED, "free": FREE}[rule]
        self.cells, self.label = np.arange(n_cells), np.zeros(n_cells, dtype=np.int64)
        self.column, self.code = np.full(most, -1), np.zeros(most, dtype=np.int64)
        self.left, self.right = np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64)
        self.cell_order, self.class_of = longs(self.cells), longs(self.label)
        self.split_column, self.split_code = longs(self.column), longs(self.code)
        self.left_node, self.right_node = longs(self.left), longs(self.right)
        self.ring_size, self.at_hand.depth, self.n_nodes = n_cells + 2, -1, 1
        self.nodes_waiting = cython.cast(cython.pointer(TreeNode), self.longs(4 * self.ring_size))
        self._wait(0, n_cells, 0)

    def grow(self, effort: cython.longlong) -> int:
        """Splits nodes until none waits or about `effort` steps are spent; returns how many were.
        Oldest first, for an even tree when time is up; youngest where ancestors must be at hand."""
        steps_per_cell = self.workspace.n_columns * self.workspace.n_columns + 8
        spent: int64_t = 0
        with cython.nogil:
            while self.n_waiting > 0 and spent < effort:
                self._take_next()
                walked = self.workspace.support.walked
                chosen = self.workspace.choose_split()
                spent += self.workspace.n_cells * steps_per_cell
                spent += self.workspace.support.walked - walked
                if chosen.column < 0:
                    self.close()
                else:
                    self.split(chosen.column, chosen.where)
        return spent

    def take_next(self) -> np.ndarray:
        """Takes the next node; returns its cells."""
        self._take_next()
        return self.cells[self.at_hand.start : self.at_hand.end]

    def candidates(self) -> list[tuple[int, int]]:
        """The splits of the node at hand that the compiled constraints allow, best first: by loss
        saved, or the widest column. Each is a column and a code (relaxed: how many cells go left).
        """
        room = np.empty(4 * (self.workspace.table.n_codes + 1), dtype=np.int64)
        found = cython.cast(cython.pointer(Split), longs(room))
        count = self.workspace.list_splits(found)
        order = list(range(count))
        if self.rule_number == GAIN:
            order.sort(key=[-found[at].saved for at in range(count)].__getitem__)
        return [(found[at].column, found[at].where) for at in order]

    def close_all(self) -> None:
        """Makes every node that still waits a class as it is."""
        while self.n_waiting > 0:
            self.n_waiting -= 1
            self.at_hand = self.nodes_waiting[(self.oldest + self.n_waiting) % self.ring_size]
            self.close()

    def _take_next(self):
        """The node to be split next, into `at_hand` and the workspace."""
        self.n_waiting -= 1
        if self.workspace.n_levels > 0:
            self.at_hand = self.nodes_waiting[(self.oldest + self.n_waiting) % self.ring_size]
        else:
            self.at_hand = self.nodes_waiting[self.oldest]
            self.oldest = (self.oldest + 1) % self.ring_size
        cells, n_cells = self.cell_order + self.at_hand.start, self.at_hand.end - self.at_hand.start
        self.workspace.load(cells, n_cells, self.rule_number, self.at_hand.depth)

    def close(self) -> None:
        """Makes the node at hand a class."""
        for p in range(self.at_hand.start, self.at_hand.end):
            self.class_of[self.cell_order[p]] = self.n_classes
        self.left_node[self.at_hand.number] = self.n_classes
        self.n_classes += 1

    def split(self, column, where) -> None:
        """Splits the node at hand at one of its candidates: both halves wait, the left one last."""
        start, end, number = self.at_hand.start, self.at_hand.end, self.at_hand.number
        cells, order, spare = self.cell_order + start, self.workspace.order, self.workspace.spare
        if self.rule_number == RELAXED:
            border = start + where
            self.workspace.order_along(column)
            for q in range(end - start):
                spare[q] = cells[order[q]]
            for q in range(end - start):
                cells[q] = spare[q]
        else:
            codes, n_columns = self.workspace.table.codes + column, self.workspace.n_columns
            for p in range(end - start):
                order[p] = codes[cells[p] * n_columns] <= where
            border = start + divide_stably(cells, 0, end - start, order, spare)
        self.split_column[number], self.split_code[number] = column, where
        self.left_node[number], self.right_node[number] = self.n_nodes, self.n_nodes + 1
        self._wait(border, end, self.n_nodes + 1)
        self._wait(start, border, self.n_nodes)
        self.n_nodes += 2

    def _wait(self, start, end, number):
        node = cython.address(self.nodes_waiting[(self.oldest + self.n_waiting) % self.ring_size])
        node.start, node.end, node.number, node.depth = start, end, number, self.at_hand.depth + 1
        self.n_waiting += 1
