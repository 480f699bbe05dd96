"""Writes record batches as an Excel sheet: text stays text, and values that Excel cannot hold are
refused.

Not written by a library: openpyxl and XlsxWriter write numbers with 16 digits, which makes 0.3 of
0.1 + 0.2, and openpyxl stamps the archive with the time of day. Here every number is read back as
it was, and equal rows give equal bytes. Texts are never formulas, whatever they begin with.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

import pyarrow as pa
import pyarrow.compute as pc

from tclose.errors import DataError

MOST_ROWS = 1_048_576
"""The header's row included."""
MOST_COLUMNS = 16_384
LONGEST = 32_767
EXACT = 2**53
EPOCH = 25_569
"""1 January 1970 as Excel counts days."""
FIRST_DAY = 61
"""1 March 1900: before, Excel counts a day that never was."""
DAY = 86_400_000
ODD = "[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|_x[0-9A-Fa-f]{4}_"
"""What XML has no way to write, or Excel takes for the code of another character."""
INSTEAD = "write a .parquet or .csv file"
EMPTY = ' t="inlineStr"><is><t></t></is></c>'
"""An empty text, which is read as missing: the only cell of a row that has no value."""
types = pa.types

HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
FORMATS = "http://schemas.openxmlformats.org"
MAIN = f"{FORMATS}/spreadsheetml/2006/main"
OFFICE = f"{FORMATS}/officeDocument/2006/relationships"
LINKS = f'{HEAD}<Relationships xmlns="{FORMATS}/package/2006/relationships">'
KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"
PARTS = {
    "[Content_Types].xml": f'{HEAD}<Types xmlns="{FORMATS}/package/2006/content-types">'
    '<Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{KIND}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{KIND}.worksheet+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{KIND}.styles+xml"/></Types>',
    "_rels/.rels": f'{LINKS}<Relationship Id="rId1" Type="{OFFICE}/officeDocument" '
    'Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'{HEAD}<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>'
    '<sheet name="table" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'{LINKS}<Relationship Id="rId1" Type="{OFFICE}/worksheet" '
    f'Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="{OFFICE}/styles" '
    'Target="styles.xml"/></Relationships>',
}


class SheetWriter:
    """Writes record batches as the only sheet of an .xlsx file."""

    def __init__(self, path: Path, schema: pa.Schema, delimiter: str) -> None:
        self.schema, self.rows = schema, 0
        formats = list(dict.fromkeys(["General", "@", *(_format(field.type) for field in schema)]))
        self.styles = [formats.index(_format(field.type)) for field in schema]
        self.archive = zipfile.ZipFile(path, "w")
        for name, text in {**PARTS, "xl/styles.xml": _styles(formats)}.items():
            self.archive.writestr(_entry(name), text)
        self.sheet = self.archive.open(_entry("xl/worksheets/sheet1.xml"), "w")
        self.sheet.write(f'{HEAD}<worksheet xmlns="{MAIN}"><sheetData>'.encode())
        names = [pa.array([name], pa.string()) for name in schema.names]
        self._append(names, [formats.index("@")] * len(names))

    def close(self) -> None:
        """Ends the file."""
        self.sheet.write(b"</sheetData></worksheet>")
        self.sheet.close()
        self.archive.close()

    def write(self, batch: pa.RecordBatch) -> None:
        """Appends the rows of a batch."""
        if batch.num_rows:
            refuse_too_large(self.rows - 1 + batch.num_rows, len(self.schema), "the release")
            self._append(batch.columns, self.styles)

    def _append(self, columns: Sequence[pa.Array], styles: Sequence[int]) -> None:
        first, self.rows = self.rows + 1, self.rows + len(columns[0])
        numbers = pa.array(range(first, self.rows + 1)).cast(pa.string())
        cells = [
            _cells(name, columns[at], letters(at), styles[at], numbers)
            for at, name in enumerate(self.schema.names)
        ]
        joined = pc.binary_join_element_wise(*cells, "", "")
        # A row without any cell would be no row to those who read it.
        empty = pc.binary_join_element_wise('<c r="A', numbers, f'"{EMPTY}', "")
        cells = [pc.if_else(pc.equal(joined, ""), empty, joined)]
        rows = pc.binary_join_element_wise('<row r="', numbers, '">', *cells, "</row>", "")
        try:
            self.sheet.write(rows.buffers()[2])
        except RuntimeError:
            raise DataError("too large for a spreadsheet", hint=INSTEAD) from None


def needs_openpyxl(path: str | Path) -> DataError:
    """The error raised if the library that reads Excel files is not installed."""
    hint = "pip install 'tclose[excel]'"
    return DataError("Excel files need openpyxl", where=str(path), hint=hint)


def refuse_too_large(rows: int, columns: int, where: str) -> None:
    """Raises where a sheet has no room for so many rows (without the header's) or columns."""
    if rows >= MOST_ROWS or columns > MOST_COLUMNS:
        what = f"an Excel sheet has room for {MOST_ROWS - 1:,} rows and {MOST_COLUMNS:,} columns"
        raise DataError(what, where=where, hint=INSTEAD)


def refuse_in_sheet(schema: pa.Schema) -> None:
    """Raises where a column has values that a sheet cannot hold exactly."""
    for field in schema:
        kind = field.type.value_type if types.is_dictionary(field.type) else field.type
        if problem := _problem(kind):
            raise _refusal(problem, f"column {field.name!r}")


