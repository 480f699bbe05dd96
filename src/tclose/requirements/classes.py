"""Sizes and histograms of the classes: all that a privacy requirement sees of a table.

A class is a set of rows with equal quasi-identifiers. Its size and its histograms count rows, or
persons, or sum survey weights. A *view* is a set of rows that an attacker may take for a person's
class: usually the class itself. Two uses of `missing = "any"` add views, and a class is judged by
its worst view:

- a missing quasi-identifier matches every class that agrees in the others. Each such class is
  judged both without and with those rows; the rows form a view of their own only if no class
  matches;
- a missing sensitive value may be any value: all missing values of a class are taken to be the same
  value, for each value in turn. Requirements that merging cannot worsen are quasi-convex in the
  distribution, so no other completion is worse than these corners.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tclose.arrays import Flags, Floats, Ints
from tclose.distance.histogram import Counts, Histogram, add_by_group, group_codes, list_run_places
from tclose.distance.registry import Attribute
from tclose.errors import UsageError
from tclose.requirements.persons import Persons


@dataclass(frozen=True)
class Tally:
    """The distributions to be judged for one attribute: histogram row i belongs to view[i]."""

    histogram: Histogram
    view: Ints
    table: Counts
    """The counts of the whole table, whose distribution is taken to be publicly known."""
    size: Counts
    """What the counts of a histogram row are shares of: rows, weight or persons. A person with two
    values counts for both of them, so the counts may add up to more."""
    total: int
    """What the counts in `table` are shares of."""


@dataclass(frozen=True)
class MaskedValues:
    """The cells whose value of an attribute is hidden or released as a group, and its candidates.

    Such a value counts as its candidate values, in the shares that these have among the exact
    values of the table: that is what somebody who knows the table and the group believes.
    """

    group: Ints
    """[cells]: the number of the group; −1 where the exact value is released."""
    members: tuple[Ints, ...]
    """By group, the codes of the candidate values."""

    def of_cells(self, cells: Ints) -> MaskedValues:
        """Returns the masked values of some cells, in the order given."""
        return replace(self, group=self.group[cells])

    def spread(self, owner: Ints, code: Ints, mass: Counts) -> tuple[Ints, Ints, Counts]:
        """Lists class, value and mass of the cells; a masked cell once for each candidate value.

        Masses are multiplied by a common factor so that all of them are whole numbers.

        >>> masked = MaskedValues(np.array([-1, -1, 0]), (np.array([0, 1]),))
        >>> cells = np.zeros(3, np.int64), np.array([0, 1, -1]), np.array([1, 2, 3])
        >>> [each.tolist() for each in masked.spread(*cells)]
        [[0, 0, 0, 0], [0, 1, 0, 1], [3, 6, 3, 6]]
        """
        exact = np.flatnonzero(self.group < 0)
        values = max((int(each.max(initial=-1)) for each in self.members), default=-1)
        count = [0] * (max(values, int(code.max(initial=-1))) + 1)
        for value, rows in zip(code[exact].tolist(), mass[exact].tolist(), strict=True):
            count[value] += rows
        used = np.unique(self.group[self.group >= 0]).tolist()
        shares = {at: [count[value] for value in self.members[at].tolist()] for at in used}
        shares = {at: some if any(some) else [1] * len(some) for at, some in shares.items()}
        common = math.lcm(*(sum(some) for some in shares.values()), 1)
        parts = [(owner[exact], code[exact], mass[exact].astype(object) * common)]
        for at, some in shares.items():
            cells, seen = np.flatnonzero(self.group == at), np.flatnonzero(some)
            times = np.array([common // sum(some) * some[which] for which in seen], dtype=object)
            each = np.repeat(cells, len(seen))
            parts.append((
                owner[each],
                np.tile(self.members[at][seen], len(cells)),
                mass[each].astype(object) * np.tile(times, len(cells)),
            ))  # fmt: skip
        owners, codes, masses = (np.concatenate(column) for column in zip(*parts, strict=True))
        small = common * sum(mass.tolist()) < 2**62
        return owners, codes, masses.astype(np.int64) if small else masses


class Labels(Protocol):
    """The labels of a quasi-identifier's values, by code."""

    @property
    def labels(self) -> tuple[str, ...]: ...  # noqa: D102
    def label(self, code: int) -> str: ...  # noqa: D102


