"""Standard output, errors, progress, exit codes, and Ctrl-C during a search."""

from __future__ import annotations

import functools
import inspect
import os
import re
import shlex
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import typer

from tclose.cli.options import describe, read_docstring, read_entries, ungroup
from tclose.cli.progress import Display, display_steps
from tclose.errors import InternalError, PolicyError, TcloseError
from tclose.plain import escape_controls, json_text

if TYPE_CHECKING:
    from rich.console import Console

    from tclose.report.document import Document, Part

HOLDS, FAILS, WRONG, CRASHED = 0, 1, 2, 70
PIPE_CLOSED = 128 + 13
"""As shells count SIGPIPE; 0 would say that the promise holds."""

F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class Settings:
    """The options that every command has for its output."""

    quiet: bool = False
    no_color: bool = False
    judged: bool = False
    """Whether the exit code is a verdict, not only an accident of the same number."""
    terminated: bool = False
    """Whether the process was asked to end: what fails after that fails for it."""


SETTINGS = Settings()


def stdout(*, was_asked: bool = False) -> Console:
    """The console for results, 160 characters wide if the output is not a terminal.

    Nothing is printed where a command is to be quiet, unless this was asked for.
    """
    from tclose.report.render.terminal import SafeConsole

    how: dict[str, Any] = {
        "highlight": False,
        "emoji": False,
        "no_color": SETTINGS.no_color or None,
        "quiet": SETTINGS.quiet and not was_asked,
    }
    console = SafeConsole(**how)
    return console if console.is_terminal else SafeConsole(**how, width=160)


def stderr() -> Console:
    """Where errors and progress go."""
    from tclose.report.render.terminal import SafeConsole

    plain = SETTINGS.no_color or None
    return SafeConsole(stderr=True, highlight=False, emoji=False, soft_wrap=True, no_color=plain)


def say(text: str) -> None:
    """Prints one line on standard error unless `--quiet` is given, without markup."""
    if not SETTINGS.quiet:
        stderr().print(escape_controls(text, lines=False), markup=False)


def print_json(value: object) -> None:
    """One JSON object, and nothing else, on standard output."""
    typer.echo(json_text(value), nl=False)


def echo(text: str, *, nl: bool = True) -> None:
    """Text that needs no style, on standard output."""
    typer.echo(escape_controls(text), nl=nl)


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
        stdout(was_asked=True).print(render_document(document))
    else:
        stdout().print(render_parts(summarize(result)))
    if report is not None and report != SCREEN:
        say(f"report: {report}")


