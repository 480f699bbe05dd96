"""The classes of a release as boxes: which rows they cover, and how near people come.

Rows are given by their *places*, a number for each column; a released value covers runs of places.
A grid over two columns leaves few classes to try for a row.
"""

import cython
import numpy as np

LEAST_GAP = cython.declare(cython.double, 1e-9)
"""Of a person whom a class does not cover, though it lies on both sides."""


class ClassBoxes(Memory):
    """What each class covers: a released value in each column, and runs of places of each value."""

    def __init__(self, key, first_value, run_start, run_low, run_high) -> None:
        self.n_classes, self.n_columns = key.shape
        self.n_values, self.run_high = len(run_start), self.longs_of(run_high)
        self.key, self.first_value = self.longs_of(key), self.longs_of(first_value)
        self.run_start, self.run_low = self.longs_of(run_start), self.longs_of(run_low)


def value_of(boxes, c, q):
    """The released value of class c in column q."""
    return boxes.first_value[q] + boxes.key[c * boxes.n_columns + q]


def covers(boxes, c, place):
    """Whether class c covers a row: some run of its value in every column does."""
    for q in range(boxes.n_columns):
        value = value_of(boxes, c, q)
        hit: cython.bint = False
        for run in range(boxes.run_start[value], boxes.run_start[value + 1]):
            if boxes.run_low[run] <= place[q] < boxes.run_high[run]:
                hit = True
                break
        if not hit:
            return False
    return True


class BoxGrid(Memory):
    """For each pair of places of two columns (or place of one) the classes that cover it there."""

    def __init__(self, boxes, first: int, second: int, n_first: int, n_second: int) -> None:
        self.boxes, self.first, self.second, self.n_second = boxes, first, second, n_second
        counts = np.zeros(n_first * n_second + 1, np.int64)
        self._visit(False, longs(counts) + 1)
        start = np.cumsum(counts)
        self.start, self.classes = self.longs_of(start), self.longs(int(counts.sum()))
        self._visit(True, self.longs_of(start.copy()))

    def add_rows(self, places, weight) -> np.ndarray:
        """The weight of all rows that each class covers."""
        n_rows: cython.Py_ssize_t = len(places)
        memory, result = Memory(), np.zeros(self.boxes.n_classes, np.int64)
        place, weights, totals = memory.longs_of(places), memory.longs_of(weight), longs(result)
        with cython.nogil:
            for row in range(n_rows):
                at = self.place_of(place)
                for i in range(self.start[at], self.start[at + 1]):
                    if covers(self.boxes, self.classes[i], place):
                        totals[self.classes[i]] += weights[row]
                place += self.boxes.n_columns
        return result

    def count_candidates(self, places) -> np.ndarray:
        """How many classes are worth trying for each row."""
        n_rows: cython.Py_ssize_t = len(places)
        memory, result = Memory(), np.zeros(n_rows, np.int64)
        place, counts = memory.longs_of(places), longs(result)
        for row in range(n_rows):
            at = self.place_of(place + row * self.boxes.n_columns)
            counts[row] = self.start[at + 1] - self.start[at]
        return result

    def spread_rows(
        self, places, cell_start, cell_tuple, class_start, class_tuple, class_rows, density
    ) -> np.ndarray:
        """What the classes that cover a cell spread there of their rows with its sensitive values.

        Cells with the places of combination t are cell_start[t] … cell_start[t + 1] − 1, each with
        the number of its sensitive values in `cell_tuple`; those of class c, ascending, are in
        `class_tuple` from class_start[c] on, with their rows.
        """
        n_combinations: cython.Py_ssize_t = len(places)
        memory, result = Memory(), np.zeros(len(cell_tuple))
        place, cells, wanted = memory.longs_of(places), longs(cell_start), longs(cell_tuple)
        begin, offered, rows = longs(class_start), longs(class_tuple), doubles(class_rows)
        densities, found = doubles(density), doubles(result)
        with cython.nogil:
            for t in range(n_combinations):
                here = place + t * self.boxes.n_columns
                at = self.place_of(here)
                for i in range(self.start[at], self.start[at + 1]):
                    c = self.classes[i]
                    if not covers(self.boxes, c, here):
                        continue
                    for cell in range(cells[t], cells[t + 1]):
                        low, high = begin[c], begin[c + 1]
                        while low < high:
                            middle = (low + high) // 2
                            if offered[middle] < wanted[cell]:
                                low = middle + 1
                            else:
                                high = middle
                        while low < begin[c + 1] and offered[low] == wanted[cell]:
                            found[cell] += rows[low] * densities[c]
                            low += 1
        return result

    def place_of(self, place):
        """Where in the grid a row lies."""
        at: int64_t = place[self.first] * self.n_second
        return at + place[self.second] if self.second >= 0 else at

    def _visit(self, listing, target):
        """Counts the classes of every place of the grid into `target`, or lists them from there."""
        starts, lows, highs = self.boxes.run_start, self.boxes.run_low, self.boxes.run_high
        has_second: cython.bint = self.second >= 0
        for c in range(self.boxes.n_classes):
            value = value_of(self.boxes, c, self.first)
            other = value_of(self.boxes, c, self.second) if has_second else 0
            for run in range(starts[value], starts[value + 1]):
                for p in range(lows[run], highs[run]):
                    part = starts[other] if has_second else 0
                    last = starts[other + 1] if has_second else 1
                    while part < last:
                        low = lows[part] if has_second else 0
                        high = highs[part] if has_second else 1
                        for at in range(p * self.n_second + low, p * self.n_second + high):
                            if listing:
                                self.classes[target[at]] = c
                            target[at] += 1
                        part += 1


