"""A search as its user meets it: a bar that tells how far it is, and Ctrl-C to stop it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, TypedDict

from tclose.cli.console import stderr

if TYPE_CHECKING:
    from tclose.search import Progress


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
