"""A table with too many cells for one place: what is known of the whole table, and its parts.

Every column is counted by itself, which gives the values, their order, and the distribution of
each sensitive attribute. A part is then any set of cells, coded with the values of the whole table
and compared with the whole table's distributions: it can be searched and judged by itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import pyarrow as pa

from tclose.arrays import Ints
from tclose.data.binding import BoundTable, FurtherColumn, find_columns, resolve_columns
from tclose.data.encode.cells import (
    Cells,
    form_classes,
    look_up_codes,
    merge_equal,
    read_weights,
    refuse_uncounted,
)
from tclose.data.encode.columns import Dictionary
from tclose.data.source import ROWS, Rows, Source, decode_column
from tclose.distance.histogram import Counts, add_by_group, group_codes
from tclose.distance.registry import Attribute
from tclose.errors import DataError, InternalError, PolicyError, Problem, UsageError
from tclose.hierarchy.tree import Hierarchy
from tclose.policy.model import Policy
from tclose.requirements import state_requirements
from tclose.requirements.persons import Persons

WHY = {
    "joint-t-closeness": "no column tells by itself how often combinations of values occur",
    "(n,t)-closeness": "what a class is close to is made of classes in several parts",
    "k-anonymity of combinations": "classes of several parts agree in some of the columns",
    "t-closeness of combinations": "classes of several parts agree in some of the columns",
    "k-map": "the population would have to be cut like the table",
    "delta-presence": "the population would have to be cut like the table",
    "a count column": "a record would stand for many rows of what engines count as one",
    'quasi-identifiers with missing = "any"': "such rows belong to classes of several parts",
    'sensitive columns with masked = "spread"': "what a mask counts as depends on all other rows",
}
"""Why something needs all cells in one place."""
LARGEST_WEIGHT = 2**50
"""What all rows may weigh together for searches to weigh them exactly."""
PART_ROWS = 1_000_000
"""Rows of a part, more or less, that is measured by itself."""


@dataclass(frozen=True)
class TableSummary:
    """A policy and the columns of a table that agree; holds no source, so that it can be sent."""

    policy: Policy
    name: str
    columns: tuple[str, ...]
    dictionaries: dict[str, Dictionary]
    value_rows: dict[str, Ints]
    """For each column, the rows with each value; those without one last."""
    hierarchies: dict[str, Hierarchy]
    attributes: dict[str, Attribute]
    counting: RowCounting | None = None
    """What its rows count, where the policy names a column that says so."""

    @property
    def quasi(self) -> tuple[str, ...]:
        """The quasi-identifiers, in the order of the table."""
        return tuple(name for name in self.columns if name in self.policy.quasi)

    @property
    def cell_columns(self) -> tuple[str, ...]:
        """The columns that make a cell."""
        return (*self.quasi, *self.attributes)

    @property
    def kept_columns(self) -> tuple[str, ...]:
        """The columns of cells that an engine keeps; rows of one cell may count differently."""
        further = () if self.counting is None else (self.counting.column,)
        return (*self.cell_columns, *further)

    @property
    def n_rows(self) -> int:
        """How many rows the table has."""
        return int(next(iter(self.value_rows.values())).sum())

    @property
    def n_parts(self) -> int:
        """In how many parts the table is measured."""
        return max(1, -(-self.n_rows // PART_ROWS))

    def match_population(self, population: Source) -> Ints:
        """None: promises about a population cannot be judged in parts."""
        return np.zeros(1, dtype=np.int64)

    @property
    def whole(self) -> Mapping[str, Counts]:
        """How much each sensitive attribute's values count in the whole table."""
        return self.whole_rows if self.counting is None else self.counting.whole

    @cached_property
    def whole_rows(self) -> Mapping[str, Counts]:
        """The rows with each of a sensitive attribute's values in the whole table."""
        return {
            name: add_by_group(self.value_rows[name], attribute.recode, attribute.values)
            for name, attribute in self.attributes.items()
        }

    def example(self, source: Source | None = None) -> BoundTable:
        """One cell, bound like a table, for checks that depend on values and not on counts."""
        codes = {name: np.zeros(1, dtype=np.int64) for name in self.cell_columns}
        cells = Cells(self.dictionaries, codes, np.ones(1, dtype=np.int64))
        if self.counting is None:
            bound = self.bound(cells)
        else:
            own, code = self.counting.dictionary, np.zeros(1, dtype=np.int64)
            bound = self._count_by(self.counting, cells, own, code)
        return bound if source is None else replace(bound, source=source)

    def part(self, table: pa.Table) -> BoundTable:
        """Some cells (values and weights, as an engine counts them), bound like a table."""
        rows, codes = table.column(ROWS).to_numpy().astype(np.int64), self.codes(table)
        if self.counting is None:
            return self.bound(merge_equal(self.dictionaries, codes, rows)[0])
        own, code = self.counting.encode(table)
        cells, _ = merge_equal(self.dictionaries, {**codes, self.counting.column: code}, rows)
        return self._count_by(self.counting, cells, own, cells.codes[self.counting.column])

    def _count_by(
        self, counting: RowCounting, cells: Cells, own: Dictionary, code: Ints
    ) -> BoundTable:
        """Cells of rows that count alike, separated by what they count."""
        name = counting.column
        made = replace(
            cells,
            dictionaries={**self.dictionaries, name: own},
            codes={**cells.codes, name: code},
            weight=None if counting.numbers is None else counting.numbers[code] * cells.rows,
            persons=None
            if counting.everyone is None
            else Persons(np.arange(len(code)), code, counting.everyone),
        )
        return replace(self.bound(made), further=FurtherColumn(name))

    def codes(self, table: pa.Table, columns: Sequence[str] = ()) -> dict[str, Ints]:
        """The codes that cells' values have in the whole table, in all columns or those given."""
        codes = {}
        for name in columns or self.cell_columns:
            codes[name], unknown = look_up_codes(self.dictionaries[name], table.column(name))
            if unknown.any():
                raise DataError(
                    "the table changed while it was counted", where=self.name, hint="begin again"
                )
        return codes

    def bound(self, cells: Cells) -> BoundTable:
        """Coded cells, bound like a table and compared with all of it."""
        classes = replace(form_classes(cells, self.quasi, self.attributes), whole=self.whole)
        source = _Elsewhere(self.name, self.columns)
        return BoundTable(self.policy, source, cells, classes, self.hierarchies)