class BoxGaps(Memory):
    """Boxes whose places and ends have positions, so that gaps to them can be measured."""

    def __init__(self, boxes, first_position, position, ends) -> None:
        self.boxes, self.first_position = boxes, self.longs_of(first_position)
        self.position, self.ends = self.doubles_of(position), self.doubles_of(ends)

    def between(self, places, number) -> np.ndarray:
        """The gap between each person and the class beside it."""
        n_people: cython.Py_ssize_t = len(places)
        memory, result = Memory(), np.zeros(n_people)
        place, classes, gaps = memory.longs_of(places), memory.longs_of(number), doubles(result)
        with cython.nogil:
            for t in range(n_people):
                gaps[t] = self._gap(place + t * self.boxes.n_columns, classes[t], INFINITY)
        return result

    def nearest(self, grid: BoxGrid, places, volume, size):
        """For each person the smallest gap, the smallest volume at it, and the rows there: among
        the classes that cover the person in two columns, or all where none does."""
        n_people: cython.Py_ssize_t = len(places)
        memory, rows = Memory(), np.zeros(n_people)
        gap, narrow = np.full(n_people, np.inf), np.full(n_people, np.inf)
        place, volumes, sizes = memory.longs_of(places), doubles(volume), doubles(size)
        gaps, narrowest, held = doubles(gap), doubles(narrow), doubles(rows)
        with cython.nogil:
            for t in range(n_people):
                here = place + t * self.boxes.n_columns
                at = grid.place_of(here)
                for everywhere in range(2):
                    inside = grid.start[at + 1] - grid.start[at]
                    count = self.boxes.n_classes if everywhere else inside
                    for i in range(count):
                        c = i if everywhere else grid.classes[grid.start[at] + i]
                        away = self._gap(here, c, gaps[t] if everywhere else 0.0)
                        if not everywhere and away > 0.0:
                            continue
                        if away < gaps[t] or (away == gaps[t] and volumes[c] < narrowest[t]):
                            gaps[t], narrowest[t], held[t] = away, volumes[c], sizes[c]
                        elif away == gaps[t] and volumes[c] == narrowest[t]:
                            held[t] += sizes[c]
                    if gaps[t] == 0.0:
                        break
        return gap, narrow, rows

    def _gap(self, place, c, most):
        """How far a person lies outside a class, all columns together; stops beyond `most`."""
        total: cython.double = 0.0
        for q in range(self.boxes.n_columns):
            total += self._column_gap(q, place[q], value_of(self.boxes, c, q))
            if total > most:
                break
        return total

    def _column_gap(self, q, place, value):
        """How far a place lies outside a released value; a missing one has no position."""
        positions = self.position + self.first_position[q]
        mine, lower, upper = positions[place], self.ends[2 * value], self.ends[2 * value + 1]
        if lower == upper and mine == mine:  # one number, which may be central
            return fabs(mine - lower)
        least: cython.double = 1.0
        for run in range(self.boxes.run_start[value], self.boxes.run_start[value + 1]):
            if self.boxes.run_low[run] <= place < self.boxes.run_high[run]:
                return 0.0
            first, last = self.boxes.run_low[run], self.boxes.run_high[run] - 1
            away = max(positions[first] - mine, mine - positions[last])
            if away == away:
                least = min(least, max(away, LEAST_GAP))
        if mine == mine and lower == lower:
            least = max(max(lower - mine, mine - upper), LEAST_GAP)
        return least


