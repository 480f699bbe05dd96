"""Classes divided further by telling few sensitive values less precisely (Li 2007, section 8).

A class that cannot be divided, because a part would be farther than t, may be divided all the same
if some values of the parts are hidden or told as a group of their hierarchy. Such a value counts as
what it may be, in the shares of the table (`MaskedValues`), so masking a value that a class has too
many of brings it nearer. A division is worth it where it saves more loss of the quasi-identifiers
than the masks cost: hiding a value costs `cost`, a group its share of that, (leaves below − 1) /
(leaves − 1), in rows that would lose all their quasi-identifiers.

Divisions are planned in floats, and kept a little below t. Masks change the shares of the table
itself, so that classes may fail that were left alone: every class is judged exactly by the
requirements, with all masks in place, and a few values of those that fail are masked as well.
Divisions are taken back where that does not help, and all of them where they cost more than they
save.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from tclose.arrays import Flags, Floats, Ints
from tclose.distance.ground import TreeMetric
from tclose.distance.registry import Attribute
from tclose.errors import UsageError
from tclose.requirements.classes import Classes, MaskedValues
from tclose.requirements.constraint import ConstraintKind
from tclose.search.full_domain.measures import SIZES
from tclose.search.outcome import Outcome, Trial
from tclose.search.problem import SearchProblem, number_classes
from tclose.utility.loss import ColumnLoss

MARGIN = 0.003
"""How far below t a part is planned: masks change the table's own shares, too."""
TRIES = 4
"""Divisions of a class that are tried, the most promising first."""
MOST_MASKS = 200
"""Cells that are masked in one division, at most."""
LOOK, STEP = 3e-7, 3e-5
"""Seconds of an ordinary core per cell and column that is looked at, and per mask that is tried."""
DIVIDING = (0.7, 0.4, 0.2, 0.1)
"""Shares of the masks that divisions may take, tried in turn; the rest is for classes that then
fail, as more do, the more is masked."""
ROUNDS = 8
"""Of judging all classes and masking values of those that fail."""
EFFORT = 0.25
"""The effort for all this, as a share of that of the search."""
LEAST = 1e-9
MOST_VALUES, MOST_ROOM = 1_000, 20_000_000
"""Values of an attribute that is masked, and cells × values of a class that is divided."""

Levels = Mapping[str, Ints]
"""By attribute the level of each cell's value: 0 as it is, the last hidden."""


@dataclass(frozen=True)
class Masking:
    """How sensitive values may be masked, and the cost."""

    how: str
    cost: float
    share: float


@dataclass
class _Part:
    """A class, or a part of a divided class."""

    cells: Ints
    levels: dict[str, Ints]
    parent: int
    halves: tuple[int, int] | None = None


@dataclass
class _Field:
    """One attribute with a closeness promise, in floats: how masking changes the distance."""

    attribute: Attribute
    code: Ints
    t: float
    edges: Floats
    """[edges, values]: whether a value is below an edge."""
    length: Floats
    table: Floats
    """[values]: shares."""
    left: Floats
    """[values]: rows of the table with an exact value."""
    share: list[Floats] = field(default_factory=list)
    """By level, [values, values]: what each value counts as, if it is masked."""
    shift: list[Floats] = field(default_factory=list)
    """By level, [edges, values]: what a row more that is masked does below every edge."""
    price: list[Floats] = field(default_factory=list)
    """By level, [values]."""
    node: list[Ints] = field(default_factory=list)
    """By level, [values]: the group of each value."""

    def describe_masks(self) -> None:
        """The effect of the masks, by the exact values that remain."""
        self.share, self.shift = [], []
        for node in self.node:
            share = (node[None] == node[:, None]) * self.left[None]
            self.share.append(share / share.sum(axis=1, keepdims=True))
            self.shift.append(self.edges @ (self.share[-1] - np.eye(len(self.left))).T)

    def measure(self, below: Floats) -> Floats:
        """The distance, from the differences of shares below every edge."""
        distance: Floats = np.abs(below) @ self.length
        return distance


