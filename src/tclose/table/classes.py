"""Sizes and histograms of the classes: all that a privacy requirement sees of a table.

A class is a set of rows with equal quasi-identifiers, numbered from 0 in the order of their values
(people see numbers from 1). What an attacker may have to reckon with is a *view*: usually just the
class. Two choices of `missing = "any"` add views, and the worst of a class's views counts:

- a missing quasi-identifier matches every class that agrees in the others. Each such class is
  judged both without and with those rows; the rows themselves are judged in every class that they
  match, and on their own only where they match none;
- a missing sensitive value may be any value. The class is judged with all its missing values taken
  to be one and the same value, for each value in turn. Requirements that merging cannot worsen are
  quasi-convex in the distribution, so no other completion is worse than these corners.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tclose.distance import Histogram
from tclose.distance.histogram import Counts, lexicographic
from tclose.errors import UsageError
from tclose.table.attribute import Attribute
from tclose.table.cells import Cells
from tclose.table.dictionary import Dictionary

LARGEST_EXPANSION = 100_000_000

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Tally:
    """The distributions to be judged for one attribute: histogram row i belongs to view[i]."""

    histogram: Histogram
    view: Ints
    table: Counts
    """The counts of the whole table: the distribution that everybody may know."""


@dataclass(frozen=True)
class Classes:
    """The classes of a table, with a histogram for each sensitive attribute.

    `view_of` and `class_of` list the pairs (view, class in it).
    """

    quasi: tuple[str, ...]
    dictionaries: Mapping[str, Dictionary]
    attributes: Mapping[str, Attribute]
    key: Ints
    size: Counts
    cell_class: Ints
    cell_codes: Mapping[str, Ints]
    cell_weight: Counts
    view_of: Ints
    class_of: Ints
    origin: Ints
    """The class of the released table that each class lies in (itself, unless regrouped)."""

    @property
    def count(self) -> int:
        """How many classes there are."""
        return len(self.size)

    @cached_property
    def rows(self) -> int:
        """How many rows there are."""
        return int(sum(self.size.tolist()))

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
        """The number of rows in each view."""
        result = np.zeros(self.views, dtype=self.size.dtype)
        np.add.at(result, self.view_of, self.size[self.class_of])
        return result

    def label(self, index: int) -> dict[str, str]:
        """The quasi-identifier values that the rows of a class share."""
        return {
            name: self.dictionaries[name].label(int(self.key[index, at]))
            for at, name in enumerate(self.quasi)
        }

    def histogram(self, attribute: str) -> Histogram:
        """An attribute's plain histogram per class; a missing value that may be any is last."""
        if attribute not in self._histograms:
            self._histograms[attribute] = self._plain(attribute)
        return self._histograms[attribute]

    @cached_property
    def _histograms(self) -> dict[str, Histogram]:
        return {}

    def _plain(self, name: str) -> Histogram:
        values = self.attributes[name].values
        code = self.cell_codes[name]
        hidden = bool((code < 0).any())
        return Histogram.from_cells(
            self.cell_class,
            np.where(code < 0, values, code),
            self.cell_weight,
            classes=self.count,
            values=values + hidden,
        )

    def tally(self, attribute: str) -> Tally:
        """The distributions to be judged for an attribute, views and completions included."""
        if attribute not in self._tallies:
            self._tallies[attribute] = self._tally(attribute)
        return self._tallies[attribute]

    @cached_property
    def _tallies(self) -> dict[str, Tally]:
        return {}

    def _tally(self, name: str) -> Tally:
        histogram = self.histogram(name)
        if self.has_views:
            histogram = histogram.take(self.class_of).merge(self.view_of, self.views)
        values = self.attributes[name].values
        table = self.histogram(name).total()[:values]
        view = np.arange(self.views)
        if histogram.values > values:
            histogram, view = _completed(histogram, values, name)
        return Tally(histogram, view, table)

    def regrouped(self, extra: Sequence[str]) -> Classes:
        """Classes formed on the quasi-identifiers and some sensitive attributes that are known."""
        codes = [self.cell_class, *(self.cell_codes[name] for name in extra)]
        label, first = grouped(codes)
        size = np.zeros(len(first), dtype=self.size.dtype)
        np.add.at(size, label, self.cell_weight)
        whole = np.arange(len(first))
        return Classes(
            self.quasi, self.dictionaries, self.attributes, self.key[self.cell_class[first]], size,
            label, self.cell_codes, self.cell_weight, whole, whole, self.cell_class[first],
        )  # fmt: skip


