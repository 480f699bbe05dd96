"""A pool of cells, partitioned into classes from the top down.

A split is an order of a node's cells (a *key*: one column, or nearness to one or two cells drawn as
seeds) and a share for the left half. Taken plainly, the first cells up to that share go left. Where
that breaks a constraint, and all constraints are distances on small trees, a few cells change sides
(`balance`). Where that does not do, cells are handed out per stratum of sensitive values (a
fragment of the values, coarser or finer, or a run of a few cells along their order), which sends

    λ · (its weight that the plain split sends left) + (1 − λ) · share · (its weight)

of its first cells left. λ = 0 keeps every stratum's share, so both halves keep the distribution up
to rounding; the largest λ that keeps the constraints displaces the fewest. Rounding is carried
along the sensitive order, so every prefix of it is off by less than one cell (`mathematics.md`
3.6). Cells with equal quasi-identifiers may part: this is local recoding.
"""

import cython
import numpy as np

from tclose.kernels.splitting.balance import HalfBalancer

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
        self.stratum_start, self.stratum_end = self.ints(n_cells + 1), self.ints(n_cells + 1)
        self.stratum_weight, self.plain_weight = self.longs(n_cells), self.longs(n_cells)
        self.left_weight = self.longs(n_cells)
        self.bin_end = self.ints(MAX_BINS + 1)
        self.left_bits = self.longs(node.table.n_columns)
        self.right_bits = self.longs(node.table.n_columns)
        self.balancer = HalfBalancer(node)
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
            saved = self._best_split(tries, plainly)
            steps = (end - start) * self.table.steps_per_cell + STEPS_PER_PASS
            self.effort += self.parts * steps // PARTS_PER_PASS
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
        `best_goes_left`: the loss saved (−1: none). Cells lie along the curve. A large node without
        a split is tried harder: it costs most."""
        d, n_cells = self.table.n_columns, self.node.n_cells
        self.node.rank_codes()
        self.parts = PARTS_LOADED
        best_saved: cython.double = -1.0
        least_rows = self.node.constraints.least_rows[0]
        if self.node.rows < 2 * least_rows or n_cells < 2 or self.node.loss == 0.0:
            return best_saved
        self.whole_weight = 0
        for p in range(n_cells):
            self.weight[p] = weight_of(self.table, self.node.cells[p], 0)
            self.whole_weight += self.weight[p]
        self.node.set_bits()
        turn = draw(self.stream, d)
        most = min(max(CELLS_TRIED // n_cells, 2), tries * min(1 + n_cells // 100, 10))
        trial: int64_t = -1 if plainly and self._split_plainly() else 0
        self.parts += PARTS_STRICT * d if plainly else 0
        best_score: cython.double = -INFINITY
        while trial < most and (trial < tries or best_saved <= NEGLIGIBLE_LOSS):
            share: cython.double = 0.5
            is_strict: cython.bint = trial < 0
            if not is_strict:
                j = (turn + trial) % d
                if draw(self.stream, 2) == 0:
                    share = 0.1 + 0.4 * draw_unit(self.stream)
                if trial % 2 == 0 and self.node.n_ranks[j] > 1:
                    self._key_by_column(j)
                else:
                    self._key_by_seeds()
                self._sort_by_key()
                share = self._send_first_left(share)
                self.parts += PARTS_ORDERED
            trial += 1
            saved, score = self._try_split(is_strict, share, best_score)
            if score > best_score:
                best_saved, best_score = saved, score
                for p in range(n_cells):
                    self.best_goes_left[p] = self.goes_left[p]
        return best_saved

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
        """Positions by key, in steps, and ties in a random rotation."""
        n_cells, key, bin_of, bin_end = self.node.n_cells, self.key, self.bin, self.bin_end
        by_key, low, high = self.by_key, key[0], key[0]
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
        for q in range(turn, turn + n_cells):
            p = q if q < n_cells else q - n_cells
            by_key[bin_end[bin_of[p]]] = p
            bin_end[bin_of[p]] += 1

    def _send_first_left(self, share):
        """The plain split into `goes_left`; returns its share of the whole. It ends at a change of
        key near the wanted share, else at that share."""
        n_cells, by_key, bin_of, weight = self.node.n_cells, self.by_key, self.bin, self.weight
        whole, left = self.whole_weight, cython.cast(int64_t, 0)
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
        left, self.border = 0, border
        for q in range(n_cells):
            self.goes_left[by_key[q]] = -1 if q < border else 0
        for q in range(border):
            left += weight[by_key[q]]
        return left / cython.cast(cython.double, whole)

    def _try_split(self, is_strict, share, least):
        """(loss saved, less regret) of the least displaced split that keeps the constraints, if it
        saves more than the `least`, which one that is more displaced hardly ever does."""
        saved = self._measure_saving()
        if saved <= least:
            return -1.0, -INFINITY
        self._count_left()
        if self._keeps_halves():
            return saved, saved - self._regret(self.left_rows)
        if is_strict:
            return -1.0, -INFINITY
        if self.balancer.applies and not self.node.support.is_sparse:
            if self.balancer.balance(self.goes_left, self.by_key, self.border, self.left_rows):
                saved = self._measure_saving()
                return saved, saved - self._regret(self.left_rows)
            for q in range(self.node.n_cells):
                self.goes_left[self.by_key[q]] = -1 if q < self.border else 0
            self._count_left()
        self._draw_strata()
        self._order_strata()
        self.parts += PARTS_STRATA
        for step in range(1, 5):
            self._hand_out(share, 1.0 - 0.25 * step)
            if not 0 < self.left_rows < self.node.rows:
                continue
            saved = self._measure_saving()
            if saved <= least:
                break
            if self._keeps_halves():
                return saved, saved - self._regret(self.left_rows)
        return -1.0, -INFINITY

    def _measure_saving(self):
        """How much less the halves lose than the node."""
        self.left_rows = 0
        for p in range(self.node.n_cells):
            self.left_rows += self.node.cell_rows[p] & self.goes_left[p]
        left_loss, right_loss = self._loss_of_halves()
        saved = self.node.rows * self.node.loss - self.left_rows * left_loss
        return saved - (self.node.rows - self.left_rows) * right_loss

    def _keeps_halves(self):
        """Whether both halves may be released."""
        if not 0 < self.left_rows < self.node.rows:
            return False
        return self.node.keep_both_halves(self.left_rows)

    def _count_left(self):
        """The histogram of what goes left."""
        cells, hist, goes_left = self.node.cells, self.node.left_hist, self.goes_left
        slots, fields = self.table.slots, self.table.n_fields
        self.parts += PARTS_COUNTED
        self.node.support.clear(hist)
        for field in range(fields):
            weight = self.table.weights + field * self.table.weight_stride
            for p in range(self.node.n_cells):
                hist[slots[cells[p] * fields + field]] += weight[cells[p]] & goes_left[p]

    def _order_strata(self):
        """Positions by stratum, and by key within; where what goes left of each stratum ends."""
        by_key, by_stratum, end = self.by_key, self.by_stratum, self.stratum_end
        stratum, weight, goes_left = self.stratum, self.weight, self.goes_left
        plain = self.plain_weight
        clear(plain, self.n_strata)
        for g in range(self.n_strata):
            end[g] = self.stratum_start[g]
        for q in range(self.node.n_cells):
            p = by_key[q]
            by_stratum[end[stratum[p]]] = p
            end[stratum[p]] += 1
        for g in range(self.n_strata):
            end[g] = self.stratum_start[g]
        for p in range(self.node.n_cells):
            plain[stratum[p]] += weight[p] & goes_left[p]
            end[stratum[p]] -= goes_left[p]
        for g in range(self.n_strata):
            self.left_weight[g] = self.plain_weight[g]

    def _hand_out(self, share, plainness):
        """Changes what goes left to what does for one λ; half a cell's rounding decides, and is
        carried on."""
        goes_left, by_stratum, weight = self.goes_left, self.by_stratum, self.weight
        start, plain, whole = self.stratum_start, self.plain_weight, self.stratum_weight
        cells, hist = self.node.cells, self.node.left_hist
        due: cython.double = 0.0
        taken: int64_t = 0
        self.parts += PARTS_HANDED
        for g in range(self.n_strata):
            due += plainness * plain[g] + (1.0 - plainness) * share * whole[g]
            q, left = self.stratum_end[g], taken + self.left_weight[g]
            while q > start[g] and left - 0.5 * weight[by_stratum[q - 1]] > due:
                q -= 1
                p = by_stratum[q]
                left -= weight[p]
                goes_left[p] = 0
                self.left_rows += add_cell(self.table, cells[p], -1, hist)
            while q < start[g + 1] and left + 0.5 * weight[by_stratum[q]] <= due:
                p = by_stratum[q]
                left += weight[p]
                goes_left[p] = -1
                self.left_rows += add_cell(self.table, cells[p], 1, hist)
                q += 1
            self.stratum_end[g], self.left_weight[g] = q, left - taken
            taken = left

    def _loss_of_halves(self):
        """Loss per row of both halves, from the bits of codes that each has; of columns of too many
        codes, minima and maxima. Without branches, for speed."""
        n_cells, goes_left = self.node.n_cells, self.goes_left
        for word in range(self.node.n_words):
            bits = self.node.bits + word * self.node.cell_stride
            in_left: int64_t = 0
            in_right: int64_t = 0
            for p in range(n_cells):
                bit = bits[p]
                here = cython.cast(int64_t, goes_left[p])
                in_left |= bit & here
                in_right |= bit & ~here
            self.left_bits[word], self.right_bits[word] = in_left, in_right
        left: cython.double = 0.0
        right: cython.double = 0.0
        for j in range(self.node.n_columns):
            rank, code = ranks_of(self.node, j), codes_of(self.node, j)
            n_ranks = self.node.n_ranks[j]
            is_set: cython.bint = self.table.columns[j].form == SET
            if n_ranks == 1 or self.node.word_of[j] >= 0:
                in_left = in_right = 1
                if n_ranks > 1:
                    mask = (cython.cast(int64_t, 1) << n_ranks) - 1
                    word, first = self.node.word_of[j], self.node.first_bit[j]
                    in_left = (self.left_bits[word] >> first) & mask
                    in_right = (self.right_bits[word] >> first) & mask
                if is_set:
                    left += range_loss(self.table, j, 0, count_bits(in_left))
                    right += range_loss(self.table, j, 0, count_bits(in_right))
                else:
                    low, high = lowest_bit(in_left), highest_bit(in_left)
                    left += range_loss(self.table, j, code[low], code[high])
                    low, high = lowest_bit(in_right), highest_bit(in_right)
                    right += range_loss(self.table, j, code[low], code[high])
            elif is_set:
                left += range_loss(self.table, j, 0, self._count_codes(j, -1))
                right += range_loss(self.table, j, 0, self._count_codes(j, 0))
            else:
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
