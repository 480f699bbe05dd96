"""Supersets that classes are close to, for (n, t)-closeness: nodes of a cut tree, and regions.

What a class shows of a column follows from its codes, so a search can tell which boxes are natural
(`requirements/closeness/supersets.py`) before anything is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tclose.arrays import Ints
from tclose.requirements.closeness.supersets import (
    NOTHING,
    ClassExtents,
    ColumnExtent,
    list_natural,
)
from tclose.requirements.constraint import JudgedAttribute
from tclose.search.outcome import Clock, Cuts
from tclose.search.problem import NamedSupersets, SearchProblem, number_classes
from tclose.utility.loss import ColumnLoss, partition_loss

CUTS = 12
"""Shares of a region's rows at which a column without a hierarchy is tried to be cut."""
TRIES = 4
"""Of the ways to split a region, the best that are tried."""
REGIONS = 0.2
"""The share of the budget that regions may take."""
SPLIT = 2e-8
"""Seconds of an ordinary core to weigh a split, per cell and column."""


def find_extents(columns: Sequence[ColumnLoss], codes: Ints, label: Ints) -> ClassExtents:
    """The range of each quasi-identifier that every class of a partition would show."""
    kept = np.flatnonzero(label >= 0)
    count = int(label.max(initial=-1)) + 1
    return ClassExtents(
        tuple(
            _find_extent(column, codes[kept, at], label[kept], count)
            for at, column in enumerate(columns)
        )
    )


def _find_extent(column: ColumnLoss, codes: Ints, label: Ints, count: int) -> ColumnExtent:
    """A class that mixes a missing value with others shows anything; of sets, one value more."""
    known = len(column.place)
    missing = np.zeros(count, dtype=bool)
    missing[label[codes >= known]] = True
    if column.kind == "set":
        members = np.zeros((count, known), dtype=bool)
        members[label[codes < known], codes[codes < known]] = True
        none = np.zeros(count, dtype=np.int64)
        return ColumnExtent(none, none, missing, members)
    low, high = np.full(count, NOTHING), np.full(count, -1)
    some = codes < known
    np.minimum.at(low, label[some], codes[some])
    np.maximum.at(high, label[some], codes[some])
    shows = low <= high
    tree = column.hierarchy
    if tree is not None and shows.any():
        place = column.place.astype(np.int64)
        node = tree.lca_of_ranges(place[low[shows]], place[high[shows]])
        low[shows] = tree.first_below[node]
        high[shows] = low[shows] + tree.size_below[node] - 1
        missing[shows] |= (node == tree.root) & column.has_missing
    last = known - 1 if tree is None else tree.leaf_count - 1
    low[shows & missing], high[shows & missing] = 0, last
    return ColumnExtent(low, high, missing, tree=tree)


def settle_cuts(problem: SearchProblem, cuts: Cuts) -> tuple[Ints, Cuts, NamedSupersets]:
    """The classes of a cut tree with their supersets, the smallest boxes of nodes above them.

    A node that several children of a hierarchy's node lie in may show what its other half shows
    too, and is then not natural: where a class is left without a superset, the node above it
    becomes one class. Every round leaves fewer classes; one class of all rows is close to itself.
    """
    while True:
        found = cuts.classify(problem.codes)
        label = merge_alike_classes(problem, found)
        number = np.zeros(int(found.max(initial=0)) + 1, dtype=np.int64)
        number[found] = label
        cuts = cuts.rename(number)
        below = _list_below(cuts)
        groups = list({tuple(each): np.array(each, dtype=np.int64) for each in below}.values())
        natural = list_natural(_show_classes(problem, label), groups)
        named = problem.choose_supersets(label, natural)
        alone = np.any([each.of_class < 0 for each in named.values()], axis=0)
        if not alone.any() or cuts.column[0] < 0:
            return label, cuts, named
        cuts = _close_above(cuts, np.flatnonzero(alone).tolist())


