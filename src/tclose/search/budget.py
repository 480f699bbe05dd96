"""How much a search may do, how it says where it is, and how it is stopped."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

Stopped = Literal["finished", "budget", "clock", "cancelled"]
"""Nothing was left to try; the effort was spent (equal seeds stop alike); time was up; by hand."""
EVERY = 0.1
EFFORT = 20.0
PATIENCE = 10.0
"""A machine so many times slower than an ordinary one is stopped by the clock after all."""


@dataclass(frozen=True)
class Progress:
    """Where a search is."""

    seconds_used: float
    """Of an ordinary core, or of the clock where that limits the search."""
    seconds_total: float
    loss: float | None
    """Of the best partition so far; None before the first."""
    step: str


def _never() -> bool:
    return False


def _silently(progress: Progress) -> None:
    return None


@dataclass(frozen=True)
class Budget:
    """What a search may spend.

    The amount of work limits it (`effort`), so equal problems and seeds give equal bytes on any
    machine; with `seconds` the clock does, and another machine may find another release. Where
    both are given, what comes first.

    >>> Budget().work, Budget(seconds=5.0).work, Budget(effort=1.0).time
    (20.0, inf, 10.0)
    """

    seconds: float | None = None
    """The clock's limit."""
    effort: float | None = None
    """Steps of work, counted as the seconds that an ordinary core takes for them."""
    seed: int = 1
    suppression: Fraction = Fraction(0)
    """The share of the rows that may be left out."""
    cancelled: Callable[[], bool] = _never
    report: Callable[[Progress], None] = _silently
    patience: float = PATIENCE
    """How many times the effort may pass by the clock, where no time is given."""

    @property
    def work(self) -> float:
        """The effort that may be spent."""
        if self.effort is not None:
            return self.effort
        return EFFORT if self.seconds is None else math.inf

    @property
    def time(self) -> float:
        """The seconds that may pass."""
        return self.patience * self.work if self.seconds is None else self.seconds

    @property
    def expected(self) -> float:
        """The seconds that an ordinary core would take."""
        return min(self.work, self.time)

    def portion(self, share: float, before: float, total: float = 1.0) -> Budget:
        """A share of the budget, for a search that comes after one that had the share `before`.

        Its reports and its patience are those of the whole: a small share would else be ended by
        the clock wherever the machine is busy. All shares together are `total`.

        >>> half = Budget(effort=4.0).portion(0.5, 0.5)
        >>> half.work, half.time, Budget(seconds=4.0).portion(0.25, 0.75).time
        (2.0, 40.0, 1.0)
        """

        def report(progress: Progress) -> None:
            used = before * self.expected + progress.seconds_used
            whole = total * self.expected
            self.report(Progress(used, whole, progress.loss, progress.step))

        return replace(
            self,
            seconds=None if self.seconds is None else share * self.seconds,
            effort=None if math.isinf(self.work) else share * self.work,
            report=report,
            patience=self.patience / share,
        )


class Clock:
    """A budget that is being spent."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.start = time.perf_counter()
        self.spent = 0.0
        self.told = 0.0
        self.loss: float | None = None
        self.stopped: Stopped = "finished"

    @property
    def used(self) -> float:
        """Seconds since the search began."""
        return time.perf_counter() - self.start

    def spend(self, effort: float) -> None:
        """Counts work that was done, in the seconds that an ordinary core takes for it."""
        self.spent += effort

    @property
    def share(self) -> float:
        """How much of the effort is spent, or of the time if that is more."""
        return max(self.spent / max(self.budget.work, 1e-9), self._late)

    @property
    def _late(self) -> float:
        """How much of the time is up; on an ordinary machine nothing, where only work is limited:
        what the clock shows must then not decide how the work is shared out."""
        late = self.used / max(self.budget.time, 1e-9)
        return late if self.budget.seconds is not None or late >= 1.0 else 0.0

    def over(self, step: str, until: float = 1.0) -> bool:
        """Whether to stop: cancelled, or a share of the budget is spent. Reports now and then."""
        self.tell(step)
        if self.budget.cancelled():
            self.stopped = "cancelled"
        if self.stopped != "cancelled" and self.share >= 1.0:
            self.stopped = "clock" if self._late >= 1.0 else "budget"
        return self.stopped == "cancelled" or self.share >= until

    def tell(self, step: str, *, now: bool = False) -> None:
        """Reports where the search is, ten times a second at most."""
        used = self.used
        if now or used - self.told >= EVERY:
            self.told = used
            total = self.budget.expected
            done = min(self.share, 1.0) * total
            self.budget.report(Progress(done, total, self.loss, step))