def mask_values(
    problem: SearchProblem, outcome: Outcome, masking: Masking, effort: float
) -> Outcome:
    """The outcome with its classes divided further, and the level of every cell's values."""
    best, least = outcome, outcome.cost
    for dividing in DIVIDING:
        search = MaskingSearch(problem, outcome, masking, effort, dividing)
        found = search.run()
        effort -= search.spent
        price = find_cost(problem, found.masked or {}, masking)
        if found.cost + price < least:
            best, least = found, found.cost + price
        if effort <= 0:
            break
    return best


def refuse_masking(problem: SearchProblem) -> None:
    """Raises where masks cannot be judged, or their cost has no common unit with the loss."""
    constraints, what = problem.constraints, ""
    hint = 'leave search.masking out, or use "auto"'
    if problem.objective.loss in SIZES:
        what = "supports losses of columns only"
        hint = f"leave search.masking out, or search.loss = {problem.objective.loss!r}"
    elif any(each.kind != ConstraintKind.EMD or each.need for each in constraints.compiled):
        what = "supports k-anonymity and t-closeness by earth mover's distances only"
    elif constraints.uncompiled or problem.classes.cell_weight is not None:
        what = "supports k-anonymity and t-closeness of rows only"
    elif any(each.values > MOST_VALUES for each in problem.classes.attributes.values()):
        what = f"supports attributes of at most {MOST_VALUES:,} values"
    elif problem.classes.masked:
        what = "supports only sensitive columns without missing values or groups of values"
        hint = "leave search.masking out, or the rows without an exact value"
    if what:
        raise UsageError(f"masking {what}", where="search.masking", hint=hint)


