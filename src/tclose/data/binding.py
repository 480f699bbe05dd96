"""Binds a policy to a table, reporting all disagreements between them at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa

from tclose.arrays import Flags, Ints
from tclose.data.cleaning import find_form
from tclose.data.encode.cells import (
    Cells,
    count_cells_within_limit,
    count_weighted_cells,
    form_classes,
    locate_batches,
)
from tclose.data.encode.columns import (
    NUMBER,
    Dictionary,
    make_attribute,
    read_reference,
    widen_dictionary,
)
from tclose.data.encode.coverage import cover_classes
from tclose.data.encode.labels import find_first_day, is_label, raw_values, read_interval
from tclose.data.io.files import tells_gaps_from_texts
from tclose.data.source import Rows, Source
from tclose.distance.registry import DISTANCES, Attribute
from tclose.errors import (
    DataError,
    PolicyError,
    Problem,
    TcloseError,
    TooManyCells,
    UsageError,
    nearest,
)
from tclose.hierarchy import arx, build
from tclose.hierarchy.builtin import find_builtin
from tclose.hierarchy.tree import Hierarchy, locate
from tclose.plain import classes_text, escape_controls, json_hash, rows_text, write_number
from tclose.policy.columns import Column, HierarchySpec
from tclose.policy.model import Policy
from tclose.requirements.classes import Classes

UnknownValues = Literal["refuse", "keep"]


@dataclass(frozen=True)
class BoundTable:
    """A policy and a table that agree: everything a measurement needs."""

    policy: Policy
    source: Source
    cells: Cells
    classes: Classes
    hierarchies: dict[str, Hierarchy]
    """The quasi-identifiers' trees."""
    further: FurtherColumn | None = None
    """A column that tells cells apart beside those that classes are made of."""

    def __repr__(self) -> str:
        counts = f"{rows_text(self.classes.n_rows)} in {classes_text(self.classes.count)}"
        return escape_controls(f"<BoundTable: {self.source.name}: {counts}>", lines=False)

    @property
    def attributes(self) -> dict[str, Attribute]:
        """The sensitive columns."""
        return dict(self.classes.attributes)

    @property
    def cell_columns(self) -> list[str]:
        """The columns that make a cell."""
        further = [] if self.further is None else [self.further.name]
        return [*self.classes.quasi, *self.classes.attributes, *further]

    @property
    def plain(self) -> BoundTable:
        """The table with cells that only its values tell apart."""
        return (self.further and self.further.plain) or self

    @property
    def released_columns(self) -> list[str]:
        """The columns that a release of the table has, in the table's order."""
        policy = self.policy
        gone = policy.identifiers if policy.release.identifiers == "drop" else ()
        return [name for name in self.source.columns if name not in gone]

    @property
    def text_columns(self) -> list[str]:
        """The table's columns that are text in every release of it: recoded, or other names."""
        named = (*self.policy.identifiers, *self.policy.with_role("subject"))
        return [*self.classes.quasi, *named]

    def make_schema(self, rows: Rows, texts: Collection[str]) -> pa.Schema:
        """The columns of a release with their types: text where values are recoded."""
        fields = [
            pa.field(name, pa.string()) if name in texts else rows.schema.field(name)
            for name in self.released_columns
        ]
        return pa.schema(fields)

    def locate(self, rows: Rows) -> Iterator[tuple[pa.RecordBatch, Ints]]:
        """The table's rows once more, each with its cell; raises where they are others by now."""
        batches = rows.batches() if self.further is None else self.further.add_to(rows)
        return locate_batches(self.cells, self.cell_columns, batches, self.source.name)

    def match_population(self, population: Cells) -> Ints:
        """How many people of the population fit each class."""
        covering = cover_classes(self.classes, population, self.hierarchies)
        places, rows = covering.places(population), population.rows.astype(np.int64)
        return np.asarray(covering.grid.add_rows(places, rows))

    def with_cells(self, cells: Cells, attributes: Mapping[str, Attribute]) -> BoundTable:
        """The same policy and hierarchies with other cells and the classes that they form."""
        classes = form_classes(cells, self.classes.quasi, attributes, self.policy.wildcards)
        return replace(self, cells=cells, classes=classes)


