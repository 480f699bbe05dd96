"""Texts that a spreadsheet program takes for formulas when it opens a CSV file.

Whoever fills in a table may begin a cell with `=`, and whoever opens the release runs it. Where the
policy asks (`release.formulas = "quote"`), such texts, and those that look like one so written, are
written with an apostrophe before them, and read without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from tclose.data.io.paths import Address, kind_of
from tclose.data.source import ROWS, CleanedColumn, Source, plain_values
from tclose.policy.model import Policy

MARKS, SIGNS = "=@\t\r\n\uff1d\uff20", "+\uff0b\uff0d-"
"""Also as wide as Chinese characters, as some editions of Excel read them."""
FORMULA = re.compile(rf"[{MARKS}]|[{SIGNS}](?!(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$)")
"""How they begin; numbers with a sign are none."""
QUOTED = f"^'+[{MARKS}{SIGNS}]"
types = pa.types


def is_formula(text: str) -> bool:
    """Whether a spreadsheet program would take a text for a formula.

    >>> [is_formula(text) for text in ("=1+1", "-5", "-5e3", "-", "+49 170", "a=b", "'=1")]
    [True, False, False, True, True, False, False]
    """
    return FORMULA.match(text) is not None


def find_formulas(columns: Mapping[str, Iterable[str | None]], output: object) -> tuple[str, ...]:
    """Warnings for a CSV file with such texts, by column."""
    if not is_text_file(output):
        return ()
    found = [
        name for name, texts in columns.items() if any(is_formula(text or "") for text in texts)
    ]
    found += [name for name in columns if is_formula(name) and name not in found]
    if not found:
        return ()
    return (
        f"texts of {', '.join(map(repr, found))} begin as formulas do (=, +, -, @): a spreadsheet "
        'program may run them. release.formulas = "quote" puts an apostrophe before them',
    )


def is_text_file(output: object) -> bool:
    """Whether the output is a CSV file."""
    return (
        isinstance(output, str | Path)
        and not isinstance(output, Address)
        and kind_of(Path(output)) == "text"
    )


def quote_formulas(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows with an apostrophe before every text that a spreadsheet would read as a formula.

    >>> rows = pa.record_batch({"a": ["=1", "-1", None], "b": [-1, 2, 3]})
    >>> next(quote_formulas([rows])).column(0).to_pylist()
    ["'=1", '-1', None]
    """
    for batch in batches:
        columns = [_quote(column) for column in batch.columns]
        yield pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _quote(column: pa.Array) -> pa.Array:
    kind = column.type
    if types.is_dictionary(kind):
        words = _quote(column.dictionary)
        return pa.DictionaryArray.from_arrays(column.indices, words, ordered=kind.ordered)
    if not _is_text(kind):
        return column
    texts = column.cast(pa.large_string())
    may_be = pc.match_substring_regex(texts, f"^'*[{MARKS}{SIGNS}]")
    if not pc.any(may_be).as_py():
        return column
    written = [
        f"'{text}" if text is not None and (is_formula(text) or re.match(QUOTED, text)) else text
        for text in texts.to_pylist()
    ]
    return pa.array(written, pa.large_string()).cast(kind)


def _is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.large_string(), pa.string_view())


def unquote_formulas(source: Source, policy: Policy) -> Source:
    """A table in whose counted columns such an apostrophe is no part of a text."""
    if policy.release.formulas == "keep" or not any(map(is_text_file, source.files)):
        return source
    schema = source.stream().schema
    counted = [
        name
        for name, column in policy.columns.items()
        if column.role in ("quasi", "sensitive")
        and name in source.columns
        and _is_text(_plain_kind(schema.field(name).type))
    ]
    found = {name: _unquote(source, name) for name in counted}
    cleaned = {name: column for name, column in found.items() if column is not None}
    if not cleaned:
        return source
    # The table is the same, so neither notes nor `cleaned` speak of it.
    return replace(source.replace_values(cleaned), max_cells=source.max_cells)


def _plain_kind(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if types.is_dictionary(kind) else kind


def _unquote(source: Source, name: str) -> CleanedColumn | None:
    """The texts of a column without these apostrophes; None if it has none."""
    table = source.with_room().group([name])
    raw = plain_values(table.column(name))
    quoted = pc.fill_null(pc.match_substring_regex(raw, QUOTED), False)
    rows = pc.sum(pc.filter(table.column(ROWS), quoted)).as_py()
    if not rows:
        return None
    clean = pc.if_else(quoted, pc.utf8_slice_codeunits(raw, 1), raw)
    known = pc.is_valid(raw)
    return CleanedColumn(raw.filter(known), clean.filter(known), int(rows))
