"""Progress of a command on a terminal: steps in order, the best loss so far, the work left."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar

    from tclose.search import Progress

READING, SEARCHING, WRITING, RECOUNTING = "reading", "searching", "writing", "recounting"
DRAWING, ATTACKING, REPORTING = "drawing the frontier", "attacking", "composing the report"
RELEASING = (READING, SEARCHING, WRITING, RECOUNTING)
SEARCH_WEIGHT = 10
"""How many other steps a search counts as on the bar."""


class StoryLine(NamedTuple):
    """What the progress line shows at one moment."""

    words: str
    done: float
    """The share of the whole, from 0 to 1."""
    loss: str
    left: str


class Story:
    """Turns whatever a run reports into lines in which nothing ever goes back.

    >>> story = Story(("reading", "searching", "writing"))
    >>> story.tell("searching", "swapping", share=0.5, loss=0.25, left=10.0)
    StoryLine(words='step 2 of 3: searching (swapping)', done=0.5, loss='best loss 0.2500', \
left='about 10 s of work left')
    >>> later = story.tell("searching", "covering", share=0.1, loss=0.75, left=12.0)
    >>> later.done, later.loss, later.left
    (0.5, 'best loss 0.2500', 'about 10 s of work left')
    """

    def __init__(self, steps: Sequence[str]) -> None:
        self.steps, self.at = tuple(steps), 0
        self.weights = [SEARCH_WEIGHT if step == SEARCHING else 1 for step in steps]
        self.done, self.share = 0.0, 0.0
        self.loss: float | None = None
        self.left: float | None = None

    def tell(
        self, step: str, detail: str = "", *, share: float = 0.0, loss: float | None = None,
        left: float | None = None,
    ) -> StoryLine:  # fmt: skip
        """The line after a report: the step, how much of it is done, the loss, the work left."""
        at = max(self.steps.index(step), self.at)
        self.at = at
        before, own = sum(self.weights[:at]), self.weights[at]
        done = (before + own * min(share, 1.0)) / sum(self.weights)
        self.done = max(self.done, done)
        if loss is not None:
            self.loss = loss if self.loss is None else min(self.loss, loss)
        if left is not None:
            self.left = left if self.left is None else min(self.left, left)
        words = f"step {at + 1} of {len(self.steps)}: {self.steps[at]}"
        searching = self.steps[at] == SEARCHING and self.left is not None
        return StoryLine(
            f"{words} ({detail})" if detail else words,
            self.done,
            "" if self.loss is None else f"best loss {self.loss:.4f}",
            f"about {self.left:.0f} s of work left" if searching else "",
        )


class Display:
    """Progress on a terminal, with Ctrl-C as a request to stop; elsewhere nothing is shown."""

    def __init__(self, console: Console, steps: Sequence[str], *, quiet: bool) -> None:
        self.story, self.console, self.is_quiet = Story(steps), console, quiet
        self.is_stopped, self.shown_step = False, -1
        self.bar = self._make_bar() if console.is_terminal and not quiet else None
        if self.bar is not None:
            self.bar.start()
            self.task = self.bar.add_task("", total=1.0, loss="", left="")
            self.begin(steps[0])

    @property
    def watch(self) -> dict[str, Any]:
        """The callbacks of a search: one receives its progress, the other says whether to stop."""
        return {"progress": self.report, "cancelled": lambda: self.is_stopped}

    def report(self, progress: Progress) -> None:
        """Shows where a search is, or what comes after it."""
        if progress.note and not self.is_quiet:
            self.console.print(f"Note: {progress.note}", markup=False)
        total, used = progress.seconds_total, progress.seconds_used
        known = progress.phase == "searching" and total > 0
        self._show(
            self.story.tell(
                progress.phase if progress.phase in self.story.steps else self.story.steps[-1],
                progress.step,
                share=used / total if known else 0.0,
                loss=progress.loss,
                left=max(total - used, 0.0) if known else None,
            )
        )

    def begin(self, step: str, detail: str = "") -> None:
        """Shows a step that reports nothing of its own, or a detail of it."""
        self._show(self.story.tell(step, detail))

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        """The first Ctrl-C asks the search to end, the second ends the command."""
        if self.is_stopped:
            raise KeyboardInterrupt
        self.is_stopped = True

    def stop(self) -> None:
        """Removes the display, so that a question can be asked."""
        if self.bar is not None:
            self.bar.stop()
            self.bar = None

    def _show(self, line: StoryLine) -> None:
        if self.bar is None:
            return
        words = f"stopping, {line.words}" if self.is_stopped else line.words
        is_new, self.shown_step = self.story.at != self.shown_step, self.story.at
        self.bar.update(
            self.task, description=words, completed=line.done, loss=line.loss, left=line.left,
            refresh=is_new,
        )  # fmt: skip

    def _make_bar(self) -> Bar:
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bar

        texts = [TextColumn("{task.fields[loss]}"), TextColumn("{task.fields[left]}")]
        columns = [TextColumn("{task.description}"), BarColumn(bar_width=20), *texts]
        return Bar(*columns, console=self.console, transient=True)


@contextmanager
def display_steps(console: Console, steps: Sequence[str], *, quiet: bool) -> Iterator[Display]:
    """A display while a command searches; Ctrl-C asks it to stop."""
    display = Display(console, steps, quiet=quiet)
    before = signal.signal(signal.SIGINT, display.interrupt)
    try:
        yield display
    finally:
        display.stop()
        signal.signal(signal.SIGINT, before)
