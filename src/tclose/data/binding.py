"""Any table opened, and a policy bound to it: every way in which the two disagree, told at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.data.encode.cells import Cells, count_cells_within_limit, count_weighted_cells
from tclose.data.encode.classes import Classes, form_classes
from tclose.data.encode.columns import NUMBER, Attribute, Dictionary, make_attribute
from tclose.data.encode.coverage import cover_classes
from tclose.data.encode.labels import is_label, raw_values
from tclose.data.engines.duckdb.relation import open_relation
from tclose.data.engines.files.csv import open_text
from tclose.data.engines.files.excel import open_excel
from tclose.data.engines.files.source import open_arrow, open_dataset, open_parquet
from tclose.data.io.counting import connect
from tclose.data.io.paths import AS_FOUND, Address, Reading, find_files
from tclose.data.io.records import json_hash
from tclose.data.source import Source
from tclose.distance.registry import DISTANCES
from tclose.errors import (
    DataError,
    PolicyError,
    Problem,
    TcloseError,
    TooManyCells,
    UsageError,
    nearest,
)
from tclose.hierarchy import Hierarchy, arx, build
from tclose.hierarchy.tree import locate
from tclose.policy.model import HierarchySpec, Policy

UnknownValues = Literal["refuse", "keep"]


# --- opening


def open_source(
    data: Any, reading: Reading = AS_FOUND, columns: Collection[str] | None = None
) -> Source:
    """Opens a path, any frame, a DuckDB relation, an Ibis table, or a table in PostgreSQL.

    `columns` are those that a policy names: of a frame's index, only they are columns of the table.

    >>> import pyarrow as pa
    >>> source = open_source(pa.table({"zip": ["1", "1", None]}))
    >>> source.n_rows, source.group(["zip"]).num_rows
    (3, 2)
    """
    if isinstance(data, Source):
        return data
    source, most = _open(data, reading, columns), reading.cell_limit
    return source if most is None else replace(source, max_cells=most)


def _open(data: Any, reading: Reading, columns: Collection[str] | None) -> Source:
    address = Address.of(data)
    if address is not None:
        from tclose.data.engines.postgres.source import open_address

        return open_address(address, None if address.table else reading.query)
    engine = reading.chosen_engine
    if isinstance(data, str | Path):
        return _open_by_spark(data, reading) if engine == "spark" else _open_path(data, reading)
    if isinstance(data, duckdb.DuckDBPyRelation):
        return open_relation(data)
    if type(data).__module__.startswith("ibis."):
        from tclose.data.engines.ibis.source import is_ibis, open_ibis

        if is_ibis(data):
            return open_ibis(data)
    if type(data).__module__.startswith("polars.lazyframe"):
        from tclose.data.engines.frames.lazy import open_lazy

        return open_lazy(data)
    if type(data).__module__ == "pyarrow._dataset":
        return open_dataset(data, connection=connect(reading.memory))
    if type(data).__module__.startswith("pyspark."):
        from tclose.data.engines.spark.source import open_spark

        return open_spark(data)
    from tclose.data.engines.frames.source import open_frame

    return open_frame(data, columns)


def _open_path(path: str | Path, reading: Reading) -> Source:
    """The table in a file, in the files of a folder, or in those that a pattern matches.

    A delimiter, an encoding and words for missing values are for CSV files, a sheet is for Excel's.
    """
    try:
        files = find_files(Path(path))
        connection = connect(reading.memory)
        if files.kind == "parquet":
            return open_parquet(files, connection)
        if files.kind == "arrow":
            return open_arrow(files, connection)
        if files.kind == "excel":
            return open_excel(files, reading.sheet, connection)
        return open_text(files, reading, connection)
    except OSError as error:
        raise DataError(
            f"cannot be read ({error.strerror or 'damaged'})",
            where=Path(path).name,
            hint="check who may read it, and whether it is whole",
        ) from None


def _open_by_spark(path: str | Path, reading: Reading) -> Source:
    """Files that Spark reads."""
    try:
        from tclose.data.engines.spark.source import open_spark_path
    except ModuleNotFoundError as error:
        raise UsageError(
            f"Spark is not installed ({error.name} is missing)",
            where="engine",
            hint="pip install 'tclose[spark]'",
        ) from None
    return open_spark_path(path, reading)


# --- binding


@dataclass(frozen=True)
class BoundTable:
    """A policy and a table that agree: everything a measurement needs."""

    policy: Policy
    source: Source
    cells: Cells
    classes: Classes
    hierarchies: dict[str, Hierarchy]
    """The quasi-identifiers' trees."""

    @property
    def attributes(self) -> dict[str, Attribute]:
        """The sensitive columns."""
        return dict(self.classes.attributes)

    @property
    def cell_columns(self) -> list[str]:
        """The columns that make a cell."""
        return [*self.classes.quasi, *self.classes.attributes]

    def match_population(self, population: Cells) -> NDArray[np.int64]:
        """How many people of the population fit each class."""
        covering = cover_classes(self.classes, population, self.hierarchies)
        return covering.count_rows_covered(population)

    def with_cells(self, cells: Cells, attributes: Mapping[str, Attribute]) -> BoundTable:
        """The same policy and trees with other cells, in classes of equal quasi-identifiers."""
        classes = _form_classes(self.policy, cells, self.classes.quasi, attributes)
        return replace(self, cells=cells, classes=classes)


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
    """The same; None where the table has more cells than its source takes into one place."""
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
    classes = _form_classes(policy, cells, quasi, attributes)
    return BoundTable(policy, source, cells, classes, hierarchies)


