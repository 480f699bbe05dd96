"""The rows of a table, recoded: batch by batch, or as a table that an engine joins with its rows.

Only what must change is changed. Columns that name a person are dropped, masked, or replaced by a
keyed pseudonym.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tclose.data.binding import BoundTable
from tclose.data.encode.cells import locate_batches
from tclose.data.encode.classes import group_codes
from tclose.data.engines.frames.release import make_frame
from tclose.data.source import KEY, NEW, Change, Rows, Translation
from tclose.policy.model import Policy
from tclose.recode.values import Recoding, SensitiveColumn

MASK = "*"

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Pseudonyms:
    """Replaces a value by a keyed hash of itself: equal values stay equal, for holders of one key.

    Without a key of the steward's own, one is drawn and forgotten: the pseudonyms then link rows
    within this release only.

    >>> names = Pseudonyms(b"a key")
    >>> names.of("Ann") == names.of("Ann") != names.of("Bob")
    True
    """

    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def of(self, text: str) -> str:
        """The pseudonym of one value."""
        return hmac.new(self.key, text.encode(), hashlib.sha256).hexdigest()[:24]

    def column(self, values: pa.Array) -> pa.Array:
        """The pseudonyms of a column; a missing value stays missing."""
        encoded = _as_texts(values).dictionary_encode()
        names: list[Any] = [self.of(text) for text in encoded.dictionary.to_pylist()]
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


def release_identifier(policy: Policy, values: pa.Array, pseudonyms: Pseudonyms) -> pa.Array:
    """An identifier's values as they are released, if they are not dropped."""
    if policy.release.identifiers == "mask":
        return pa.array([MASK] * len(values), pa.string())
    return pseudonyms.column(values)


def list_released_columns(bound: BoundTable) -> list[str]:
    """The names of the columns that a release of the table has, in the table's order."""
    policy = bound.policy
    gone = policy.identifiers if policy.release.identifiers == "drop" else ()
    return [name for name in bound.source.columns if name not in gone]


def list_text_columns(bound: BoundTable) -> list[str]:
    """The columns of the table that are text in every release of it: recoded, or other names."""
    named = (*bound.policy.identifiers, *bound.policy.with_role("subject"))
    return [*bound.classes.quasi, *named]


def make_schema(bound: BoundTable, rows: Rows, texts: Sequence[str]) -> pa.Schema:
    """The columns of a release with their types: text where values are recoded."""
    fields = [
        pa.field(name, pa.string()) if name in texts else rows.schema.field(name)
        for name in list_released_columns(bound)
    ]
    return pa.schema(fields)


@dataclass(frozen=True)
class Rewriter:
    """Turns the rows of a table into those of a release.

    Quasi-identifiers take their class's released value, identifiers go as the policy says, the
    column that names the person of each row becomes pseudonyms, and a sensitive value is hidden or
    generalized where the recoding says so; every other column and the row order stay as they are.
    """

    bound: BoundTable
    rows: Rows
    recoding: Recoding
    pseudonyms: Pseudonyms

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The released rows, in the table's order."""
        label, schema = self.recoding.label, self.schema()
        texts = {
            released.column: pa.array(released.values, pa.string())
            for released in self.recoding.released
        }
        for batch, cell in self._locate():
            kept = label[cell] >= 0
            if not kept.all():
                batch, cell = batch.filter(pa.array(kept)), cell[kept]
            arrays = [self._column(name, batch, cell, texts) for name in schema.names]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def translation(self) -> Translation:
        """The same for an engine that rewrites its rows by itself."""
        return translate(self.bound, self.recoding, self.pseudonyms)

    def to_frame(self, data: Any) -> Any:
        """The release in the caller's own kind of frame; an Arrow table where that is none."""
        table = pa.Table.from_batches(list(self.batches()), self.schema())
        shuffle = self.bound.policy.release.rows == "shuffle"
        texts = self._text_columns()
        hidden = [name for name in self.recoding.sensitive if name not in texts]
        return make_frame(data, table, self._list_kept_rows, texts, hidden, shuffle=shuffle)

    def schema(self) -> pa.Schema:
        """The schema of the release: its own where a column changes, the table's elsewhere."""
        schema = make_schema(self.bound, self.rows, self._text_columns())
        for name in self.recoding.sensitive:
            at = schema.get_field_index(name)
            schema = schema.set(at, schema.field(at).with_nullable(True))
        return schema

    def _list_kept_rows(self) -> Ints:
        """The numbers of the table's rows that are released, in order."""
        cells = [cell for _, cell in self._locate()]
        return np.flatnonzero(self.recoding.label[np.concatenate(cells)] >= 0)

    def _text_columns(self) -> list[str]:
        """The columns that are text in the release, whatever they were."""
        sensitive = self.recoding.sensitive.items()
        written = [name for name, column in sensitive if column.texts is not None]
        return [*list_text_columns(self.bound), *written]

    def _locate(self) -> Iterator[tuple[pa.RecordBatch, Ints]]:
        """The table's rows, each with its cell."""
        bound = self.bound
        return locate_batches(
            bound.cells, bound.cell_columns, self.rows.batches(), bound.source.name
        )

    def _column(
        self, name: str, batch: pa.RecordBatch, cell: Ints, texts: dict[str, pa.Array]
    ) -> pa.Array:
        policy, column = self.bound.policy, batch.column(name)
        if name in texts:
            return texts[name].take(pa.array(self.recoding.label[cell]))
        if name in self.recoding.sensitive:
            return _mask_values(self.recoding.sensitive[name], column, cell)
        if name == policy.subject:
            return self.pseudonyms.column(column)
        if name in policy.identifiers:
            return release_identifier(policy, column, self.pseudonyms)
        return column