@dataclass(frozen=True)
class Classes:
    """The classes of a table, numbered in the order of their quasi-identifiers.

    `view_of` and `class_of` list the pairs (view, class that is part of it).
    """

    quasi: tuple[str, ...]
    dictionaries: Mapping[str, Labels]
    attributes: Mapping[str, Attribute]
    key: Ints
    cell_class: Ints
    cell_codes: Mapping[str, Ints]
    cell_rows: Counts
    view_of: Ints
    class_of: Ints
    origin: Ints
    """The released class that each class is part of (itself, unless regrouped)."""
    cell_weight: Counts | None = None
    """The weight of each cell in histograms, where that is not its number of rows."""
    persons: Persons | None = None
    """The persons with rows in each cell, where a person may have several rows."""
    masked: Mapping[str, MaskedValues] = field(default_factory=dict)
    """By attribute, the values that are hidden or released as groups."""
    whole: Mapping[str, Counts] | None = None
    """Where these are only some classes of a table: the counts of each attribute in all of it."""
    _histograms: dict[str, Histogram] = field(default_factory=dict, init=False, repr=False)
    _tallies: dict[str, Tally] = field(default_factory=dict, init=False, repr=False)

    @property
    def count(self) -> int:
        """The number of classes."""
        return len(self.key)

    @cached_property
    def size(self) -> Counts:
        """The number of rows of each class, or of persons: what k-anonymity counts."""
        if self.persons is not None:
            return self.persons.sizes(self.cell_class, self.count)
        return self.class_rows

    @cached_property
    def class_rows(self) -> Counts:
        """The number of rows of each class, also where persons are counted."""
        return add_by_group(self.cell_rows, self.cell_class, self.count)

    @cached_property
    def n_rows(self) -> int:
        """The number of rows of all classes."""
        return int(sum(self.class_rows.tolist()))

    @property
    def everyone(self) -> int:
        """The number of rows of the classes, or of persons of the whole table."""
        return self.n_rows if self.persons is None else self.persons.everyone

    @property
    def views(self) -> int:
        """The number of views."""
        return int(self.view_of[-1]) + 1

    @property
    def has_views(self) -> bool:
        """Whether there are views besides the classes themselves."""
        return self.views != self.count or len(self.view_of) > self.count

    @cached_property
    def view_size(self) -> Counts:
        """The number of rows, or of persons, in each view."""
        if not self.has_views:
            return self.size
        if self.persons is not None:
            view, _, persons = self._viewed_persons
            return persons.sizes(view, self.views)
        return add_by_group(self.size[self.class_of], self.view_of, self.views)

    def label(self, index: int) -> dict[str, str]:
        """Returns the quasi-identifier values that the rows of a class share."""
        return {
            name: self.dictionaries[name].label(int(self.key[index, at]))
            for at, name in enumerate(self.quasi)
        }

    def find_largest(self, view: Ints, value: NDArray[Any]) -> Floats:
        """Returns the largest value over each class's views; `view` has the view of each value."""
        seen = find_largest(view, value, self.views)
        return find_largest(self.class_of, seen[self.view_of], self.count)

    def sizes(self, label: Ints, groups: int) -> Counts:
        """Counts the rows, or persons, of groups of classes.

        `label[class]` is the group of a class, −1 for none.
        """
        if self.persons is not None:
            return self.persons.sizes(label[self.cell_class], groups)
        return add_by_group(self.size, label, groups)

    def histogram(self, attribute: str) -> Histogram:
        """Returns an attribute's histogram per class; missing values that may be any come last."""
        if attribute not in self._histograms:
            self._histograms[attribute] = (
                self._spread(attribute)
                if attribute in self.masked
                else self._count(*self._codes(attribute))
            )
        return self._histograms[attribute]

    def merge_histogram(self, attribute: str, label: Ints, groups: int) -> Histogram:
        """Returns an attribute's histogram per group of classes.

        `label[class]` is the group of a class, −1 for none.
        """
        if self.persons is None:
            inside = np.flatnonzero(label >= 0)
            return self.histogram(attribute).take(inside).merge(label[inside], groups)
        code, values = self._codes(attribute)
        return self.persons.histogram(label[self.cell_class], code, groups, values)

    def _codes(self, name: str) -> tuple[Ints, int]:
        """Returns the code of each cell and the number of codes; the last may be "any" value."""
        values, code = self.attributes[name].values, self.cell_codes[name]
        hidden = bool((code < 0).any())
        return np.where(code < 0, values, code), values + hidden

    def _spread(self, name: str) -> Histogram:
        """Returns the histogram in which masked values count as their candidates."""
        mass = self.cell_rows if self.cell_weight is None else self.cell_weight
        owner, code, counts = self.masked[name].spread(self.cell_class, self.cell_codes[name], mass)
        values = self.attributes[name].values
        return Histogram.from_cells(owner, code, counts, classes=self.count, values=values)

    def _count(self, code: Ints, values: int) -> Histogram:
        """Returns the histogram per class of any codes, one code per cell."""
        if self.persons is not None:
            return self.persons.histogram(self.cell_class, code, self.count, values)
        mass = self.cell_rows if self.cell_weight is None else self.cell_weight
        return Histogram.from_cells(self.cell_class, code, mass, classes=self.count, values=values)

    def tally(self, attribute: str) -> Tally:
        """Returns the distributions to be judged for an attribute, with views and completions."""
        if attribute not in self._tallies:
            self._tallies[attribute] = self._tally(attribute)
        return self._tallies[attribute]

    def _tally(self, name: str) -> Tally:
        values = self.attributes[name].values
        tally = self.tally_of(*self._codes(name), self.histogram(name))
        if self.whole is not None:
            table, persons = self.whole[name], self.persons
            total = int(table.sum()) if persons is None else persons.everyone
            tally = replace(tally, table=table, total=total)
        if tally.histogram.values <= values:
            return tally
        completed, view = complete_missing(tally.histogram, values, name)
        table = tally.table[:values]
        return Tally(completed, view, table, completed.size, int(table.sum()))

    def tally_of(self, code: Ints, values: int, histogram: Histogram | None = None) -> Tally:
        """Returns the distributions of any codes, one code per cell, in all views."""
        each = np.arange(self.views)
        plain = self._count(code, values) if histogram is None else histogram
        if self.persons is None:
            seen = plain
            if self.has_views:
                seen = plain.take(self.class_of).merge(self.view_of, self.views)
            table = plain.total()
            return Tally(seen, each, table, seen.size, int(table.sum()))
        everybody = np.zeros(len(code), dtype=np.int64)
        table = self.persons.histogram(everybody, code, 1, values).dense()[0]
        if self.has_views:
            view, cell, persons = self._viewed_persons
            plain = persons.histogram(view, code[cell], self.views, values)
        return Tally(plain, each, table, self.view_size, self.persons.everyone)

    @cached_property
    def _viewed_persons(self) -> tuple[Ints, Ints, Persons]:
        """The view, the cell and the person, for every person in every cell of every view."""
        assert self.persons is not None
        owner = self.cell_class[self.persons.cell]
        order = np.argsort(owner, kind="stable")
        start = np.searchsorted(owner[order], np.arange(self.count + 1))
        width = np.diff(start)[self.class_of]
        at = order[list_run_places(start[self.class_of], width)]
        cell, who = self.persons.cell[at], self.persons.who[at]
        return np.repeat(self.view_of, width), cell, Persons(np.arange(len(who)), who)

    def regroup(self, extra: Sequence[str]) -> Classes:
        """Splits the classes by some sensitive attributes that an attacker knows."""
        codes = [self.cell_class, *(self.cell_codes[name] for name in extra)]
        label, first = group_codes(codes)
        whole = np.arange(len(first))
        return replace(
            self, key=self.key[self.cell_class[first]], cell_class=label, view_of=whole,
            class_of=whole, origin=self.cell_class[first],
        )  # fmt: skip

    def of_cells(self, cells: Ints) -> Classes:
        """Returns some cells of the classes, in the order given; the classes keep their numbers."""
        mass, persons = self.cell_weight, self.persons
        return replace(
            self,
            cell_class=self.cell_class[cells],
            cell_codes={name: codes[cells] for name, codes in self.cell_codes.items()},
            cell_rows=self.cell_rows[cells],
            cell_weight=None if mass is None else mass[cells],
            persons=None if persons is None else persons.of_cells(cells, len(self.cell_rows)),
            masked={name: each.of_cells(cells) for name, each in self.masked.items()},
        )


