"""The folder with the Adult census table and its hierarchies, in their usual form.

`adult.csv` has one row per person; `adult_hierarchy_<column>.csv` has a line per value, from the
value itself to the root, separated by semicolons and without a header.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from tclose.arrays import Ints
from tclose.data.binding import BoundTable, bind
from tclose.data.opening import open_source
from tclose.data.source import Source
from tclose.errors import DataError, InternalError
from tclose.hierarchy.tree import Hierarchy
from tclose.policy.load import parse_policy
from tclose.reproduce import paper
from tclose.reproduce.paper import PaperMeasure, anonymity
from tclose.search import SearchProblem, problem_of

TABLE = "adult.csv"
STATED = (*paper.QUASI, paper.OCCUPATION)
"""The columns, in the order of Figure 2."""


COLLARS = {
    "white collar": "Adm-clerical Exec-managerial Prof-specialty Sales Tech-support",
    "blue collar": "Craft-repair Farming-fishing Handlers-cleaners Machine-op-inspct "
    "Transport-moving",
    "other": "Armed-Forces Other-service Priv-house-serv Protective-serv",
}
"""Occupations in three groups of roughly equal size: 5, 5 and 4."""
RACES = {
    "White": ["White"],
    "other": ["Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other"],
}
DISTANCES = ("hierarchical", "ordered", "equal")
GROUPS = ("4-7-3", "5-5-4")
RACE_LEVELS = (2, 3)


@dataclass(frozen=True)
class Reading2007:
    """One interpretation of what the paper does not print."""

    distance: str = "hierarchical"
    """The distance of occupations; ordered takes them in alphabetical order."""
    groups: str = "4-7-3"
    """The groups of similar occupations: those of the folder's hierarchy, or by collar."""
    race_levels: int = 2
    """The levels of race; 3: the value, white or not, all."""

    @property
    def title(self) -> str:
        """The interpretation in a few words."""
        return f"{self.distance}, {self.groups}, race in {self.race_levels} levels"

    @property
    def grouped_by(self) -> str:
        """The origin of the groups of similar occupations, in words."""
        return "of the folder’s hierarchy" if self.groups == GROUPS[0] else "by collar"

    def describe(self, name: str) -> dict[str, Any]:
        """Returns the policy keys of a column that differ from the folder's own."""
        if name == "race" and self.race_levels == 3:
            return {"hierarchy": {"groups": RACES}}
        if name == paper.SENSITIVE and self.groups == "5-5-4":
            collars = {collar: works.split() for collar, works in COLLARS.items()}
            return {"hierarchy": {"groups": collars}}
        return {}


AS_USUAL = Reading2007()


@dataclass(frozen=True)
class CensusColumn:
    """A column of the table, and what Figure 2 says about it."""

    stated: paper.StatedColumn
    values: int
    """The number of different values in the table."""
    height: int
    """The number of levels of the hierarchy, including the values and the root."""


@dataclass(frozen=True)
class Census:
    """The table, opened once and counted for all seven quasi-identifiers."""

    folder: Path
    source: Source
    bound: BoundTable
    reading: Reading2007 = AS_USUAL

    @property
    def rows(self) -> int:
        """The number of people."""
        return self.bound.cells.n_rows

    @property
    def columns(self) -> tuple[CensusColumn, ...]:
        """The quasi-identifiers and the occupation, in the order of Figure 2."""
        known = self.bound.cells.dictionaries
        trees = {**self.bound.hierarchies, paper.SENSITIVE: _find_groups(self.bound)}
        return tuple(
            CensusColumn(stated, known[stated.column].known, trees[stated.column].levels)
            for stated in STATED
        )

    @cached_property
    def group(self) -> Ints:
        """The group of each code of an occupation: the level below the root of the hierarchy."""
        tree = _find_groups(self.bound)
        leaf = tree.indices(self.bound.attributes[paper.SENSITIVE].labels)
        _, group = np.unique(tree.ancestors[leaf, tree.levels - 2], return_inverse=True)
        return group.astype(np.int64)

    @property
    def group_sizes(self) -> tuple[tuple[int, int], ...]:
        """The numbers of occupations and of people in each group."""
        values = np.bincount(self.group)
        code = self.bound.classes.cell_codes[paper.SENSITIVE]
        people = np.bincount(self.group[code], self.bound.cells.rows, len(values))
        return tuple((int(a), int(b)) for a, b in zip(values, people, strict=True))

    def problem(
        self, measure: PaperMeasure, size: int = len(paper.QUASI), ranges: Collection[str] = ()
    ) -> SearchProblem:
        """Makes the problem with the first columns as quasi-identifiers, and one measure.

        Columns in `ranges` are released as ranges of numbers, without their hierarchy.
        """
        return problem_of(
            _bind_columns(self.folder, self.source, self.reading, measure, size, ranges)
        )

    def read_as(self, reading: Reading2007) -> Census:
        """Returns the same table with another interpretation."""
        bound = _bind_columns(self.folder, self.source, reading, anonymity(2), len(paper.QUASI))
        return Census(self.folder, self.source, bound, reading)


