"""Classes filled with the records that are nearest to a seed: the first one left on the curve.

The distance of two cells is what they would lose if released together, column by column: numbers
by their gap, categories by the lowest common ancestor or as a set of two, a missing value by
everything. Near records are neighbours on a space-filling curve: `reach` says how many are looked
at on either side; with a reach of all records the nearest is exact.
"""

import cython
import numpy as np

NO_RECORD = cython.declare(cython.double, 1e6)
"""What a pair of buckets without a record costs; more than any class."""


def measure_distances(x: cython.longlong, cells, table: CodedTable) -> np.ndarray:
    """The distance of cell x from each of some cells."""
    return np.array([cell_distance(table, x, cell, INFINITY) for cell in cells])


class GrowingBox(Memory):
    """What a class covers while it grows: codes from lowest to highest, or the values of a set."""

    def __init__(self, table) -> None:
        self.table, d = table, table.n_columns
        self.low, self.high, self.present = self.longs(d), self.longs(d), self.longs(d)
        self.width, self.next_value = self.doubles(d), self.doubles(d)

    def start(self, x):
        """Makes the box that of the single cell x."""
        for j in range(self.table.n_columns):
            self.low[j], self.high[j], self.present[j] = FAR_CODE, -1, 0
        self.add(x)

    def add(self, x):
        """Takes cell x into the box."""
        d = self.table.n_columns
        for j in range(d):
            v: int64_t = self.table.codes[x * d + j]
            bit = cython.cast(int64_t, 1) << (v % MASK_BITS)
            if self.low[j] <= v <= self.high[j] and (self.present[j] & bit) != 0:
                continue
            self.low[j], self.high[j] = min(self.low[j], v), max(self.high[j], v)
            self.present[j] |= bit
            if self.table.columns[j].form == SET:
                values = count_bits(self.present[j])
                self.width[j] = range_loss(self.table, j, 0, values)
                self.next_value[j] = range_loss(self.table, j, 0, values + 1) - self.width[j]
            else:
                self.width[j] = range_loss(self.table, j, self.low[j], self.high[j])

    def growth(self, x, most):
        """How much more the box loses per row with cell x; what exceeds `most` is not counted."""
        d = self.table.n_columns
        codes = self.table.codes + x * d
        total: cython.double = 0.0
        for j in range(d):
            v: int64_t = codes[j]
            low, high = self.low[j], self.high[j]
            if self.table.columns[j].form == SET:
                if v < low or v > high or (self.present[j] >> (v % MASK_BITS) & 1) == 0:
                    total += self.next_value[j]
            elif v < low:
                total += range_loss(self.table, j, v, high) - self.width[j]
            elif v > high:
                total += range_loss(self.table, j, low, v) - self.width[j]
            if total >= most:
                break
        return total


class CurveBuckets(Memory):
    """Records are numbered along the curve; those that are taken leave no gap."""

    def __init__(self, bucket, cell, n_buckets: int) -> None:
        self.n_records, self.n_buckets = len(bucket), n_buckets
        order = np.argsort(bucket, kind="stable")
        count = np.bincount(bucket, minlength=n_buckets)
        first = np.append(0, np.cumsum(count + 1))
        place = np.empty(len(bucket), dtype=np.int64)
        place[order] = np.arange(len(bucket)) + bucket[order]
        every = np.arange(len(bucket) + n_buckets, dtype=np.int64)
        record, before = np.full_like(every, -1), every - 1
        record[place] = np.arange(len(bucket))
        before[first[:n_buckets]] = -1
        self.first, self.record = self.longs_of(first), self.longs_of(record)
        self.before, self.after = self.longs_of(before), self.longs_of(every + 1)
        self.skip_to, self.place = self.longs_of(every), self.longs_of(place)
        self.bucket, self.cell = self.longs_of(bucket), self.longs_of(cell)

    def list_records(self, bucket: cython.longlong) -> list[int]:
        """The records left in a bucket, along the curve."""
        found = []
        at = self.first_at(self.first[bucket])
        while at != self.end_of(bucket):
            found.append(self.record[at])
            at = self.after[at]
        return found

    def first_at(self, place):
        """The first place at or after one that still has its record, or the end of the bucket."""
        skip_to = self.skip_to
        while skip_to[place] != place:
            skip_to[place] = skip_to[skip_to[place]]
            place = skip_to[place]
        return place

    def place_of(self, record, bucket):
        """The place in a bucket where a record of the curve would stand."""
        low, high = self.first[bucket], self.end_of(bucket)
        while low < high:
            middle = (low + high) // 2
            if self.record[middle] < record:
                low = middle + 1
            else:
                high = middle
        return low

    def end_of(self, bucket):
        """The last place of a bucket, which has no record."""
        return self.first[bucket + 1] - 1

    def remove(self, record) -> None:
        """Takes a record out of its bucket."""
        at = self.place[record]
        before, after = self.before[at], self.after[at]
        self.skip_to[at] = after
        self.before[after] = before
        if before >= 0:
            self.after[before] = after

    def pick(self, record, bucket, reach, box):
        """The record of a bucket, among `reach` on either side of one, that widens a box least (−1:
        the bucket is empty), the growth, and how many were looked at."""
        best: cython.double = INFINITY
        found: int64_t = -1
        looks: int64_t = 0
        right = self.first_at(self.place_of(record, bucket))
        left = self.before[right]
        end = self.end_of(bucket)
        for _ in range(reach):
            if right == end and left < 0:
                break
            for side in range(2):
                at = right if side == 0 else left
                if at < 0 or at == end:
                    continue
                looks += 1
                more = box.growth(self.cell[self.record[at]], best)
                if more < best:
                    best, found = more, self.record[at]
            if best == 0.0:
                break
            if right != end:
                right = self.after[right]
            if left >= 0:
                left = self.before[left]
        return found, best, looks


