"""The deFinetti attack: learning from the release who in a class has which value (Kifer 2009).

Somebody with everybody's quasi-identifiers, and so classes, starts from the shares of each class,
learns a naive Bayes model from these soft labels, shares the values of every class out anew by the
model (each person has one value in all, each value keeps its count), and repeats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tclose.attacks.finding import Finding, rank_worst
from tclose.data.alignment import Alignment
from tclose.data.binding import BoundTable
from tclose.data.encode.cells import Cells, split_evenly
from tclose.data.encode.classes import group_codes
from tclose.data.encode.coverage import Boxes
from tclose.verify.wording import rows_text

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


PARTS = 8
ROUNDS = 5
SHARINGS = 5
LARGEST = 20_000_000
"""How many beliefs are kept at most; of more classes some are drawn by chance."""
NOISE = 0.01
"""A gain of a smaller share of the rows is not worth a finding."""
CHANCE = 3
"""A gain of fewer standard deviations, were each difference the toss of a coin, is chance."""


@dataclass(frozen=True)
class People:
    """Kinds of people: those in one class with the same quasi-identifiers.

    `bins[:, q]` is the part of column q; `held[c, s]` how often class c holds value s; kinds are in
    the order of their classes. `truth[kind, s]` counts who has which value: only for judging.
    """

    number: Ints
    rows: Floats
    bins: Ints
    held: Floats
    truth: Floats


def find_definetti(found: Alignment, attribute: str, seed: int) -> Finding:
    """How many more people the attack guesses right than their class does; rows must be linked."""
    assert found.linked is not None
    classes = found.release.classes
    cells, weight = found.linked.first, found.linked.rows.astype(np.float64)
    number = classes.cell_class[found.linked.second]
    places = found.covering.places(found.original.cells)[cells]
    parts = [
        _divide_places(boxes, found.original.cells)[places[:, at]]
        for at, boxes in enumerate(found.covering.columns)
    ]
    people = _group_people(found.original, attribute, cells, number, parts, weight, seed)
    who = "Whoever has everybody's quasi-identifiers and learns from the release how they"
    finding, more = _report_guesses(people, attribute, classes.n_rows, who, "release", "class")
    each = np.bincount(people.number, more, classes.count)
    return replace(finding, classes=rank_worst((each > 0) & finding.found, each))


def attack_groups(
    original: BoundTable, cell: Ints, group: Ints, attribute: str, seed: int
) -> Finding:
    """How many more people are guessed right than by their group of an anatomy release.

    There everybody's quasi-identifiers and groups are published, so nobody needs the original to
    try it; only to judge how many guesses are right. `cell` and `group` are those of each row.
    """
    parts = [_divide_values(original, name)[cell] for name in original.classes.quasi]
    people = _group_people(original, attribute, cell, group, parts, np.ones(len(cell)), seed)
    who = "Whoever learns from the tables how quasi-identifiers"
    finding, _ = _report_guesses(people, attribute, len(cell), who, "tables", "group")
    return finding


def _report_guesses(
    people: People, attribute: str, total: int, who: str, source: str, group: str
) -> tuple[Finding, Floats]:
    """The gain over guessing the commonest value of each class, and by kind of people.

    A small gain, or one that chance would explain were each difference the toss of a coin, is no
    finding. What is found among the rows tried is taken for all.
    """
    kinds = np.arange(len(people.number))
    learned, usual = share_out(people).argmax(axis=1), people.held[people.number].argmax(axis=1)
    by_attack, by_class = people.truth[kinds, learned], people.truth[kinds, usual]
    more, decided = by_attack - by_class, float((by_attack + by_class)[learned != usual].sum())
    rows = float(people.rows.sum())
    right, right_before = (float(right.sum()) / (rows or 1.0) for right in (by_attack, by_class))
    gain = float(more.sum()) / (int(rows) or 1)
    beyond = gain >= NOISE and more.sum() >= CHANCE * decided**0.5
    affected = round(gain * total) if beyond else 0
    groups, mark = ("their class", "") if group == "class" else ("their groups", " (deFinetti)")
    if affected:
        sentence = (
            f"{who} go with {attribute} guesses {rows_text(affected)} more right than by "
            f"{groups}{mark}."
        )
    else:
        sentence = (
            f"Learning from the {source} how quasi-identifiers go with {attribute} gains next to "
            f"nothing: {right:.1%} of the guesses are right, {right_before:.1%} by the {group} "
            f"itself{mark}."
        )
    numbers = {
        f"guessed by the {group}": right_before,
        "guessed by the attack": right,
        "gain": gain,
        "rows tried": int(rows),
    }
    return Finding("deFinetti", attribute, sentence, affected, total, (), numbers), more


def share_out(people: People) -> Floats:
    """The belief in every value for every kind of people, after all rounds."""
    held = people.held[people.number]
    belief: Floats = held / held.sum(axis=1, keepdims=True)
    start = np.flatnonzero(np.diff(people.number, prepend=-1))
    counts = people.held[people.number[start]]
    for _ in range(ROUNDS):
        likely = np.zeros_like(belief)
        weighted = belief * people.rows[:, None]
        for q in range(people.bins.shape[1]):
            size = int(people.bins[:, q].max(initial=0)) + 1
            table = np.ones((size, belief.shape[1]))
            np.add.at(table, people.bins[:, q], weighted)
            likely += np.log(table / table.sum(axis=0))[people.bins[:, q]]
        likely = np.where(held > 0, likely, -np.inf)
        belief = held * np.exp(likely - likely.max(axis=1, keepdims=True))
        for _ in range(SHARINGS):
            belief /= belief.sum(axis=1, keepdims=True)
            sums = np.add.reduceat(belief * people.rows[:, None], start)
            factor = counts / np.where(sums > 0, sums, 1.0)
            belief *= np.repeat(factor, np.diff(start, append=len(belief)), axis=0)
        belief /= belief.sum(axis=1, keepdims=True)
    return belief


def _group_people(
    original: BoundTable, attribute: str, cell: Ints, number: Ints, parts: Sequence[Ints],
    weight: Floats, seed: int,
) -> People:  # fmt: skip
    """Rows by class, parts of their quasi-identifiers and value as kinds of people.

    Of very many classes some are drawn by chance; people whose value is missing are left out.
    """
    code = original.classes.cell_codes[attribute][cell]
    values = original.attributes[attribute].values
    kinds = len(group_codes([number, *parts])[1])
    kept = np.flatnonzero((code >= 0) & _draw_groups(number, kinds * values, seed))
    label, first = group_codes([number[kept], *(part[kept] for part in parts)])
    truth = np.zeros((len(first), values))
    np.add.at(truth, (label, code[kept]), weight[kept])
    held = np.zeros((int(number.max(initial=-1)) + 1, values))
    np.add.at(held, (number[kept], code[kept]), weight[kept])
    bins = np.stack([part[kept][first] for part in parts], axis=1)
    return People(number[kept][first], truth.sum(axis=1), bins, held, truth)


def _draw_groups(number: Ints, beliefs: int, seed: int) -> NDArray[np.bool_]:
    """Which pairs are in classes that are tried: all, or so many that the beliefs can be kept."""
    if beliefs <= LARGEST:
        return np.ones(len(number), dtype=bool)
    chance = np.random.default_rng(seed).random(int(number.max()) + 1)
    result: NDArray[np.bool_] = chance[number] < LARGEST / beliefs
    return result


def _divide_places(boxes: Boxes, cells: Cells) -> Ints:
    """The part of each place of a column, on the number line or not."""
    if not boxes.on_a_line:
        return np.arange(boxes.values + 1)
    rows = np.bincount(boxes.rank[cells.codes[boxes.name]], cells.rows, boxes.values + 1)
    return _divide_line(rows, boxes.known)


def _divide_values(original: BoundTable, name: str) -> Ints:
    """The part of each cell: its value, or where that lies on the number line."""
    dictionary, code = original.cells.dictionaries[name], original.cells.codes[name]
    if dictionary.positions is None:
        return code
    rows = np.bincount(code, original.cells.rows, dictionary.known + 1)
    return _divide_line(rows, dictionary.known)[code]


def _divide_line(rows: NDArray[np.number], known: int) -> Ints:
    """The part of each place on a number line, from the rows at each: an eighth of them.

    Where there are few places, each is a part; what is beyond those known is missing, another part.
    """
    if known <= 2 * PARTS:
        return np.arange(len(rows))
    part = split_evenly(rows, PARTS)
    part[known:] = PARTS
    return part
