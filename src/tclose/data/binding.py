"""Every way in which a policy and a table can disagree, reported at once; then the table bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.data.encode.attribute import Attribute, make_attribute
from tclose.data.encode.cells import Cells, count_cells_within_limit
from tclose.data.encode.classes import Classes, form_classes
from tclose.data.encode.coverage import cover_classes
from tclose.data.encode.dictionary import NUMBER, Dictionary
from tclose.data.encode.hierarchies import count_unknown, resolve
from tclose.data.encode.row_counts import count_weighted_cells
from tclose.data.source import Source
from tclose.distance.registry import DISTANCES
from tclose.errors import DataError, PolicyError, Problem, TcloseError, TooManyCells, nearest
from tclose.hierarchy import Hierarchy
from tclose.hierarchy.place import place
from tclose.policy.model import Column, Policy

T = TypeVar("T")
UnknownValues = Literal["refuse", "keep"]


class ColumnCounts(Protocol):
    """What is counted of columns: their values, and how many rows have none."""

    @property
    def dictionaries(self) -> dict[str, Dictionary]:
        """The values of each column."""
        ...

    def missing(self, column: str) -> int:
        """How many rows miss a value in a column."""
        ...


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

    def match_population(self, population: Cells) -> NDArray[np.int64]:
        """How many people of the population fit each class."""
        return cover_classes(self.classes, population, self.hierarchies).count_rows_covered(
            population
        )


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
    hierarchies, attributes = resolve_columns(policy, cells, usable, found, unknown_values)
    wild = [name for name in policy.quasi if policy.columns[name].missing == "any"]
    quasi = [name for name in source.columns if name in policy.quasi]
    classes = form_classes(cells, quasi, attributes, wild)
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
    cells: ColumnCounts,
    columns: Sequence[str],
    problems: list[Problem],
    unknown_values: UnknownValues = "refuse",
) -> tuple[dict[str, Hierarchy], dict[str, Attribute]]:
    """The quasi-identifiers' trees and the sensitive columns, from what was counted.

    Raises with all problems, also with those that were found before.
    """
    checker = _Checker(policy, cells, problems)
    trees = checker.quasi_trees([name for name in policy.quasi if name in columns], unknown_values)
    attributes = checker.attributes([name for name in policy.sensitive if name in columns])
    if problems:
        raise PolicyError(problems)
    return trees, attributes


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
        code = bound.cells.codes[name][kept]
        values = dictionary.values.take(pa.array(code, mask=code >= dictionary.known))
        dictionaries[name], codes[name] = Dictionary.encode(pa.chunked_array([values]))
    cells = replace(bound.cells.only(kept), dictionaries=dictionaries, codes=codes)
    problems: list[Problem] = []
    attributes = _Checker(bound.policy, cells, problems).attributes(list(bound.attributes))
    if problems:
        raise PolicyError(problems)
    wild = [name for name in bound.policy.quasi if bound.policy.columns[name].missing == "any"]
    return replace(
        bound, cells=cells, classes=form_classes(cells, bound.classes.quasi, attributes, wild)
    )


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


class _Checker:
    """Builds what the columns need, turning each failure into a problem."""

    def __init__(self, policy: Policy, cells: ColumnCounts, problems: list[Problem]) -> None:
        self.policy = policy
        self.cells = cells
        self.problems = problems

    def quasi_trees(
        self, names: Sequence[str], unknown_values: UnknownValues
    ) -> dict[str, Hierarchy]:
        """The hierarchies of the quasi-identifiers that have one."""
        trees = {}
        for name in names:
            self._missing(name)
            tree = self._hierarchy(name)
            if tree is not None:
                trees[name] = tree
                lost = count_unknown(tree, self.cells.dictionaries[name].labels)
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
            self._missing(name)
            tree = self._hierarchy(name)
            column, dictionary = self.policy.columns[name], self.cells.dictionaries[name]
            if column.hierarchy is not None and tree is None:
                continue
            attribute = self._try(
                f"columns.{name}", _maker(name, column, dictionary, tree, self.policy.base)
            )
            if attribute is not None:
                self._distance(attribute, dictionary)
                made[name] = attribute
        return made

    def _distance(self, attribute: Attribute, dictionary: Dictionary) -> None:
        spec = attribute.column.distance
        where = f"columns.{attribute.name}.distance"
        on_a_line = spec is not None and DISTANCES[spec.name].on_a_line
        odd = sum(NUMBER.match(label) is None for label in dictionary.labels)
        if on_a_line and not attribute.has_order and 0 < odd < dictionary.known:
            what = f"{odd:,} of the {dictionary.known:,} distinct values are not finite numbers"
            hint = "mend them, use equal, or say with --null which words mean a missing value"
            self._note(where, what, hint)
        else:
            self._try(where, lambda: attribute.distance(spec))

    def _hierarchy(self, name: str) -> Hierarchy | None:
        spec = self.policy.columns[name].hierarchy
        if spec is None:
            return None
        labels = self.cells.dictionaries[name].labels
        where = f"columns.{name}.hierarchy"
        try:
            return resolve(spec, name, labels, self.policy.base)
        except TcloseError as error:
            line = error.where.removeprefix(place(name))
            file = f" ({spec.file}{line})" if spec.file else ""
            self._note(f"{where}{file}", error.what, error.hint)
        return None

    def _missing(self, name: str) -> None:
        if self.policy.columns[name].missing == "forbid" and (lost := self.cells.missing(name)):
            hint = 'mend them, or say missing = "value" or "any"'
            self._note(f"columns.{name}", f"{lost:,} rows have no value, which is forbidden", hint)

    def _note(self, where: str, what: str, hint: str) -> None:
        self.problems.append(Problem(where, what, hint))

    def _try(self, where: str, make: Callable[[], T]) -> T | None:
        try:
            return make()
        except TcloseError as error:
            self._note(where, error.what, error.hint)
        return None


def _maker(
    name: str, column: Column, dictionary: Dictionary, tree: Hierarchy | None, base: Path
) -> Callable[[], Attribute]:
    return lambda: make_attribute(name, column, dictionary, tree, base)