class BucketFilling(Memory):
    """Classes filled one by one from buckets of records."""

    def __init__(self, table, bucket, cell, n_buckets: int) -> None:
        self.buckets = CurveBuckets(bucket, cell, n_buckets)
        self.everyone = CurveBuckets(np.zeros_like(bucket), cell, 1)
        self.box, self.label = GrowingBox(table), np.full(len(bucket), -1)
        self.record_class = longs(self.label)

    def fill(self, first: cython.longlong, last: cython.longlong, reach: cython.longlong) -> int:
        """Fills classes first … last − 1; returns how many records were looked at."""
        looks: int64_t = 0
        with cython.nogil:
            for c in range(first, last):
                looks += self._fill_class(c, reach)
        return looks

    def _fill_class(self, c, reach):
        return 0

    def _put(self, record, c):
        """Puts a record into class c."""
        self.buckets.remove(record)
        self.everyone.remove(record)
        self.record_class[record] = c


class QuotaFilling(BucketFilling):
    """Every class takes so many records of each bucket, those that widen its box least."""

    def __init__(self, table, bucket, cell, counts, kind) -> None:
        super().__init__(table, bucket, cell, counts.shape[1])
        self.counts, self.kind = self.longs_of(counts), self.longs_of(kind)

    def _fill_class(self, c, reach):
        """Begins with the first record left on the curve that the class has room for."""
        n_buckets = self.buckets.n_buckets
        quota = self.counts + self.kind[c] * n_buckets
        seed = self.everyone.first_at(0)
        end = self.everyone.end_of(0)
        while seed < end and quota[self.buckets.bucket[seed]] == 0:
            seed = self.everyone.after[seed]
        own = self.buckets.bucket[seed]
        self.box.start(self.buckets.cell[seed])
        total: int64_t = 0
        for bucket in range(n_buckets):
            for turn in range(quota[bucket]):
                record = seed
                if bucket != own or turn > 0:
                    record, _, looks = self.buckets.pick(seed, bucket, reach, self.box)
                    total += looks
                self.box.add(self.buckets.cell[record])
                self._put(record, c)
        return total


