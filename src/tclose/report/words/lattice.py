"""A lattice of full-domain generalizations in words, and its nodes by height."""

from __future__ import annotations

from collections.abc import Iterator

from tclose.search.full_domain.survey import MOST_NODES, LatticePoint, Survey


def name_lattice(survey: Survey) -> str:
    """What the lattice is about."""
    count = len(survey.columns)
    return f"Full-domain generalizations of {count} quasi-identifier{'' if count == 1 else 's'}"


def describe_lattice(survey: Survey) -> str:
    """How the nodes stand, in words."""
    words = f"{survey.lattice.size:,} nodes"
    if survey.points:
        words += (
            f", {len(survey.holding):,} of which keep the promise; {len(survey.minimal):,} of "
            "these have nothing finer below them that does"
        )
    else:
        words += ", too many to look at one by one"
        words += " in the time given" if survey.lattice.size <= MOST_NODES else ""
    if survey.best is None or survey.loss is None:
        return f"{words}. No node keeps the promise."
    levels = ", ".join(
        f"{name} {level}" for name, level in zip(survey.columns, survey.best, strict=True)
    )
    words += f". Best: {levels}, {survey.measure} loss {survey.loss:.4f}"
    if survey.proved:
        return f"{words}; nothing is better."
    if survey.bound is None:
        return f"{words}; how far from the best is not known."
    return f"{words}; no node loses less than {survey.bound:.4f}."


def group_by_height(survey: Survey) -> Iterator[tuple[int, list[LatticePoint]]]:
    """The nodes of each height, from the raw table up."""
    base = sum(survey.lattice.low)
    layers: list[list[LatticePoint]] = [[] for _ in survey.heights]
    for point in survey.points:
        layers[sum(point.levels) - base].append(point)
    return enumerate(layers, start=base)