def _list_below(cuts: Cuts) -> list[list[int]]:
    """The classes below each node; a node's number is lower than its halves'."""
    below: list[list[int]] = [[] for _ in cuts.column]
    for at in reversed(range(len(cuts.column))):
        if cuts.column[at] < 0:
            below[at] = [cuts.left[at]]
        else:
            below[at] = below[cuts.left[at]] + below[cuts.right[at]]
    return below


def _close_above(cuts: Cuts, classes: list[int]) -> Cuts:
    """The tree where the node above each of some classes is a class, numbered by first node."""
    closed, alone = set(), set(classes)
    for at, column in enumerate(cuts.column):
        halves = (cuts.left[at], cuts.right[at])
        if column >= 0 and any(
            cuts.column[half] < 0 and cuts.left[half] in alone for half in halves
        ):
            closed.add(at)
    nodes: list[list[int]] = []  # column, code, left, right
    todo, classes_made = [(0, -1, 2)], 0
    while todo:
        at, above, side = todo.pop()
        if above >= 0:
            nodes[above][side] = len(nodes)
        if cuts.column[at] < 0 or at in closed:
            nodes.append([-1, 0, classes_made, 0])
            classes_made += 1
        else:
            todo += [(cuts.right[at], len(nodes), 3), (cuts.left[at], len(nodes), 2)]
            nodes.append([cuts.column[at], cuts.code[at], 0, 0])
    return Cuts(*zip(*nodes, strict=True))


@dataclass(frozen=True)
class Region:
    """A natural part of the table, and the parts that it is split into, if any."""

    cells: Ints
    rows: int
    parts: tuple[Region, ...] = ()

    def list_nodes(self) -> Iterator[Region]:
        """This region and all below it."""
        yield self
        for part in self.parts:
            yield from part.list_nodes()

    def list_smallest(self, rows: int) -> Iterator[Region]:
        """The smallest regions below that all have so many rows."""
        if self.parts and all(part.rows >= rows for part in self.parts):
            for part in self.parts:
                yield from part.list_smallest(rows)
        else:
            yield self


def split_into_regions(problem: SearchProblem, clock: Clock) -> Region:
    """The table split into regions of n rows and more whatever their sensitive values are, as long
    as that lowers the loss: every region may be the superset of the classes in it.

    Regions stay natural: numbers and sets are cut in two, a node of a hierarchy into all its
    children, so that no class can show anything of another region.
    """
    need = max(constraint.need for constraint in problem.constraints.compiled)
    return _split_region(
        problem, np.arange(problem.n_cells), max(need, problem.constraints.k), clock
    )


def can_search_regions(problem: SearchProblem) -> bool:
    """Whether regions can be searched by themselves: of rows, by constraints that are compiled."""
    return problem.classes.persons is None and not problem.constraints.uncompiled


def list_partitions(root: Region) -> list[list[Region]]:
    """Regions of n rows and more, of larger ones about half as many, and so on up to the table."""
    found = [list(root.list_smallest(1))]
    while len(found[-1]) > 1:
        rows, regions = 1, found[-1]
        while 2 * len(regions) > len(found[-1]) + 1:
            rows = min(region.rows for region in regions) + 1
            regions = list(root.list_smallest(rows))
        found.append(regions)
    return found


def _split_region(problem: SearchProblem, cells: Ints, least: int, clock: Clock) -> Region:
    rows, codes = problem.rows[cells], problem.codes[cells]
    whole = Region(cells, int(rows.sum()))
    if whole.rows < 2 * least or clock.is_over("regions", REGIONS):
        return whole
    found: list[tuple[float, int, Ints]] = []
    for at, column in enumerate(problem.columns):
        for part in _list_splits(column, codes[:, at], rows):
            clock.spend(SPLIT * codes.size)
            if np.bincount(part, rows).min() >= least:
                loss = partition_loss(problem.columns, codes, rows, part)
                cost = float(np.mean(problem.weights * list(loss.columns.values())))
                found.append((cost, len(found), part))
    for _, _, part in sorted(found)[:TRIES]:
        parts = [cells[part == number] for number in range(int(part.max()) + 1)]
        if _may_be_apart(problem, parts):
            return replace(
                whole, parts=tuple(_split_region(problem, each, least, clock) for each in parts)
            )
    return whole


