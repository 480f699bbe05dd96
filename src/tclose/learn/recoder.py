"""What a transformer has learned: the class of a row, and the released values of classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tclose.arrays import Ints
from tclose.data.binding import BoundTable, is_fixed, make_hierarchy
from tclose.data.cleaning import apply_cleanings
from tclose.data.encode.cells import RowIndex, count_cells, form_classes
from tclose.data.encode.columns import NUMBER, Dictionary
from tclose.data.encode.labels import ANYTHING, MASK
from tclose.data.opening import open_source
from tclose.hierarchy.tree import Hierarchy
from tclose.policy.model import Policy
from tclose.recode.assignment import PlanAssignment, assign_classes
from tclose.recode.plan import Plan
from tclose.recode.values import LabelWriter
from tclose.utility.loss import code_quasi
from tclose.verify.audit import Audit
from tclose.workflows.verify import verify


@dataclass(frozen=True)
class LocatedRows:
    """The class of each row (−1 for outside), and the rows outside by column."""

    label: Ints
    faults: dict[str, int]

    @property
    def outside(self) -> int:
        """The number of rows without a class."""
        return int((self.label < 0).sum())


@dataclass(frozen=True)
class Recoder:
    """Recodes rows one by one; contains released values of classes, and no rows.

    `values` has for each quasi-identifier the released value of each class and, last, of the root.
    Hierarchies that are the same for every table are kept, so that no file is needed later.
    """

    policy: Policy
    target: str | None
    plan: Plan
    values: Mapping[str, pa.Array]
    trees: Mapping[str, Hierarchy]

    @classmethod
    def learn(
        cls, bound: BoundTable, plan: Plan, policy: Policy, target: str | None
    ) -> tuple[Recoder, LocatedRows]:
        """Learns from the table that a plan was made from; also locates the table's rows.

        Classes are released by the plan's labels, or by central values of the table.
        """
        recoding, found = policy.release.recoding, assign_classes(bound, plan)
        if recoding == "local":
            words = {column.column: pa.array([*column.values, ANYTHING]) for column in plan.columns}
        else:
            words = _central(bound, found, recoding)
        specs = {name: bound.policy.columns[name].hierarchy for name in bound.hierarchies}
        fixed = [name for name, spec in specs.items() if is_fixed(spec)]
        trees = {name: bound.hierarchies[name] for name in fixed}
        columns = [*bound.classes.quasi, *bound.attributes]
        located = _locate_rows(bound, found, columns, bound.source.stream().batches())
        return cls(policy, target, plan, words, trees), located

    def locate(self, table: pa.Table) -> LocatedRows:
        """Returns the class of each row of a table."""
        bound = self._bound(table)
        found = assign_classes(bound, self.plan)
        rows = bound.source.stream().batches()
        return _locate_rows(bound, found, bound.classes.quasi, rows)

    @property
    def dropped(self) -> tuple[str, ...]:
        """The columns that are not released."""
        drop = self.policy.release.identifiers == "drop"
        return self.policy.identifiers if drop else ()

    def columns(self, located: LocatedRows) -> dict[str, pa.Array]:
        """Returns the released values of columns that change; rows outside become the root."""
        at = pa.array(np.where(located.label < 0, self.plan.classes, located.label))
        masked = [name for name in self.policy.identifiers if name not in self.dropped]
        return {name: values.take(at) for name, values in self.values.items()} | {
            name: pa.array([MASK] * len(at), pa.string()) for name in masked
        }

    def audit(self, table: pa.Table, located: LocatedRows) -> Audit:
        """Audits the rows of a table as they are released; its target is optional."""
        columns = self.columns(located)
        table = apply_cleanings(open_source(table), self.policy).stream().read_table()
        names = [name for name in table.column_names if name not in self.dropped]
        released = pa.table([columns.get(name, table[name]) for name in names], names)
        policy = self.policy
        if self.target is not None and self.target not in names:
            known = {name: column for name, column in policy.columns.items() if name != self.target}
            policy = policy.model_copy(update={"columns": known})
        return verify(released, policy)

    def _bound(self, table: pa.Table) -> BoundTable:
        """Counts the quasi-identifiers of a table, with their hierarchies."""
        quasi = [name for name in table.column_names if name in self.values]
        source = apply_cleanings(open_source(table.select(quasi)), self.policy)
        cells = count_cells(source, quasi)
        trees = dict(self.trees)
        for name in quasi:
            spec = self.policy.columns[name].hierarchy
            if spec is not None and name not in trees:
                labels = cells.dictionaries[name].labels
                trees[name] = make_hierarchy(spec, name, labels, self.policy.base)
        return BoundTable(self.policy, source, cells, form_classes(cells, quasi, {}), trees)


def _locate_rows(
    bound: BoundTable, found: PlanAssignment, columns: Sequence[str], rows: Iterable[pa.RecordBatch]
) -> LocatedRows:
    """Locates rows in the classes of their cells, which these columns identify."""
    index = RowIndex(bound.cells, columns)
    cell = np.concatenate([index.locate(batch) for batch in rows])
    weight = np.bincount(cell, minlength=len(found.label))
    faults = {name: int(weight[fault].sum()) for name, fault in found.faults.items()}
    return LocatedRows(found.label[cell], faults)


def _central(bound: BoundTable, found: PlanAssignment, recoding: str) -> dict[str, pa.Array]:
    """Returns the central values of the classes and of the whole table; numbers as numbers."""
    quasi, weight = code_quasi(bound), bound.cells.rows
    classes, kept = int(found.label.max()) + 1, np.flatnonzero(found.label >= 0)
    everyone = np.zeros(len(weight), dtype=np.int64)
    result = {}
    for at, column in enumerate(quasi.columns):
        dictionary, codes = bound.cells.dictionaries[column.name], quasi.codes[:, at]
        writer = LabelWriter(column, dictionary)
        texts = writer.central(codes[kept], found.label[kept], weight[kept], classes, recoding)
        root = writer.central(codes, everyone, weight, 1, recoding)
        result[column.name] = _parse_numbers([*texts, *root], dictionary)
    return result


def _parse_numbers(texts: list[str | None], dictionary: Dictionary) -> pa.Array:
    """Parses values as floats if the column has numbers (without a unit); else keeps the text."""
    numbers = all(text is None or NUMBER.match(text) for text in texts)
    if dictionary.kind != "number" or not numbers:
        return pa.array(texts, pa.string())
    return pa.array([None if text is None else float(text) for text in texts], pa.float64())
