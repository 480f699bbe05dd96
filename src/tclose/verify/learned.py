"""deFinetti against Anatomy: exact quasi-identifiers, groups known to all, and a model learned.

The attack is that of `attacks.definetti`, which knows releases by their classes. Here everybody's
quasi-identifiers and groups are published, so nobody needs the original to try it; only to judge
how many guesses are right.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.table.cells import equal_parts
from tclose.table.check import Bound
from tclose.table.classes import grouped
from tclose.verify.attacks.definetti import LARGEST, NOISE, PARTS, People, shared_out
from tclose.verify.attacks.finding import Finding
from tclose.verify.audit import rows_text

Ints = NDArray[np.int64]


def learned(original: Bound, cell: Ints, group: Ints, attribute: str, seed: int) -> Finding:
    """How many more people are guessed right than by their group.

    `cell` and `group` are those of each row, groups counted from 0. Of very many groups some are
    drawn by chance, and what is found there is taken for all.
    """
    code = original.classes.cell_codes[attribute][cell]
    values = original.attributes[attribute].values
    drawn = _drawn(group, len(cell) * values, seed)
    known = np.flatnonzero((code >= 0) & drawn)
    parts = [_parts(original, name)[cell[known]] for name in original.classes.quasi]
    label, first = grouped([group[known], *parts])
    truth = np.zeros((len(first), values))
    np.add.at(truth, (label, code[known]), 1.0)
    held = np.zeros((int(group.max()) + 1, values))
    np.add.at(held, (group[known], code[known]), 1.0)
    bins = np.stack([part[first] for part in parts], axis=1)
    people = People(group[known][first], truth.sum(axis=1), bins, held, truth)
    kinds = np.arange(len(first))
    by_attack = float(truth[kinds, shared_out(people).argmax(axis=1)].sum())
    by_group = float(truth[kinds, held[people.number].argmax(axis=1)].sum())
    rows = max(len(known), 1)
    gain = (by_attack - by_group) / rows
    affected = round(gain * len(cell)) if gain >= NOISE else 0
    if affected:
        sentence = (
            f"Whoever learns from the tables how quasi-identifiers go with {attribute} guesses "
            f"{rows_text(affected)} more right than by their groups (deFinetti)."
        )
    else:
        sentence = (
            f"Learning from the tables how quasi-identifiers go with {attribute} gains nothing "
            "over the groups themselves (deFinetti)."
        )
    numbers = {
        "guessed by the group": by_group / rows,
        "guessed by the attack": by_attack / rows,
        "gain": gain,
        "rows tried": len(known),
    }
    return Finding("deFinetti", attribute, sentence, affected, len(cell), (), numbers)


def _drawn(group: Ints, beliefs: int, seed: int) -> NDArray[np.bool_]:
    """Which rows are in groups that are tried: all, or so many that the beliefs can be kept."""
    chance = np.random.default_rng(seed).random(int(group.max()) + 1)
    result: NDArray[np.bool_] = chance[group] * beliefs < LARGEST
    return result


def _parts(original: Bound, name: str) -> Ints:
    """The part of each cell: its value, or an eighth of the rows along the number line."""
    dictionary, code = original.cells.dictionaries[name], original.cells.codes[name]
    if dictionary.positions is None or dictionary.known <= 2 * PARTS:
        return code
    rows = np.bincount(code, original.cells.weight, dictionary.known + 1)
    part = equal_parts(rows, PARTS)
    part[dictionary.known] = PARTS
    return part[code]