class MaskingSearch:
    """The classes of an outcome, the values masked in them, and what that costs so far."""

    def __init__(
        self, problem: SearchProblem, outcome: Outcome, masking: Masking, effort: float,
        dividing: float,
    ) -> None:  # fmt: skip
        self.problem, self.outcome, self.masking = problem, outcome, masking
        self.effort, self.spent = effort, 0.0
        self.k = max(problem.constraints.k, 1)
        self.released = np.where(outcome.label >= 0, problem.rows, 0)
        """[cells]: rows, none of those that are left out, which no class is compared with."""
        self.fields = list(_list_fields(problem, masking, self.released))
        self.most = int(masking.share * problem.n_rows)
        self.room = int(dividing * self.most)
        order = np.argsort(outcome.label, kind="stable")
        starts = np.searchsorted(outcome.label[order], np.arange(outcome.classes + 1))
        self.parts = [
            _Part(
                order[starts[at] : starts[at + 1]],
                {each.attribute.name: np.zeros(starts[at + 1] - starts[at], np.int64)
                 for each in self.fields if each.shift},
                -1,
            )
            for at in range(outcome.classes)
        ]  # fmt: skip

    def run(self) -> Outcome:
        """Divides classes, those with the largest loss first, and reverts divisions that fail."""
        todo = [(-self._weigh(at), at) for at in range(len(self.parts))]
        heapq.heapify(todo)
        while todo and self.spent < self.effort:
            _, at = heapq.heappop(todo)
            for half in self._divide(at):
                heapq.heappush(todo, (-self._weigh(half), half))
        self._mend()
        label, levels = self._read()
        label = number_classes(label)
        loss, cost = self.problem.loss(label).overall, self.problem.cost(label)
        price = find_cost(self.problem, levels, self.masking)
        is_masked = any((each > 0).any() for each in levels.values())
        if not is_masked or cost + price >= self.outcome.cost:
            return self.outcome
        tried = (*self.outcome.tried, Trial("sensitive values masked", cost, self.seconds))
        return replace(
            self.outcome,
            label=label,
            loss=loss,
            value=cost if self.problem.objective.weights else None,
            tried=tried,
            cuts=None,
            bound=None,
            masked=levels,
            uses_sensitive=True,
        )

    @property
    def seconds(self) -> float:
        """How long the search before took."""
        return self.outcome.tried[-1].seconds if self.outcome.tried else 0.0

    def _weigh(self, at: int) -> float:
        """The loss of a class, in rows."""
        cells = self.parts[at].cells
        codes, rows = self.problem.codes[cells], int(self.problem.rows[cells].sum())
        low, high = codes.min(axis=0)[None], codes.max(axis=0)[None]
        distinct = [np.array([len(np.unique(column))]) for column in codes.T]
        return float(rows * self._lose(low, high, distinct)[0])

    def _lose(self, low: Ints, high: Ints, distinct: list[Ints]) -> Floats:
        """The loss of boxes per row, with the weights of columns."""
        columns: tuple[ColumnLoss, ...] = self.problem.columns
        total = np.zeros(len(low))
        for at, (column, weight) in enumerate(zip(columns, self.problem.weights, strict=True)):
            lost = (
                column.of_sets(distinct[at])
                if column.kind == "set"
                else column.between(low[:, at], high[:, at])
            )
            total += weight * lost
        return total / max(len(columns), 1)

    def _divide(self, at: int) -> tuple[int, ...]:
        """Divides a class where that saves more than its masks cost; the numbers of the halves."""
        part = self.parts[at]
        best: tuple[float, list[_Part]] | None = None
        for gain, cells in self._list_divisions(part)[:TRIES]:
            halves, cost, rows = [], 0.0, 0
            for inside in (cells, ~cells):
                found = self._mask(part, inside, at, gain - cost)
                if found is None:
                    break
                half, price, masked = found
                halves.append(half)
                cost, rows = cost + price, rows + masked
            saved = gain - cost if len(halves) == 2 and rows <= self.room else 0.0
            if saved > LEAST and (best is None or saved > best[0]):
                best = saved, halves
        if best is None:
            return ()
        numbers = (len(self.parts), len(self.parts) + 1)
        part.halves = numbers
        for half in best[1]:
            self._count(part, half)
            self.parts.append(half)
        return numbers

    def _count(self, part: _Part, half: _Part) -> None:
        """Keeps account of the rows that are masked in a half and were not before."""
        before = dict(zip(part.cells.tolist(), range(len(part.cells)), strict=True))
        where = np.array([before[cell] for cell in half.cells.tolist()], dtype=np.int64)
        for each in self.fields:
            name = each.attribute.name
            if name in half.levels:
                fresh = (half.levels[name] > 0) & (part.levels[name][where] == 0)
                cells = half.cells[fresh]
                np.subtract.at(each.left, each.code[cells], self.problem.rows[cells])
                self.room -= int(self.problem.rows[cells].sum())

    def _list_divisions(self, part: _Part) -> list[tuple[float, Flags]]:
        """Cuts of a class in two that reduce the loss, by how much; the largest reduction first."""
        problem, found = self.problem, []
        codes, rows = problem.codes[part.cells], problem.rows[part.cells]
        total = int(rows.sum())
        values = max((len(each.table) for each in self.fields), default=1)
        if total < 2 * self.k or len(codes) * values > MOST_ROOM:
            return []
        self.spent += LOOK * codes.size * codes.shape[1]
        whole = self._weigh_codes(codes, total)
        for column in range(codes.shape[1]):
            order = np.argsort(codes[:, column], kind="stable")
            along = codes[order]
            ends = np.flatnonzero(np.diff(along[:, column]))
            held = np.cumsum(rows[order])[ends]
            kept = (held >= self.k) & (total - held >= self.k)
            ends, held = ends[kept], held[kept]
            if not len(ends):
                continue
            gain = whole - self._weigh_cuts(along, ends, held) - self._weigh_cuts(
                along[::-1], len(along) - 2 - ends, total - held
            )  # fmt: skip
            price = self._foresee(part, order, ends, held, total)
            for cut in np.argsort(price - gain, kind="stable")[:TRIES].tolist():
                if gain[cut] > price[cut] + LEAST:
                    inside = np.zeros(len(order), dtype=bool)
                    inside[order[: ends[cut] + 1]] = True
                    found.append((float(gain[cut]), float(gain[cut] - price[cut]), inside))
        found.sort(key=lambda each: -each[1])
        return [(gain, inside) for gain, _, inside in found]

    def _weigh_codes(self, codes: Ints, rows: int) -> float:
        low, high = codes.min(axis=0)[None], codes.max(axis=0)[None]
        distinct = [np.array([len(np.unique(column))]) for column in codes.T]
        return float(rows * self._lose(low, high, distinct)[0])

    def _weigh_cuts(self, along: Ints, ends: Ints, held: Ints) -> Floats:
        """The joint loss of the cells up to each position, in rows."""
        low, high = np.minimum.accumulate(along)[ends], np.maximum.accumulate(along)[ends]
        distinct = []
        for column in along.T:
            fresh = np.zeros(len(along), dtype=np.int64)
            fresh[np.unique(column, return_index=True)[1]] = 1
            distinct.append(np.cumsum(fresh)[ends])
        return np.asarray(held * self._lose(low, high, distinct))

    def _foresee(self, part: _Part, order: Ints, ends: Ints, held: Ints, total: int) -> Floats:
        """An estimate of the cost of masks on both sides of each cut, from their distances beyond
        t.
        """
        price = np.zeros(len(ends))
        cells, rows = part.cells[order], self.problem.rows[part.cells[order]]
        for each in self.fields:
            counts = np.zeros((len(cells), len(each.table)))
            counts[np.arange(len(cells)), each.code[cells]] = rows
            running = np.cumsum(counts, axis=0)
            for side, size in ((running[ends], held), (running[-1] - running[ends], total - held)):
                below = (side / size[:, None] - each.table) @ each.edges.T
                beyond = np.maximum(each.measure(below) - each.t, 0.0)
                dear = min((float(level.min()) for level in each.price), default=np.inf)
                price += np.where(beyond > 0, beyond * size * dear, 0.0)
        return price

    def _mask(
        self, part: _Part, inside: Flags, parent: int, most: float
    ) -> tuple[_Part, float, int] | None:
        """A part of a class, with as many values masked as it takes, for no more than `most`."""
        cells = part.cells[inside]
        rows = self.problem.rows[cells]
        size = float(rows.sum())
        levels = {name: level[inside].copy() for name, level in part.levels.items()}
        cost, masked = 0.0, 0
        for each in self.fields:
            name = each.attribute.name
            code, level = each.code[cells], levels.get(name)
            below = (np.bincount(code, rows, len(each.table)) / size - each.table) @ each.edges.T
            for at in range(len(cells) if level is not None else 0):
                if level is not None and level[at]:
                    below = below + each.shift[level[at] - 1][:, code[at]] * rows[at] / size
            left = each.left.copy()
            for _ in range(MOST_MASKS):
                distance = float(each.measure(below))
                if distance <= each.t:
                    break
                found = self._choose(each, code, level, rows, below, distance, left, size)
                if found is None or level is None:
                    return None
                at, height = found
                value = int(code[at])
                below = below + each.shift[height][:, value] * rows[at] / size
                level[at] = height + 1
                left[value] -= rows[at]
                cost += float(each.price[height][value] * rows[at])
                masked += int(rows[at])
                if cost >= most or masked > self.room:
                    return None
            else:
                return None
        return _Part(cells, levels, parent), cost, masked

    def _choose(
        self, each: _Field, code: Ints, level: Ints | None, rows: Ints, below: Floats,
        distance: float, left: Floats, size: float,
    ) -> tuple[int, int] | None:  # fmt: skip
        """The cell and level with the largest decrease of the distance per cost."""
        self.spent += STEP
        if level is None:
            return None
        free = np.flatnonzero(level == 0)
        smallest = np.full(len(each.table), -1, dtype=np.int64)
        for at in free[np.argsort(-rows[free], kind="stable")].tolist():
            smallest[code[at]] = at
        values = np.flatnonzero(smallest >= 0)
        values = values[left[values] > rows[smallest[values]]]  # no value may vanish
        best: tuple[float, int, int] | None = None
        for height, shift in enumerate(each.shift):
            if not len(values):
                break
            step = rows[smallest[values]] / size
            after = each.measure((below[:, None] + shift[:, values] * step).T)
            price = np.maximum(each.price[height][values] * rows[smallest[values]], LEAST)
            worth = (distance - after) / price
            at = int(np.argmax(worth))
            if distance - after[at] > LEAST and (best is None or worth[at] > best[0]):
                best = float(worth[at]), int(smallest[values[at]]), height
        return None if best is None else best[1:]

    # --- judged exactly

    def mask_failing(self) -> Levels | None:
        """The level of every cell's values with as few masked as it takes until no class fails;
        None if that is too much. No class is divided."""
        label, _ = self._read()
        size = np.bincount(label, self.problem.rows)
        failing = np.flatnonzero(self.problem.find_failing(label)).tolist()
        for _ in range(ROUNDS if size.min() >= self.k else 0):
            if not failing:
                return self._read()[1]
            if not all([self._remask(at) for at in failing]):
                return None
            self._refresh()
            failing = self._find_failing()
        return None

    def _mend(self) -> None:
        """Masks values of classes that fail, and takes divisions back, until none fails."""
        rounds = 0
        while failing := self._find_failing():
            rounds += 1
            self._refresh()
            lost = [at for at in failing if rounds > ROUNDS or not self._remask(at)]
            undone = {self.parts[at].parent for at in lost} - {-1}
            if lost and not undone:  # some that were not divided: then by what others were
                live = [at for at, part in enumerate(self.parts) if part.halves is not None]
                undone = {*live[len(live) // 2 :]}
                rounds = 0
                for part in self.parts if not live else ():
                    part.levels = {name: np.zeros_like(each) for name, each in part.levels.items()}
            for at in undone:
                self.parts[at].halves = None

    def _find_failing(self) -> list[int]:
        """The parts that break the promise with all masks in place."""
        label, levels = self._read()
        if not any((each > 0).any() for each in levels.values()):
            return []
        numbers = np.unique(label[label >= 0])
        judged = replace(self.problem, classes=self._mask_classes(levels))
        fails = judged.find_failing(np.where(label < 0, -1, np.searchsorted(numbers, label)))
        found: list[int] = numbers[fails].tolist()
        return found

    def _remask(self, at: int) -> bool:
        """Masks some more values of a class; whether it should be close then."""
        part = self.parts[at]
        every = np.ones(len(part.cells), dtype=bool)
        found = self._mask(part, every, part.parent, np.inf)
        if found is None:
            return False
        self._count(part, found[0])
        part.levels = found[0].levels
        return True

    def _refresh(self) -> None:
        """Counts the table anew, as it is with all masks in place."""
        _, levels = self._read()
        for each in self.fields:
            level = levels.get(each.attribute.name)
            if level is None:
                continue
            rows, values = self.released, len(each.table)
            told = level == 0
            each.left = np.bincount(each.code[told], rows[told], values).astype(np.float64)
            each.describe_masks()
            table = np.bincount(each.code, rows, values).astype(np.float64)
            for height, share in enumerate(each.share):
                some = level == height + 1
                masked = np.bincount(each.code[some], rows[some], values)
                table += masked @ share - masked
            each.table = table / table.sum()
        used = sum(int(self.problem.rows[level > 0].sum()) for level in levels.values())
        self.room = self.most - used

    def _read(self) -> tuple[Ints, dict[str, Ints]]:
        """The part of every cell, and the level of its values."""
        label = np.full(self.problem.n_cells, -1, dtype=np.int64)
        levels = {
            each.attribute.name: np.zeros(self.problem.n_cells, dtype=np.int64)
            for each in self.fields
            if each.shift
        }
        todo = [at for at, part in enumerate(self.parts) if part.parent < 0]
        while todo:
            at = todo.pop()
            part = self.parts[at]
            if part.halves is not None:
                todo += part.halves
                continue
            label[part.cells] = at
            for name, level in part.levels.items():
                levels[name][part.cells] = level
        return label, levels

    def _mask_classes(self, levels: Levels) -> Classes:
        """The raw table's classes with the values masked."""
        classes = self.problem.classes
        codes, masked = dict(classes.cell_codes), {}
        for each in self.fields:
            name = each.attribute.name
            level = levels.get(name)
            if level is None or not (level > 0).any():
                continue
            node = np.full(len(level), -1, dtype=np.int64)
            for height, of_value in enumerate(each.node):
                some = level == height + 1
                node[some] = of_value[codes[name][some]]
            groups, number = np.unique(node[node >= 0], return_inverse=True)
            group = np.full(len(node), -1, dtype=np.int64)
            group[node >= 0] = number
            every = np.stack(each.node)
            members = tuple(np.flatnonzero((every == at).any(axis=0)) for at in groups.tolist())
            codes[name] = np.where(level > 0, -1, codes[name])
            masked[name] = MaskedValues(group, members)
        return replace(classes, cell_codes=codes, masked=masked)


def _list_fields(problem: SearchProblem, masking: Masking, released: Ints) -> Iterator[_Field]:
    """The attributes with a closeness promise, with the masks of those that may be masked."""
    constraints, classes = problem.constraints, problem.classes
    for constraint in constraints.compiled:
        name = constraints.fields[constraint.field].name
        attribute, metric = classes.attributes[name], constraint.metric
        assert isinstance(metric, TreeMetric)
        code = classes.cell_codes[name]
        values = attribute.values
        rows = np.bincount(code, released, values).astype(np.float64)
        edges = metric.below(np.eye(values, dtype=np.int64)).T[:-1].astype(np.float64)
        length = metric.length[:-1].astype(np.float64) / metric.diameter
        t = float(constraint.threshold) - MARGIN
        made = _Field(attribute, code, t, edges, length, rows / rows.sum(), rows)
        if attribute.masks is not None:
            for node, price in _list_levels(attribute, masking):
                made.node.append(node)
                made.price.append(price)
            made.describe_masks()
        yield made


def _list_levels(attribute: Attribute, masking: Masking) -> Iterator[tuple[Ints, Floats]]:
    """For each level, the group of each value and the cost of masking to it; hidden values are one
    group.
    """
    values, tree = attribute.values, attribute.hierarchy
    if masking.how == "hide" or tree is None:
        yield np.zeros(values, dtype=np.int64), np.full(values, masking.cost)
        return
    leaf = tree.indices(attribute.labels).astype(np.int64)
    for level in range(1, tree.levels):
        node = tree.ancestors[leaf, level].astype(np.int64)
        below = (tree.size_below[node] - 1) / max(tree.leaf_count - 1, 1)
        yield node, masking.cost * below.astype(np.float64)


def count_masked(problem: SearchProblem, levels: Levels) -> dict[str, int]:
    """How many rows have a masked value of each attribute."""
    return {
        name: int(problem.rows[level > 0].sum()) for name, level in levels.items() if level.any()
    }


def find_cost(problem: SearchProblem, levels: Levels, masking: Masking) -> float:
    """The cost of all masks, as a share of the cost of losing every row."""
    total = 0.0
    for each in _list_fields(problem, masking, problem.rows):
        level = levels.get(each.attribute.name)
        for height, price in enumerate(each.price if level is not None else ()):
            some = level == height + 1
            total += float(price[each.code[some]] @ problem.rows[some])
    return total / max(problem.n_rows, 1)