@dataclass(frozen=True)
class RowCounting:
    """What each row counts: its weight, or for its person."""

    column: str
    dictionary: Dictionary
    """The weights; of persons, who are told apart within each part, none."""
    whole: Mapping[str, Counts]
    """The weight, or the persons, of each sensitive attribute's values in the whole table."""
    numbers: Counts | None = None
    """What each weight counts."""
    everyone: int | None = None
    """How many persons there are."""

    def encode(self, table: pa.Table) -> tuple[Dictionary, Ints]:
        """The weight or person of each of some cells as a number, and what numbers mean."""
        column = table.column(self.column)
        if self.everyone is not None:
            return encode_persons(column)
        code, unknown = look_up_codes(self.dictionary, column)
        if unknown.any():
            raise _say_changed(self.column)
        return self.dictionary, code

    def tie(self, table: pa.Table) -> tuple[Ints, ...]:
        """Numbers that separate cells which count differently, in whatever part they are."""
        if self.everyone is None:
            return (self.encode(table)[1],)
        own, code = encode_persons(table.column(self.column))
        hashes = [
            hashlib.blake2b(str(value).encode(), digest_size=16).digest()
            for value in own.values.to_pylist()
        ]
        halves = np.frombuffer(b"".join(hashes), np.int64).reshape(-1, 2)[code]
        return halves[:, 0].copy(), halves[:, 1].copy()


def encode_persons(column: pa.ChunkedArray) -> tuple[Dictionary, Ints]:
    """Persons in the order in which they occur: nothing depends on their names."""
    encoded = decode_column(column).combine_chunks().dictionary_encode()
    code = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy().astype(np.int64)
    return Dictionary(encoded.dictionary, has_missing=encoded.null_count > 0), code


def count_whole(summary: TableSummary, source: Source, role: str, name: str) -> RowCounting:
    """Counts all rows by value of each sensitive attribute, in parts: persons may be many."""
    numbers: Counts | None = None
    if role == "weight":
        own, numbers = read_weights(source.with_room(), name)
        count = partial(_weigh_values, summary, name, own, numbers)
    else:
        empty = source.stream().schema.field(name).type
        own = Dictionary(decode_column(pa.nulls(0, empty)), has_missing=True)
        count = partial(_count_persons, summary, name)
    split = source.split_cells([*summary.attributes, name], [name], summary.n_parts)
    found = split(count)
    lost = sum(lost for lost, _, _ in found)
    refuse_uncounted(role, name, lost)
    everyone = sum(persons for _, persons, _ in found)
    if numbers is not None and int(numbers.max()) * summary.n_rows >= LARGEST_WEIGHT:
        what = "the weights have too many digits to be added up exactly in parts"
        hint = "round them, or allow more cells in one place (--cells)"
        raise UsageError(what, where=f"columns.{name}", hint=hint)
    whole = {
        attribute: np.sum([values[attribute] for *_, values in found], axis=0)
        for attribute in summary.attributes
    }
    return RowCounting(name, own, whole, numbers, everyone if role == "subject" else None)


