"""Every attack that the given tables allow, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tclose.attacks.classes import attack_attribute, find_reidentification
from tclose.attacks.composition import find_composition
from tclose.attacks.definetti import find_definetti
from tclose.attacks.finding import AttackReport, Finding, measure_belief
from tclose.attacks.linkage import find_linkage
from tclose.attacks.minimality import find_minimality
from tclose.data.alignment import Alignment, LinkedRows, values_agree
from tclose.data.binding import BoundTable
from tclose.data.encode.cells import Cells
from tclose.errors import DataError, UsageError

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Other:
    """A second release about the same people, and which of its rows are whose."""

    release: BoundTable
    linked: LinkedRows | None


def attack_release(
    release: BoundTable,
    *,
    original: Alignment | None = None,
    population: Cells | None = None,
    other: Other | None = None,
    seed: int = 1,
    progress: Progress = lambda step: None,
) -> AttackReport:
    """Tries every attack for which there is what it needs; says what could not be tried."""
    findings: list[Finding] = []
    lacking: list[str] = []
    progress("looking at every class")
    for name in release.attributes:
        findings += attack_attribute(release.classes, name)
    findings += find_reidentification(release, population)
    if population is None:
        lacking.append("journalist: needs a population table")
    if original is None:
        lacking.append("linkage, minimality, deFinetti: need the original table")
    else:
        findings += _attack_with_original(release, original, lacking, seed, progress)
    if other is None:
        lacking.append("composition: needs another release about the same people")
    else:
        progress("composing two releases")
        findings += _attack_both(release, other)
    return AttackReport(
        source=release.source.name,
        rows=release.classes.n_rows,
        classes=release.classes.count,
        beliefs=tuple(measure_belief(release.classes, name) for name in release.attributes),
        findings=tuple(findings),
        not_tried=tuple(lacking),
    )


def _attack_with_original(
    release: BoundTable, original: Alignment, lacking: list[str], seed: int, progress: Progress
) -> Iterator[Finding]:
    progress("linking rows with people")
    yield find_linkage(original, seed=seed)
    if original.linked is None:
        lacking.append(
            "minimality, deFinetti: need to know whose row is whose (a key, or the same row order)"
        )
        return
    progress("cutting classes in two")
    found = find_minimality(original)
    if isinstance(found, str):
        lacking.append(f"minimality: {found}")
    else:
        yield found
    for name in release.attributes:
        progress(f"learning {name}")
        yield find_definetti(original, name, seed)


def _attack_both(release: BoundTable, other: Other) -> Iterator[Finding]:
    if other.linked is None:
        raise UsageError(
            "the two releases have different numbers of rows, so nothing says whose row is whose",
            where=other.release.source.name,
            hint="name a column that both have and that tells rows apart (key)",
        )
    if not values_agree(release, other.release, other.linked):
        raise DataError(
            "rows that should be of the same person differ in a sensitive value",
            where=other.release.source.name,
            hint="were the rows shuffled? name a column that tells them apart (key)",
        )
    for name in release.attributes:
        yield find_composition(release, other.release, other.linked, name)
