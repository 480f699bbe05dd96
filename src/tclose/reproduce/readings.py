"""Several interpretations of what the paper does not print: distances, groups, hierarchies.

The groups of similar occupations are said to be three "of roughly equal size". All groupings are
tried whose groups differ by at most two occupations.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from tclose.arrays import Ints
from tclose.report.document import Paragraph, Section, Table
from tclose.reproduce import paper
from tclose.reproduce.census import Census, Reading2007
from tclose.reproduce.claims import group_by_kind
from tclose.reproduce.experiments import Experiments, Progress, Schedule, run_experiments
from tclose.reproduce.paper import ANONYMITY, CLOSE, CLOSER
from tclose.search import Budget
from tclose.search.full_domain.incognito import minimal_nodes
from tclose.search.full_domain.rollup import Domain
from tclose.search.outcome import Clock
from tclose.search.problem import number_classes

QUICK = Schedule(sizes=(), repeats=0)
UNEVEN = 2
"""The largest difference between groups of roughly equal size, in occupations."""
HEADINGS = (
    "distance", "groups", "race levels", "minimal (21)", "vulnerable (13)", "worst (916)",
    "groupings tried", "most vulnerable", "most exposed", "(4, 4) minimal (26)",
    "(4, 4) vulnerable (17)", "cost of t = 0.2", "cost of t = 0.15",
)  # fmt: skip
"""The headings of the results; in brackets what the paper prints."""
ENTROPY, COSTS = (*range(9),), (*range(3), *range(9, len(HEADINGS)))
"""The columns of two tables: one would be wider than a page. Three name the reading."""


@dataclass(frozen=True)
class GroupingTrial:
    """The similarity attack on all minimal tables of entropy 2-diversity, with every grouping."""

    groupings: int
    vulnerable: int
    """The most tables that are vulnerable with one grouping."""
    worst: int
    """The most records of one table that are exposed with one grouping."""


@dataclass(frozen=True)
class ReadingResult:
    """The result of one interpretation."""

    reading: Reading2007
    found: Experiments
    trial: GroupingTrial

    def list_cells(self) -> tuple[str, ...]:
        """Returns the cells of a line in a table, below `HEADINGS`."""
        reading, trial = self.reading, self.trial
        entropy, recursive = self.found.attacks
        kinds = group_by_kind(self.found.by_parameter)
        plain = [run.discernibility for run in kinds[ANONYMITY]]
        costs = (
            [run.discernibility / alone for run, alone in zip(kinds[kind], plain, strict=True)]
            for kind in (CLOSE, CLOSER)
        )
        return (
            reading.distance, reading.groups, str(reading.race_levels), str(len(entropy.tables)),
            str(entropy.vulnerable), str(entropy.worst), f"{trial.groupings:,}",
            str(trial.vulnerable), str(trial.worst), str(len(recursive.tables)),
            str(recursive.vulnerable), *(f"{min(cost):.2f}–{max(cost):.2f}" for cost in costs),
        )  # fmt: skip


def run_reading(
    census: Census,
    reading: Reading2007,
    plan: Schedule = QUICK,
    progress: Progress = lambda s: None,
) -> ReadingResult:
    """Runs the similarity attack and the data quality with one interpretation, without timing."""
    as_read = census.read_as(reading)

    def report(step: str) -> None:
        progress(f"{reading.title}: {step}")

    found = run_experiments(as_read, plan, report)
    return ReadingResult(reading, found, try_groupings(as_read))


def try_groupings(census: Census) -> GroupingTrial:
    """Attacks all minimal tables of entropy 2-diversity with every grouping of similar sizes."""
    problem = census.problem(paper.entropy(2))
    domain = Domain(problem, Clock(Budget()), suppression=False)
    code, values = problem.sensitive[:, 0], len(census.group)
    masks = list_groupings(values)
    vulnerable, worst = np.zeros(len(masks), np.int64), 0
    for levels in minimal_nodes(problem, Budget()).nodes:
        label = number_classes(domain.label(levels))
        seen = np.zeros(int(label.max()) + 1, dtype=np.int64)
        np.bitwise_or.at(seen, label, 1 << code)
        inside = _add_subsets(np.bincount(seen, np.bincount(label, problem.rows), 1 << values))
        exposed = inside[masks].sum(axis=1)
        vulnerable += exposed > 0
        worst = max(worst, int(exposed.max(initial=0)))
    return GroupingTrial(len(masks), int(vulnerable.max(initial=0)), worst)


def _add_subsets(rows: Ints) -> Ints:
    """Sums the rows of all subsets of every set; sets are bit masks."""
    total = rows.astype(np.int64)
    for at in range(len(rows).bit_length() - 1):
        halves = total.reshape(-1, 2, 1 << at)
        halves[:, 1] += halves[:, 0]
    return total


@cache
def list_groupings(values: int, groups: int = paper.GROUPS) -> Ints:
    """Lists all ways to group values in roughly equal sizes: [groupings, groups], as bit masks.

    >>> list_groupings(3).tolist(), len(list_groupings(14))
    ([[1, 2, 4]], 231231)
    """
    sizes = {
        each
        for each in itertools.product(range(1, values + 1), repeat=groups)
        if sum(each) == values and max(each) - min(each) <= UNEVEN
    }
    found = [grouping for each in sorted(sizes) for grouping in _place(tuple(range(values)), each)]
    return np.array(found, dtype=np.int64).reshape(-1, groups)


def _place(values: Sequence[int], sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """Lists groups of these sizes; each has the first value that is not in the groups before it."""
    if len(sizes) == 1:
        return [(sum(1 << value for value in values),)]
    placed = []
    for others in itertools.combinations(values[1:], sizes[0] - 1):
        group = (values[0], *others)
        rest = [value for value in values if value not in group]
        mask = sum(1 << value for value in group)
        placed += [(mask, *more) for more in _place(rest, sizes[1:])]
    return placed


def describe_readings(results: Sequence[ReadingResult]) -> Section:
    """Makes the section with all interpretations side by side, and what none of them explains."""
    tables = (
        _select("Readings side by side; in brackets what the paper prints", results, ENTROPY),
        _select("(4, 4)-diversity, and what closeness costs", results, COSTS),
    )
    words = (
        "Costs are discernibility by closeness over that of k alone, the least and the most of all "
        f"k. Every grouping of the occupations into {paper.GROUPS} groups that differ by at most "
        f"{UNEVEN} was tried on every minimal table of entropy 2-diversity."
    )
    printed = paper.PRINTED_ENTROPY
    reached = any(
        result.trial.vulnerable >= printed.vulnerable and result.trial.worst >= (printed.worst or 0)
        for result in results
    )
    verdict = (
        f"One of them reaches the paper's {printed.vulnerable} tables and {printed.worst} records."
        if reached
        else f"None of them reaches the paper's {printed.vulnerable} vulnerable tables and "
        f"{printed.worst} exposed records: that remains unexplained."
    )
    return Section("readings", "Other readings", (*tables, Paragraph(words), Paragraph(verdict)))


def _select(caption: str, results: Sequence[ReadingResult], columns: Sequence[int]) -> Table:
    """A table with some of the columns of all readings."""
    lines = (HEADINGS, *(result.list_cells() for result in results))
    headings, *rows = (tuple(line[at] for at in columns) for line in lines)
    return Table(caption, headings, tuple(rows))
