"""Compiled constraints: may a class with this histogram be released? Decided in whole numbers.

A class is a histogram over *slots* (one per value of each sensitive attribute, and one for missing
values that may be any value) and a number of rows. What a constraint accepts keeps the requirement.
Where whole numbers decide it is exact as well; where logarithms or numbers beyond 64 bits do, a
class within a billionth of its threshold may be refused. Missing values that may be any value are
judged at their worst (`data.encode.classes`): all taken to be the same value, for each in turn.
"""

import cython

MARGIN = cython.declare(cython.double, 1e-9)
CLEARANCE = cython.declare(cython.double, 1e-11)


class ConstraintSet:
    """All constraints of a search; `search.kernel_arrays` owns, and may change, `arrays`."""

    def __init__(self, arrays) -> None:
        self.arrays, self.n_constraints = arrays, len(arrays.rows)
        self.n_slots, self.n_nodes = len(arrays.slot_rows), len(arrays.node_parent)
        self.k, self.person_slot = arrays.k, arrays.person_slot
        self.least_rows = longs(arrays.least_rows)
        self.least_persons, self.person_unit = arrays.least_persons, arrays.person_unit
        self.rows = cython.cast(cython.pointer(ConstraintRow), longs(arrays.rows.view("i8")))
        self.share_lower = doubles(arrays.share_lower)
        self.share_upper = doubles(arrays.share_upper)
        self.leaf_node, self.node_parent = longs(arrays.leaf_node), longs(arrays.node_parent)
        self.node_slot = longs(arrays.node_slot)
        self.node_length, self.node_rows = longs(arrays.node_length), longs(arrays.node_rows)
        self.node_relative_length = doubles(arrays.node_relative_length)
        self.chain_end, self.length_up_to = longs(arrays.chain_end), longs(arrays.length_up_to)
        self.moment_up_to = longs(arrays.moment_up_to)
        self.slot_rows = longs(arrays.slot_rows)

    @property
    def scratch_size(self) -> int:
        """How many numbers of room judging a class takes."""
        return 2 * self.n_nodes + 2

    def keeps(self, hist, rows, scratch):
        """Whether a class keeps every constraint."""
        if is_too_small(self, hist, rows):
            return False
        for at in range(self.n_constraints):
            if not self.keeps_one(cython.address(self.rows[at]), hist, rows, scratch):
                return False
        return True

    def keeps_one(self, row, hist, rows, scratch):
        """Whether a class keeps one constraint."""
        if row.kind == EMD:
            return self.is_near(row, hist, rows, self.node_rows, row.known_rows, scratch)
        rows = self._whole(row, hist, rows)
        if row.kind == DISTINCT:
            return self._has_distinct(row, hist)
        if row.kind == SHARE:
            return self._keeps_share(row, hist, rows)
        if row.kind == GAIN:
            return self._keeps_gain(row, hist, rows)
        if row.kind == BAND:
            return self._keeps_band(row, hist, rows)
        if row.kind == ENTROPY:
            return self._keeps_entropy(row, hist, rows)
        if row.kind == RECURSIVE:
            return self._keeps_recursive(row, hist)
        return self._keeps_divergence(row, hist, rows)

    def _whole(self, row, hist, rows):
        """What a share is of: the rows of a class, or what these weigh, or its persons."""
        if row.whole_first == row.whole_end:
            return rows
        total: int64_t = 0
        for slot in range(row.whole_first, row.whole_end):
            total += hist[slot]
        return total

    def is_near(self, row, hist, rows, reference, known, scratch):
        """EMD ≤ t: Σ len·|n·c − r·N|·den ≤ num·n·r (`mathematics.md` 1.2), to rows below each
        node of a `reference`, of which so many are known (0: as in the table)."""
        self._sum_up(row, hist, scratch)
        rows, hidden = self._whole(row, hist, rows), hidden_rows(row, hist)
        if known <= 0:
            known = row.known_rows
        if rows > row.largest_exact:
            value = self._round_emd(row, hidden, rows, reference, known, scratch)
            return value + CLEARANCE <= row.threshold
        length = self.node_length
        work: int64_t = 0
        for node in range(row.first_node, row.end_node - 1):
            work += length[node] * llabs(known * scratch[node] - rows * reference[node])
        if hidden > 0:
            work += self._worst_detour(row, hidden, rows, reference, known, scratch)
        return work * row.denominator <= row.numerator * known * rows

    def _sum_up(self, row, hist, scratch):
        """Rows of the class below each node but the root, into `scratch`."""
        leaf, slot = self.leaf_node + row.first_value, self.node_slot
        parent, root = self.node_parent, row.end_node - 1
        along: int64_t = 0  # the last sum, where the next node is its parent
        if row.shape == LINE:
            for node in range(row.first_node, root):
                along += hist[slot[node]]
                scratch[node] = along
            scratch[root] = 0
            return
        if row.shape == STAR:
            for node in range(row.first_node, root):
                scratch[node] = hist[slot[node]]
            scratch[root] = 0
            return
        clear(scratch + row.first_node, row.end_node - row.first_node)
        for value in range(row.n_values):
            scratch[leaf[value]] += hist[row.first_slot + value]
        for node in range(row.first_node, root):
            along += scratch[node]
            scratch[node] = along
            if parent[node] != node + 1:
                scratch[parent[node]] += along
                along = 0

    def _worst_detour(self, row, hidden, rows, reference, known, scratch):
        """What missing values add at their worst value v: only the edges above v change, and their
        sum is carried from the root down, in one pass over the nodes."""
        above = scratch + self.n_nodes + 1
        leaf = self.leaf_node + row.first_value
        above[row.end_node - 1] = 0
        for node in range(row.end_node - 2, row.first_node - 1, -1):
            excess = known * scratch[node] - rows * reference[node]
            more = llabs(excess + known * hidden) - llabs(excess)
            above[node] = above[self.node_parent[node]] + self.node_length[node] * more
        worst = above[leaf[0]]
        for value in range(1, row.n_values):
            worst = max(worst, above[leaf[value]])
        return worst

    def _round_emd(self, row, hidden, rows, reference, known, scratch):
        """The distance in floats, after `_sum_up`; z missing values add at most z / r, being at
        most the diameter away from anything."""
        size: cython.double = rows
        whole: cython.double = known
        share: cython.double = hidden / size
        value: cython.double = share
        for node in range(row.first_node, row.end_node - 1):
            apart = scratch[node] / size - reference[node] / whole * (1 - share)
            value += self.node_relative_length[node] * fabs(apart)
        return value

    def emd(self, row, hist, rows, scratch):
        """The earth mover's distance as a float, missing values not counted: to rank only."""
        self._sum_up(row, hist, scratch)
        rows = self._whole(row, hist, rows)
        return self._round_emd(row, 0, rows, self.node_rows, row.known_rows, scratch)

    def slack(self, hist, rows, scratch):
        """The smallest 1 − EMD/t: how much room a class has left; to rank candidates only."""
        least: cython.double = 1.0
        for constraint in range(self.n_constraints):
            row = cython.address(self.rows[constraint])
            if row.kind == EMD:
                distance = self.emd(row, hist, rows, scratch)
                least = min(least, 1.0 - distance / max(row.threshold, 1e-12))
        return least

    def _has_distinct(self, row, hist):
        """Enough different values; missing ones may all be a value that is there already."""
        found: int64_t = 0
        for slot in range(row.first_slot, row.first_slot + row.n_values):
            if hist[slot] > 0:
                found += 1
        return max(found, 1) >= row.numerator

    def _keeps_share(self, row, hist, rows):
        """No protected value (`share_upper` > 0) above num / den of the class."""
        hidden = hidden_rows(row, hist)
        top: int64_t = 0
        for value in range(row.n_values):
            if self.share_upper[row.first_value + value] > 0.0:
                top = max(top, hist[row.first_slot + value] + hidden)
        if rows > row.largest_exact:
            return top <= rows * row.threshold * (1.0 - CLEARANCE)
        return top * row.denominator <= row.numerator * rows

    def _keeps_gain(self, row, hist, rows):
        """p/q ≤ num / den for every value: c·n·den ≤ num·r·N (basic β-likeness)."""
        hidden = hidden_rows(row, hist)
        size: cython.double = rows
        known: cython.double = row.known_rows
        for slot in range(row.first_slot, row.first_slot + row.n_values):
            count = hist[slot] + hidden
            if count == 0:
                continue
            if rows > row.largest_exact:
                limit = self.slot_rows[slot] / known * row.threshold * (1.0 - CLEARANCE)
                if count / size > limit:
                    return False
                continue
            allowed = row.numerator * rows * self.slot_rows[slot]
            if count * row.known_rows * row.denominator > allowed:
                return False
        return True

    def _keeps_band(self, row, hist, rows):
        """Every share within its bounds, which are logarithms of the table's, with a margin.

        A value that the class lacks is judged too; where absent values are ignored, only with the
        missing values that might be it. Of a single value, missing values are that value.
        """
        hidden = hidden_rows(row, hist)
        size: cython.double = rows
        if row.n_values == 1 and hidden > 0:
            share: cython.double = (hist[row.first_slot] + hidden) / size
            return self.share_lower[row.first_value] < share < self.share_upper[row.first_value]
        for value in range(row.n_values):
            count = hist[row.first_slot + value]
            at = row.first_value + value
            if count + hidden > 0 and (count + hidden) / size >= self.share_upper[at]:
                return False
            least = hidden if count == 0 and row.ignores_absent else count
            if (least > 0 or not row.ignores_absent) and least / size <= self.share_lower[at]:
                return False
        return True

    def _keeps_entropy(self, row, hist, rows):
        """H ≥ log l; missing values lower it most where they are the commonest value. Of equal
        counts H is the logarithm of their number, so they are decided exactly."""
        hidden = hidden_rows(row, hist)
        first = row.first_slot
        end = first + row.n_values
        top: int64_t = 0
        least: int64_t = 0
        found: int64_t = 0
        for slot in range(first, end):
            if hist[slot] > 0:
                top = max(top, hist[slot])
                least = hist[slot] if found == 0 else min(least, hist[slot])
                found += 1
        if found == 0 or (top == least and hidden == 0):
            return max(found, 1) * row.denominator >= row.numerator
        size: cython.double = rows
        spread: cython.double = 0.0
        for slot in range(first, end):
            if hist[slot] > 0:
                spread += hist[slot] * log(hist[slot])
        if hidden > 0:
            spread += (top + hidden) * log(top + hidden) - top * log(top)
        return log(size) - spread / size >= row.threshold + MARGIN

    def _keeps_recursive(self, row, hist):
        """r₁ < c·(r_l + … + r_m); missing values hurt most where they are the commonest value."""
        hidden = hidden_rows(row, hist)
        first = row.first_slot
        end = first + row.n_values
        total: int64_t = 0
        top: int64_t = 0
        for slot in range(first, end):
            total += hist[slot]
            top = max(top, hist[slot])
        tail: int64_t = total
        if row.l == 1:
            tail += hidden
        bound: int64_t = top + 1
        counted: int64_t = 0
        while counted < row.l - 1:
            following: int64_t = 0
            times: int64_t = 0
            for slot in range(first, end):
                if following < hist[slot] < bound:
                    following = hist[slot]
                    times = 1
                elif hist[slot] == following:
                    times += 1
            if following == 0:
                break
            times = min(times, row.l - 1 - counted)
            tail -= times * following
            counted += times
            bound = following
        return (top + hidden) * row.denominator < row.numerator * tail

    def _keeps_divergence(self, row, hist, rows):
        """Kullback-Leibler or Jensen-Shannon divergence ≤ t, with missing values at their worst."""
        hidden = hidden_rows(row, hist)
        size: cython.double = rows
        known: cython.double = row.known_rows
        value: cython.double = 0.0
        more: cython.double = -INFINITY
        for slot in range(row.first_slot, row.first_slot + row.n_values):
            share = self.slot_rows[slot] / known
            here = divergence_term(row.kind, hist[slot] / size, share)
            value += here
            if hidden > 0:
                there = divergence_term(row.kind, (hist[slot] + hidden) / size, share)
                more = max(more, there - here)
        if hidden > 0:
            value += more
        return value + MARGIN <= row.threshold


def divergence_term(kind, p, q):
    """What one value adds to a divergence in bits, where its shares are p and q."""
    if kind == KL:
        if p == 0.0:
            return 0.0
        return p * log2(p / q) if q > 0.0 else INFINITY
    value: cython.double = 0.0
    if p > 0.0:
        value += p * log2(2 * p / (p + q))
    if q > 0.0:
        value += q * log2(2 * q / (p + q))
    return value / 2
