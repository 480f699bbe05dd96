"""The experiments of Li 2007, section 6: searches and counts, without output.

Incognito finds all minimal tables of a measure: full-domain generalizations without left-out rows
that satisfy the measure while nothing finer does. The paper's results follow from them:
discernibility and the average size of classes only grow upwards in the lattice, so the least is at
one of them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tclose.arrays import Ints
from tclose.errors import InternalError, UsageError
from tclose.reproduce import paper
from tclose.reproduce.census import AS_USUAL, Census, CensusColumn, Reading2007
from tclose.reproduce.paper import PaperMeasure, five
from tclose.search import Budget, SearchProblem
from tclose.search.full_domain.incognito import Minimal, minimal_nodes
from tclose.search.full_domain.rollup import Domain
from tclose.search.outcome import Clock
from tclose.search.problem import number_classes

Progress = Callable[[str], None]
PlannedRun = tuple[PaperMeasure, int, int]
"""A measure, its parameter, and the number of quasi-identifiers."""
LONGEST = 600.0
"""The longest time of one search, in seconds."""
LARGEST = 2
"""Of three groups of roughly equal size, one contains at most one over this of all values."""


@dataclass(frozen=True)
class Schedule:
    """The sizes and parameters to run, and how often to measure the time."""

    sizes: tuple[int, ...] = (2, 3, 4, 5, 6, 7)
    """Sizes of the quasi-identifier, as in Figure 3(a)."""
    fixed: int = 5
    """k and l while the size varies."""
    parameters: tuple[int, ...] = (2, 4, 5, 6, 8, 10)
    """k and l while the size is seven. The paper's values are only in its figures."""
    repeats: int = 5
    """The number of timed runs after a first one; the fastest counts."""


FULL = Schedule()


@dataclass(frozen=True)
class MinimalTable:
    """A minimal table, and what the similarity attack finds in it."""

    levels: tuple[int, ...]
    """By column, in the order of the problem."""
    classes: int
    squares: int
    """Σ size²: the discernibility, as no row is left out."""
    similar: int
    """The number of classes whose values are all in one group."""
    exposed: int
    """The number of rows in these classes."""
    exposable: int
    """The number of rows in classes with at most half of all values: with other groups these
    could be exposed, but no others, unless one of the groups has more than half of the values."""


@dataclass(frozen=True)
class PaperRun:
    """All minimal tables of one measure, and the cost of finding them."""

    measure: PaperMeasure
    parameter: int
    """k and l."""
    size: int
    """The number of quasi-identifiers."""
    rows: int
    columns: tuple[str, ...]
    tables: tuple[MinimalTable, ...]
    judged: int
    """Nodes of the lattice, and of those of its subsets, that were grouped and judged."""
    seconds: float

    @property
    def vulnerable(self) -> int:
        """The number of tables in which the similarity attack succeeds."""
        return sum(table.exposed > 0 for table in self.tables)

    @property
    def worst(self) -> int:
        """The largest number of rows that are exposed in one table."""
        return max((table.exposed for table in self.tables), default=0)

    @property
    def exposable(self) -> int:
        """The most rows of one table that groups of at most half of the values could expose."""
        return max((table.exposable for table in self.tables), default=0)

    @property
    def discernibility(self) -> float:
        """The least Σ size²; nan if no table satisfies the measure."""
        return min((float(table.squares) for table in self.tables), default=math.nan)

    @property
    def group_size(self) -> float:
        """The least average size of the classes."""
        return min((self.rows / table.classes for table in self.tables), default=math.nan)


@dataclass(frozen=True)
class Experiments:
    """The results of all runs."""

    rows: int
    columns: tuple[CensusColumn, ...]
    groups: tuple[tuple[int, int], ...]
    """The numbers of occupations and people in each group of similar occupations."""
    plan: Schedule
    attacks: tuple[PaperRun, ...]
    """Entropy 2-diversity, then recursive (4, 4)-diversity."""
    by_size: tuple[PaperRun, ...]
    by_parameter: tuple[PaperRun, ...]
    reading: Reading2007 = AS_USUAL

    @cached_property
    def not_attacked(self) -> tuple[PaperRun, ...]:
        """The measures that the paper did not attack: k-anonymity without and with closeness."""
        fixed = [run for run in self.by_parameter if run.parameter == self.plan.fixed]
        return tuple(run for run in fixed if run.measure.k is not None)

    @property
    def runs(self) -> tuple[PaperRun, ...]:
        """Every run once."""
        return tuple(dict.fromkeys((*self.attacks, *self.by_size, *self.by_parameter)))


def run_experiments(
    census: Census, plan: Schedule = FULL, progress: Progress = lambda step: None
) -> Experiments:
    """Runs every combination of a measure, its parameter and a size once."""
    whole = len(paper.QUASI)
    attacks: list[PlannedRun] = [(paper.entropy(2), 2, whole), (paper.recursive(4), 4, whole)]
    by_size = [(each, plan.fixed, size) for size in plan.sizes for each in five(plan.fixed)]
    by_parameter = [(each, value, whole) for value in plan.parameters for each in five(value)]
    wanted = list(dict.fromkeys((*attacks, *by_size, *by_parameter)))
    done: dict[PlannedRun, PaperRun] = {}
    for at, (measure, parameter, size) in enumerate(wanted):
        case = f"{measure.title}, {size} quasi-identifiers"
        progress(f"{case} ({at + 1} of {len(wanted)})")
        done[measure, parameter, size] = _run_search(census, measure, parameter, size, plan.repeats)
    first, second, third = (
        tuple(done[case] for case in cases) for cases in (attacks, by_size, by_parameter)
    )
    return Experiments(
        census.rows, census.columns, census.group_sizes, plan, first, second, third, census.reading
    )


def _run_search(
    census: Census, measure: PaperMeasure, parameter: int, size: int, repeats: int
) -> PaperRun:
    problem = census.problem(measure, size)
    found = minimal_nodes(problem, Budget(seconds=LONGEST))
    seconds = math.inf
    for _ in range(repeats if found.finished else 0):
        start = time.perf_counter()
        found = minimal_nodes(problem, Budget(seconds=LONGEST))
        seconds = min(seconds, time.perf_counter() - start)
    if not found.finished:
        raise UsageError(
            f"not all minimal tables were found within {LONGEST:g} seconds",
            where=f"{measure.title}, {size} quasi-identifiers",
            hint="use a faster machine, or hierarchies with fewer levels",
        )
    names = tuple(column.name for column in problem.columns)
    tables = count_tables(problem, found, census.group)
    return PaperRun(measure, parameter, size, problem.n_rows, names, tables, found.judged, seconds)


def count_tables(problem: SearchProblem, found: Minimal, group: Ints) -> tuple[MinimalTable, ...]:
    """Counts the classes of each minimal table from the cells."""
    domain = Domain(problem, Clock(Budget()), suppression=False)
    code = problem.sensitive[:, 0]
    few = len(group) // LARGEST
    tables = []
    for levels in found.nodes:
        label = number_classes(domain.label(levels))
        if (label < 0).any():
            raise InternalError("a class of a minimal table breaks the measure")
        size = np.bincount(label, problem.rows).astype(np.int64)
        similar = _count_different(label, group[code]) == 1
        poor = _count_different(label, code) <= few
        counts = (size @ size, similar.sum(), size[similar].sum(), size[poor].sum())
        tables.append(MinimalTable(levels, len(size), *map(int, counts)))
    return tuple(tables)


def _count_different(label: Ints, code: Ints) -> Ints:
    """Counts the different codes of each class."""
    return np.bincount(np.unique(np.stack([label, code]), axis=1)[0])