@dataclass(frozen=True)
class FurtherColumn:
    """A column that tells cells apart beside those that classes are made of.

    It is one of the table, such as a weight; or no part of it, such as groups of people.
    """

    name: str
    plain: BoundTable | None = None
    """The table without it, where it is no part of the table."""
    number_rows: Callable[[], Ints] | None = field(default=None, repr=False)
    """Returns its value for each row then, in the table's order."""
    most: int | None = None
    """How many rows a cell has at most, where that is what tells cells apart."""

    @cached_property
    def _numbers(self) -> Ints:
        assert self.number_rows is not None
        return self.number_rows()

    def add_to(self, rows: Rows) -> Iterator[pa.RecordBatch]:
        """The table's rows with this column."""
        start = 0
        for batch in rows.batches():
            if self.number_rows is not None:
                numbers = pa.array(self._numbers[start : start + batch.num_rows])
                start += batch.num_rows
                batch = _append_column(batch, self.name, numbers)
            yield batch


def _append_column(batch: pa.RecordBatch, name: str, values: pa.Array) -> pa.RecordBatch:
    if len(values) < batch.num_rows:
        what = "the table gave more rows when it was read again"
        raise DataError(what, where="rows", hint="has it changed meanwhile?")
    return batch.append_column(name, values)


def bind(
    policy: Policy | None,
    source: Source,
    problems: Sequence[Problem] = (),
    *,
    unknown_values: UnknownValues = "refuse",
) -> BoundTable:
    """Counts the table and ties the policy to it; raises PolicyError with all that is wrong.

    `problems` are those already found in the policy's text, so that both kinds come together.
    Quasi-identifiers that their hierarchy does not know are wrong too, unless they are kept.
    """
    bound = bind_within_limit(policy, source, problems, unknown_values=unknown_values)
    if bound is None:
        raise TooManyCells(source.max_cells, source.name)
    return bound


def bind_within_limit(
    policy: Policy | None,
    source: Source,
    problems: Sequence[Problem] = (),
    *,
    unknown_values: UnknownValues = "refuse",
) -> BoundTable | None:
    """Like `bind`; None if the table has more cells than its source can hold in one place."""
    if policy is None:
        raise PolicyError(problems)
    found = list(problems)
    usable = find_columns(policy, source, found)
    cells = _count(policy, source, usable, found)
    if cells is None:
        return None
    hierarchies, attributes = resolve_columns(
        policy, cells.dictionaries, cells.missing, usable, found, unknown_values
    )
    quasi = [name for name in source.columns if name in policy.quasi]
    classes = form_classes(cells, quasi, attributes, policy.wildcards)
    return BoundTable(policy, source, cells, classes, hierarchies)


def find_columns(policy: Policy, source: Source, problems: list[Problem]) -> list[str]:
    """The columns to be counted; adds to the problems all that is wrong with their names."""
    problems += _check_names(policy, source, problems)
    counted = (name for name in (*policy.quasi, *policy.sensitive) if name in source.columns)
    usable = [name for name in counted if source.is_scalar(name)]
    if not usable:
        raise PolicyError(problems)
    return usable


def resolve_columns(
    policy: Policy,
    dictionaries: Mapping[str, Dictionary],
    count_missing: Callable[[str], int],
    columns: Sequence[str],
    problems: list[Problem],
    unknown_values: UnknownValues = "refuse",
) -> tuple[dict[str, Hierarchy], dict[str, Attribute]]:
    """The quasi-identifiers' trees and the sensitive columns; raises with all problems so far."""
    checker = _Checker(policy, dictionaries, count_missing, problems)
    trees = checker.quasi_trees([name for name in policy.quasi if name in columns], unknown_values)
    attributes = checker.attributes([name for name in policy.sensitive if name in columns])
    if problems:
        raise PolicyError(problems)
    return trees, attributes


def _count(
    policy: Policy, source: Source, columns: Sequence[str], problems: list[Problem]
) -> Cells | None:
    """The cells; plain rows where some have no valid count, weight or person, to check the rest."""
    counting = policy.counting
    if counting is not None and counting[1] in source.columns:
        try:
            return count_weighted_cells(source, columns, counting)
        except DataError as error:
            problems.append(Problem(f"columns.{counting[1]}", error.what, error.hint))
    return count_cells_within_limit(source, columns)


def refuse_empty_texts(
    bound: BoundTable, columns: Iterable[str], path: str | Path, instead: str
) -> None:
    """An empty text may become a missing value in a file, which is something else to count."""
    if tells_gaps_from_texts(path):
        return
    for name in columns:
        if "" in bound.cells.dictionaries[name].labels:
            raise UsageError(
                "such files cannot distinguish its empty texts from missing values",
                where=f"column {name!r}",
                hint=f"write {instead}, or make them missing",
            )