def find_largest(owner: Ints, value: NDArray[Any], groups: int) -> Floats:
    """Returns the largest value of each group; for flags, 1.0 where one of them is set."""
    largest = np.full(groups, -np.inf)
    np.maximum.at(largest, owner, value.astype(np.float64, copy=False))  # equal types are faster
    return largest


def partition_cells(classes: Classes, label: Ints) -> Classes:
    """Puts the same cells into other classes: `label[cell]` is the class, −1 leaves the cell out.

    The remaining cells are then the whole table that distributions are compared with.
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


LARGEST_EXPANSION = 100_000_000


def find_views(key: Ints, unknown: Flags) -> tuple[Ints, Ints]:
    """Pairs views with classes: each class alone, then with the incomplete ones that match it.

    `unknown` flags the key entries that are missing and match any value.
    """
    incomplete = unknown.any(axis=1)
    if not incomplete.any():
        whole = np.arange(len(key))
        return whole, whole
    complete = np.flatnonzero(~incomplete)
    matched = np.zeros(len(key), dtype=bool)
    pairs: list[tuple[Ints, Ints]] = []
    for pattern in np.unique(unknown[incomplete], axis=0):
        some = np.flatnonzero((unknown == pattern).all(axis=1))
        seen, theirs = _match_incomplete(key[:, ~pattern], complete, some)
        matched[theirs] = True
        pairs.append((seen, theirs))
    host = np.concatenate([seen for seen, _ in pairs])
    guest = np.concatenate([theirs for _, theirs in pairs])
    alone = np.flatnonzero(~matched)
    hosts = np.unique(host)
    # In the order of the classes, so that the first view to attain a value is of the first class.
    place = np.concatenate([2 * alone, 2 * hosts + 1, 2 * host + 1])
    view = np.unique(place, return_inverse=True)[1]
    member = np.concatenate([alone, hosts, guest])
    order = np.lexsort((member, view))
    return view[order].astype(np.int64), member[order].astype(np.int64)


def _match_incomplete(key: Ints, complete: Ints, incomplete: Ints) -> tuple[Ints, Ints]:
    """Pairs complete with incomplete classes that agree in the columns of `key`."""
    if key.shape[1] == 0:
        return np.repeat(complete, len(incomplete)), np.tile(incomplete, len(complete))
    both = np.concatenate([complete, incomplete])
    label, _ = group_codes([key[both, at] for at in range(key.shape[1])])
    mine, theirs = label[: len(complete)], label[len(complete) :]
    order = np.argsort(theirs, kind="stable")
    low = np.searchsorted(theirs[order], mine, "left")
    width = np.searchsorted(theirs[order], mine, "right") - low
    return np.repeat(complete, width), incomplete[order[list_run_places(low, width)]]


def complete_missing(histogram: Histogram, values: int, name: str) -> tuple[Histogram, Ints]:
    """Repeats each view with missing values, once for each value that they could all be."""
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
