"""Record batches as a Stata or SPSS file, with the value labels that a column came with.

Only labels of values that are in the release are written, and no date: equal rows give equal bytes.
"""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tclose.data.io.paths import suffix_of
from tclose.errors import DataError

CODES = b"value_labels"
"""The key of an Arrow field's metadata under which the codes of its values are kept, as JSON."""
LABEL = b"label"
"""The same for what the column is called in words."""
EXACT = 2**53
"""Beyond this, not every whole number is one of theirs."""
LONGEST = {".dta": 2045, ".sav": 32_767, ".zsav": 32_767}
"""How many bytes a text may have."""
NAME = {
    ".dta": r"[^\W\d]\w{0,31}",
    ".sav": r"[^\W\d_][\w.$#@]{0,62}",
    ".zsav": r"[^\W\d_][\w.$#@]{0,62}",
}
STAMPS = (
    (re.compile(rb"(\$FL[23].{88})\d\d \w{3} \d\d\d\d:\d\d:\d\d", re.S), b"01 Jan 8000:00:00"),
    (re.compile(rb"(<timestamp>\x11)\d\d \w{3} \d{4} \d\d:\d\d"), b"01 Jan 1980 00:00"),
)
"""Where such a file says when it was written."""
INSTEAD = "write a .parquet or .csv file"
types = pa.types
TRUTHS = {"false": 0, "true": 1}


def needs_pyreadstat(path: str | Path) -> DataError:
    """The error raised if the library for Stata and SPSS files is not installed."""
    hint = "pip install 'tclose[statistics]'"
    return DataError("Stata and SPSS files need pyreadstat", where=str(path), hint=hint)


def can_write_statistics() -> bool:
    """Whether the libraries that write such files are there."""
    return find_spec("pyreadstat") is not None and find_spec("polars") is not None


def refuse_in_statistics(path: str | Path, schema: pa.Schema) -> None:
    """Raises where such a file cannot hold a column, or its name."""
    kind, seen = suffix_of(path), set()
    for column in schema:
        where = f"column {column.name!r}"
        if re.fullmatch(NAME[kind], column.name) is None:
            what = "a Stata or SPSS file cannot have this name: a letter, then letters and digits"
            raise DataError(what, where=where, hint="rename it, or " + INSTEAD)
        if column.name.lower() in seen:
            what = "a Stata or SPSS file does not distinguish names by capital letters"
            raise DataError(what, where=where, hint="rename it, or " + INSTEAD)
        seen.add(column.name.lower())
        own = column.type.value_type if types.is_dictionary(column.type) else column.type
        plain = (types.is_null, types.is_boolean, types.is_integer, types.is_floating,
                 types.is_date, types.is_string, types.is_large_string,
                 types.is_string_view)  # fmt: skip
        moment = types.is_timestamp(own) and own.tz is None
        if not moment and not any(is_kind(own) for is_kind in plain):
            what = f"a Stata or SPSS file cannot hold {own}"
            raise DataError(what, where=where, hint=INSTEAD)


class StatisticsWriter:
    """Keeps record batches until all are there, and writes them as one file."""

    def __init__(self, path: Path, schema: pa.Schema, delimiter: str) -> None:
        self.path, self.schema = path, schema
        self.batches: list[pa.RecordBatch] = []

    def write(self, batch: pa.RecordBatch) -> None:
        """Appends the rows of a batch."""
        self.batches.append(batch)

    def close(self) -> None:
        """Writes the file."""
        import polars as pl
        import pyreadstat

        bare = pa.schema([pa.field(each.name, each.type) for each in self.schema])
        table = pa.Table.from_batches([batch.cast(bare) for batch in self.batches], bare)
        columns, labels = {}, {}
        for column in self.schema:
            values = _plain(table.column(column.name))
            columns[column.name], codes = _encode(column, values, suffix_of(self.path))
            if codes:
                labels[column.name] = codes
        titles = {each.name: (each.metadata or {}).get(LABEL, b"").decode() for each in self.schema}
        titles = {name: text for name, text in titles.items() if text}
        write, more = pyreadstat.write_sav, {}
        if suffix_of(self.path) == ".dta":
            write = pyreadstat.write_dta
        elif suffix_of(self.path) == ".zsav":
            more = {"compress": True}
        frame: Any = pl.from_arrow(pa.table(columns))
        try:
            write(
                frame, str(self.path), column_labels=titles or None,
                variable_value_labels=labels or None, **more,
            )  # fmt: skip
        except OSError:
            raise
        except Exception:  # its own words may quote a value
            what = "a Stata or SPSS file cannot hold this table"
            raise DataError(what, hint=INSTEAD) from None
        _remove_date(self.path)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values, whatever they are kept as."""
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return column.cast(pa.large_string()) if types.is_string_view(column.type) else column


def _encode(
    field: pa.Field, values: pa.ChunkedArray, kind: str
) -> tuple[pa.ChunkedArray, dict[Any, str]]:
    """The values as they are stored, and the value labels among them."""
    where = f"column {field.name!r}"
    stated = (field.metadata or {}).get(CODES)
    codes = dict(json.loads(stated)) if stated else {}
    if types.is_boolean(values.type):
        values, codes = values.cast(pa.string()), TRUTHS
    if types.is_null(values.type):
        values = values.cast(pa.string())
    if codes and types.is_string(values.type):
        used = [each for each in pc.unique(values).to_pylist() if each is not None]
        if all(each in codes for each in used):
            names = {codes[each]: each for each in used}
            stored = pa.array([codes.get(each) for each in values.to_pylist()])
            if types.is_null(stored.type):
                stored = stored.cast(pa.float64())
            return pa.chunked_array([stored]), names
    if types.is_string(values.type) or types.is_large_string(values.type):
        if (pc.max(pc.binary_length(values)).as_py() or 0) > LONGEST[kind]:
            what = f"a {kind} file cannot hold texts of more than {LONGEST[kind]:,} bytes"
            raise DataError(what, where=where, hint=INSTEAD)
        if kind != ".dta" and pc.any(pc.match_substring_regex(values, r" \z")).as_py():
            what = "an SPSS file cannot hold texts that end in a space"
            raise DataError(what, where=where, hint=INSTEAD)
    elif types.is_integer(values.type):
        ends = pc.min_max(values).as_py()
        if ends["min"] is not None and max(-ends["min"], ends["max"]) > EXACT:
            what = "a Stata or SPSS file cannot hold whole numbers beyond 2^53 exactly"
            raise DataError(what, where=where, hint=INSTEAD)
        values = values.cast(pa.float64())
    elif types.is_floating(values.type):
        values = values.cast(pa.float64())
        if pc.any(pc.is_inf(values)).as_py():
            what = "a Stata or SPSS file cannot hold infinite numbers"
            raise DataError(what, where=where, hint=INSTEAD)
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, pa.float64()), values)
    elif types.is_timestamp(values.type):
        try:
            values = values.cast(pa.timestamp("ms")).cast(pa.timestamp("us"))
        except pa.ArrowInvalid:
            what = "a Stata or SPSS file cannot hold moments finer than a millisecond"
            raise DataError(what, where=where, hint=INSTEAD) from None
    elif types.is_date(values.type):
        values = values.cast(pa.date32())
    return values, {}


def _remove_date(path: Path) -> None:
    """Overwrites the moment at which a file was written, which stands in its beginning."""
    with path.open("r+b") as file:
        head = file.read(512)
        for stamp, date in STAMPS:
            if found := stamp.match(head) or stamp.search(head):
                file.seek(found.end(1))
                file.write(date)
                return
