"""Compares closeness to the table with closeness to a large part of it, on the Adult table.

The short paper on (n, t)-closeness says that it keeps more of the data, and prints no experiment.
Here the same search satisfies t alone and (n, t) for several n; with n the size of the table both
are the same requirement. What somebody who knows a person's class learns is counted from the
classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass

import numpy as np

from tclose.distance.histogram import count_pairs
from tclose.report.charts.plots import PlottedPoint, draw_plain_curves
from tclose.report.document import Document, Paragraph, Picture, Section, Table
from tclose.reproduce.census import Census
from tclose.reproduce.paper import PaperMeasure
from tclose.reproduce.published import Lines, Published
from tclose.search import Budget, Outcome, SearchProblem, method_named

Progress = Callable[[str], None]
TS, NS, K, EFFORT = ("0.1", "0.2"), (500, 1000, 2000, 5000), 5, 5.0
FILES = PAGE, NUMBERS = "closeness.html", "closeness.csv"
HEADINGS = (
    "t", "n", "loss", "classes", "guessed right", "without the release", "largest share",
    "farthest class",
)  # fmt: skip
INTRODUCTION = (
    "Every class is close to the whole table (t-closeness), or to some natural part of it with n "
    "rows or more ((n, t)-closeness): a box over the quasi-identifiers that no class is cut by. "
    "Adult, age as ranges, six other quasi-identifiers with hierarchies, occupation by the equal "
    f"distance, k = {K}, by the default search with equal effort for each. With n the size of the "
    "table both are the same promise. Classes close to n rows are so for every smaller n, too: "
    "where a search for a larger n found less loss, its release is shown."
)
LEARNED = (
    "Somebody who knows which class a person is in and bets on its commonest occupation is right "
    "for the share “guessed right”; without the release, for the share of the commonest occupation "
    "of all. “Largest share” is that of one occupation in a class; “farthest class” is how far any "
    "class is from the table: with n it may be more than t, and that is what was given up."
)
CLOSING = "The numbers are in the CSV file beside this page, and the same on any machine."


@dataclass(frozen=True)
class ClosenessRun:
    """The cost of one requirement, and what can be learned in spite of it."""

    t: str
    n: int
    """n; the size of the table for t-closeness."""
    loss: float
    classes: int
    guessed: float
    """The share of people whose occupation is the commonest in their class."""
    guessed_without: float
    largest_share: float
    """The largest share of an occupation in a class."""
    farthest: float
    """The distance of the farthest class from the table."""


def compare_closeness(
    census: Census,
    ts: Sequence[str] = TS,
    ns: Sequence[int] = NS,
    effort: float = EFFORT,
    progress: Progress = lambda step: None,
) -> tuple[ClosenessRun, ...]:
    """Runs a search for every requirement; those with n first, by ascending n.

    Classes that are close to n rows or more keep the promise for every smaller n: where a search
    for a larger n found less loss, that is the release of the smaller n too.
    """
    runs: list[ClosenessRun] = []
    for t in ts:
        best: Outcome | None = None
        of_t: list[ClosenessRun] = []
        for n in (census.rows, *sorted((n for n in ns if n < census.rows), reverse=True)):
            alone = n == census.rows
            progress(f"t = {t}" if alone else f"t = {t}, n = {n:,}")
            required = {"t": t, "distance": "equal"} | ({} if alone else {"n": n})
            measure = PaperMeasure("closeness", "", "", K, required)
            problem = census.problem(measure, ranges=("age",))
            outcome = method_named("hybrid").run(problem, Budget(effort=effort))
            if best is None or outcome.loss < best.loss:
                best = outcome
            of_t.insert(0, count_learned(problem, best, t, n))
        runs += of_t
    return tuple(runs)


def count_learned(problem: SearchProblem, outcome: Outcome, t: str, n: int) -> ClosenessRun:
    """Counts from the cells what can be learned from the classes of an outcome."""
    code = problem.sensitive[:, 0]
    counts = count_pairs(outcome.label, code, problem.rows)
    size, whole = counts.sum(axis=1, keepdims=True), counts.sum(axis=0)
    apart = np.abs(counts / size - whole / whole.sum()).sum(axis=1) / 2
    return ClosenessRun(
        t, n, outcome.loss, outcome.classes,
        guessed=float(counts.max(axis=1).sum() / whole.sum()),
        guessed_without=float(whole.max() / whole.sum()),
        largest_share=float((counts / size).max()),
        farthest=float(apart.max()),
    )  # fmt: skip


def make_closeness_document(runs: Sequence[ClosenessRun]) -> Document:
    """Makes the page: the cost of each requirement, and what can be learned."""
    numbers = tabulate_closeness(runs)
    cost = _draw("Loss", "loss", lambda run: run.loss, runs, numbers)
    learned = _draw("Occupation guessed right", "share", lambda run: run.guessed, runs, numbers)
    sections = (
        Section("cost", "What it costs", (cost,)),
        Section("learned", "What somebody learns", (Paragraph(LEARNED), learned)),
    )
    title = "t-closeness and (n, t)-closeness on the Adult table"
    return Document(title, INTRODUCTION, None, sections, CLOSING)


def tabulate_closeness(runs: Sequence[ClosenessRun]) -> Table:
    """Tabulates the runs, one line per requirement."""
    rows = tuple(_write_row(run, max(each.n for each in runs)) for run in runs)
    return Table("t against (n, t)", HEADINGS, rows, tuple(range(2, len(HEADINGS))))


def _draw(
    title: str, up: str, value: Callable[[ClosenessRun], float], runs: Sequence[ClosenessRun],
    numbers: Table,
) -> Picture:  # fmt: skip
    curves = [
        (f"t = {t}", [
            PlottedPoint(run.n, value(run), f"n = {run.n:,}: {value(run):.4f}")
            for run in runs if run.t == t
        ])
        for t in dict.fromkeys(run.t for run in runs)
    ]  # fmt: skip
    across = "n (last: the whole table)"
    drawn = draw_plain_curves(title, across, up, curves, by_factors=True)
    return Picture(title, drawn, numbers)


def _write_row(run: ClosenessRun, everybody: int) -> tuple[str, ...]:
    n = "whole table" if run.n == everybody else f"{run.n:,}"
    counted = (run.guessed, run.guessed_without, run.largest_share, run.farthest)
    shares = (f"{value:.4f}" for value in counted)
    return (run.t, n, f"{run.loss:.4f}", f"{run.classes:,}", *shares)


def publish_closeness(runs: Sequence[ClosenessRun]) -> Published:
    """Returns the page with its numbers, which are one table."""
    numbers: Lines = (HEADINGS, *map(astuple, runs))
    tables = (tabulate_closeness(runs),)
    return Published(PAGE, make_closeness_document(runs), {NUMBERS: numbers}, tables)
