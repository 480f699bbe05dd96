"""The budget of a search, its progress and cancellation, and the outcome that every search returns.

`finalize` has every class of what a search found judged by the requirements themselves.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from tclose.arrays import Ints
from tclose.search.limits import keep_limits
from tclose.search.merging import merge_refused
from tclose.search.problem import NamedSupersets, SearchProblem, number_classes

Stopped = Literal["finished", "budget", "clock", "cancelled"]
"""Nothing was left to try; the effort was spent (equal seeds stop alike); time was up; by hand."""
SECONDS_BETWEEN_REPORTS = 0.1
EFFORT, USUAL_CELLS, GROWTH = 20.0, 20_000, 0.4
"""The default effort for a table of so many cells, and the power of their number it grows with."""
LEAST_EFFORT = 1.0
FAST_GROWTH, FAST_UP_TO = 0.7, 96.0
"""A larger power, and the effort up to which it holds: a minute on two cores."""


@dataclass(frozen=True)
class Progress:
    """Where a search is."""

    seconds_used: float
    """Of an ordinary core, or of the clock where that limits the search."""
    seconds_total: float
    loss: float | None
    """Of the best partition so far; None before the first."""
    step: str
    phase: str = "searching"
    """What comes after a search is written, then recounted."""
    note: str = ""
    """What is to be known before the search begins; said once."""


def _never() -> bool:
    return False


def _silently(progress: Progress) -> None:
    return None


def choose_effort(n_cells: int) -> float:
    """The default effort for a table with so many cells. It grows with the table, but more slowly
    than the number of cells; fastest between the usual table and one that takes about a minute.

    >>> [choose_effort(n_cells) for n_cells in (100, 1_000, 20_000, 100_000, 1_000_000)]
    [2.4, 6.0, 20.0, 62.0, 96.0]
    """
    size = max(n_cells, 1) / USUAL_CELLS
    effort = EFFORT * size**GROWTH
    if size > 1.0:
        effort = max(effort, min(EFFORT * size**FAST_GROWTH, FAST_UP_TO))
    return max(float(f"{effort:.2g}"), LEAST_EFFORT)


@dataclass(frozen=True)
class Budget:
    """How much work or time a search may spend.

    The amount of work limits it (`effort`), so equal problems and seeds give equal bytes on any
    machine; with `seconds` the clock does, and another machine may find another release. Where
    both are given, what comes first.

    >>> Budget().work, Budget(seconds=5.0).work, Budget(effort=1.0).time
    (20.0, inf, inf)
    """

    seconds: float | None = None
    """The clock's limit."""
    effort: float | None = None
    """Steps of work, counted as the seconds that an ordinary core takes for them."""
    seed: int = 1
    suppression: Fraction = Fraction(0)
    """The share of the rows that may be left out."""
    polish: bool = True
    """Whether more is done than a method's paper describes."""
    threads: int | None = None
    """How many work at the same time, all cores if nothing is said; no release depends on it."""
    cancelled: Callable[[], bool] = _never
    report: Callable[[Progress], None] = _silently

    @property
    def work(self) -> float:
        """The effort that may be spent."""
        if self.effort is not None:
            return self.effort
        return EFFORT if self.seconds is None else math.inf

    @property
    def time(self) -> float:
        """The seconds that may pass."""
        return math.inf if self.seconds is None else self.seconds

    @property
    def expected(self) -> float:
        """The seconds that an ordinary core would take."""
        return min(self.work, self.time)

    def scale_to(self, n_cells: int) -> Budget:
        """The budget with the default effort for this table, unless a limit was set."""
        if self.effort is not None or self.seconds is not None:
            return self
        return replace(self, effort=choose_effort(n_cells))

    def count_threads(self) -> int:
        """The number of threads: as requested, else the cores that the process may use."""
        if self.threads is not None:
            return max(self.threads, 1)
        if hasattr(os, "sched_getaffinity"):
            return len(os.sched_getaffinity(0))
        return os.cpu_count() or 1

    def portion(self, share: float, before: float, total: float = 1.0) -> Budget:
        """A share of the budget, for a search that comes after one that had the share `before`.

        Its reports are those of the whole. All shares together are `total`.

        >>> half = Budget(effort=4.0).portion(0.5, 0.5)
        >>> half.work, half.time, Budget(seconds=4.0).portion(0.25, 0.75).time
        (2.0, inf, 1.0)
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
        )


class Clock:
    """A budget that is being spent."""

    def __init__(self, budget: Budget) -> None:
        self.budget, self.start = budget, time.perf_counter()
        self.spent = self.last_report = 0.0
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
    def left(self) -> float:
        """The effort that may still be spent, or that all threads can in the time that is left."""
        work = self.budget.work - self.spent
        if self.budget.seconds is None:
            return work
        return min(work, (self.budget.seconds - self.used) * self.budget.count_threads())

    @property
    def _late(self) -> float:
        """The share of the time that has passed; 0 until time is up where only work is limited."""
        late = self.used / max(self.budget.time, 1e-9)
        return late if self.budget.seconds is not None or late >= 1.0 else 0.0

    def is_over(self, step: str, until: float = 1.0) -> bool:
        """Whether to stop: cancelled, or a share of the budget is spent. Reports now and then."""
        self.report(step)
        if self.budget.cancelled():
            self.stopped = "cancelled"
        if self.stopped != "cancelled" and self.share >= 1.0:
            self.stopped = "clock" if self._late >= 1.0 else "budget"
        return self.stopped == "cancelled" or self.share >= until

    def report(self, step: str, *, now: bool = False) -> None:
        """Reports where the search is, ten times a second at most."""
        used = self.used
        if now or used - self.last_report >= SECONDS_BETWEEN_REPORTS:
            self.last_report = used
            total = self.budget.expected
            self.budget.report(Progress(min(self.share, 1.0) * total, total, self.loss, step))


@dataclass(frozen=True)
class Trial:
    """One step of a search: its name, the loss it reached, and the seconds since the start."""

    step: str
    loss: float
    seconds: float


@dataclass(frozen=True)
class Cuts:
    """A tree of cuts as plain numbers, by which new rows can be assigned to classes.

    Node 0 is the root. A row goes to `left` where its code in `column` is at most `code`, else to
    `right`; a leaf has column −1 and names its class in `left`.
    """

    column: tuple[int, ...]
    code: tuple[int, ...]
    left: tuple[int, ...]
    right: tuple[int, ...]

    def classify(self, codes: Ints) -> Ints:
        """The class of each row of codes.

        >>> Cuts((0, -1, -1), (3, 0, 0), (1, 0, 1), (2, 0, 0)).classify(np.array([[3], [4]]))
        array([0, 1])
        """
        column, code = np.array(self.column), np.array(self.code)
        left, right = np.array(self.left), np.array(self.right)
        at = np.zeros(len(codes), dtype=np.int64)
        while (inner := column[at] >= 0).any():
            some = at[inner]
            low = codes[inner, column[some]] <= code[some]
            at[inner] = np.where(low, left[some], right[some])
        return left[at].astype(np.int64)

    def rename(self, number: Ints) -> Cuts:
        """The same cuts with class c renumbered number[c]."""
        left = tuple(
            int(number[at]) if column < 0 else at
            for column, at in zip(self.column, self.left, strict=True)
        )
        return replace(self, left=left)


@dataclass(frozen=True)
class Outcome:
    """A partition of the cells that keeps the promise."""

    label: Ints
    """The class of each cell, numbered by first cell; −1 where it is left out."""
    loss: float
    method: str
    stopped: Stopped
    tried: tuple[Trial, ...]
    uses_sensitive: bool
    """Whether cells with equal quasi-identifiers may be in different classes."""
    cuts: Cuts | None = None
    levels: tuple[int, ...] | None = None
    """Full-domain recoding: the level that every value of each column is recoded to (0: raw). A
    class's value is then the hierarchy's node at that level, and `loss` is that of those nodes."""
    bound: float | None = None
    """A loss that no outcome of the kind searched for can be below, where one was proven."""
    measure: str = "iyengar"
    """The loss that was made least, in whose terms `bound` is."""
    value: float | None = None
    """What the outcome loses by that measure and the columns' weights, where it is not `loss`."""
    why: str = ""
    """Why this method's outcome was chosen, where there was a choice."""
    supersets: NamedSupersets | None = None
    """For (n, t)-closeness: the superset of each class, by attribute."""
    masked: Mapping[str, Ints] | None = None
    """By sensitive attribute, the level that each cell's value is told at; 0: as it is."""

    @property
    def gap(self) -> float | None:
        """How far from the least loss the outcome may be, as a share of its own; 0 if proved."""
        if self.bound is None:
            return None
        return max(0.0, 1.0 - self.bound / self.cost) if self.cost > 0 else 0.0

    @property
    def cost(self) -> float:
        """The quantity that the search minimized."""
        return self.loss if self.value is None else self.value

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return int(self.label.max(initial=-1)) + 1

    def restore_order(self, order: Ints) -> Outcome:
        """The outcome for cells that were searched in another order: cell order[i] came i-th."""
        label = np.empty_like(self.label)
        label[order] = self.label
        found, kept = number_classes(label), label >= 0
        number = np.empty(self.classes, dtype=np.int64)
        number[label[kept]] = found[kept]
        named = self.supersets
        return replace(
            self,
            label=found,
            cuts=None if self.cuts is None else self.cuts.rename(number),
            supersets=named and {name: each.rename(number) for name, each in named.items()},
        )