def print_table(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table for people."""
    from tclose.report.document import Table
    from tclose.report.render.terminal import render_table

    stdout().print(render_table(Table(title, tuple(headings), tuple(map(tuple, rows)))))


def command_line() -> str:
    """The typed command, for certificates: without passwords, queries or names of folders."""
    from tclose.data.io.paths import hide_passwords, is_query

    words = hide_passwords(sys.argv[1:])
    for at, word in enumerate(words):
        if is_query(word, words[at - 1] if at else ""):
            words[at] = "--query=…" if word.startswith("--query=") else "…"
    words = [re.sub(r"^(--[\w-]+=)?/(?:[^/]*/)*(?=[^/])", r"\1", word) for word in words]
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
    """Shows a line of progress on a terminal, and removes it at the end."""
    console = stderr()
    if not console.is_terminal or SETTINGS.quiet:
        yield lambda step: None
        return
    with console.status("starting …") as status:
        yield lambda step: status.update(f"{step} …")


def show_steps(*steps: str) -> AbstractContextManager[Display]:
    """A progress bar (on a terminal only) over steps, and Ctrl-C as a request to stop."""
    return display_steps(stderr(), steps, quiet=SETTINGS.quiet)


def give_verdict(*, holds: bool) -> NoReturn:
    """Ends a command with the exit code that says whether the promise holds."""
    SETTINGS.judged = True
    raise typer.Exit(HOLDS if holds else FAILS)


class Terminated(KeyboardInterrupt):
    """The process received a signal to end: cleans up as after Ctrl-C."""


@contextmanager
def tidy_ending() -> Iterator[None]:
    """Runs a whole program: SIGTERM and SIGHUP end it as Ctrl-C does, and a crash has its own code.

    Exit code 1 says that a promise does not hold, so nothing else may end with it.
    """

    def terminate(number: int, frame: FrameType | None) -> NoReturn:
        SETTINGS.terminated = True
        raise Terminated

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, terminate)
    try:
        yield
    except SystemExit as ended:
        if SETTINGS.terminated and ended.code != HOLDS:
            raise SystemExit(128 + signal.SIGTERM) from None
        if isinstance(ended.__context__, BrokenPipeError):  # click ends with 1 then
            raise SystemExit(PIPE_CLOSED) from None
        if ended.code == FAILS and not SETTINGS.judged:
            raise SystemExit(CRASHED) from None
        raise
    except KeyboardInterrupt as stop:
        raise SystemExit(_say_stopped(stop)) from None
    except Exception as error:
        if SETTINGS.terminated:
            raise SystemExit(_say_stopped(Terminated())) from None
        _report(_name_crash(error), as_json=False)
        # Arguments are read before a command begins, and may be refused there.
        is_refused = isinstance(error, TcloseError) and not isinstance(error, InternalError)
        raise SystemExit(WRONG if is_refused else CRASHED) from None


@contextmanager
def _notice_ending() -> Iterator[None]:
    """Raises the signal that was received in place of the error of an interrupted engine."""
    try:
        yield
    except Exception as error:
        if SETTINGS.terminated and not isinstance(error, typer.Exit):
            raise Terminated from None
        raise


def _say_stopped(stop: BaseException) -> int:
    """Reports that a command was stopped; returns the exit code that shells use for the signal."""
    _complain("stopped; nothing was written")
    ended = SETTINGS.terminated or isinstance(stop, Terminated)
    return 128 + (signal.SIGTERM if ended else signal.SIGINT)


def _name_crash(error: Exception) -> TcloseError:
    """The message for an unexpected error, without the error's text, which may quote a value."""
    if os.environ.get("TCLOSE_DEBUG"):
        traceback.print_exception(error)
    if isinstance(error, TcloseError):
        return error
    return InternalError(f"unexpected {type(error).__name__} (set TCLOSE_DEBUG=1 to see where)")


def _begin(*, quiet: bool = False, no_color: bool = False) -> None:
    """Begins a command, with the options that every command has.

    --quiet, -q: Print only errors, and the output of --json or --report -.
    --no-color: Print without colours.
    """
    SETTINGS.judged, SETTINGS.quiet, SETTINGS.no_color = False, quiet, no_color


def guard(command: F) -> F:
    """Turns every failure of a command into a message and exit code 2, or 70 where it is a bug.

    What its options mean stands in its docstring, and it may take groups of them.
    """
    common, words = describe(_begin), read_entries(read_docstring(command))[0]
    command = ungroup(command)

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        _begin(**{each.name: kwargs.pop(each.name, False) for each in common})
        as_json = bool(kwargs.get("as_json"))
        try:
            with _notice_ending():
                return command(*args, **kwargs)
        except typer.Exit:
            raise
        except InternalError as error:
            _report(_name_crash(error), as_json=as_json)
            raise typer.Exit(CRASHED) from None
        except TcloseError as error:
            _report(error, as_json=as_json)
        except (KeyboardInterrupt, typer.Abort) as stop:
            raise typer.Exit(_say_stopped(stop)) from None
        except BrokenPipeError:
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115
            raise typer.Exit(PIPE_CLOSED) from None
        except OSError as error:
            refused = TcloseError(
                f"cannot be read or written ({error.strerror or type(error).__name__})",
                where=str(error.filename or "output"),
                hint="check the path, who may use it, and the space left",
            )
            _report(refused, as_json=False)
        except Exception as error:
            if not _lacks_memory(error):
                _report(_name_crash(error), as_json=as_json)
                raise typer.Exit(CRASHED) from None
            _report(TcloseError("not enough memory", hint="use a larger machine"), as_json=as_json)
        raise typer.Exit(WRONG)

    run.__doc__ = _unwrap(words)
    options = [*inspect.signature(command).parameters.values(), *common]
    run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in options}
    return run  # type: ignore[return-value]


def _lacks_memory(error: Exception) -> bool:
    """Whether the system had too little memory, in the words of Python or of an engine."""
    if isinstance(error, RuntimeError | ImportError):
        known = ("can't start new thread", "failed to map segment")  # of a library
        return any(words in str(error) for words in known)
    return isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException"


def _unwrap(words: str) -> str:
    """Paragraphs as one line each, so that help breaks lines where the terminal does."""
    return "\n\n".join(" ".join(part.split()) for part in words.split("\n\n"))


def _report(error: TcloseError, *, as_json: bool) -> None:
    if as_json:
        problems = error.problems if isinstance(error, PolicyError) else ()
        print_json({"error": str(error), "problems": [vars(problem) for problem in problems]})
    from rich.markup import escape

    _complain(f"[bold red]Error:[/] {escape(str(error))}")


def _complain(text: str) -> None:
    """A line on standard error; if it cannot be written, the exit code says enough."""
    with suppress(OSError):
        stderr().print(text)