def narrow(bound: BoundTable, kept: Flags) -> BoundTable:
    """The table of some cells only: a value that no longer occurs no longer has a place.

    That can change how far apart the others are (by the ordered distance: their ranks), so what a
    release attains is measured with the attributes that it has itself.
    """
    dictionaries, codes = {}, {}
    for name, dictionary in bound.cells.dictionaries.items():
        values = dictionary.decode(bound.cells.codes[name][kept])
        dictionaries[name], codes[name] = Dictionary.encode(pa.chunked_array([values]))
    cells = replace(bound.cells.only(kept), dictionaries=dictionaries, codes=codes)
    names = list(bound.attributes)
    _, attributes = resolve_columns(bound.policy, dictionaries, cells.missing, names, [])
    return bound.with_cells(cells, attributes)


def _check_names(policy: Policy, source: Source, known: Sequence[Problem]) -> list[Problem]:
    """Columns that one side has and the other has not, and columns that cannot be counted."""
    problems = []
    broken = [f"{problem.where}." for problem in known]
    roleless = [
        name
        for name in source.columns
        if name not in policy.columns
        and name not in policy.added_columns
        and not any(place.startswith(f"columns.{name}.") for place in broken)
    ]
    for name, column in policy.columns.items():
        if name not in source.columns and column.role != "identifier":
            hint = nearest(name, roleless) or "leave it out: all columns of the table have a role"
            problems.append(Problem(f"columns.{name}", "the table has no such column", hint))
        elif column.role in ("quasi", "sensitive") and not source.is_scalar(name):
            what = f"a {column.role} column must hold plain values, not lists, bytes or durations"
            problems.append(Problem(f"columns.{name}", what, 'make it "insensitive" or split it'))
    for name in roleless:
        hint = f'add {name} = "identifier", "quasi", "sensitive" or "insensitive"'
        problems.append(Problem(f"columns.{name}", "this column of the table has no role", hint))
    return problems


@dataclass(frozen=True)
class _Checker:
    """Builds what the columns need, and turns each failure into a problem to report."""

    policy: Policy
    dictionaries: Mapping[str, Dictionary]
    count_missing: Callable[[str], int]
    problems: list[Problem]

    def quasi_trees(
        self, names: Sequence[str], unknown_values: UnknownValues
    ) -> dict[str, Hierarchy]:
        """The hierarchies of the quasi-identifiers that have one."""
        trees = {}
        for name in names:
            tree = self._hierarchy(name)
            if tree is None:
                continue
            trees[name] = tree
            labels = self.dictionaries[name].labels
            lost = sum(not tree.contains(value) and not is_label(value) for value in labels)
            if lost and unknown_values == "refuse":
                are = "value is" if lost == 1 else "values are"
                what = f"{lost:,} distinct {are} not in the hierarchy"
                hint = "add them, or give the hierarchy that the table was generalized with"
                self._note(f"columns.{name}", what, hint)
        return trees

    def attributes(self, names: Sequence[str]) -> dict[str, Attribute]:
        """The sensitive columns, each with a distance that it can have."""
        made = {}
        for name in names:
            where, base = f"columns.{name}", self.policy.base
            column, dictionary = self.policy.columns[name], self.dictionaries[name]
            try:
                shares = read_reference(column, name, base)
                wide, _ = widen_dictionary(dictionary, name, shares)
            except TcloseError as error:
                self._note(f"{where}.reference", error.what, error.hint)
                continue
            tree = self._hierarchy(name, wide)
            if column.hierarchy is not None and tree is None:
                continue
            try:
                made[name] = make_attribute(name, column, dictionary, tree, base, shares)
                where += ".distance"
                _check_distance(made[name], dictionary)
            except TcloseError as error:
                self._note(where, error.what, error.hint)
        return made

    def _hierarchy(self, name: str, wide: Dictionary | None = None) -> Hierarchy | None:
        """A column's hierarchy, over these values or the observed ones; notes forbidden gaps."""
        column = self.policy.columns[name]
        if column.missing == "forbid" and (lost := self.count_missing(name)):
            hint = 'correct them, or say missing = "value" or "any"'
            rows = "1 row has" if lost == 1 else f"{lost:,} rows have"
            self._note(f"columns.{name}", f"{rows} no value, which is forbidden", hint)
        spec = self.policy.hierarchy_of(name)
        labels = (wide or self.dictionaries[name]).labels
        if self._has_unread(name, column, labels):
            return None
        if spec is None:
            return None
        try:
            return make_hierarchy(spec, name, labels, self.policy.base)
        except TcloseError as error:
            line = error.where.removeprefix(locate(name))
            file = f" ({spec.file}{line})" if spec.file else ""
            self._note(f"columns.{name}.hierarchy{file}", error.what, error.hint)
        return None

    def _has_unread(self, name: str, column: Column, labels: Sequence[str]) -> bool:
        """Whether values are not of the form that cleaning reads; notes how many."""
        form = find_form(column) if column.cleaning_keys else None
        odd = 0 if form is None else sum(not form.fits(label) for label in labels)
        if form is None or not odd:
            return False
        what = f"{odd:,} of {len(labels):,} distinct values {form.what}"
        hint = (
            f'{form.hint}, or name marks of missing values: nulls = ["?"]; unreadable = "missing" '
            "counts all of them as missing"
        )
        self._note(f"columns.{name}.{form.key}", what, hint)
        return True

    def _note(self, where: str, what: str, hint: str) -> None:
        self.problems.append(Problem(where, what, hint))