class Queries(Memory):
    """Half-open ranges of places in every column, and of one sensitive attribute's codes."""

    def __init__(self, low, high, attribute, part) -> None:
        self.n_queries, self.n_columns = low.shape
        self.low, self.high = self.longs_of(low), self.longs_of(high)
        self.attribute, self.part = self.longs_of(attribute), self.longs_of(part)

    def count(self, places, codes, weight) -> np.ndarray:
        """The weight of the cells that fulfil every condition of each query."""
        n_cells: cython.Py_ssize_t = len(weight)
        n_attributes: cython.Py_ssize_t = codes.shape[1]
        memory, result = Memory(), np.zeros(self.n_queries)
        place, code = memory.longs_of(places), memory.longs_of(codes)
        weights, totals = doubles(weight), doubles(result)
        with cython.nogil:
            for query in range(self.n_queries):
                low = self.low + query * self.n_columns
                high = self.high + query * self.n_columns
                total: cython.double = 0.0
                for cell in range(n_cells):
                    here = place + cell * self.n_columns
                    inside: cython.bint = self._asks_for(query, code + cell * n_attributes)
                    q: cython.Py_ssize_t = 0
                    while inside and q < self.n_columns:
                        inside = low[q] <= here[q] < high[q]
                        q += 1
                    if inside:
                        total += weights[cell]
                totals[query] = total
        return result

    def estimate(self, boxes: ClassBoxes, width, n_places, start, codes, weight, size):
        """The share of each class's box that a query covers times its rows, added up. Released
        values cover `width` places, columns have `n_places`, cells `start[c]` on are class c's."""
        n_attributes: cython.Py_ssize_t = codes.shape[1]
        memory, result = Memory(), np.zeros(self.n_queries)
        code, starts = memory.longs_of(codes), memory.longs_of(start)
        places = memory.longs_of(n_places)
        columns, share = memory.longs(self.n_columns), memory.doubles(boxes.n_values)
        widths, sizes, weights = doubles(width), doubles(size), doubles(weight)
        totals = doubles(result)
        with cython.nogil:
            for query in range(self.n_queries):
                n_asked = self._cover_values(query, boxes, places, widths, columns, share)
                total: cython.double = 0.0
                for c in range(boxes.n_classes):
                    part: cython.double = 1.0
                    for i in range(n_asked):
                        part *= share[value_of(boxes, c, columns[i])]
                        if part == 0.0:
                            break
                    if part == 0.0:
                        continue
                    rows: cython.double = 0.0
                    if self.attribute[query] < 0:
                        rows = sizes[c]
                    else:
                        for cell in range(starts[c], starts[c + 1]):
                            if self._asks_for(query, code + cell * n_attributes):
                                rows += weights[cell]
                    total += part * rows
                totals[query] = total
        return result

    def _asks_for(self, query, codes):
        """Whether a cell with these sensitive codes is asked for."""
        attribute = self.attribute[query]
        if attribute < 0:
            return True
        return self.part[2 * query] <= codes[attribute] < self.part[2 * query + 1]

    def _cover_values(self, query, boxes, n_places, width, asked, covered):
        """The share of every released value that a query covers, in the columns that it asks for:
        these go into `asked`, and how many they are is returned."""
        n_asked: cython.Py_ssize_t = 0
        for q in range(self.n_columns):
            low = self.low[query * self.n_columns + q]
            high = self.high[query * self.n_columns + q]
            if low == 0 and high == n_places[q]:
                continue
            asked[n_asked] = q
            n_asked += 1
            last = boxes.first_value[q + 1] if q + 1 < self.n_columns else boxes.n_values
            for value in range(boxes.first_value[q], last - 1):
                found: int64_t = 0
                for run in range(boxes.run_start[value], boxes.run_start[value + 1]):
                    begin = max(boxes.run_low[run], low)
                    end = min(boxes.run_high[run], high)
                    found += max(end - begin, 0)
                covered[value] = found / width[value]
        return n_asked


