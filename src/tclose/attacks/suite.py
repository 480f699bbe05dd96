"""Runs every attack that the given tables allow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tclose.attacks.classes import attack_attribute, find_reidentification
from tclose.attacks.composition import find_composition
from tclose.attacks.definetti import find_definetti
from tclose.attacks.finding import AttackReport, Finding, measure_belief
from tclose.attacks.households import find_households
from tclose.attacks.linkage import find_linkage, find_order
from tclose.attacks.minimality import find_minimality
from tclose.attacks.uniqueness import find_uniqueness
from tclose.data.alignment import Alignment, LinkedRows
from tclose.data.binding import BoundTable
from tclose.data.encode.cells import Cells

Progress = Callable[[str], None]
EFFORT = 5.0
"""The default effort, in seconds of an ordinary core: half for minimality, half for deFinetti."""


@dataclass(frozen=True)
class Other:
    """A second release about the same people, and which of its rows belong to whom."""

    release: BoundTable
    linked: LinkedRows


def attack_release(
    release: BoundTable, *, original: Alignment | None = None, population: Cells | None = None,
    other: Other | None = None, seed: int = 1, effort: float = EFFORT, only_risks: bool = False,
    progress: Progress = lambda step: None,
) -> AttackReport:  # fmt: skip
    """Tries every attack for which the tables suffice; lists those that could not be tried.

    Long attacks try as many rows as the effort allows (seconds of an ordinary core), drawn by the
    seed. `only_risks` leaves out everything but the risks of being recognized.
    """
    findings: list[Finding] = []
    lacking: list[str] = []
    names = () if only_risks else tuple(release.attributes)
    for at, name in enumerate(names, 1):
        progress(f"looking at {name} in every class, {at} of {len(names)}")
        findings += attack_attribute(release, name)
    findings += find_reidentification(release, population)
    if release.policy.household is not None:
        progress("looking at households")
        households = find_households(release, original)
        findings += households
        if not households:
            lacking.append("household: needs to know who lives together (the original, linked)")
    if population is None:
        lacking.append("journalist: needs a population table")
    if only_risks:
        lacking.append("every attack but the risks of being recognized: left out on request")
    else:
        findings += find_uniqueness(release)
        if original is None:
            lacking.append("order, linkage, minimality, deFinetti: need the original table")
        else:
            findings += _attack_with_original(release, original, lacking, seed, effort, progress)
        if other is None:
            lacking.append("composition: needs another release about the same people")
        else:
            progress("composing two releases")
            both = (release, other.release, other.linked)
            findings += [find_composition(*both, name) for name in release.attributes]
    source, classes = release.source.name, release.classes
    beliefs = tuple(measure_belief(classes, name) for name in release.attributes)
    counts = (classes.n_rows, classes.count)
    return AttackReport(source, *counts, beliefs, tuple(findings), tuple(lacking))


def _attack_with_original(
    release: BoundTable, original: Alignment, lacking: list[str], seed: int, effort: float,
    progress: Progress,
) -> Iterator[Finding]:  # fmt: skip
    progress("linking rows with people")
    yield find_order(original)
    yield find_linkage(original, seed=seed)
    if original.linked is None:
        lacking.append(
            "minimality, deFinetti: need to know whose row is whose "
            "(a key, the same row order, or classes that do not overlap)"
        )
        return
    progress("cutting classes in two")
    found = find_minimality(original, seed, effort / 2)
    if isinstance(found, str):
        lacking.append(f"minimality: {found}")
    else:
        yield found
    for name in release.attributes:
        progress(f"learning {name}")
        yield find_definetti(original, name, seed, effort / 2 / len(release.attributes))
