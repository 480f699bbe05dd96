"""deFinetti against Anatomy: exact quasi-identifiers, groups known to all, and a model learned.

The attack is that of `attacks.definetti`, which knows releases by their classes. Here everybody's
quasi-identifiers and groups are published, so nobody needs the original to try it; only to judge
how many guesses are right.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.attacks.definetti import divide_line, group_people, guess_values
from tclose.attacks.finding import Finding
from tclose.data.binding import BoundTable
from tclose.verify.wording import rows_text

Ints = NDArray[np.int64]


def attack_groups(
    original: BoundTable, cell: Ints, group: Ints, attribute: str, seed: int
) -> Finding:
    """How many more people are guessed right than by their group.

    `cell` and `group` are those of each row, groups counted from 0. Of very many groups some are
    drawn by chance, and what is found there is taken for all.
    """
    code = original.classes.cell_codes[attribute][cell]
    parts = [_divide_values(original, name)[cell] for name in original.classes.quasi]
    groups, values = int(group.max()) + 1, original.attributes[attribute].values
    people = group_people(group, groups, parts, code, values, np.ones(len(cell)), seed)
    guesses = guess_values(people)
    affected = guesses.affected(len(cell))
    if affected:
        sentence = (
            f"Whoever learns from the tables how quasi-identifiers go with {attribute} guesses "
            f"{rows_text(affected)} more right than by their groups (deFinetti)."
        )
    else:
        sentence = (
            f"Learning from the tables how quasi-identifiers go with {attribute} gains next to "
            f"nothing: {guesses.learned:.1%} of the guesses are right, {guesses.usual:.1%} by the "
            "group itself (deFinetti)."
        )
    numbers = guesses.numbers("group")
    return Finding("deFinetti", attribute, sentence, affected, len(cell), (), numbers)


def _divide_values(original: BoundTable, name: str) -> Ints:
    """The part of each cell: its value, or where that lies on the number line."""
    dictionary, code = original.cells.dictionaries[name], original.cells.codes[name]
    if dictionary.positions is None:
        return code
    rows = np.bincount(code, original.cells.rows, dictionary.known + 1)
    return divide_line(rows, dictionary.known)[code]
