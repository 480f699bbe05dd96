"""Where output, errors and progress go, what the exit code says, and Ctrl-C during a search."""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import typer

from tclose.cli.options import ungroup
from tclose.errors import InternalError, PolicyError, TcloseError

if TYPE_CHECKING:
    from rich.console import Console

    from tclose.report.document import Document, Part
    from tclose.search import Progress

HOLDS, FAILS, WRONG = 0, 1, 2
LITERAL = re.compile(r"'(?:[^']|'')*'|(\$\w*\$).*?\1", re.DOTALL)
"""A value as SQL writes it."""

F = TypeVar("F", bound=Callable[..., Any])


def stdout() -> Console:
    """Where results go; as wide as they need where nobody looks at a screen."""
    from rich.console import Console

    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=160)


def stderr() -> Console:
    """Where errors and progress go."""
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


def say(text: str) -> None:
    """One line on standard error; brackets in a file's name are not markup."""
    stderr().print(text, markup=False)


def print_json(value: Any) -> None:
    """One JSON object, and nothing else, on standard output."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False))


def show(
    result: Any,
    summarize: Callable[[Any], Sequence[Part]],
    *,
    as_json: bool,
    plain: Callable[[Any], Any] = lambda result: result.to_json(),
    document: Document | None = None,
    report: Path | None = None,
) -> None:
    """The result of a command, for people or as one JSON object.

    Its document, where there is one, is a part of the object; people see it if that is what they
    asked for in place of a file, and are told otherwise where it was written.
    """
    from tclose.report.render.saving import SCREEN
    from tclose.report.render.terminal import render_document, render_parts

    if as_json:
        values = plain(result)
        print_json(values if document is None else values | {"report": document.to_json()})
    elif document is not None and report == SCREEN:
        stdout().print(render_document(document))
    else:
        stdout().print(render_parts(summarize(result)))
    if report is not None and report != SCREEN:
        say(f"report: {report}")


def print_table(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table for people."""
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*row)
    stdout().print(table)


def command_line() -> str:
    """What was typed, for certificates: without passwords, and without the values in a query."""
    from tclose.data.io.paths import hide_passwords

    words = hide_passwords(sys.argv[1:])
    for at, word in enumerate(words):
        if word.startswith("--query=") or (at and words[at - 1] == "--query"):
            words[at] = LITERAL.sub("'…'", word)
    return shlex.join(["tclose", *words])


def compose_command(*words: object) -> str:
    """A further command of this program as it can be typed here, however this one was started."""
    started = Path(sys.argv[0])
    if started.parts[-2:] == ("tclose", "__main__.py"):
        program = [_name_program(Path(sys.executable)), "-m", "tclose"]
    elif started.stem == "tclose":
        program = [_name_program(started)]
    else:
        program = ["tclose"]
    return shlex.join([*program, *map(str, words)])


def _name_program(program: Path) -> str:
    """Its bare name where PATH finds it by that, else its path, relative if it lies below here."""
    path, found = program.absolute(), shutil.which(program.name)
    # Links are not followed: the Python of a virtual environment is a link to another.
    if found is not None and Path(found).absolute() == path:
        return program.name
    if not path.is_relative_to(Path.cwd()):
        return str(path)
    below = path.relative_to(Path.cwd())
    return str(below) if len(below.parts) > 1 else f"./{below}"


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """A line that says what is being done, on a terminal only, gone when it is done."""
    console = stderr()
    if not console.is_terminal:
        yield lambda step: None
        return
    with console.status("starting (kernels are compiled on first use) …") as status:
        yield lambda step: status.update(f"{step} …")


class Watch(TypedDict):
    """Whom a search tells how far it is, and whom it asks whether to go on."""

    progress: Callable[[Progress], None]
    cancelled: Callable[[], bool]


@contextmanager
def searching() -> Iterator[Watch]:
    """A progress bar (on a terminal only), and Ctrl-C as a request to stop searching."""
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    stopped: list[bool] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        if stopped:
            raise KeyboardInterrupt
        stopped.append(True)

    before = signal.signal(signal.SIGINT, interrupt)
    console = stderr()
    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[loss]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    try:
        with bar:
            task = bar.add_task("opening the table", total=None, loss="")

            def report(step: Progress) -> None:
                loss = "" if step.loss is None else f"best loss {step.loss:.4f}"
                bar.update(
                    task,
                    description=step.step,
                    completed=step.seconds_used,
                    total=step.seconds_total,
                    loss=loss,
                )

            yield Watch(progress=report, cancelled=lambda: bool(stopped))
    finally:
        signal.signal(signal.SIGINT, before)


def guard(command: F) -> F:
    """Turns every failure of a command into a message and exit code 2, never a traceback.

    The command may take groups of options.
    """
    command = ungroup(command)

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        as_json = bool(kwargs.get("as_json"))
        try:
            return command(*args, **kwargs)
        except (typer.Exit, typer.Abort):
            raise
        except TcloseError as error:
            _report(error, as_json=as_json)
        except KeyboardInterrupt:
            stderr().print("stopped; nothing was written")
            raise typer.Exit(130) from None
        except BrokenPipeError:
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115
            raise typer.Exit(128 + 13) from None  # as the shell counts SIGPIPE; 0 would say `holds`
        except MemoryError:
            _report(TcloseError("not enough memory", hint="use a larger machine"), as_json=as_json)
        except OSError as error:
            _report(_describe_refusal(error), as_json=False)
        except Exception as error:
            if os.environ.get("TCLOSE_DEBUG"):
                raise
            what = f"unexpected {type(error).__name__} (set TCLOSE_DEBUG=1 to see where)"
            _report(InternalError(what), as_json=as_json)
        raise typer.Exit(WRONG)

    run.__doc__ = _unwrap(command.__doc__ or "")
    return run  # type: ignore[return-value]


def _unwrap(words: str) -> str:
    """Paragraphs as one line each, so that help breaks lines where the terminal does.

    >>> _unwrap("One thing.\\n\\n    And another\\n    one.")
    'One thing.\\n\\nAnd another one.'
    """
    return "\n\n".join(" ".join(part.split()) for part in words.split("\n\n"))


def _describe_refusal(error: OSError) -> TcloseError:
    return TcloseError(
        f"cannot be read or written ({error.strerror or type(error).__name__})",
        where=str(error.filename or "output"),
        hint="check the path, who may use it, and the space left",
    )


def _report(error: TcloseError, *, as_json: bool) -> None:
    if as_json:
        problems = error.problems if isinstance(error, PolicyError) else ()
        print_json({"error": str(error), "problems": [vars(problem) for problem in problems]})
    from rich.markup import escape

    stderr().print(f"[bold red]Error:[/] {escape(str(error))}")
