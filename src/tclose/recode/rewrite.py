"""The rows of a table, recoded: batch by batch, or as a table that an engine joins with its own."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.arrays import Ints
from tclose.data.binding import BoundTable
from tclose.data.encode.labels import MASK
from tclose.data.encode.ranges import read_ranges
from tclose.data.engines.frames.release import make_frame
from tclose.data.source import KEY, NEW, CellStore, Change, Rows, Source, Translation
from tclose.data.source import Kind as ChangeKind
from tclose.distance.histogram import group_codes
from tclose.recode.values import Recoding, number_released


@dataclass(frozen=True)
class Pseudonyms:
    """Replaces a value by a keyed hash of itself: equal values stay equal, for holders of one key.

    Each column has a key of its own, so that equal values of two columns are not seen to be equal.
    Without a key of the steward's own, one is drawn and forgotten: the pseudonyms then link rows
    within this release only.

    >>> names = Pseudonyms(b"a key")
    >>> names.of("name", "Ann") == names.of("name", "Ann") != names.of("doctor", "Ann")
    True
    """

    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def of(self, column: str, text: str) -> str:
        """The pseudonym of a value in a column; `labels.PSEUDONYM` knows what it looks like."""
        own = hmac.digest(self.key, column.encode(), "sha256")
        return f"p{hmac.new(own, text.encode(), hashlib.sha256).hexdigest()[:24]}"

    def column(self, column: str, values: pa.Array) -> pa.Array:
        """The pseudonyms of a column; a missing value stays missing."""
        encoded = _as_texts(values).dictionary_encode()
        names: list[Any] = [self.of(column, text) for text in encoded.dictionary.to_pylist()]
        return pa.array(names, pa.string()).take(encoded.indices)


def _as_texts(values: pa.Array) -> pa.Array:
    """The values as text; what Arrow cannot write, as Python writes it. NaN is missing."""
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
    try:
        return values.cast(pa.string())
    except pa.ArrowException:
        texts = [None if value is None else str(value) for value in values.to_pylist()]
        return pa.array(texts, pa.string())


def mask_values(values: pa.Array) -> pa.Array:
    """A mask in place of every value."""
    return pa.array([MASK] * len(values), pa.string())


class ReleasedRows(ABC):
    """The rows of a release, however they come about."""

    @abstractmethod
    def schema(self) -> pa.Schema:
        """The columns of the release."""

    @abstractmethod
    def batches(self) -> Iterator[pa.RecordBatch]:
        """The released rows, in the table's order."""

    @abstractmethod
    def translation(self) -> Translation:
        """The rewriting as a table, for an engine that rewrites its own rows."""

    @property
    def is_translatable(self) -> bool:
        """Whether the translation says all that there is to the release."""
        return True

    @abstractmethod
    def to_frame(self, data: Any) -> Any:
        """The release in the caller's own kind of frame; an Arrow table where that is none."""

    def read_table(self) -> pa.Table:
        """All released rows at once."""
        return pa.Table.from_batches(list(self.batches()), self.schema())


@dataclass(frozen=True)
class TranslatedRows(ReleasedRows):
    """The rows of a table whose cells stay with the engine, released by its translation of them."""

    source: Source
    rows: Rows
    how: Translation
    store: CellStore
    """Keeps the translation as long as this is kept."""

    def schema(self) -> pa.Schema:
        """The columns of the release: text where values are recoded, the table's own elsewhere."""
        own, text = self.rows.schema, pa.string()
        return pa.schema(
            [
                own.field(change.name) if change.kind == "same" else pa.field(change.name, text)
                for change in self.how.changes
            ]
        )

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows joined with the translation, by the engine that has both."""
        schema = self.schema()
        return (batch.cast(schema) for batch in self.source.join(self.how))

    def translation(self) -> Translation:
        """The rewriting of all fragments, as a table."""
        return self.how

    def to_frame(self, data: Any) -> Any:
        """The release in the caller's own kind of frame."""
        table, clean = self.read_table(), self.source.cleaned
        texts = [
            change.name
            for change in self.how.changes
            if change.kind != "same" or change.name in clean
        ]
        every = partial(np.arange, table.num_rows, dtype=np.int64)
        return make_frame(data, table, every, texts, (), is_shuffled=self.how.is_shuffled)


