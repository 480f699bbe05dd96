"""Every attack that the given tables allow, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tclose.attacks.beliefs import belief
from tclose.attacks.composition import composition
from tclose.attacks.definetti import definetti
from tclose.attacks.finding import AttackReport, Finding
from tclose.attacks.homogeneity import background_knowledge, homogeneity
from tclose.attacks.join import background_join
from tclose.attacks.linkage import linkage
from tclose.attacks.minimality import minimality, untried
from tclose.attacks.reidentification import reidentification
from tclose.attacks.similarity import similarity
from tclose.attacks.skewness import skewness
from tclose.data.alignment import Beside, Linked, agreeing
from tclose.data.binding import BoundTable
from tclose.data.encode.cells import Cells
from tclose.errors import DataError, UsageError

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Other:
    """A second release about the same people, and which of its rows are whose."""

    release: BoundTable
    linked: Linked | None


def attack_release(
    release: BoundTable,
    *,
    original: Beside | None = None,
    population: Cells | None = None,
    other: Other | None = None,
    seed: int = 1,
    progress: Progress = lambda step: None,
) -> AttackReport:
    """Tries every attack for which there is what it needs; says what could not be tried."""
    findings: list[Finding] = []
    lacking: list[str] = []
    progress("looking at every class")
    findings += _from_release(release, population)
    if population is None:
        lacking.append("journalist: needs a population table")
    if original is None:
        lacking.append("linkage, minimality, deFinetti: need the original table")
    else:
        findings += _from_original(release, original, lacking, seed, progress)
    if other is None:
        lacking.append("composition: needs another release about the same people")
    else:
        progress("composing two releases")
        findings += _from_both(release, other)
    return AttackReport(
        source=release.source.name,
        rows=release.classes.n_rows,
        classes=release.classes.count,
        beliefs=tuple(belief(release.classes, name) for name in release.attributes),
        findings=tuple(findings),
        not_tried=tuple(lacking),
    )


def _from_release(release: BoundTable, population: Cells | None) -> Iterator[Finding]:
    classes = release.classes
    for name, attribute in release.attributes.items():
        alpha = attribute.column.alpha
        yield homogeneity(classes, name)
        yield background_knowledge(classes, name)
        yield skewness(classes, name, alpha.values if alpha else None)
        yield from similarity(classes, name)
        if len(release.attributes) > 1:
            yield background_join(classes, name)
    yield from reidentification(release, population)


def _from_original(
    release: BoundTable,
    original: Beside,
    lacking: list[str],
    seed: int,
    progress: Progress,
) -> Iterator[Finding]:
    progress("linking rows with people")
    yield linkage(original, seed=seed)
    if original.linked is None:
        lacking.append(
            "minimality, deFinetti: need to know whose row is whose (a key, or the same row order)"
        )
        return
    progress("cutting classes in two")
    found = minimality(original)
    if found is None:
        lacking.append(f"minimality: {untried(original.original)}")
    else:
        yield found
    for name in release.attributes:
        progress(f"learning {name}")
        guessed = definetti(original, name, seed=seed)
        if guessed is not None:
            yield guessed


def _from_both(release: BoundTable, other: Other) -> Iterator[Finding]:
    if other.linked is None:
        raise UsageError(
            "the two releases have different numbers of rows, so nothing says whose row is whose",
            where=other.release.source.name,
            hint="name a column that both have and that tells rows apart (key)",
        )
    if not agreeing(release, other.release, other.linked):
        raise DataError(
            "rows that should be of the same person differ in a sensitive value",
            where=other.release.source.name,
            hint="were the rows shuffled? name a column that tells them apart (key)",
        )
    for name in release.attributes:
        yield composition(release, other.release, other.linked, name)