def open_census(folder: Path) -> Census:
    """Opens the table; raises DataError or PolicyError if the folder lacks something."""
    if not folder.is_dir():
        raise DataError(
            "this folder does not exist", where=str(folder), hint=f"name the folder of {TABLE}"
        )
    table, names = folder / TABLE, [stated.column for stated in STATED]
    files = (table, *(_locate_hierarchy(folder, name) for name in names))
    lacking = [path.name for path in files if not path.is_file()]
    if lacking:
        raise DataError(
            f"not in this folder: {', '.join(lacking)}",
            where=str(folder),
            hint=f"it must hold {TABLE} and one adult_hierarchy_<column>.csv per column",
        )
    source = open_source(table)
    lacking = [name for name in names if name not in source.columns]
    if lacking:
        raise DataError(
            f"the table has no column {', '.join(map(repr, lacking))}",
            where=str(table),
            hint="its first line must name the columns, as in the copy that comes with hierarchies",
        )
    bound = _bind_columns(folder, source, AS_USUAL, anonymity(2), len(paper.QUASI))
    if _find_groups(bound).levels < 3:
        raise DataError(
            "the hierarchy has no level between the values and the root",
            where=str(_locate_hierarchy(folder, paper.SENSITIVE)),
            hint="the similarity attack needs groups of similar occupations",
        )
    return Census(folder, source, bound)


def _find_groups(bound: BoundTable) -> Hierarchy:
    tree = bound.attributes[paper.SENSITIVE].hierarchy
    if tree is None:
        raise InternalError("the occupation was bound without its hierarchy")
    return tree


def _locate_hierarchy(folder: Path, column: str) -> Path:
    return folder / f"adult_hierarchy_{column}.csv"


def _bind_columns(
    folder: Path,
    source: Source,
    reading: Reading2007,
    measure: PaperMeasure,
    size: int,
    ranges: Collection[str] = (),
) -> BoundTable:
    """Binds the first columns as quasi-identifiers, without missing values as in the paper."""

    def describe(role: str, name: str) -> dict[str, Any]:
        if name in ranges:
            return {"role": role, "missing": "forbid"}
        tree = str(_locate_hierarchy(folder, name).resolve())
        return {"role": role, "hierarchy": tree, "missing": "forbid", **reading.describe(name)}

    roles: dict[str, Any] = {name: "insensitive" for name in source.columns}
    roles |= {each.column: describe("quasi", each.column) for each in paper.QUASI[:size]}
    sensitive = describe("sensitive", paper.SENSITIVE)
    if reading.distance == "ordered":
        counted = source.group([paper.SENSITIVE]).column(paper.SENSITIVE)
        sensitive["order"] = sorted(filter(None, counted.to_pylist()))
    roles[paper.SENSITIVE] = {**sensitive, "distance": reading.distance, **measure.required}
    stated = {"columns": roles} | ({} if measure.k is None else {"k": measure.k})
    policy, problems = parse_policy(stated)
    return bind(policy, source, problems)