def _check_distance(attribute: Attribute, dictionary: Dictionary) -> None:
    """Raises where the column cannot have the distance that the policy asks for."""
    spec = attribute.specified
    on_a_line = spec is not None and DISTANCES[spec.name].on_a_line
    odd = sum(NUMBER.match(label) is None for label in dictionary.labels)
    if on_a_line and not attribute.has_order and 0 < odd < dictionary.known:
        what = f"{odd:,} of the {dictionary.known:,} distinct values are not finite numbers"
        hint = "correct them, use equal, or say with --null which words mean a missing value"
        raise UsageError(what, hint=hint)
    distance, _ = attribute.distance()
    reference = attribute.reference
    if reference is not None and not DISTANCES[distance.name].bounded:
        lost = sum(reference.counts[code] == 0 for code in set(attribute.recode.tolist()) - {-1})
        if lost:
            what = f"the reference has no share of {lost:,} values that occur, which are then "
            what += f"infinitely far by {distance.name}"
            raise UsageError(what, hint="use js, or give them a share")


def make_hierarchy(
    spec: HierarchySpec, column: str, values: Sequence[str], base: Path
) -> Hierarchy:
    """The tree that a policy's specification describes for a column with these values.

    >>> spec = HierarchySpec.model_validate({"prefix": [3, 0]})
    >>> make_hierarchy(spec, "zip", ["47677", "47905"], Path()).generalize("47677", 1)
    '476**'
    """
    spec = spec.resolve()
    if spec.file is not None:
        return arx.read(base / spec.file, column)
    if spec.groups is not None:
        return build.groups(spec.groups, column)
    leaves = list(dict.fromkeys(leaf for value in values for leaf in _leaves(value, spec)))
    if not leaves:
        return Hierarchy.from_chains([["*"]], column)
    if spec.builtin is not None:
        return find_builtin(spec.builtin).build(leaves, column)
    if spec.prefix is not None:
        return build.prefixes(leaves, spec.prefix, column=column)
    if spec.intervals is not None:
        return build.intervals(
            leaves, spec.intervals, column=column, origin=spec.origin,
            bottom=spec.bottom, top=spec.top,
        )  # fmt: skip
    if spec.cuts is not None:
        return build.cuts(leaves, spec.cuts, column=column)
    assert spec.dates is not None
    return build.dates(leaves, spec.dates, column=column)


def count_unplaced(spec: HierarchySpec, values: Sequence[str]) -> int:
    """How many values a built-in hierarchy does not know: they stand right below the root."""
    if spec.builtin is None or spec.resolve() is not spec:
        return 0
    leaves = {leaf for value in values for leaf in _leaves(value, spec)}
    return sum(find_builtin(spec.builtin).climb(leaf) is None for leaf in leaves)


def is_fixed(spec: HierarchySpec | None) -> bool:
    """Whether a hierarchy does not depend on the values of the table."""
    return spec is not None and spec.kind in ("file", "groups")


def hash_hierarchy(tree: Hierarchy) -> str:
    """The sha256 of a hierarchy: of its labels and their parents."""
    return json_hash([list(tree.labels), tree.parent.tolist()])


def _leaves(value: str, spec: HierarchySpec) -> list[str]:
    """The values that a hierarchy is built on: the value itself, or those that a label names."""
    if spec.prefix is not None:
        # Any text may have its beginning kept: the postcode 00-950 is no interval here.
        return [value.replace("*", "0")] if value.strip("*") else []
    if spec.builtin is not None:
        placed = find_builtin(spec.builtin).find_member
        named = [value] if placed(value) != value else raw_values(value)
        return [placed(value) for value in named if value.strip("*")]
    interval = read_interval(value) if spec.intervals or spec.cuts else None
    if interval is not None and interval.low is None and interval.high is not None:
        return [write_number(interval.high - 1)]  # its end lies beyond it
    named = [value for value in raw_values(value) if "*" not in value]
    return [find_first_day(value) for value in named] if spec.dates is not None else named
