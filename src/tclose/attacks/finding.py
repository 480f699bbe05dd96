"""What an attack found, in numbers and in words; and what a guess is worth before and after."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.arrays import Flags
from tclose.notebook import Tabular
from tclose.plain import classes_text, join_lines, rows_text, to_plain
from tclose.requirements.classes import Classes

MOST_CLASSES = 10
SEVERAL_ROWS = (
    " Somebody with several rows counts for each of their values. All rows of a person are in the "
    "table together and may be in different classes, so a class may show less than the table."
)
"""Why the probability with the class may be the smaller one, where persons are counted."""

Number = float | int | bool | None


@dataclass(frozen=True)
class Finding:
    """The result of one attack on one attribute (or on the rows as such).

    Classes are given by their numbers, counted from 1 as in an audit, the worst first; values of an
    attribute by their place in its order. No cell value is kept.
    """

    attack: str
    attribute: str | None
    sentence: str
    affected: int
    total: int
    classes: tuple[int, ...] = ()
    numbers: Mapping[str, Number] = field(default_factory=dict)
    details: tuple[Mapping[str, Number], ...] = ()

    @property
    def found(self) -> bool:
        """Whether any row is affected."""
        return self.affected > 0

    @property
    def share(self) -> float:
        """The share of rows that are affected, in [0, 1]."""
        return self.affected / self.total if self.total else 0.0

    def to_json(self) -> dict[str, Any]:
        """Returns plain values for JSON; infinite ones are null."""
        names = {"classes": "worst_classes"}
        return {names.get(name, name): to_plain(value) for name, value in vars(self).items()}


@dataclass(frozen=True)
class Belief:
    """The value of the best guess: without knowledge, with the table, with the class (B0, B1, B2).

    `guess` is the chance that the best single guess is right, `bits` the remaining uncertainty.
    """

    attribute: str
    values: int
    guess: tuple[float, float, float]
    bits: tuple[float, float, float]
    by_person: bool = False
    """Whether persons are counted, who may have several rows."""

    @property
    def sentence(self) -> str:
        """The beliefs in words."""
        nothing, table, group = self.guess
        return (
            f"The best guess at {self.attribute} is right with probability {nothing:.1%} without "
            f"any knowledge, {table:.1%} with the release, and {group:.1%} if the person's class "
            f"is known as well.{SEVERAL_ROWS if self.by_person else ''}"
        )

    def to_json(self) -> dict[str, Any]:
        """Returns plain values for JSON."""
        steps = ("nothing", "table", "class")
        guess, bits = (dict(zip(steps, part, strict=True)) for part in (self.guess, self.bits))
        return {**vars(self), "guess": guess, "bits": bits, "sentence": self.sentence}


@dataclass(frozen=True, repr=False)
class AttackReport(Tabular):
    """All attacks that were tried on a release, and what each of them found."""

    source: str
    rows: int
    classes: int
    beliefs: tuple[Belief, ...]
    findings: tuple[Finding, ...]
    not_tried: tuple[str, ...]
    """The attacks that could not be tried, and what each would need."""

    def of(self, attack: str) -> tuple[Finding, ...]:
        """Returns the findings of one attack."""
        return tuple(finding for finding in self.findings if finding.attack == attack)

    @property
    def found(self) -> tuple[Finding, ...]:
        """The findings that affect any row, the most affected rows first."""
        return tuple(sorted((f for f in self.findings if f.found), key=lambda f: -f.affected))

    @property
    def headline(self) -> str:
        """How many attacks found something."""
        return f"{len(self.found)} of {len(self.findings)} attacks found something"

    def records(self) -> list[dict[str, Any]]:
        """Returns a record for each finding."""
        names = ("attack", "attribute", "affected", "share", "sentence")
        return [{name: getattr(finding, name) for name in names} for finding in self.findings]

    def __str__(self) -> str:
        head = f"{self.source}: {rows_text(self.rows)} in {classes_text(self.classes)}"
        lines = [f"  {finding.sentence}" for finding in self.findings]
        return join_lines([head, *lines])


def report_classes(
    attack: str, attribute: str | None, classes: Classes, affected_classes: Flags,
    found: Callable[[str], str], quiet: str, numbers: Mapping[str, Number],
    *, harm: NDArray[Any] | None = None, details: tuple[Mapping[str, Number], ...] = (),
) -> Finding:  # fmt: skip
    """Makes the finding that all rows of some classes are affected, sorted by size (or `harm`).

    `found` makes the sentence from the affected rows; `quiet` is the sentence if there are none.
    """
    affected = int(classes.class_rows[affected_classes].sum())
    sentence = found(rows_text(affected)) if affected else quiet
    worst = rank_worst(affected_classes, classes.size if harm is None else harm)
    return Finding(attack, attribute, sentence, affected, classes.n_rows, worst, numbers, details)


def rank_worst(affected_classes: Flags, harm: NDArray[Any]) -> tuple[int, ...]:
    """Returns the numbers of the worst affected classes, the first of equal ones first.

    >>> rank_worst(np.array([True, False, True]), np.array([1.0, 9.0, 2.0]))
    (3, 1)
    """
    at = np.flatnonzero(affected_classes)
    order = np.lexsort((at, -harm[at].astype(np.float64)))[:MOST_CLASSES]
    return tuple(int(number) + 1 for number in at[order])


def measure_belief(classes: Classes, attribute: str) -> Belief:
    """Measures guesses (Li et al. 2007); closeness limits only the step from B1 to B2."""
    histogram = classes.histogram(attribute)
    table = classes.merge_histogram(attribute, np.zeros(classes.count, np.int64), 1).dense()[0]
    table, values = table.astype(np.float64), max(classes.attributes[attribute].values, 1)
    count, size = histogram.count.astype(np.float64), histogram.size.astype(np.float64)
    commonest = np.maximum.reduceat(count, histogram.start[:-1])
    share = table[table > 0] / table.sum()
    unknown = float((count * np.log2(size[histogram.owner()] / count)).sum() / count.sum())
    everyone, everyone_in_classes = table.sum(), size.sum()
    if classes.persons is not None:  # a person with several values counts for each
        everyone, everyone_in_classes = classes.everyone, classes.size.sum()
    by_class = float(commonest.sum() / everyone_in_classes)
    guess = (1 / values, float(table.max() / everyone), by_class)
    bits = (float(np.log2(values)), float(-(share @ np.log2(share))), unknown)
    return Belief(attribute, values, guess, bits, classes.persons is not None)