def find_columns(policy: Policy, source: Source, problems: list[Problem]) -> list[str]:
    """The columns to be counted; adds to the problems all that is wrong with their names."""
    places = [f"{problem.where}." for problem in problems]
    broken = {
        name
        for name in source.columns
        if any(place.startswith(f"columns.{name}.") for place in places)
    }
    problems += _check_names(policy, source, broken)
    usable = [name for name in (*policy.quasi, *policy.sensitive) if name in source.columns]
    usable = [name for name in usable if source.is_scalar(name)]
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
    """The quasi-identifiers' trees and the sensitive columns, from what was counted.

    Raises with all problems, also with those that were found before.
    """
    checker = _Checker(policy, dictionaries, count_missing, problems)
    trees = checker.quasi_trees([name for name in policy.quasi if name in columns], unknown_values)
    attributes = checker.attributes([name for name in policy.sensitive if name in columns])
    if problems:
        raise PolicyError(problems)
    return trees, attributes


def _form_classes(
    policy: Policy, cells: Cells, quasi: Sequence[str], attributes: Mapping[str, Attribute]
) -> Classes:
    wild = [name for name in policy.quasi if policy.columns[name].missing == "any"]
    return form_classes(cells, quasi, attributes, wild)


def _count(
    policy: Policy, source: Source, columns: Sequence[str], problems: list[Problem]
) -> Cells | None:
    """The cells; where a row does not say what it counts, each as one, to go on checking."""
    counting = policy.counting
    if counting is not None and counting[1] in source.columns:
        try:
            return count_weighted_cells(source, columns, counting)
        except DataError as error:
            problems.append(Problem(f"columns.{counting[1]}", error.what, error.hint))
    return count_cells_within_limit(source, columns)


def narrow(bound: BoundTable, kept: NDArray[np.bool_]) -> BoundTable:
    """The table of some cells only: a value that no longer occurs no longer has a place.

    That can change how far apart the others are (by the ordered distance: their ranks), so what a
    release attains is measured with the attributes that it has itself.
    """
    dictionaries, codes = {}, {}
    for name, dictionary in bound.cells.dictionaries.items():
        values = dictionary.decode(bound.cells.codes[name][kept])
        dictionaries[name], codes[name] = Dictionary.encode(pa.chunked_array([values]))
    cells = replace(bound.cells.only(kept), dictionaries=dictionaries, codes=codes)
    problems: list[Problem] = []
    checker = _Checker(bound.policy, dictionaries, cells.missing, problems)
    attributes = checker.attributes(list(bound.attributes))
    if problems:
        raise PolicyError(problems)
    return bound.with_cells(cells, attributes)


