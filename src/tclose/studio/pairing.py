"""Pairs the rows of a release with those of its table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tclose.arrays import Ints
from tclose.data.alignment import Alignment, encode_rows, locate_rows
from tclose.distance.histogram import group_codes
from tclose.recode.plan import Plan
from tclose.release import Release
from tclose.studio.project import Run
from tclose.verify.audit import Audit

FIRST_RELEASED = 1_000
"""The most rows that are shown beside their released versions."""
CLASSES = "classes.npy"
"""File in a run's folder: the plan's class of each row of the table, −1 if left out."""


@dataclass(frozen=True)
class JudgedRun:
    """A release and the table it was made from, both counted."""

    before: Audit
    after: Audit
    alignment: Alignment


def note_classes(run: Run, release: Release) -> None:
    """Saves the class of each row of the table, which the release alone does not show."""
    if release.list_classes is not None:
        np.save(run.folder / CLASSES, release.list_classes().astype(np.int32))


def number_released(run: Run, found: JudgedRun) -> Ints | None:
    """Finds which rows of the table the first released rows are, from 0; None if unknown.

    Among rows with equal released values any assignment may be returned.
    """
    if not (run.folder / CLASSES).is_file() or run.policy.release.leftover != "drop":
        return None
    label = np.load(run.folder / CLASSES)
    kept = np.flatnonzero(label >= 0)
    if len(label) != found.before.rows or len(kept) != found.after.rows:
        return None
    if run.policy.release.rows == "keep":
        return kept[:FIRST_RELEASED]
    pairs = _pair_columns(run, found, label)
    both = [np.concatenate([mine[kept], theirs[:FIRST_RELEASED]]) for mine, theirs in pairs]
    mine, theirs = np.split(group_codes(both)[0], [len(kept)])
    order = np.argsort(mine, kind="stable")
    again = [int((theirs[:at] == code).sum()) for at, code in enumerate(theirs)]
    place = np.searchsorted(mine[order], theirs) + np.array(again, dtype=np.int64)
    if (mine[order][np.minimum(place, len(order) - 1)] != theirs).any():
        return None
    return kept[order[place]]


def _pair_columns(run: Run, found: JudgedRun, label: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Yields, per released column, comparable codes of the table's and of the released rows."""
    table, released = found.before.bound, found.after.bound
    mine, theirs = locate_rows(table), locate_rows(released)
    for each in Plan.load(run.folder / "plan.json").columns:
        words = released.cells.dictionaries[each.column].labels
        code: dict[str | None, int] = {word: at for at, word in enumerate(words)}
        become = [code.get(value, len(words) if value is None else -1) for value in each.values]
        yield np.array(become, np.int64)[label], released.cells.codes[each.column][theirs]
    before, after = found.alignment.number_combinations()
    yield before[mine], after[theirs]
    for name, column in run.policy.columns.items():
        if column.role == "insensitive":
            known, own = encode_rows(table.source, name)
            released_words, other = encode_rows(released.source, name)
            number = {word: at for at, word in enumerate(released_words.labels)}
            translated = [number.get(word, -1) for word in known.labels]
            yield np.array([*translated, len(released_words.labels)], np.int64)[own], other
