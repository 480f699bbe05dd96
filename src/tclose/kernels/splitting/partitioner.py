"""A pool of cells, partitioned into classes from the top down.

A split is an order of a node's cells (a *key*: one column, or nearness to one or two cells drawn as
seeds) and a share for the left half. Taken plainly, the first cells up to that share go left. Where
that breaks a constraint, cells are handed out per stratum of sensitive values (a fragment of the
values, coarser or finer, or a run of a few cells along their order): a stratum sends

    λ · (its weight that the plain split sends left) + (1 − λ) · share · (its weight)

of its first cells left. λ = 0 keeps every stratum's share, so both halves keep the distribution up
to rounding; the largest λ that keeps the constraints displaces the fewest. Rounding is carried
along the sensitive order, so every prefix of it is off by less than one cell (`mathematics.md`
3.6). Cells with equal quasi-identifiers may part: this is local recoding.
"""

import cython
import numpy as np

NEGLIGIBLE_LOSS = cython.declare(cython.double, 1e-9)


class Partitioner(Memory):
    """Room to partition pools of up to all cells, one after another, by numbers of a stream."""

    def __init__(self, node, stream) -> None:
        self.node, self.table, self.stream, n_cells = node, node.table, stream, node.table.n_cells
        self.cells, self.ends = np.arange(n_cells), np.zeros(n_cells + 1, dtype=np.int64)
        self.waiting = np.zeros_like(self.ends)
        self.ids, self.spare = longs(self.cells), self.longs(n_cells)
        self.class_end, self.waiting_end = longs(self.ends), longs(self.waiting)
        self.key, self.bin = self.doubles(n_cells), self.ints(n_cells)
        self.by_key, self.by_stratum = self.ints(n_cells), self.ints(n_cells)
        self.weight, self.stratum = self.longs(n_cells), self.ints(n_cells)
        self.goes_left, self.best_goes_left = self.ints(n_cells), self.ints(n_cells)
        self.stratum_start, self.stratum_fill = self.ints(n_cells + 1), self.ints(n_cells + 1)
        self.stratum_weight, self.plain_weight = self.longs(n_cells), self.longs(n_cells)
        self.bin_end = self.ints(MAX_BINS + 1)
        self.rank_distance = self.doubles(node.table.widest_column + 2)

    def begin_all(self, label=None) -> None:
        """Has all cells wait to be split: together, or each class of a labelling by itself."""
        self.begin(self.table.n_cells)
        if label is None:
            return
        self.cells[:] = self.cells[np.argsort(label[self.cells], kind="stable")]
        ends = np.cumsum(np.bincount(label))
        self.waiting[: len(ends)] = ends[::-1]
        self.n_waiting = len(ends)

    def split_some(
        self, most_steps: cython.double, *, tries: cython.longlong, plainly: cython.bint,
        tightness: cython.double, small: cython.longlong = 0,
    ) -> float:  # fmt: skip
        """Splits nodes until none waits or about so many steps are spent; returns how many were.
        Nodes of at most `small` cells become classes as they are; their loss is not kept."""
        before, self.small = self.effort, small
        with cython.nogil:
            self.split(most_steps, tries, plainly, tightness)
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
        if draw(self.stream, 5) < MIXED_CURVES:
            n_curves = (n_curves + 1) // 2
        self.curve = draw(self.stream, n_curves)
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

    def split(self, most_steps, tries, plainly, tightness):
        """Splits the pool, which keeps the constraints, until none waits or so much is spent."""
        begun, self.tightness = self.effort, tightness
        while self.n_waiting > 0 and self.effort - begun < most_steps:
            start, end = self.next_start, self.waiting_end[self.n_waiting - 1]
            if end - start <= self.small:
                self.class_end[self.n_classes] = self.next_start = end
                self.n_classes += 1
                self.n_waiting -= 1
                continue
            walked = self.node.support.walked
            self.node.load(self.ids + start, end - start, FREE, 0)
            saved, passes = self._best_split(tries, plainly)
            self.effort += passes * ((end - start) * self.table.steps_per_cell + STEPS_PER_PASS)
            self.effort += (self.node.support.walked - walked) // WALKED_PER_STEP
            is_even: cython.bint = -NEGLIGIBLE_LOSS < saved <= NEGLIGIBLE_LOSS
            if saved > NEGLIGIBLE_LOSS or (is_even and draw(self.stream, 2) == 0):
                border = divide_stably(self.ids, start, end, self.best_goes_left, self.spare)
                self.waiting_end[self.n_waiting] = border
                self.n_waiting += 1
            else:
                self.class_end[self.n_classes] = self.next_start = end
                self.n_classes += 1
                self.loss += self.node.rows * self.node.loss
                self.n_waiting -= 1

    def _best_split(self, tries, plainly):
        """The best of the strict cuts (`plainly`) and of some random splits of the loaded node into
        `best_goes_left`: the loss saved (−1: none), and how often its cells were passed over. Cells
        lie along the curve. A large node without a split is tried harder: it costs most."""
        d, n_cells = self.table.n_columns, self.node.n_cells
        self.node.rank_codes()
        best_saved: cython.double = -1.0
        least_rows = self.node.constraints.least_rows[0]
        if self.node.rows < 2 * least_rows or n_cells < 2 or self.node.loss == 0.0:
            return best_saved, 1
        for p in range(n_cells):
            self.weight[p] = weight_of(self.table, self.node.cells[p], 0)
        turn = draw(self.stream, d)
        most = min(max(CELLS_TRIED // n_cells, 2), tries * min(1 + n_cells // 100, 10))
        trial: int64_t = -1 if plainly and self._split_plainly() else 0
        best_score: cython.double = -INFINITY
        while trial < most and (trial < tries or best_saved <= NEGLIGIBLE_LOSS):
            self.n_strata = 0
            share: cython.double = 0.5
            if trial >= 0:
                j = (turn + trial) % d
                self._draw_strata()
                if trial % 2 == 0 and self.node.n_ranks[j] > 1:
                    self._key_by_column(j)
                else:
                    self._key_by_seeds()
                if draw(self.stream, 2) == 0:
                    share = 0.1 + 0.4 * draw_unit(self.stream)
            trial += 1
            saved, score = self._try_split(share)
            if score > best_score:
                best_saved, best_score = saved, score
                for p in range(n_cells):
                    self.best_goes_left[p] = self.goes_left[p]
        return best_saved, trial + 2 + (d if plainly else 0)

    def _split_plainly(self):
        """The best strict cut over all columns into `goes_left`; whether there is one."""
        split = self.node.best_split()
        if split.column < 0:
            return False
        goes_left, rank = self.goes_left, ranks_of(self.node, split.column)
        for p in range(self.node.n_cells):
            goes_left[p] = -1 if rank[p] <= split.rank else 0
        return True

    def _draw_strata(self):
        """Groups the node's cells, which lie in sensitive order, by fragments or in runs."""
        n_cells, cells, weight = self.node.n_cells, self.node.cells, self.weight
        stratum, start, stratum_weight = self.stratum, self.stratum_start, self.stratum_weight
        fragment = self.table.order_fragment + self.curve * self.table.n_cells
        coarseness = self._draw_coarseness(fragment)
        run = 2 + draw(self.stream, min(15, max(n_cells // 4, 1)))
        at: int32_t = -1
        last: int64_t = -1
        end: int64_t = 0
        for p in range(n_cells):
            if coarseness < 0:
                here: int64_t = p if p == end else last
            else:
                here = fragment[cells[p]] >> coarseness
            if at < 0 or here != last:
                at += 1
                start[at], stratum_weight[at], last, end = p, 0, here, p + run
            stratum[p] = at
            stratum_weight[at] += weight[p]
        start[at + 1] = n_cells
        self.n_strata = at + 1

    def _draw_coarseness(self, fragment):
        """How many last bits to take off fragments, or −1: runs of cells. One attribute is mostly
        handed out by its values; several by any grid that parts the node."""
        has_several: cython.bint = self.table.n_orders > 1
        luck = draw(self.stream, 5)
        if luck < (MANY_RUNS if has_several else 1):
            return -1
        if not has_several and luck > 1:
            return 0
        span = fragment[self.node.cells[0]] ^ fragment[self.node.cells[self.node.n_cells - 1]]
        bits: int64_t = 0
        while span >> bits > 0:
            bits += 1
        return draw(self.stream, max(bits, 1))

    def _key_by_column(self, j):
        """Orders by one column, ties by a second: what a hierarchy or the number line suggests."""
        i = draw(self.stream, self.node.n_columns)
        first, second = ranks_of(self.node, j), ranks_of(self.node, i)
        key, scale = self.key, 0.9 / self.node.n_ranks[i]
        for p in range(self.node.n_cells):
            key[p] = first[p] + second[p] * scale

    def _key_by_seeds(self):
        """Orders by nearness to a cell in a random mix of columns, or by which of two is nearer."""
        n_cells, d = self.node.n_cells, self.node.n_columns
        key, distance = self.key, self.rank_distance
        x, y = draw(self.stream, n_cells), draw(self.stream, n_cells)
        has_two: cython.bint = draw(self.stream, 2) == 0
        for p in range(n_cells):
            key[p] = 0.0
        density = draw(self.stream, 3)
        for j in range(d):
            if density > 0 and draw(self.stream, d) >= 3 * density - 1:
                continue
            share = 0.2 + draw_unit(self.stream)
            rank, code = ranks_of(self.node, j), codes_of(self.node, j)
            u, v = code[rank[x]], code[rank[y]]
            for r in range(self.node.n_ranks[j]):
                distance[r] = share * pair_loss(self.table, j, code[r], u)
                if has_two:
                    distance[r] -= share * pair_loss(self.table, j, code[r], v)
            for p in range(n_cells):
                key[p] += distance[rank[p]]

    def _sort_by_key(self):
        """Positions by key, in steps and ties in a random rotation; and within each stratum."""
        n_cells, key, bin_of, bin_end = self.node.n_cells, self.key, self.bin, self.bin_end
        by_key, by_stratum = self.by_key, self.by_stratum
        stratum, fill = self.stratum, self.stratum_fill
        low, high = key[0], key[0]
        for p in range(n_cells):
            low, high = min(low, key[p]), max(high, key[p])
        n_bins = min(8 * n_cells, MAX_BINS)
        scale = (n_bins - 1) / (high - low) if high > low else 0.0
        for b in range(n_bins + 1):
            bin_end[b] = 0
        for p in range(n_cells):
            bin_of[p] = cython.cast(int32_t, (key[p] - low) * scale)
        for p in range(n_cells):
            bin_end[bin_of[p] + 1] += 1
        for b in range(n_bins):
            bin_end[b + 1] += bin_end[b]
        turn = draw(self.stream, n_cells)
        for g in range(self.n_strata):
            fill[g] = self.stratum_start[g]
        for q in range(turn, turn + n_cells):
            p = q if q < n_cells else q - n_cells
            by_key[bin_end[bin_of[p]]] = p
            bin_end[bin_of[p]] += 1
        for q in range(n_cells):
            p = by_key[q]
            by_stratum[fill[stratum[p]]] = p
            fill[stratum[p]] += 1

    def _try_split(self, share):
        """(loss saved, less regret) of the least displaced split; of `goes_left` without strata."""
        if self.n_strata > 0:
            self._sort_by_key()
            share = self._plain_share(share)
        for step in range(5 if self.n_strata > 0 else 1):
            if self.n_strata > 0:
                self._hand_out(share, 1.0 - 0.25 * step)
            left_rows: int64_t = 0
            self.node.support.clear(self.node.left_hist)
            for p in range(self.node.n_cells):
                if self.goes_left[p] != 0:
                    left_rows += self.node.cell_rows[p]
                    add_cell(self.table, self.node.cells[p], 1, self.node.left_hist)
            if 0 < left_rows < self.node.rows and self.node.keep_both_halves(left_rows):
                left_loss, right_loss = self._loss_of_halves()
                saved = self.node.rows * self.node.loss - left_rows * left_loss
                saved -= (self.node.rows - left_rows) * right_loss
                return saved, saved - self._regret(left_rows)
        return -1.0, -INFINITY

    def _plain_share(self, share):
        """What the plain split sends left of every stratum; returns its share of the whole. It ends
        at a change of key near the wanted share, else at that share."""
        n_cells, by_key, bin_of, weight = self.node.n_cells, self.by_key, self.bin, self.weight
        whole: int64_t = 0
        left: int64_t = 0
        clear(self.plain_weight, self.n_strata)
        for g in range(self.n_strata):
            whole += self.stratum_weight[g]
        border: cython.Py_ssize_t = 0
        while border < n_cells - 2 and 2 * left + weight[by_key[border]] < 2 * share * whole:
            left += weight[by_key[border]]
            border += 1
        border = max(border, 1)
        for step in range(2 * max(n_cells // 4, 1)):
            q = border - step // 2 if step % 2 == 0 else border + step // 2
            if 0 < q < n_cells and bin_of[by_key[q]] != bin_of[by_key[q - 1]]:
                border = q
                break
        left = 0
        for q in range(border):
            self.plain_weight[self.stratum[by_key[q]]] += weight[by_key[q]]
            left += weight[by_key[q]]
        return left / cython.cast(cython.double, whole)

    def _hand_out(self, share, plainness):
        """Fills `goes_left` for one λ; half a cell's rounding decides, and is carried on."""
        goes_left, by_stratum, weight = self.goes_left, self.by_stratum, self.weight
        start, plain, whole = self.stratum_start, self.plain_weight, self.stratum_weight
        due: cython.double = 0.0
        taken: int64_t = 0
        for p in range(self.node.n_cells):
            goes_left[p] = 0
        for g in range(self.n_strata):
            due += plainness * plain[g] + (1.0 - plainness) * share * whole[g]
            for q in range(start[g], start[g + 1]):
                p = by_stratum[q]
                if taken + 0.5 * weight[p] > due:
                    break
                taken += weight[p]
                goes_left[p] = -1

    def _loss_of_halves(self):
        """Loss per row of both halves; minima, maxima and bit sets without branches, for speed."""
        n_cells, goes_left = self.node.n_cells, self.goes_left
        left: cython.double = 0.0
        right: cython.double = 0.0
        for j in range(self.node.n_columns):
            rank, code = ranks_of(self.node, j), codes_of(self.node, j)
            if self.table.columns[j].form != SET:
                a: int32_t = FAR_CODE
                b: int32_t = 0
                c: int32_t = FAR_CODE
                d: int32_t = 0
                for p in range(n_cells):
                    v, s = rank[p], goes_left[p]
                    a = min(a, v | (~s & FAR_CODE))
                    b = max(b, v & s)
                    c = min(c, v | (s & FAR_CODE))
                    d = max(d, v & ~s)
                left += range_loss(self.table, j, code[a], code[b])
                right += range_loss(self.table, j, code[c], code[d])
            elif self.node.n_ranks[j] <= 63:
                left_bits: int64_t = 0
                right_bits: int64_t = 0
                for p in range(n_cells):
                    bit = cython.cast(int64_t, 1) << rank[p]
                    side = cython.cast(int64_t, goes_left[p])
                    left_bits |= bit & side
                    right_bits |= bit & ~side
                left += range_loss(self.table, j, 0, count_bits(left_bits))
                right += range_loss(self.table, j, 0, count_bits(right_bits))
            else:
                left += range_loss(self.table, j, 0, self._count_codes(j, -1))
                right += range_loss(self.table, j, 0, self._count_codes(j, 0))
        return left, right

    def _count_codes(self, j, side):
        """How many codes of column j one half has."""
        rank, seen = ranks_of(self.node, j), self.node.code_rank
        found: int64_t = 0
        for r in range(self.node.n_ranks[j]):
            seen[r] = 0
        for p in range(self.node.n_cells):
            if self.goes_left[p] == side:
                found += 1 - seen[rank[p]]
                seen[rank[p]] = 1
        return found

    def _regret(self, left_rows):
        """What the loss does not show: a large half without closeness left is never split again."""
        right_rows = self.node.rows - left_rows
        if self.tightness <= 0.0 or self.node.rows < 8 * self.node.constraints.k:
            return 0.0
        if self.node.constraints.n_constraints == 0:
            return 0.0
        left_slack = self.node.support.slack(self.node.left_hist, left_rows)
        right_slack = self.node.support.slack(self.node.right_hist, right_rows)
        regret = left_rows * exp(-15.0 * left_slack) + right_rows * exp(-15.0 * right_slack)
        return self.tightness * regret