def _check_names(policy: Policy, source: Source, broken: set[str]) -> list[Problem]:
    """Columns that one side has and the other has not, and columns that cannot be counted."""
    problems = []
    roleless = [
        name for name in source.columns if name not in policy.columns and name not in broken
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
    """Builds what the columns need, turning each failure into a problem."""

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
            self._check_missing(name)
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
            self._check_missing(name)
            tree = self._hierarchy(name)
            column, dictionary = self.policy.columns[name], self.dictionaries[name]
            if column.hierarchy is not None and tree is None:
                continue
            with self._note_errors(f"columns.{name}"):
                made[name] = make_attribute(name, column, dictionary, tree, self.policy.base)
                self._check_distance(made[name], dictionary)
        return made

    def _check_distance(self, attribute: Attribute, dictionary: Dictionary) -> None:
        spec = attribute.column.distance
        where = f"columns.{attribute.name}.distance"
        on_a_line = spec is not None and DISTANCES[spec.name].on_a_line
        odd = sum(NUMBER.match(label) is None for label in dictionary.labels)
        if on_a_line and not attribute.has_order and 0 < odd < dictionary.known:
            what = f"{odd:,} of the {dictionary.known:,} distinct values are not finite numbers"
            hint = "mend them, use equal, or say with --null which words mean a missing value"
            self._note(where, what, hint)
        else:
            with self._note_errors(where):
                attribute.distance(spec)

    def _hierarchy(self, name: str) -> Hierarchy | None:
        spec = self.policy.columns[name].hierarchy
        if spec is None:
            return None
        labels = self.dictionaries[name].labels
        try:
            return make_hierarchy(spec, name, labels, self.policy.base)
        except TcloseError as error:
            line = error.where.removeprefix(locate(name))
            file = f" ({spec.file}{line})" if spec.file else ""
            self._note(f"columns.{name}.hierarchy{file}", error.what, error.hint)
        return None

    def _check_missing(self, name: str) -> None:
        if self.policy.columns[name].missing == "forbid" and (lost := self.count_missing(name)):
            hint = 'mend them, or say missing = "value" or "any"'
            self._note(f"columns.{name}", f"{lost:,} rows have no value, which is forbidden", hint)

    def _note(self, where: str, what: str, hint: str) -> None:
        self.problems.append(Problem(where, what, hint))

    @contextmanager
    def _note_errors(self, where: str) -> Iterator[None]:
        try:
            yield
        except TcloseError as error:
            self._note(where, error.what, error.hint)


# --- hierarchies


def make_hierarchy(
    spec: HierarchySpec, column: str, values: Sequence[str], base: Path
) -> Hierarchy:
    """The tree that a policy's specification describes for a column with these values.

    >>> spec = HierarchySpec.model_validate({"prefix": [3, 0]})
    >>> make_hierarchy(spec, "zip", ["47677", "47905"], Path()).generalize("47677", 1)
    '476**'
    """
    if spec.kind == "file":
        assert spec.file is not None
        return arx.read(base / spec.file, column)
    if spec.groups is not None:
        return build.groups(spec.groups, column)
    leaves = list(dict.fromkeys(leaf for value in values for leaf in _leaves(value, spec)))
    if not leaves:
        return Hierarchy.from_chains([["*"]], column)
    if spec.prefix is not None:
        return build.prefixes(leaves, spec.prefix, column=column)
    if spec.intervals is not None:
        return build.intervals(leaves, spec.intervals, origin=spec.origin, column=column)
    if spec.cuts is not None:
        return build.cuts(leaves, spec.cuts, column=column)
    assert spec.dates is not None
    return build.dates(leaves, spec.dates, column=column)


def is_fixed(spec: HierarchySpec | None) -> bool:
    """Whether a hierarchy is the same whatever the values of the table are."""
    return spec is not None and spec.kind in ("file", "groups")


def hash_hierarchy(tree: Hierarchy) -> str:
    """The sha256 of a hierarchy: of its labels and what stands above each."""
    return json_hash([list(tree.labels), tree.parent.tolist()])


def _leaves(value: str, spec: HierarchySpec) -> list[str]:
    """Values that a builder can start from: the value itself, or those that a label names."""
    if spec.prefix is not None:
        # Any text may have its beginning kept: the postcode 00-950 is no interval here.
        return [value.replace("*", "0")] if value.strip("*") else []
    named = [value for value in raw_values(value) if "*" not in value]
    return [_first_day(value) for value in named] if spec.dates is not None else named


def _first_day(value: str) -> str:
    """The first day of a period that a date hierarchy's label names, or the value itself."""
    if len(value) == 7 and value[5] == "Q":
        return f"{value[:4]}-{3 * int(value[6]) - 2:02d}-01"
    if len(value) == 7 and value[4] == "-":
        return f"{value}-01"
    if len(value) == 4 and value.isdigit():
        return f"{value}-01-01"
    if len(value) == 5 and value.endswith("0s"):
        return f"{value[:4]}-01-01"
    return value
