"""Stata and SPSS files: read once into a file of typed columns that DuckDB counts.

Such files store codes, and say in value labels what each code means. A column whose values all have
labels of their own is read as these labels, and remembers its codes: written to such a file again,
it has both. What the file declares to be missing is missing, and so is an empty text.

The library that reads them may crash on a damaged file, and takes its process with it: so it runs
in one of its own, `python -m tclose.data.engines.files.statistics PATH TARGET [ENCODING]`, which
imports no engine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, datetime, time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tclose.data.io.files import TYPES
from tclose.data.io.packed import DENSE, RATIO
from tclose.data.io.paths import Files, refuse_ambiguous, suffix_of
from tclose.data.io.scratch import Scratch
from tclose.data.io.statistics_writer import CODES, EXACT, LABEL, needs_pyreadstat
from tclose.errors import DataError

if TYPE_CHECKING:
    from tclose.data.engines.duckdb.source import DuckSource
    from tclose.data.io.counting import Connection

ROWS, BYTES = 65_536, 128 << 20
"""How many rows are read at once at most, and about how much memory they may take."""
VALUE, LONG_TEXT = 32, 1 << 16
"""What Python needs for a value, beside its text; what a text of any length is taken to need."""
MOST_MEMORY = 6 << 30
"""The address space of the process that reads: rows may share one long text in the file, and have
a copy each in memory."""
KINDS: dict[type, str] = {
    bool: "whole", int: "whole", str: "text", datetime: "moment", date: "day", time: "time",
}  # fmt: skip

Chunk = dict[str, list[Any]]


def open_statistics(files: Files, encoding: str | None, connection: Connection) -> DuckSource:
    """The table in a Stata or SPSS file."""
    from tclose.data.engines.files.source import open_dataset
    from tclose.data.io.counting import file_hash

    path, scratch = files.paths[0], Scratch()
    if find_spec("pyreadstat") is None:
        raise needs_pyreadstat(path)
    target = scratch.place("table.arrow")
    notes = _convert_apart(path, target, encoding, scratch)
    import pyarrow.dataset as ds  # slow to import: it looks for pandas

    return open_dataset(
        ds.dataset([str(target)], format="ipc"), connection, files.name,
        hashed=lambda: file_hash(path), scratch=scratch, files=files.paths, notes=tuple(notes),
    )  # fmt: skip


def _convert_apart(path: Path, target: Path, encoding: str | None, scratch: Scratch) -> list[str]:
    """Converts a file in another process; returns notes for the reader."""
    # -P: no module is taken from the current folder, where the table may have come with others.
    module = [sys.executable, "-P", "-m", __spec__.name, os.path.abspath(path), str(target)]
    places = os.pathsep.join(place for place in sys.path if place)
    with path.open("rb"):  # whoever may not read it hears that from the system
        done = subprocess.run(
            [*module, *([encoding] if encoding else [])],
            capture_output=True, env={**os.environ, "PYTHONPATH": places}, check=False,
            pass_fds=[file.fileno() for file in scratch.files.values()],
        )  # fmt: skip
    try:
        answer = json.loads(done.stdout)
    except ValueError:  # it crashed
        raise _describe_damage(path) from None
    if "errno" in answer:
        raise OSError(answer["errno"], answer["strerror"])
    if "what" in answer:
        raise DataError(answer["what"], where=answer["where"], hint=answer["hint"])
    notes: list[str] = answer["notes"]
    return notes


def convert(path: Path, target: Path, encoding: str | None) -> list[str]:
    """Writes the table of a Stata or SPSS file as an Arrow file; returns notes for the reader."""
    chunks, metadata = _open(path, encoding)
    refuse_ambiguous(metadata.column_names, path.name)
    columns = {
        name: _Column(name, metadata.variable_value_labels.get(name) or {}, label or "")
        for name, label in metadata.column_names_to_labels.items()
    }
    for chunk in chunks():
        for name, values in chunk.items():
            columns[name].look_at(values)
    schema = pa.schema([column.field() for column in columns.values()])
    with pa.ipc.new_file(target, schema) as file:
        for chunk in chunks():
            arrays = [column.convert(chunk[name]) for name, column in columns.items()]
            file.write(pa.record_batch(arrays, schema=schema))
    return [note for column in columns.values() for note in column.notes()]


def _describe_damage(path: Path) -> DataError:
    what = "not a Stata or SPSS file, damaged, or in another encoding"
    hint = "name its encoding (--encoding), or save it again"
    return DataError(what, where=path.name, hint=hint)


def main(path: Path, target: Path, encoding: str | None) -> None:
    """Converts a file and prints the result, for the parent process."""
    _limit_memory()
    try:
        print(json.dumps({"notes": convert(path, target, encoding)}))
    except DataError as error:
        print(json.dumps({"what": error.what, "where": error.where, "hint": error.hint}))
    except MemoryError:
        what = f"its rows take more than {MOST_MEMORY >> 30} GiB of memory, or more than there is"
        hint = "save it without long texts, or as .csv or .parquet"
        print(json.dumps({"what": what, "where": path.name, "hint": hint}))
    except OSError as error:
        print(json.dumps({"errno": error.errno, "strerror": error.strerror}))


def _limit_memory() -> None:
    """Limits the memory of this process, where the system can; never above what it has."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        limits = [each for each in (soft, hard) if each != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_AS, (min([MOST_MEMORY, *limits]), hard))


