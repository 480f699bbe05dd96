"""A table whose cells are too many for one place: what is known of all of it, and its parts.

Every column is counted by itself, which gives the values, their order, and the distribution of
each sensitive attribute. A part is then any set of cells, coded with the values of the whole table
and compared with the whole table's distributions: it can be searched and judged by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from tclose.arrays import Ints
from tclose.data.binding import BoundTable, find_columns, resolve_columns
from tclose.data.cleaning import VALUES
from tclose.data.encode.cells import Cells, form_classes, look_up_codes, merge_equal
from tclose.data.encode.columns import Dictionary
from tclose.data.source import ROWS, Rows, Source
from tclose.distance.histogram import Counts, add_by_group
from tclose.distance.registry import Attribute
from tclose.errors import DataError, InternalError, PolicyError, Problem, UsageError
from tclose.hierarchy import Hierarchy
from tclose.policy.model import Policy
from tclose.requirements import state_requirements


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

    @property
    def quasi(self) -> tuple[str, ...]:
        """The quasi-identifiers, in the order of the table."""
        return tuple(name for name in self.columns if name in self.policy.quasi)

    @property
    def cell_columns(self) -> tuple[str, ...]:
        """The columns that make a cell."""
        return (*self.quasi, *self.attributes)

    @property
    def n_rows(self) -> int:
        """How many rows the table has."""
        return int(next(iter(self.value_rows.values())).sum())

    def match_population(self, population: Source) -> Ints:
        """Nobody: what is promised about a population cannot be judged in parts."""
        return np.zeros(1, dtype=np.int64)

    @cached_property
    def whole(self) -> Mapping[str, Counts]:
        """The counts of each sensitive attribute's values in the whole table."""
        return {
            name: add_by_group(self.value_rows[name], attribute.recode, attribute.values)
            for name, attribute in self.attributes.items()
        }

    def example(self) -> BoundTable:
        """One cell, bound like a table: for what depends on the values only, not on the counts."""
        codes = {name: np.zeros(1, dtype=np.int64) for name in self.cell_columns}
        return self.bound(Cells(self.dictionaries, codes, np.ones(1, dtype=np.int64)))

    def part(self, table: pa.Table) -> BoundTable:
        """Some cells (values and weights, as an engine counts them), bound like a table."""
        rows = table.column(ROWS).to_numpy().astype(np.int64)
        return self.bound(merge_equal(self.dictionaries, self.codes(table), rows)[0])

    def codes(self, table: pa.Table, columns: Sequence[str] = ()) -> dict[str, Ints]:
        """The codes of some cells' values in the whole table; of all columns, or of those given."""
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
    """Counts every column by itself and ties the policy to them; raises with all that is wrong."""
    if policy is None:
        raise PolicyError(problems)
    found = list(problems)
    usable = find_columns(policy, source, found)
    reasons = [] if policy.counting is None else [f"a {policy.counting[0]} column"]
    if any(policy.columns[name].missing == "any" for name in policy.quasi):
        reasons.append('quasi-identifiers with missing = "any"')
    if any(policy.columns[name].masked == "spread" for name in policy.sensitive):
        reasons.append('sensitive columns with masked = "spread"')
    _refuse(reasons)
    dictionaries, value_rows = {}, {}
    roomy = replace(source, max_cells=max(source.max_cells, VALUES))
    for name in usable:
        table = roomy.group([name])
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
    return summary


def _refuse(reasons: Iterable[str]) -> None:
    """Raises where something in the policy cannot be judged in a part without the others."""
    named = list(dict.fromkeys(reasons))
    if named:
        raise UsageError(
            f"the table has too many cells for one place, and {', '.join(named)} cannot be "
            "judged part by part",
            where="policy",
            hint="allow more cells (--cells), generalize columns beforehand, or promise without it",
        )