def finalize(
    problem: SearchProblem,
    label: Ints,
    clock: Clock,
    *,
    method: str,
    uses_sensitive: bool,
    tried: tuple[Trial, ...] = (),
    cuts: Cuts | None = None,
    supersets: NamedSupersets | None = None,
) -> Outcome:
    """An outcome that keeps the promise exactly, whatever the search believed.

    The compiled constraints are sound, so nothing is merged unless they only guide (persons whose
    rows are in several cells), or rows were left out that the promise cannot do without. Classes
    that name `supersets` are numbered already; where one of them fails, all rows are one class.
    """
    clock.report("judging every class", now=True)
    found = number_classes(label)
    fails = problem.find_failing(found, supersets=supersets)
    merged = merge_refused(problem, found, fails, supersets) if fails.any() else found
    if problem.limited:
        merged = keep_limits(problem, merged, clock.budget.suppression)
    loss, cost = problem.loss(merged).overall, problem.cost(merged)
    clock.loss = cost
    clock.report("done", now=True)
    return Outcome(
        merged, loss, method, clock.stopped, (*tried, Trial("result", cost, clock.used)),
        uses_sensitive, cuts if np.array_equal(merged, found) else None,
        value=cost if problem.objective.weights else None,
        supersets=supersets if np.array_equal(merged, found) else name_whole(problem, merged),
    )  # fmt: skip


def name_whole(problem: SearchProblem, label: Ints) -> NamedSupersets | None:
    """Every class with the whole table for its superset, where it is close to that."""
    if not problem.constraints.supersets:
        return None
    return problem.choose_supersets(label, [np.arange(int(label.max(initial=-1)) + 1)])