def partitioned(classes: Classes, label: Ints) -> Classes:
    """The same cells in other classes: `label[cell]` is the class, −1 leaves the cell out.

    The whole table is then what is left, so distributions are compared with that of the release.
    """
    kept = np.flatnonzero(label >= 0)
    number, first = grouped([label[kept]])
    size = np.zeros(len(first), dtype=classes.size.dtype)
    np.add.at(size, number, classes.cell_weight[kept])
    each = np.arange(len(first))
    return Classes(
        quasi=classes.quasi,
        dictionaries=classes.dictionaries,
        attributes=classes.attributes,
        key=classes.key[classes.cell_class[kept[first]]],
        size=size,
        cell_class=number,
        cell_codes={name: codes[kept] for name, codes in classes.cell_codes.items()},
        cell_weight=classes.cell_weight[kept],
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
    label, first = grouped([cells.codes[name] for name in quasi])
    key = np.stack([cells.codes[name][first] for name in quasi], axis=1)
    size = np.zeros(len(first), dtype=cells.weight.dtype)
    np.add.at(size, label, cells.weight)
    unknown = np.stack(
        [
            (key[:, at] == cells.dictionaries[name].known) & (name in wild)
            for at, name in enumerate(quasi)
        ],
        axis=1,
    )
    view_of, class_of = _views(key, unknown)
    codes = {name: attribute.recode[cells.codes[name]] for name, attribute in attributes.items()}
    return Classes(
        tuple(quasi), cells.dictionaries, attributes, key, size, label, codes, cells.weight,
        view_of, class_of, np.arange(len(first)),
    )  # fmt: skip


def grouped(codes: Sequence[NDArray[np.int64]]) -> tuple[Ints, Ints]:
    """The group of each row of several code columns, in lexicographic order, and a row of each.

    >>> grouped([np.array([1, 0, 1]), np.array([0, 5, 0])])
    (array([1, 0, 1]), array([1, 0]))
    """
    order = lexicographic(*(_from_zero(column) for column in codes))
    fresh = np.zeros(len(order), dtype=bool)
    fresh[:1] = True
    for column in codes:
        along = column[order]
        fresh[1:] |= along[1:] != along[:-1]
    label = np.empty(len(order), dtype=np.int64)
    label[order] = np.cumsum(fresh) - 1
    return label, order[fresh]


def _from_zero(codes: Ints) -> Ints:
    low = int(codes.min(initial=0))
    return codes if low == 0 else codes - low


def _views(key: Ints, unknown: NDArray[np.bool_]) -> tuple[Ints, Ints]:
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
        seen, theirs = _matching(key[:, ~pattern], concrete, some)
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


def _matching(key: Ints, concrete: Ints, wild: Ints) -> tuple[Ints, Ints]:
    """All pairs of a concrete and a wild class that agree in the columns left."""
    if key.shape[1] == 0:
        return np.repeat(concrete, len(wild)), np.tile(wild, len(concrete))
    both = np.concatenate([concrete, wild])
    label, _ = grouped([key[both, at] for at in range(key.shape[1])])
    mine, theirs = label[: len(concrete)], label[len(concrete) :]
    order = np.argsort(theirs, kind="stable")
    low = np.searchsorted(theirs[order], mine, "left")
    width = np.searchsorted(theirs[order], mine, "right") - low
    offset = np.arange(width.sum()) - np.repeat(np.cumsum(width) - width, width)
    return np.repeat(concrete, width), wild[order[np.repeat(low, width) + offset]]


def _completed(histogram: Histogram, values: int, name: str) -> tuple[Histogram, Ints]:
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
