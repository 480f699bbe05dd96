"""Sizes and histograms of the classes: all that a privacy requirement sees of a table.

A class is a set of rows with equal quasi-identifiers, numbered from 0 in the order of their values
(people see numbers from 1). Its size is its number of rows, or of persons where several rows may be
of one; its histograms count rows, weigh them, or count the persons who have a value. What an
attacker may have to reckon with is a *view*: usually just the class. Two choices of
`missing = "any"` add views, and the worst of a class's views counts:

- a missing quasi-identifier matches every class that agrees in the others. Each such class is
  judged both without and with those rows; the rows themselves are judged in every class that they
  match, and on their own only where they match none;
- a missing sensitive value may be any value. The class is judged with all its missing values taken
  to be one and the same value, for each value in turn. Requirements that merging cannot worsen are
  quasi-convex in the distribution, so no other completion is worse than these corners.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tclose.data.encode.cells import Cells
from tclose.data.encode.columns import Attribute, Dictionary
from tclose.data.encode.persons import Persons, distinct_histogram, distinct_sizes
from tclose.distance import Histogram
from tclose.distance.histogram import Counts, group_codes
from tclose.errors import UsageError
from tclose.requirements.classes import Tally

__all__ = ["Classes", "Tally", "form_classes", "group_codes", "partition_cells"]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Classes:
    """The classes of a table, with a histogram for each sensitive attribute.

    `view_of` and `class_of` list the pairs (view, class in it).
    """

    quasi: tuple[str, ...]
    dictionaries: Mapping[str, Dictionary]
    attributes: Mapping[str, Attribute]
    key: Ints
    cell_class: Ints
    cell_codes: Mapping[str, Ints]
    cell_rows: Counts
    view_of: Ints
    class_of: Ints
    origin: Ints
    """The class of the released table that each class lies in (itself, unless regrouped)."""
    cell_weight: Counts | None = None
    """What each cell weighs in histograms, where that is not its number of rows."""
    persons: Persons | None = None
    """Whose the rows of the cells are, where several may be of one person."""
    whole: Mapping[str, Counts] | None = None
    """Where these are not all classes of a table: the counts of each attribute in all of it."""

    @property
    def count(self) -> int:
        """How many classes there are."""
        return len(self.key)

    @cached_property
    def size(self) -> Counts:
        """The rows of each class, or its persons: what k-anonymity counts."""
        if self.persons is not None:
            return self.persons.sizes(self.cell_class, self.count)
        return self.class_rows

    @cached_property
    def class_rows(self) -> Counts:
        """The rows of each class, whoever they are of."""
        result = np.zeros(self.count, dtype=self.cell_rows.dtype)
        np.add.at(result, self.cell_class, self.cell_rows)
        return result

    @cached_property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(sum(self.class_rows.tolist()))

    @property
    def everyone(self) -> int:
        """How many there are of what a class's size counts."""
        return self.n_rows if self.persons is None else self.persons.everyone

    @property
    def views(self) -> int:
        """How many views there are."""
        return int(self.view_of[-1]) + 1

    @property
    def has_views(self) -> bool:
        """Whether there are views beside the classes themselves."""
        return self.views != self.count or len(self.view_of) > self.count

    @cached_property
    def view_size(self) -> Counts:
        """The number of rows, or of persons, in each view."""
        if not self.has_views:
            return self.size
        if self.persons is not None:
            view, pair = self._view_pairs
            return distinct_sizes(view, self.persons.who[pair], self.views)
        result = np.zeros(self.views, dtype=self.size.dtype)
        np.add.at(result, self.view_of, self.size[self.class_of])
        return result

    def label(self, index: int) -> dict[str, str]:
        """The quasi-identifier values that the rows of a class share."""
        return {
            name: self.dictionaries[name].label(int(self.key[index, at]))
            for at, name in enumerate(self.quasi)
        }

    def sizes(self, label: Ints, groups: int) -> Counts:
        """The rows, or persons, of groups of classes: `label[class]` is its group, −1: none."""
        if self.persons is not None:
            return self.persons.sizes(label[self.cell_class], groups)
        inside = np.flatnonzero(label >= 0)
        result = np.zeros(groups, dtype=self.size.dtype)
        np.add.at(result, label[inside], self.size[inside])
        return result

    def histogram(self, attribute: str) -> Histogram:
        """An attribute's plain histogram per class; a missing value that may be any is last."""
        if attribute not in self._histograms:
            self._histograms[attribute] = self._count(*self._codes(attribute))
        return self._histograms[attribute]

    @cached_property
    def _histograms(self) -> dict[str, Histogram]:
        return {}

    def merge_histogram(self, attribute: str, label: Ints, groups: int) -> Histogram:
        """The same of groups of classes: `label[class]` is its group, −1: none."""
        if self.persons is None:
            inside = np.flatnonzero(label >= 0)
            return self.histogram(attribute).take(inside).merge(label[inside], groups)
        code, values = self._codes(attribute)
        return self.persons.histogram(label[self.cell_class], code, groups, values)

    def _codes(self, name: str) -> tuple[Ints, int]:
        """The value of each cell, a missing one that may be any last, and how many there are."""
        values, code = self.attributes[name].values, self.cell_codes[name]
        hidden = bool((code < 0).any())
        return np.where(code < 0, values, code), values + hidden

    def _count(self, code: Ints, values: int) -> Histogram:
        """The histogram per class of whatever has a code in each cell."""
        if self.persons is not None:
            return self.persons.histogram(self.cell_class, code, self.count, values)
        mass = self.cell_rows if self.cell_weight is None else self.cell_weight
        return Histogram.from_cells(self.cell_class, code, mass, classes=self.count, values=values)

    def tally(self, attribute: str) -> Tally:
        """The distributions to be judged for an attribute, views and completions included."""
        if attribute not in self._tallies:
            self._tallies[attribute] = self._tally(attribute)
        return self._tallies[attribute]

    @cached_property
    def _tallies(self) -> dict[str, Tally]:
        return {}

    def _tally(self, name: str) -> Tally:
        values = self.attributes[name].values
        tally = self.tally_of(*self._codes(name), self.histogram(name))
        if self.whole is not None:
            tally = replace(tally, table=self.whole[name])
        if tally.histogram.values <= values:
            return tally
        return Tally(*complete_missing(tally.histogram, values, name), tally.table[:values])

    def tally_of(self, code: Ints, values: int, histogram: Histogram | None = None) -> Tally:
        """The distributions of whatever has a code in each cell, as all views see it."""
        each = np.arange(self.views)
        plain = self._count(code, values) if histogram is None else histogram
        if self.persons is None:
            seen = plain
            if self.has_views:
                seen = plain.take(self.class_of).merge(self.view_of, self.views)
            return Tally(seen, each, plain.total())
        everybody = np.zeros(len(code), dtype=np.int64)
        table = self.persons.histogram(everybody, code, 1, values).dense()[0]
        if self.has_views:
            view, pair = self._view_pairs
            cell, who = self.persons.cell[pair], self.persons.who[pair]
            plain = distinct_histogram(view, code[cell], who, self.views, values)
        return Tally(plain, each, table, self.view_size, self.persons.everyone)

    @cached_property
    def _view_pairs(self) -> tuple[Ints, Ints]:
        """Each pair of a cell and a person in each view of it: the view, and which pair it is."""
        assert self.persons is not None
        owner = self.cell_class[self.persons.cell]
        order = np.argsort(owner, kind="stable")
        start = np.searchsorted(owner[order], np.arange(self.count + 1))
        width = np.diff(start)[self.class_of]
        first = np.cumsum(width) - width
        at = np.arange(width.sum()) + np.repeat(start[self.class_of] - first, width)
        return np.repeat(self.view_of, width), order[at]

    def regroup(self, extra: Sequence[str]) -> Classes:
        """Classes formed on the quasi-identifiers and some sensitive attributes that are known."""
        codes = [self.cell_class, *(self.cell_codes[name] for name in extra)]
        label, first = group_codes(codes)
        whole = np.arange(len(first))
        return Classes(
            self.quasi, self.dictionaries, self.attributes, self.key[self.cell_class[first]],
            label, self.cell_codes, self.cell_rows, whole, whole, self.cell_class[first],
            self.cell_weight, self.persons, self.whole,
        )  # fmt: skip

    def of_cells(self, cells: Ints) -> Classes:
        """Some cells of these classes, in the order given; the classes keep their numbers."""
        mass, persons = self.cell_weight, self.persons
        return replace(
            self,
            cell_class=self.cell_class[cells],
            cell_codes={name: codes[cells] for name, codes in self.cell_codes.items()},
            cell_rows=self.cell_rows[cells],
            cell_weight=None if mass is None else mass[cells],
            persons=None if persons is None else persons.of_cells(cells, len(self.cell_rows)),
        )


