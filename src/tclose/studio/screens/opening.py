"""The page Open: the table, how it is read, and its first rows."""

from __future__ import annotations

from pathlib import Path

from starlette.responses import Response

from tclose.data.io.paths import Address, Reading
from tclose.data.opening import open_source
from tclose.errors import UsageError
from tclose.studio.visit import Visit, act, show

ENCODINGS = ("utf-8", "utf-16", "latin-1", "windows-1252", "iso-8859-15", "shift_jis")
DELIMITERS = ((",", "comma"), (";", "semicolon"), ("\t", "tab"), ("|", "bar"), (" ", "space"))


def show_open(visit: Visit, problem: str = "") -> Response:
    """Shows which table is open, and its first rows."""
    view, waiting, bench = None, None, visit.bench
    if bench.project.table is not None:
        try:
            job = bench.view()
            view = visit.get_result(job)
            waiting = None if view is not None else job
        except UsageError as error:
            problem = problem or str(error)
    if view is not None and not bench.project.raw:
        bench.project.change(lambda raw: raw.update(view.draft()))
    return visit.page(
        "open.html", problem=problem, waiting=waiting, command=bench.command("init"),
        encodings=ENCODINGS, delimiters=DELIMITERS,
    )  # fmt: skip


def open_table(visit: Visit) -> str:
    """Opens a path, an upload or an address of a database, read with the settings of the form."""
    bench, upload = visit.bench, visit.upload("file")
    address = visit.text("address")
    table: str | Address
    if upload is not None:
        keep = visit.text("keep") == "yes"
        table = str(bench.take_upload(upload.filename or "", upload.file, keep=keep).absolute())
    elif address:
        found = Address.of(address)
        if found is None:
            what, hint = (
                "this is not an address of a database",
                "such as postgresql://user@host/db#table",
            )
            raise UsageError(what, where="address", hint=hint)
        table = found
    elif visit.text("path"):
        table = str(Path(visit.text("path")).expanduser().absolute())
    else:
        raise UsageError("no table is chosen", hint="give a path, a file or an address")
    marks = tuple(mark.strip() for mark in visit.text("nulls").split(",") if mark.strip())
    # A delimiter may be a blank, so the text of the form is used unchanged.
    delimiter = next(iter(visit.texts("delimiter")), "")
    reading = Reading(
        delimiter or None, visit.text("encoding") or None, ("", *marks),
        sheet=visit.text("sheet") or None, query=visit.text("query") or None,
    )  # fmt: skip
    columns = look_first(Path(table), reading) if isinstance(table, str) else None
    bench.project.open(table, reading, columns=columns)
    return "/open"


def look_first(path: Path, reading: Reading) -> tuple[str, ...]:
    """Returns the columns of a file, or raises an error before the project is changed."""
    source = open_source(path, reading)
    source.read_first(source.columns, 1)
    columns = source.columns
    source.close()
    return columns


ROUTES = [show("/open", show_open), act("/open", open_table, show_open)]