class ClassShapes:
    """The classes that need to be widened least to take a new row; `recode.nearest` owns `arrays`.

    Classes released alike in a column cost a row the same there: it is reckoned once for them.
    """

    def __init__(self, arrays) -> None:
        self.owners, self.n_released = arrays, len(arrays.released_class)
        self.n_classes, self.n_columns = arrays.loss.shape
        self.columns = cython.cast(cython.pointer(ShapeColumn), longs(arrays.columns.view("i8")))
        self.low, self.high = longs(arrays.low), longs(arrays.high)
        self.n_values, self.has_missing = longs(arrays.n_values), bytes_of(arrays.has_missing)
        self.is_anything = bytes_of(arrays.is_anything)
        self.loss, self.positions = doubles(arrays.loss), doubles(arrays.positions)
        self.ancestors, self.members = longs(arrays.ancestors), bytes_of(arrays.members)
        self.released, self.released_class = longs(arrays.released), longs(arrays.released_class)
        self.released_column = longs(arrays.released_column)

    def find_nearest(self, codes, reachable, most: cython.longlong) -> np.ndarray:
        """[rows, most]: the classes that gain least loss by each row, then lose least; −1: no more.
        `reachable` [rows, columns] says where a class may be widened to a row's value."""
        n_rows: cython.Py_ssize_t = len(codes)
        memory, d = Memory(), self.n_columns
        choices = np.full((n_rows, most), -1, dtype=np.int64)
        reachable = np.ascontiguousarray(reachable, np.int8)
        code, reach, choice = memory.longs_of(codes), bytes_of(reachable), longs(choices)
        self.gained, self.lost = memory.doubles(self.n_released), memory.doubles(self.n_released)
        best_gain, best_loss = memory.doubles(most), memory.doubles(most)
        with cython.nogil:
            for x in range(n_rows):
                for at in range(self.n_released):
                    c, q = self.released_class[at], self.released_column[at]
                    covers, loss = self._loss_with(c, q, code[x * d + q])
                    self.lost[at], self.gained[at] = loss, INFINITY
                    if covers or reach[x * d + q]:
                        self.gained[at] = max(loss - self.loss[c * d + q], 0.0)
                self._find_nearest(most, best_gain, best_loss, choice + x * most)
        return choices

    def _loss_with(self, c, q, v):
        """Whether class c covers value v of column q as it is, and what it loses with it; a value
        without a code is covered only by what covers anything."""
        column = cython.address(self.columns[q])
        at = c * self.n_columns + q
        positions = self.positions + column.first_position
        if self.is_anything[at] or (v == column.n_codes and self.has_missing[at]):
            return True, self.loss[at]
        if column.form == SET:
            members = self.members + column.first_member + c * column.n_codes
            if 0 <= v < column.n_codes and members[v]:
                return True, self.loss[at]
            return False, (self.n_values[at] + self.has_missing[at] + 1) * positions[0]
        low, high = self.low[at], self.high[at]
        if low <= v <= high:
            return True, self.loss[at]
        if v < 0 or v == column.n_codes or low > high:
            return False, 1.0
        low, high = min(low, v), max(high, v)
        if column.form == INTERVAL:
            return False, positions[high] - positions[low]
        ancestors = self.ancestors + column.first_ancestor
        for level in range(column.n_levels):
            node = ancestors[low * column.n_levels + level]
            if node == ancestors[high * column.n_levels + level]:
                return False, positions[node]
        return False, 1.0

    def _find_nearest(self, most, best_gain, best_loss, choice):
        gained, lost = self.gained, self.lost
        found: cython.Py_ssize_t = 0
        worst: cython.double = INFINITY
        for c in range(self.n_classes):
            released = self.released + c * self.n_columns
            gain: cython.double = 0.0
            for q in range(self.n_columns):
                gain += gained[released[q]]
            if gain == INFINITY or gain > worst:
                continue
            loss: cython.double = 0.0
            for q in range(self.n_columns):
                loss += lost[released[q]]
            at = found
            while at > 0 and (
                gain < best_gain[at - 1] or (gain == best_gain[at - 1] and loss < best_loss[at - 1])
            ):
                at -= 1
            if at == most:
                continue
            found = min(found + 1, most)
            for later in range(found - 1, at, -1):
                best_gain[later] = best_gain[later - 1]
                best_loss[later] = best_loss[later - 1]
                choice[later] = choice[later - 1]
            best_gain[at], best_loss[at], choice[at] = gain, loss, c
            if found == most:
                worst = best_gain[most - 1]