def _list_splits(column: ColumnLoss, codes: Ints, rows: Ints) -> Iterator[Ints]:
    """Ways to split cells by one column so that the parts show nothing in common."""
    known = len(column.place)
    is_known = codes < known
    if column.hierarchy is not None and is_known.any():
        tree, leaf = column.hierarchy, column.place[np.minimum(codes, known - 1)].astype(np.int64)
        top = tree.lca_of_ranges(
            leaf[is_known].min(keepdims=True), leaf[is_known].max(keepdims=True)
        )
        level = np.flatnonzero(tree.ancestors[leaf[is_known][0]] == top[0])[0] - 1
        child = tree.ancestors[leaf, level] if level >= 0 else leaf * 0
        parts = np.unique(np.where(is_known, child, -1), return_inverse=True)[1]
        if parts.max() > 0:
            yield parts.astype(np.int64)
        return
    if column.kind == "interval" and not is_known.all():
        if is_known.any():
            yield (~is_known).astype(np.int64)
        return
    values, place = np.unique(codes, return_inverse=True)
    ends = np.cumsum(np.bincount(place, rows))
    for border in np.unique(np.searchsorted(ends, ends[-1] * np.arange(1, CUTS) / CUTS)).tolist():
        if border < len(values) - 1:
            yield (place > border).astype(np.int64)


def _may_be_apart(problem: SearchProblem, parts: list[Ints]) -> bool:
    """Whether regions keep, each as one class, whatever else is promised: else no part can."""
    if all(constraint.need for constraint in problem.constraints.compiled):
        return True
    label = np.full(problem.n_cells, len(parts), dtype=np.int64)
    for number, cells in enumerate(parts):
        label[cells] = number
    return not problem.find_failing(number_classes(label))[: len(parts)].any()


def make_region_problem(problem: SearchProblem, cells: Ints) -> SearchProblem:
    """A region as a problem of its own, close to itself; other promises see the table."""
    part = problem.part(cells)
    made, masses = part.constraints, problem.constraints.masses(problem.rows)
    fields = [
        replace(field, whole=_count_whole(whole, masses[min(at, len(masses) - 1)]))
        for at, (field, whole) in enumerate(
            zip(made.fields, problem.constraints.fields, strict=True)
        )
    ]
    compiled = []
    for constraint in made.compiled:
        if constraint.need:
            field = made.fields[constraint.field]
            fields.append(replace(field, name=f"{field.name} of the region", whole=None))
            constraint = replace(constraint, field=len(fields) - 1, need=0)
        compiled.append(constraint)
    constraints = replace(made, fields=tuple(fields), compiled=tuple(compiled))
    return replace(part, constraints=constraints)


def _count_whole(field: JudgedAttribute, mass: Ints) -> Ints:
    return np.bincount(field.codes, mass, field.values).astype(np.int64)


def search_regions(
    problem: SearchProblem,
    regions: Sequence[Region],
    search: Callable[[SearchProblem, Region], Ints],
) -> Ints:
    """Classes found by themselves in each region."""
    label, count = np.empty(problem.n_cells, dtype=np.int64), 0
    for region in regions:
        found = search(make_region_problem(problem, region.cells), region)
        label[region.cells] = found + count
        count += int(found.max()) + 1
    return merge_alike_classes(problem, label)


def merge_alike_classes(problem: SearchProblem, label: Ints) -> Ints:
    """Merges classes with equal released values, which a reader sees as one."""
    return number_classes(_show_classes(problem, label).group_alike()[label])


def _show_classes(problem: SearchProblem, label: Ints) -> ClassExtents:
    return find_extents(problem.columns, problem.codes, label)


def name_regions(problem: SearchProblem, label: Ints, root: Region) -> NamedSupersets:
    """The superset of every class, of all regions that it lies in."""
    groups = [np.unique(label[region.cells]) for region in root.list_nodes()]
    return problem.choose_supersets(label, list_natural(_show_classes(problem, label), groups))