@dataclass(frozen=True)
class Rewriter(ReleasedRows):
    """Rewrites the rows of a table as those of its release; see docs/reference/release.md."""

    bound: BoundTable
    rows: Rows
    recoding: Recoding
    pseudonyms: Pseudonyms

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The released rows, each recoded as its cell is."""
        label, schema = self.recoding.label, self.schema()
        for batch, cell in self.bound.locate(self.rows):
            kept = label[cell] >= 0
            if not kept.all():
                batch, cell = batch.filter(pa.array(kept)), cell[kept]
            arrays = [
                _take_texts(self._added[name], cell)
                if name in self._added
                else self._column(name, batch.column(name), cell)
                for name in schema.names
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def translation(self) -> Translation:
        """The rewriting as a table, for an engine that rewrites its own rows."""
        return translate(self.bound, self.recoding, self.pseudonyms)

    @property
    def is_translatable(self) -> bool:
        """Whether no column is added, and every cell can be identified by columns of the table."""
        return self.bound.further is None and not self.bound.policy.release.add

    def to_frame(self, data: Any) -> Any:
        """The release in the caller's own kind of frame."""
        table = self.read_table()
        columns, cleaned = self.bound.policy.columns, self.bound.source.cleaned
        gaps = [name for name in cleaned if columns[name].cleaning_keys == ("nulls",)]
        changed = [name for name in cleaned if name not in gaps]
        texts = list(dict.fromkeys([*self._text_columns(), *self._added, *changed]))
        own = (name for name in (*self.recoding.sensitive, *gaps) if name in table.column_names)
        hidden = [name for name in own if name not in texts]
        is_shuffled = self.bound.policy.release.rows == "shuffle"
        return make_frame(data, table, self._list_kept_rows, texts, hidden, is_shuffled=is_shuffled)

    def schema(self) -> pa.Schema:
        """The schema of the release: its own where a column changes, the table's elsewhere."""
        schema = self.bound.make_schema(self.rows, self._text_columns())
        for name in self.recoding.sensitive:
            at = schema.get_field_index(name)
            schema = schema.set(at, schema.field(at).with_nullable(True))
        for name, (values, _) in self._added.items():
            column, end = self.bound.policy.added_columns[name]
            after = schema.get_field_index(column) + 1 + self.bound.policy.release.add.index(end)
            schema = schema.insert(after, pa.field(name, values.type))
        return schema

    def list_classes(self) -> Ints:
        """The class of each row of the table, as a plan numbers them; −1 for one left out."""
        cells = np.concatenate([cell for _, cell in self.bound.locate(self.rows)])
        classes: Ints = number_released(self.recoding)[1][self.recoding.label[cells]]
        return classes

    def _list_kept_rows(self) -> Ints:
        """The numbers of the table's rows that are released, in order."""
        return np.flatnonzero(self.list_classes() >= 0)

    def _text_columns(self) -> list[str]:
        return list(dict.fromkeys([*self.bound.text_columns, *self._texts]))

    @cached_property
    def _texts(self) -> Texts:
        return _list_texts(self.recoding)

    @cached_property
    def _added(self) -> Texts:
        """The additional columns with the ends of ranges."""
        found: Texts = {}
        for name, (column, end) in self.bound.policy.added_columns.items():
            kind = self.bound.cells.dictionaries[column].kind
            if column in self._texts and kind in ("number", "date"):
                values, code = self._texts[column]
                ranges = read_ranges(values.to_pylist())
                if ranges is not None:
                    found[name] = (getattr(ranges, end), code)
        return found

    def _column(self, name: str, values: pa.Array, cell: Ints) -> pa.Array:
        kind = _choose_change(self.bound, self.recoding, name)
        if kind == "text":
            return _take_texts(self._texts[name], cell)
        if kind == "hidden":
            gone = self.recoding.sensitive[name].code[cell] < 0
            return values.take(pa.array(np.arange(len(gone)), mask=gone))
        if kind == "mask":
            return mask_values(values)
        return self.pseudonyms.column(name, values) if kind == "pseudonym" else values


Texts = dict[str, tuple[pa.Array, Ints]]
"""By column, the values that are written and which of them each cell has (−1: missing)."""


def _list_texts(recoding: Recoding) -> Texts:
    """The columns whose cells are released as other texts: recoded, or generalized."""
    texts = {each.column: (each.values, recoding.label) for each in recoding.released}
    for name, how in recoding.sensitive.items():
        if how.texts is not None:
            texts[name] = (how.texts, how.code)
    return {name: (pa.array(words, pa.string()), code) for name, (words, code) in texts.items()}


def _take_texts(texts: tuple[pa.Array, Ints], cell: Ints) -> pa.Array:
    code = texts[1][cell]
    return texts[0].take(pa.array(code, mask=code < 0))


def _choose_change(bound: BoundTable, recoding: Recoding, name: str) -> ChangeKind:
    """What becomes of a column that is released."""
    if name in recoding.sensitive:
        return "hidden" if recoding.sensitive[name].texts is None else "text"
    if any(each.column == name for each in recoding.released):
        return "text"
    if name in bound.policy.identifiers and bound.policy.release.identifiers == "mask":
        return "mask"
    return "pseudonym" if name in (bound.policy.subject, *bound.policy.identifiers) else "same"


def translate(
    bound: BoundTable, recoding: Recoding, pseudonyms: Pseudonyms, *, by_cells: bool = False
) -> Translation:
    """The released values of every cell, as a table that an engine can join with its own.

    Rows are told apart by the quasi-identifiers alone where these decide about everything, unless
    all columns of a cell are asked for.
    """
    cells = bound.cells
    kept = np.flatnonzero(recoding.label >= 0)
    keys, some = _choose_keys(bound, recoding, kept, by_cells=by_cells)
    made = {
        KEY.format(at): cells.dictionaries[name].decode(cells.codes[name][some])
        for at, name in enumerate(keys)
    }
    changes, texts = [], _list_texts(recoding)
    for at, name in enumerate(bound.released_columns):
        kind, new = _choose_change(bound, recoding, name), NEW.format(at)
        if kind == "text":
            made[new] = _take_texts(texts[name], some)
        elif kind == "hidden":
            made[new] = pa.array(recoding.sensitive[name].code[some] < 0)
        changes.append(Change(name, kind, new if new in made else ""))
    return Translation(
        keys, pa.table(made), tuple(changes), pseudonyms.column, MASK,
        bound.policy.release.rows == "shuffle", int(cells.table_rows[kept].sum()),
    )  # fmt: skip


def _choose_keys(
    bound: BoundTable, recoding: Recoding, kept: Ints, *, by_cells: bool
) -> tuple[tuple[str, ...], Ints]:
    """The columns that identify a cell, and the cells with each of their key values once."""
    if not recoding.sensitive and not by_cells:
        owner = bound.classes.cell_class
        _, first = group_codes([owner])
        if (recoding.label == recoding.label[first][owner]).all():
            return bound.classes.quasi, first[recoding.label[first] >= 0]
    return tuple(bound.cell_columns), kept