def letters(column: int) -> str:
    """How Excel calls a column, counted from 0.

    >>> letters(0), letters(25), letters(26), letters(16_383)
    ('A', 'Z', 'AA', 'XFD')
    """
    name = ""
    while column >= 0:
        column, rest = divmod(column, 26)
        name, column = chr(65 + rest) + name, column - 1
    return name


def _problem(kind: pa.DataType) -> str:
    if types.is_timestamp(kind):
        return "moments with a time zone" if kind.tz else ""
    if types.is_decimal(kind):
        return "" if kind.scale >= 0 and kind.precision <= 15 else "more than 15 digits"
    plain = (types.is_boolean, types.is_integer, types.is_floating, types.is_date, types.is_time,
             _is_text, types.is_null)  # fmt: skip
    held = any(is_kind(kind) for is_kind in plain)
    return "" if held else "lists, structures, bytes or durations"


def _is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.large_string(), pa.string_view())


def _format(kind: pa.DataType) -> str:
    if types.is_dictionary(kind):
        return _format(kind.value_type)
    if types.is_date(kind):
        return "yyyy\\-mm\\-dd"
    if types.is_timestamp(kind):
        return "yyyy\\-mm\\-dd\\ hh:mm:ss.000"
    if types.is_time(kind):
        return "hh:mm:ss.000"
    if types.is_decimal(kind) and kind.scale > 0:
        return f"0.{'0' * kind.scale}"
    return "@" if _is_text(kind) else "General"


def _cells(name: str, column: pa.Array, letter: str, style: int, rows: pa.Array) -> pa.Array:
    """The XML of one column's cells; a missing value has none."""
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    where, kind = f"column {name!r}", column.type
    styled = f' s="{style}"' if style else ""
    if _is_text(kind):
        texts = _escape(column, where)
        before, after = f'"{styled} t="inlineStr"><is><t xml:space="preserve">', "</t></is></c>"
    else:
        texts = _numbers(column, where)
        bools = ' t="b"' if types.is_boolean(kind) else ""
        before, after = f'"{styled}{bools}><v>', "</v></c>"
    cells = pc.binary_join_element_wise(f'<c r="{letter}', rows, before, texts, after, "")
    return pc.fill_null(cells, "")


def _escape(column: pa.Array, where: str) -> pa.Array:
    texts = column.cast(pa.string())
    if (pc.max(pc.utf8_length(texts)).as_py() or 0) > LONGEST:
        raise _refusal(f"texts of more than {LONGEST:,} characters", where)
    if pc.any(pc.match_substring_regex(texts, ODD)).as_py():
        raise _refusal("control characters, or texts such as _x000A_, as they are", where)
    for mark, written in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\r", "&#13;")):
        texts = pc.replace_substring(texts, mark, written)
    return texts


def _numbers(column: pa.Array, where: str) -> pa.Array:
    """Numbers, days and moments as Excel's numbers, as text."""
    kind = column.type
    if types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif types.is_integer(kind):
        if not _within(column, -EXACT, EXACT):
            raise _refusal("whole numbers beyond 2^53 exactly", where)
    elif types.is_floating(kind):
        column = column.cast(pa.float64())
        if pc.any(pc.is_inf(column)).as_py():
            raise _refusal("infinite numbers", where)
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, pa.float64()), column)
    elif types.is_temporal(kind):
        column = _days(column, where)
    return column.cast(pa.string())


def _days(column: pa.Array, where: str) -> pa.Array:
    """Days, moments and times of day as numbers of days."""
    kind = column.type
    try:
        if types.is_date(kind):
            days = pc.add(column.cast(pa.date32()).cast(pa.int32()).cast(pa.int64()), EPOCH)
        elif types.is_time(kind):
            passed = column.cast(pa.time32("ms")).cast(pa.int32())
            return pc.divide(passed.cast(pa.float64()), float(DAY))
        else:
            passed = column.cast(pa.timestamp("ms")).cast(pa.int64())
            days = pc.add(pc.divide(passed.cast(pa.float64()), float(DAY)), float(EPOCH))
    except pa.ArrowInvalid:
        raise _refusal("moments finer than a millisecond", where) from None
    if not _within(days, FIRST_DAY, float("inf")):
        raise _refusal("days before 1 March 1900", where)
    return days


def _within(column: pa.Array, low: float, high: float) -> bool:
    ends = pc.min_max(column).as_py()
    return ends["min"] is None or (low <= ends["min"] and ends["max"] <= high)


def _refusal(what: str, where: str) -> DataError:
    return DataError(f"an Excel file cannot hold {what}", where=where, hint=INSTEAD)


def _entry(name: str) -> zipfile.ZipInfo:
    """A member of the archive with a fixed date, so that equal content gives equal bytes."""
    entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def _styles(formats: list[str]) -> str:
    listed = "".join(
        f'<numFmt numFmtId="{164 + at}" formatCode="{escape(code)}"/>'
        for at, code in enumerate(formats)
    )
    uses = "".join(
        f'<xf numFmtId="{164 + at}" fontId="0" fillId="0" borderId="0" xfId="0" '
        'applyNumberFormat="1"/>'
        for at in range(len(formats))
    )
    return (
        f'{HEAD}<styleSheet xmlns="{MAIN}"><numFmts count="{len(formats)}">{listed}</numFmts>'
        '<fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>'
        '<fills count="2"><fill><patternFill patternType="none"/></fill>'
        '<fill><patternFill patternType="gray125"/></fill></fills>'
        '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
        '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/>'
        f'</cellStyleXfs><cellXfs count="{len(formats)}">{uses}</cellXfs>'
        '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles>'
        "</styleSheet>"
    )