def partition_cells(classes: Classes, label: Ints) -> Classes:
    """The same cells in other classes: `label[cell]` is the class, −1 leaves the cell out.

    The whole table is then what is left, so distributions are compared with that of the release.
    """
    kept = np.flatnonzero(label >= 0)
    number, first = group_codes([label[kept]])
    each = np.arange(len(first))
    return replace(
        classes.of_cells(kept),
        key=classes.key[classes.cell_class[kept[first]]],
        cell_class=number,
        view_of=each,
        class_of=each,
        origin=label[kept[first]],
    )


def form_classes(
    cells: Cells,
    quasi: Sequence[str],
    attributes: Mapping[str, Attribute],
    wild: Sequence[str] = (),
) -> Classes:
    """Groups cells by their quasi-identifiers; `wild` columns' missing values match everything."""
    label, first = group_codes([cells.codes[name] for name in quasi])
    key = np.stack([cells.codes[name][first] for name in quasi], axis=1)
    unknown = np.stack(
        [
            (key[:, at] == cells.dictionaries[name].known) & (name in wild)
            for at, name in enumerate(quasi)
        ],
        axis=1,
    )
    view_of, class_of = find_views(key, unknown)
    codes = {name: attribute.recode[cells.codes[name]] for name, attribute in attributes.items()}
    return Classes(
        tuple(quasi), cells.dictionaries, attributes, key, label, codes, cells.rows,
        view_of, class_of, np.arange(len(first)), cells.weight, cells.persons,
    )  # fmt: skip


