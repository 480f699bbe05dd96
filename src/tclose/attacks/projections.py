"""Projections combined: what somebody learns who finds a person's class in each of them.

Each projection shows other sensitive attributes, so none repeats a value. But whoever knows a
person's quasi-identifiers finds one class in every projection, and

- the people in all of these classes at once may be fewer than k;
- where attributes go together, a class of the one tells about the other. Taken at its worst, an
  attacker knows how the attributes go together in the whole table: then a class B that shows b
  says of a: P(a | B) = Σ_b P_B(b) · Q(a | b), and with classes independent given the value, the
  belief is proportional to P_A(a) · Π_B P(a | B) / Q(a), as in the composition of two releases of
  one attribute (`attacks.composition`).

Columns with many values count by parts of about equally many rows, since nobody knows how single
values go together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.attacks.composition import NEARLY
from tclose.attacks.finding import Finding, rank_worst
from tclose.data.binding import BoundTable
from tclose.data.encode.cells import bin_codes
from tclose.data.encode.classes import group_codes
from tclose.verify.wording import rows_text

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

PARTS = 8
"""Attributes of other projections with more values count by so many parts."""
CHUNK = 2_000_000
"""Beliefs that are kept at once."""


@dataclass(frozen=True)
class Projection:
    """One projection: its sensitive attributes, and the class that each row of the table is in."""

    columns: tuple[str, ...]
    label: Ints


def compose_projections(
    original: BoundTable, cell: Ints, projections: Sequence[Projection]
) -> tuple[Finding, ...]:
    """What all projections together tell, for every sensitive attribute; `cell` is each row's."""
    together, first = group_codes([each.label for each in projections])
    rows = np.bincount(together)
    found = [_count_people(original, rows)]
    for at, mine in enumerate(projections):
        others = [each for other, each in enumerate(projections) if other != at]
        for name in mine.columns:
            found.append(_attack_attribute(original, cell, name, mine, others, first, rows))
    return tuple(found)


def _count_people(original: BoundTable, rows: Ints) -> Finding:
    """How few people are in the same class of every projection."""
    k = original.policy.k or 2
    few = rows < k
    affected, total = int(rows[few].sum()), int(rows.sum())
    sentence = (
        f"Whoever finds a person's class in every projection narrows {rows_text(affected)} down to "
        f"fewer than {k} people; the smallest such group has {rows_text(int(rows.min()))}."
        if affected
        else f"No class of one projection meets those of the others in fewer than {k} people."
    )
    numbers = {"fewest rows in all classes at once": int(rows.min()), "groups": len(rows)}
    return Finding("composition", None, sentence, affected, total, (), numbers)


def _attack_attribute(
    original: BoundTable,
    cell: Ints,
    name: str,
    mine: Projection,
    others: Sequence[Projection],
    first: Ints,
    rows: Ints,
) -> Finding:
    """What the other projections add to one attribute of this one."""
    code = original.classes.cell_codes[name][cell]
    values = original.attributes[name].values
    code = np.where(code < 0, values, code)
    table = np.bincount(code, minlength=values + 1) / len(code)
    shares = _find_shares(mine.label, code, values + 1)
    ratios = [_weigh_values(original, cell, each, code, table) for each in others]
    left, strongest, moved = _combine_beliefs(shares, ratios, mine, others, first, table)
    alone = shares[mine.label[first]]
    already = np.count_nonzero(alone, axis=1) == 1
    certain = (left == 1) & ~already
    nearly = (strongest >= NEARLY) & (alone.max(axis=1) < NEARLY)
    affected, total = int(rows[certain].sum()), int(rows.sum())
    harmed = np.zeros(len(shares), dtype=np.int64)
    np.add.at(harmed, mine.label[first][certain], rows[certain])
    numbers = {
        "fewest values left": int(left.min()),
        "strongest belief": float(strongest.max()),
        "strongest belief by its own projection": float(alone.max()),
        "rows newly believed with 95 % or more": int(rows[nearly].sum()),
        "farthest from the table": float(moved.max()),
    }
    if affected:
        sentence = (
            f"The projections together make the {name} of {rows_text(affected)} certain for "
            "whoever knows how the attributes go together, though its own projection does not."
        )
    else:
        sentence = _describe_nobody_new(name, rows, already, strongest, alone.max(axis=1))
    return Finding(
        "composition", name, sentence, affected, total, rank_worst(harmed > 0, harmed), numbers
    )


def _describe_nobody_new(
    name: str, rows: Ints, already: NDArray[np.bool_], strongest: Floats, alone: Floats
) -> str:
    """What is said where nobody becomes certain who was not by the attribute's own projection."""
    known, others = rows_text(int(rows[already].sum())), ~already
    if already.all():
        return f"Its own projection makes the {name} of {known} certain already."
    beside = (
        f"Beside {known} that its own projection makes certain, the" if already.any() else "The"
    )
    return (
        f"{beside} projections together make nobody's {name} certain; whoever knows how the "
        f"attributes go together believes a value with {float(strongest[others].max()):.1%} at "
        f"most (by its own projection with {float(alone[others].max()):.1%})."
    )


def _find_shares(label: Ints, code: Ints, values: int) -> Floats:
    """[classes, values]: the share of each value in each class."""
    classes = int(label.max()) + 1
    count = np.bincount(label * values + code, minlength=classes * values)
    held = count.reshape(classes, values).astype(np.float64)
    result: Floats = held / held.sum(axis=1, keepdims=True)
    return result


def _weigh_values(
    original: BoundTable, cell: Ints, other: Projection, code: Ints, table: Floats
) -> Floats:
    """[classes of the other projection, values]: P(a | B) / Q(a)."""
    parts = [bin_codes(original.classes.cell_codes[name][cell], PARTS) for name in other.columns]
    label, _ = group_codes(parts)
    given = _find_shares(label, code, len(table))
    classes = int(other.label.max()) + 1
    pair, first = group_codes([other.label, label])
    count = np.bincount(pair).astype(np.float64)
    result = np.zeros((classes, len(table)))
    np.add.at(result, other.label[first], given[label[first]] * count[:, None])
    result /= np.bincount(other.label)[:, None]
    ratio: Floats = result / np.where(table > 0, table, 1.0)
    return ratio


def _combine_beliefs(
    shares: Floats,
    ratios: Sequence[Floats],
    mine: Projection,
    others: Sequence[Projection],
    first: Ints,
    table: Floats,
) -> tuple[Ints, Floats, Floats]:
    """For each combination of classes: values left, the strongest belief, how far beliefs moved."""
    left = np.zeros(len(first), dtype=np.int64)
    strongest, moved = np.zeros(len(first)), np.zeros(len(first))
    step = max(CHUNK // len(table), 1)
    for at in range(0, len(first), step):
        some = first[at : at + step]
        belief = shares[mine.label[some]]
        for ratio, other in zip(ratios, others, strict=True):
            belief = belief * ratio[other.label[some]]
        total = belief.sum(axis=1, keepdims=True)
        belief = belief / np.where(total > 0, total, 1.0)
        left[at : at + step] = np.count_nonzero(belief, axis=1)
        strongest[at : at + step] = belief.max(axis=1)
        moved[at : at + step] = np.abs(belief - table).sum(axis=1) / 2
    return left, strongest, moved
