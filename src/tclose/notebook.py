"""Results in notebooks: a card in place of a long repr, frames, and a line of progress.

How cards and pictures look is the business of the report, far above those who return results: it is
imported by its name when somebody looks.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Literal, ParamSpec, TypeVar

from tclose.errors import UsageError
from tclose.plain import escape_controls, to_plain

P = ParamSpec("P")
R = TypeVar("R")
FrameKind = Literal["pandas", "polars", "arrow"]
LIBRARIES = {"pandas": "pandas", "polars": "polars", "arrow": "pyarrow"}
DELAY = 0.5
"""Seconds after which progress is shown: what is quicker needs none."""
EVERY = 0.2
"""Seconds between two updates of the line."""

CARDS = "tclose.report.cards"
"""Where `render_card` and `draw_result` are, which show results."""


class Displayable:
    """A result with a short repr, which notebooks show as a card."""

    @property
    def headline(self) -> str:
        """A short summary without any value of the table."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return escape_controls(f"<{type(self).__name__}: {self.headline}>", lines=False)

    def _repr_html_(self) -> str:
        card: str = import_module(CARDS).render_card(self)
        return card


class Drawable(Displayable):
    """A result that has a picture."""

    def svg(self) -> str:
        """The picture, as the text of an SVG file; in a notebook: `IPython.display.SVG(…)`."""
        drawn: str = import_module(CARDS).draw_result(self)
        return drawn


class Tabular(Displayable):
    """A result whose lines make a table."""

    def records(self) -> list[dict[str, Any]]:
        """The lines of the table, as plain values."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """Everything as plain values for JSON; infinite numbers are null."""
        plain: dict[str, Any] = to_plain(vars(self))
        return plain

    def to_frame(self, kind: FrameKind = "pandas") -> Any:
        """The lines as a frame: of pandas, of polars, or a table of Arrow."""
        if kind not in LIBRARIES:
            raise UsageError("unknown kind of frame", where="kind", hint=", ".join(LIBRARIES))
        try:
            library = import_module(LIBRARIES[kind])
        except ModuleNotFoundError:
            hint = 'install it, or ask for another kind: to_frame("arrow")'
            raise UsageError(f"{kind} is not installed", where="to_frame", hint=hint) from None
        records = self.records()
        names = dict.fromkeys(name for record in records for name in record)
        columns = {name: [record.get(name) for record in records] for name in names}
        return library.table(columns) if kind == "arrow" else library.DataFrame(columns)


# --- progress: a line of text that updates, with nothing but what every notebook has


def show_progress(verb: Callable[P, R]) -> Callable[P, R]:
    """Has a function show its progress in a notebook, unless the caller takes care of that."""

    @functools.wraps(verb)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        write = None if "progress" in kwargs else find_line()
        if write is None:
            return verb(*args, **kwargs)
        with _follow(verb.__name__, write) as follow:
            kwargs["progress"] = follow
            return verb(*args, **kwargs)

    return run


def find_line() -> Callable[[str], None] | None:
    """Writes one line below the cell that runs, in place of the line before; None elsewhere."""
    marimo = sys.modules.get("marimo")
    if marimo is not None and marimo.running_in_notebook():
        out = marimo.output
        return lambda text: out.replace(marimo.plain_text(text)) if text else out.clear()
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    # A terminal's IPython has no kernel, and shows an updated line as one more line.
    return None if getattr(shell, "kernel", None) is None else _write_in_jupyter()


def _write_in_jupyter() -> Callable[[str], None]:
    display = import_module("IPython.display").display
    handles: list[Any] = []

    def write(text: str) -> None:
        bundle = {"text/plain": text}
        if handles:
            handles[0].update(bundle, raw=True)
        else:
            handles.append(display(bundle, raw=True, display_id=True))

    return write


@contextmanager
def _follow(name: str, write: Callable[[str], None]) -> Iterator[Callable[[Any], None]]:
    """A progress callback that shows one line, removed at the end."""
    started = time.monotonic()
    shown: list[float] = []

    def follow(step: Any) -> None:
        now = time.monotonic()
        if now - started >= DELAY and (not shown or now - shown[-1] >= EVERY):
            shown[:] = [now]
            write(f"tclose {name}: {describe_step(step)}")

    try:
        yield follow
    finally:
        if shown:
            write("")


def describe_step(step: Any) -> str:
    """A step in words: text as it is, that of a search with its share of the work and best loss.

    >>> describe_step("counting the classes")
    'counting the classes'
    """
    if isinstance(step, str):
        return step
    done = f", {min(step.seconds_used / step.seconds_total, 1):.0%}" if step.seconds_total else ""
    loss = "" if step.loss is None else f", best loss {step.loss:.4f}"
    return f"{step.step}{done}{loss}"