@dataclass
class _Column:
    """The facts about a column after all of its values were read."""

    name: str
    labels: dict[Any, str]
    label: str
    kinds: set[str] = field(default_factory=set)
    unlabelled: bool = False

    def look_at(self, values: list[Any]) -> None:
        """Notes the kinds of some values, and whether all of them have a label."""
        seen = {value for value in values if value is not None and value != ""}
        self.kinds |= {_classify(value) for value in seen}
        self.unlabelled |= not seen <= self.labels.keys()

    @property
    def is_labelled(self) -> bool:
        """Whether different values have different labels."""
        labels = list(self.labels.values())
        is_clear = all(labels) and len({*labels}) == len(labels)
        return bool(labels) and is_clear and not self.unlabelled

    def notes(self) -> list[str]:
        """Notes for the reader about labels that were not used."""
        if not self.labels or self.is_labelled or not self.kinds:
            return []
        why = "not all of its values have one" if self.unlabelled else "they do not differ"
        return [f"column {self.name!r} is read as its codes, not its labels: {why}"]

    def field(self) -> pa.Field:
        """The column's name and type; its value labels are metadata for files that hold them."""
        beside = {LABEL: self.label} if self.label else {}
        if not self.is_labelled:
            kind = TYPES.get(frozenset(self.kinds))
            if kind is None:
                what, hint = "the column holds values of several kinds", "write or fetch it again"
                raise DataError(what, where=f"column {self.name!r}", hint=hint)
            return pa.field(self.name, kind, metadata=beside)
        codes = json.dumps([[label, code] for code, label in self.labels.items()])
        return pa.field(self.name, pa.string(), metadata={CODES: codes, **beside})

    def convert(self, values: list[Any]) -> pa.Array:
        """Some values, in the type of the column."""
        if self.is_labelled:
            return pa.array([self.labels.get(value) for value in values], pa.string())
        kind = self.field().type
        if pa.types.is_integer(kind):
            values = [None if value is None else int(value) for value in values]
        return pa.array([None if value == "" else value for value in values], kind)


def _classify(value: object) -> str:
    if isinstance(value, float):
        return "whole" if value.is_integer() and abs(value) <= EXACT else "number"
    return KINDS.get(type(value), type(value).__name__)


def _open(path: Path, encoding: str | None) -> tuple[Callable[[], Iterator[Chunk]], Any]:
    """A function that reads the rows in batches, from the first at every call, and the metadata."""
    import pyreadstat

    read = {".dta": pyreadstat.read_dta, ".por": pyreadstat.read_por}.get(
        suffix_of(path), pyreadstat.read_sav
    )
    options = {} if encoding is None else {"encoding": encoding}

    def load(**more: Any) -> Any:
        try:
            return read(str(path), output_format="dict", **options, **more)
        except (OSError, MemoryError):
            raise
        except Exception:  # its own words may quote what stands in the file
            raise _describe_damage(path) from None

    _, metadata = load(metadataonly=True)
    if not metadata.column_names:
        raise DataError("the file has no columns", where=path.name)
    widths = metadata.variable_storage_width
    long_texts = [name for name, width in widths.items() if width == 0]
    stored = sum(widths.values())
    needed = stored + VALUE * len(widths) + LONG_TEXT * len(long_texts)
    limit = max(1, min(ROWS, BYTES // max(1, needed)))
    most = max(DENSE, RATIO * path.stat().st_size)

    def chunks() -> Iterator[Chunk]:
        start = unpacked = 0
        while True:
            chunk, _ = load(row_offset=start, row_limit=limit)
            rows = len(next(iter(chunk.values()), []))
            if rows:
                yield chunk
            start += rows
            if rows < limit:
                return
            unpacked += rows * stored
            unpacked += sum(len(text or "") for name in long_texts for text in chunk[name])
            if unpacked > most:
                what = f"unpacked, it is larger than {most >> 20:,} MiB, {RATIO} times itself"
                raise DataError(what, where=path.name, hint="save it without compression")

    return chunks, metadata


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] if sys.argv[3:] else None)