class Assignment(Memory):
    """The cheapest assignment of the rows of a square matrix to its columns."""

    def __init__(self, n: int) -> None:
        self.n, self.cost, self.distance = n, self.doubles(n * n), self.doubles(n + 1)
        self.row_potential, self.column_potential = self.doubles(n + 1), self.doubles(n + 1)
        self.row_of, self.previous = self.longs(n + 1), self.longs(n + 1)
        self.is_on_path = self.longs(n + 1)

    def assign(self, cost) -> np.ndarray:
        """The row that each column is assigned to."""
        self.cost = self.doubles_of(cost)
        self.solve()
        return np.array([self.row_of[column] for column in range(self.n)])

    def solve(self):
        """The Hungarian method with potentials: rows enter along a shortest augmenting path."""
        n = self.n
        for column in range(n + 1):
            self.row_potential[column] = self.column_potential[column] = 0.0
            self.row_of[column] = -1
        for row in range(n):
            at = self._find_path(row)
            while at != n:
                self.row_of[at] = self.row_of[self.previous[at]]
                at = self.previous[at]

    def _find_path(self, row):
        """The free column at the end of the shortest path from a new row (in place n)."""
        n = self.n
        distance, on_path, row_of = self.distance, self.is_on_path, self.row_of
        row_potential, column_potential = self.row_potential, self.column_potential
        for column in range(n + 1):
            distance[column] = INFINITY
            self.previous[column] = n
            on_path[column] = 0
        row_of[n] = row
        at = n
        while row_of[at] >= 0:
            on_path[at] = 1
            here = row_of[at]
            cost = self.cost + here * n
            step: cython.double = INFINITY
            following: cython.Py_ssize_t = -1
            for column in range(n):
                if on_path[column]:
                    continue
                slack = cost[column] - row_potential[here] - column_potential[column]
                if slack < distance[column]:
                    distance[column], self.previous[column] = slack, at
                if distance[column] < step:
                    step, following = distance[column], column
            for column in range(n + 1):
                if on_path[column]:
                    row_potential[row_of[column]] += step
                    column_potential[column] -= step
                elif column < n:
                    distance[column] -= step
            at = following
        return at


class MatchingFilling(BucketFilling):
    """Every class takes one record of each bucket of two attributes; `pair` says both at once."""

    def __init__(self, table, pair, cell, n: int) -> None:
        super().__init__(table, pair, cell, n * n)
        self.assignment, self.nearest = Assignment(n), self.longs(n * n)

    def _fill_class(self, c, reach):
        n, cost = self.assignment.n, self.assignment.cost
        total: int64_t = n * n
        seed = self.everyone.first_at(0)
        self.box.start(self.buckets.cell[seed])
        for pair in range(n * n):
            found, distance, looks = self.buckets.pick(seed, pair, reach, self.box)
            self.nearest[pair] = found
            cost[pair] = min(distance, NO_RECORD)
            total += looks
        own = self.buckets.bucket[seed]
        cost[own] = -NO_RECORD * n
        self.nearest[own] = seed
        self.assignment.solve()
        for column in range(n):
            self._put(self.nearest[self.assignment.row_of[column] * n + column], c)
        return total


def allot_rows(order, rows, room) -> np.ndarray:
    """[tuples, groups]: rows of tuples given to groups in an order of all pairs, as room allows."""
    n: cython.Py_ssize_t = len(order)
    groups: cython.Py_ssize_t = len(room)
    memory, parts = Memory(), np.zeros((len(rows), groups), dtype=np.int64)
    pair, part = memory.longs_of(order), longs(parts)
    rows_left, room_left = memory.longs_of(np.array(rows)), memory.longs_of(np.array(room))
    with cython.nogil:
        for p in range(n):
            who, group = pair[p] // groups, pair[p] % groups
            some = min(rows_left[who], room_left[group])
            rows_left[who] -= some
            room_left[group] -= some
            part[pair[p]] = some
    return parts


def hilbert_keys(grid, bits: cython.longlong) -> np.ndarray:
    """The place of each point of a grid [points, columns]; columns · bits ≤ 62.

    Skilling's transform (2004): bit plane by bit plane, from the top, a coordinate whose bit is set
    turns the lower planes over and one whose bit is not set swaps them with the first coordinate;
    a Gray code of what is left gives the place. Consecutive places are neighbours on the grid.
    """
    n_points: cython.Py_ssize_t = grid.shape[0]
    d: cython.Py_ssize_t = grid.shape[1]
    points = np.array(grid, dtype=np.int64).reshape(-1)
    keys = np.zeros(n_points, dtype=np.int64)
    coordinate, place = longs(points), longs(keys)
    bit: int64_t = 1
    with cython.nogil:
        for p in range(n_points):
            x = coordinate + p * d
            for plane in range(bits - 1, 0, -1):
                low = (bit << plane) - 1
                for j in range(d):
                    if x[j] >> plane & 1:
                        x[0] ^= low
                    else:
                        swapped = (x[0] ^ x[j]) & low
                        x[0] ^= swapped
                        x[j] ^= swapped
            for j in range(1, d):
                x[j] ^= x[j - 1]
            turned: int64_t = 0
            for plane in range(bits - 1, 0, -1):
                if x[d - 1] >> plane & 1:
                    turned ^= (bit << plane) - 1
            key: int64_t = 0
            for plane in range(bits - 1, -1, -1):
                for j in range(d):
                    key = key << 1 | ((x[j] ^ turned) >> plane & 1)
            place[p] = key
    return keys
