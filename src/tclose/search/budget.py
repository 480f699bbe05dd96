"""How long a search may take, how it says where it is, and how it is stopped."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

Stopped = Literal["finished", "budget", "cancelled"]
EVERY = 0.1


@dataclass(frozen=True)
class Progress:
    """Where a search is."""

    seconds_used: float
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

    The clock limits it, so another machine may find another release. With `rounds` the amount of
    work limits it instead, and equal problems give equal bytes everywhere.

    >>> Budget(seconds=5.0).suppression
    Fraction(0, 1)
    """

    seconds: float = 20.0
    seed: int = 1
    suppression: Fraction = Fraction(0)
    """The share of the rows that may be left out."""
    cancelled: Callable[[], bool] = _never
    report: Callable[[Progress], None] = _silently
    rounds: int | None = None
    """Rounds of improvement in place of seconds."""


def rehearsal(budget: Budget) -> Budget:
    """The least budget: one round, silent and not to be cancelled."""
    return replace(budget, rounds=1, report=_silently, cancelled=_never)


class Clock:
    """A budget that is being spent."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.start = time.perf_counter()
        self.told = 0.0
        self.loss: float | None = None
        self.stopped: Stopped = "finished"

    @property
    def used(self) -> float:
        """Seconds since the search began."""
        return time.perf_counter() - self.start

    @property
    def share(self) -> float:
        """How much of the time is spent; always 0 where rounds are counted instead."""
        if self.budget.rounds is not None:
            return 0.0
        return self.used / max(self.budget.seconds, 1e-9)

    def over(self, step: str, until: float = 1.0) -> bool:
        """Whether to stop: cancelled, or a share of the time is spent. Reports now and then."""
        self.tell(step)
        if self.budget.cancelled():
            self.stopped = "cancelled"
        if self.stopped != "cancelled" and self.share >= 1.0:
            self.stopped = "budget"
        return self.stopped == "cancelled" or self.share >= until

    def tell(self, step: str, *, now: bool = False) -> None:
        """Reports where the search is, ten times a second at most."""
        used = self.used
        if now or used - self.told >= EVERY:
            self.told = used
            self.budget.report(Progress(used, self.budget.seconds, self.loss, step))