LARGEST_EXPANSION = 100_000_000


def find_views(key: Ints, unknown: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Pairs (view, class): every class by itself, then each with the wild rows that match it."""
    wild = unknown.any(axis=1)
    if not wild.any():
        whole = np.arange(len(key))
        return whole, whole
    concrete = np.flatnonzero(~wild)
    met = np.zeros(len(key), dtype=bool)
    pairs: list[tuple[Ints, Ints]] = []
    for pattern in np.unique(unknown[wild], axis=0):
        some = np.flatnonzero((unknown == pattern).all(axis=1))
        seen, theirs = _match_wild(key[:, ~pattern], concrete, some)
        met[theirs] = True
        pairs.append((seen, theirs))
    host = np.concatenate([seen for seen, _ in pairs])
    guest = np.concatenate([theirs for _, theirs in pairs])
    alone = np.flatnonzero(~met)
    hosts = np.unique(host)
    # In the order of the classes, so that the first view to attain a value is of the first class.
    place = np.concatenate([2 * alone, 2 * hosts + 1, 2 * host + 1])
    view = np.unique(place, return_inverse=True)[1]
    member = np.concatenate([alone, hosts, guest])
    order = np.lexsort((member, view))
    return view[order].astype(np.int64), member[order].astype(np.int64)


def _match_wild(key: Ints, concrete: Ints, wild: Ints) -> tuple[Ints, Ints]:
    """All pairs of a concrete and a wild class that agree in the columns left."""
    if key.shape[1] == 0:
        return np.repeat(concrete, len(wild)), np.tile(wild, len(concrete))
    both = np.concatenate([concrete, wild])
    label, _ = group_codes([key[both, at] for at in range(key.shape[1])])
    mine, theirs = label[: len(concrete)], label[len(concrete) :]
    order = np.argsort(theirs, kind="stable")
    low = np.searchsorted(theirs[order], mine, "left")
    width = np.searchsorted(theirs[order], mine, "right") - low
    offset = np.arange(width.sum()) - np.repeat(np.cumsum(width) - width, width)
    return np.repeat(concrete, width), wild[order[np.repeat(low, width) + offset]]


def complete_missing(histogram: Histogram, values: int, name: str) -> tuple[Histogram, Ints]:
    """Each view with missing values, once per value that they could all be."""
    if values == 0:
        raise UsageError(
            "every value is missing", where=f"column {name!r}", hint='use missing = "value"'
        )
    hidden = np.zeros(histogram.classes, dtype=histogram.count.dtype)
    last = histogram.code == values
    hidden[histogram.owner()[last]] = histogram.count[last]
    holey = np.flatnonzero(hidden > 0)
    if len(holey) * values * 2 > LARGEST_EXPANSION:
        raise UsageError(
            f"{len(holey):,} classes with missing values times {values:,} possible values "
            "are too many to try",
            where=f"column {name!r}",
            hint='group its values, or use missing = "value"',
        )
    known = Histogram.from_cells(
        histogram.owner()[~last], histogram.code[~last], histogram.count[~last],
        classes=histogram.classes, values=values,
    )  # fmt: skip
    view = np.repeat(np.arange(histogram.classes), np.where(hidden > 0, values, 1))
    copies = known.take(view)
    added = np.flatnonzero(hidden[view] > 0)
    guess = np.tile(np.arange(values), len(holey))
    completed = Histogram.from_cells(
        np.concatenate([copies.owner(), added]),
        np.concatenate([copies.code, guess]),
        np.concatenate([copies.count, np.repeat(hidden[holey], values)]),
        classes=len(view),
        values=values,
    )
    return completed, view