def _mask_values(how: SensitiveColumn, values: pa.Array, cell: Ints) -> pa.Array:
    """A sensitive column's values, some of them hidden or generalized."""
    code = how.code[cell]
    if how.texts is not None:
        return pa.array(how.texts, pa.string()).take(pa.array(code, mask=code < 0))
    return values.take(pa.array(np.arange(len(code)), mask=code < 0))


def translate(
    bound: BoundTable, recoding: Recoding, pseudonyms: Pseudonyms, *, by_cells: bool = False
) -> Translation:
    """What the rows of every released cell become, as a table that an engine joins with its own.

    Rows are told apart by the quasi-identifiers alone where these decide about everything, unless
    all columns of a cell are asked for.
    """
    policy, cells = bound.policy, bound.cells
    kept = np.flatnonzero(recoding.label >= 0)
    keys, some = _choose_keys(bound, recoding, kept, by_cells=by_cells)
    made = {
        KEY.format(at): cells.dictionaries[name].decode(cells.codes[name][some])
        for at, name in enumerate(keys)
    }
    changes = []
    released = {column.column: column for column in recoding.released}
    for at, name in enumerate(list_released_columns(bound)):
        new = NEW.format(at)
        if name in released:
            texts = pa.array(released[name].values, pa.string())
            made[new] = texts.take(pa.array(recoding.label[some]))
            changes.append(Change(name, "text", new))
        elif name in recoding.sensitive:
            how = recoding.sensitive[name]
            if how.texts is None:
                made[new] = pa.array(how.code[some] < 0)
            else:
                made[new] = _mask_values(how, pa.nulls(0), some)
            changes.append(Change(name, "hidden" if how.texts is None else "text", new))
        elif name == policy.subject:
            changes.append(Change(name, "pseudonym"))
        elif name in policy.identifiers:
            mask = policy.release.identifiers == "mask"
            changes.append(Change(name, "mask" if mask else "pseudonym"))
        else:
            changes.append(Change(name, "same"))
    return Translation(
        keys,
        pa.table(made),
        tuple(changes),
        pseudonyms.column,
        MASK,
        policy.release.rows == "shuffle",
        int(cells.table_rows[kept].sum()),
    )


def _choose_keys(
    bound: BoundTable, recoding: Recoding, kept: Ints, *, by_cells: bool
) -> tuple[tuple[str, ...], Ints]:
    """The columns that tell cells apart, and the released cells with each of their values once."""
    if not recoding.sensitive and not by_cells:
        owner = bound.classes.cell_class
        _, first = group_codes([owner])
        if (recoding.label == recoding.label[first][owner]).all():
            return bound.classes.quasi, first[recoding.label[first] >= 0]
    return tuple(bound.cell_columns), kept