PartCounts = tuple[int, int, dict[str, Counts]]
"""Of a part: rows of nobody, persons, and what each sensitive attribute's values count."""


def _weigh_values(
    summary: TableSummary, name: str, own: Dictionary, numbers: Counts, table: pa.Table
) -> PartCounts:
    """The weight of each value in a part."""
    code, unknown = look_up_codes(own, table.column(name))
    if unknown.any():
        raise _say_changed(name)
    weight = numbers[code] * table.column(ROWS).to_numpy().astype(np.int64)
    values = {}
    for attribute, known in summary.attributes.items():
        value = known.recode[summary.codes(table, [attribute])[attribute]]
        values[attribute] = add_by_group(weight, value, known.values)
    return 0, 0, values


def _count_persons(summary: TableSummary, name: str, table: pa.Table) -> PartCounts:
    """Rows without a person, persons, and persons with each value, in a part of whole persons."""
    own, who = encode_persons(table.column(name))
    lost = int(table.column(ROWS).to_numpy()[who == own.known].sum())
    values = {}
    for attribute, known in summary.attributes.items():
        value = known.recode[summary.codes(table, [attribute])[attribute]]
        first = group_codes([value, who])[1]
        once = np.ones(len(first), dtype=np.int64)
        values[attribute] = add_by_group(once, value[first], known.values)
    return lost, own.known, values


def _say_changed(name: str) -> DataError:
    hint = "begin again"
    return DataError("the table changed while it was counted", where=f"column {name!r}", hint=hint)


class _Elsewhere(Source):
    """The table of a part: its rows are with the engine that counted it."""

    def group_within_limit(self, columns: Sequence[str]) -> pa.Table | None:
        raise InternalError("the rows of a part are elsewhere", where=self.name)

    def stream(self) -> Rows:
        raise InternalError("the rows of a part are elsewhere", where=self.name)

    def is_scalar(self, column: str) -> bool:
        return True


def summarize_table(
    policy: Policy | None, source: Source, problems: Sequence[Problem] = ()
) -> TableSummary:
    """Counts every column separately and binds the policy to them; raises with all problems."""
    if policy is None:
        raise PolicyError(problems)
    found = list(problems)
    usable = find_columns(policy, source, found)
    reasons = []
    counting = policy.counting
    if counting is not None and counting[0] == "count":
        reasons.append("a count column")
    if policy.wildcards:
        reasons.append('quasi-identifiers with missing = "any"')
    if any(policy.columns[name].masked == "spread" for name in policy.sensitive):
        reasons.append('sensitive columns with masked = "spread"')
    _refuse(reasons)
    dictionaries, value_rows = {}, {}
    for name in usable:
        table = source.with_room().group([name])
        dictionaries[name], code = Dictionary.encode(table.column(name), name)
        rows = table.column(ROWS).to_numpy().astype(np.int64)
        value_rows[name] = add_by_group(rows, code, dictionaries[name].known + 1)
    trees, attributes = resolve_columns(
        policy, dictionaries, lambda name: int(value_rows[name][-1]), usable, found
    )
    summary = TableSummary(
        policy, source.name, source.columns, dictionaries, value_rows, trees, attributes
    )
    stated = state_requirements(summary, source)
    _refuse(each.name for each in stated if each.capabilities.whole_table)
    if counting is not None:
        summary = replace(summary, counting=count_whole(summary, source, *counting))
    return summary


def _refuse(reasons: Iterable[str]) -> None:
    """Raises where something in the policy cannot be judged in a part without the others."""
    named = list(dict.fromkeys(reasons))
    if named:
        why = next((f": {WHY[name]}" for name in named if name in WHY), "")
        raise UsageError(
            f"the table has too many cells for one place, and {', '.join(named)} cannot be "
            f"judged part by part{why}",
            where="policy",
            hint="allow more cells (--cells), generalize columns beforehand, or promise without it",
        )
