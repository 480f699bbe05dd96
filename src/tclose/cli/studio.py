"""tclose studio: the whole work on a page of this machine."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from tclose.cli import console, options
from tclose.errors import UsageError

LOCAL = "127.0.0.1"


@console.guard
def studio(
    table: options.Place | None = None,
    policy: Path | None = None,
    project: Path | None = None,
    port: Annotated[
        int,
        typer.Option(
            metavar="N", help="Port of the page. Default: any free port.", min=0, max=65535
        ),
    ] = 0,
    host: str = LOCAL,
    browser: bool = True,
    *,
    reading: options.ReadingOptions,
) -> None:
    """Work on a local web page: open, audit, search, compare, release.

    Only this user on this computer can open the page. Every setting corresponds to a policy and a
    command. To continue later, start the studio with the same project folder.

    TABLE: The table. Default: the page asks for one.
    --project FOLDER: Project folder. Default: TABLE.studio in the current folder.
    --host ADDRESS: Address to listen on. Default: reachable only from this computer.
    --browser/--no-browser: Whether to open the page in a browser.
    """
    try:
        from tclose.studio.server import ServerSettings, Studio
    except ModuleNotFoundError as error:
        hint = "pip install 'tclose[studio]'"
        raise UsageError(f"the studio needs {error.name}", hint=hint) from None
    stem = table.name.partition(".")[0] if isinstance(table, Path) else ""
    settings = ServerSettings(
        project=(project or Path(f"{stem or 'tclose'}.studio")).absolute(),
        table=str(table.absolute()) if isinstance(table, Path) else table,
        policy=policy,
        reading=reading,
        host=host,
        port=port,
    )
    if host != LOCAL:
        console.stderr().print(
            f"Warning: anyone who can reach {host} and sees the address below can see the table. "
            "The connection is not encrypted.",
            style="bold",
        )

    def tell(address: str) -> None:
        console.stdout(was_asked=True).print(
            f"Studio: {address}\n(works once; Ctrl-C ends it)", soft_wrap=True, markup=False
        )
        console.say(f"project: {settings.project}")

    made = Studio(settings)
    tempfile.tempdir = str(made.private)  # uploads are spooled there, and gone with it
    made.run(open_page=browser, ready=tell)
