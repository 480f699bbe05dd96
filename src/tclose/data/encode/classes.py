"""Sizes and histograms of the classes: all that a privacy requirement sees of a table.

A class is a set of rows with equal quasi-identifiers, numbered from 0 in the order of their values
(people see numbers from 1). Its size is its number of rows, or of persons where several rows may be
of one; its histograms count rows, weigh them, or count the persons who have a value. What an
attacker may have to reckon with is a *view*: usually just the class (`views`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tclose.data.encode.attribute import Attribute
from tclose.data.encode.cells import Cells
from tclose.data.encode.dictionary import Dictionary
from tclose.data.encode.persons import Persons, distinct_histogram, distinct_sizes
from tclose.data.encode.views import complete_missing, find_views
from tclose.distance import Histogram
from tclose.distance.histogram import Counts, group_codes
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
