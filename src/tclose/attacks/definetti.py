"""The deFinetti attack: learning from the release who in a class has which value (Kifer 2009).

A class tells which values it holds, not who has which. But other classes teach how values go with
quasi-identifiers. Somebody with everybody's quasi-identifiers (who is taken to know the class of
each) starts from the class's shares, learns a naive Bayes model from these soft labels, shares the
values of every class out anew by the model (so that each person has one value in all, and each
value keeps its count), and repeats.

Numbers are cut into eight parts of equally many rows. The gain is how many more people are guessed
right than by the commonest value of their class; a small gain, or one that chance would explain, is
no finding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.attacks.finding import Finding, rank_worst
from tclose.data.alignment import Alignment
from tclose.data.encode.boxes import Boxes
from tclose.data.encode.cells import Cells, split_evenly
from tclose.data.encode.classes import group_codes
from tclose.verify.wording import rows_text

PARTS = 8
ROUNDS = 5
SHARINGS = 5
LARGEST = 20_000_000
"""How many beliefs are kept at most; of more classes some are drawn by chance."""
NOISE = 0.01
"""A gain of a smaller share of the rows is not worth a finding."""
CHANCE = 3
"""A gain of fewer standard deviations, were each difference the toss of a coin, is chance."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


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


@dataclass(frozen=True)
class Guesses:
    """How the attack fared: shares of the rows tried that it and the classes guess right.

    `more[kind]` is how many more of a kind it guesses right; `decided` how many people are guessed
    right by only one of the two.
    """

    learned: float
    usual: float
    more: Floats
    decided: float
    rows: int

    @property
    def gain(self) -> float:
        """How many more are guessed right, as a share of the rows tried."""
        return float(self.more.sum()) / (self.rows or 1)

    def affected(self, total: int) -> int:
        """How many more of all rows are guessed right; 0 where that is little or chance."""
        beyond = self.gain >= NOISE and self.more.sum() >= CHANCE * self.decided**0.5
        return round(self.gain * total) if beyond else 0

    def numbers(self, group: str) -> dict[str, float]:
        """What a finding tells of it; `group` is what the rows are in."""
        return {
            f"guessed by the {group}": self.usual,
            "guessed by the attack": self.learned,
            "gain": self.gain,
            "rows tried": self.rows,
        }


def find_definetti(found: Alignment, attribute: str, *, seed: int = 1) -> Finding | None:
    """How many more people the attack guesses right than their class does; None: not linked."""
    if found.linked is None:
        return None
    people = _link_people(found, attribute, seed)
    guesses = guess_values(people)
    total = found.release.classes.n_rows
    affected = guesses.affected(total)
    each = np.bincount(people.number, guesses.more, found.release.classes.count)
    if affected:
        sentence = (
            f"Whoever has everybody's quasi-identifiers and learns from the release how they go "
            f"with {attribute} guesses {rows_text(affected)} more right than by their class."
        )
    else:
        sentence = (
            f"Learning from the release how quasi-identifiers go with {attribute} gains next to "
            f"nothing: {guesses.learned:.1%} of the guesses are right, {guesses.usual:.1%} by the "
            "class itself."
        )
    harmed = rank_worst((each > 0) & (affected > 0), each)
    numbers = guesses.numbers("class")
    return Finding("deFinetti", attribute, sentence, affected, total, harmed, numbers)


def guess_values(people: People) -> Guesses:
    """What the attack guesses right, beside the commonest value of each class."""
    kinds = np.arange(len(people.number))
    learned, usual = share_out(people).argmax(axis=1), people.held[people.number].argmax(axis=1)
    by_attack, by_class = people.truth[kinds, learned], people.truth[kinds, usual]
    decided = float((by_attack + by_class)[learned != usual].sum())
    rows = float(people.rows.sum())
    shares = float(by_attack.sum()) / (rows or 1.0), float(by_class.sum()) / (rows or 1.0)
    return Guesses(*shares, by_attack - by_class, decided, int(rows))


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


def _link_people(found: Alignment, attribute: str, seed: int) -> People:
    """The kinds of people in the classes that are tried, with their true values."""
    assert found.linked is not None
    cells, weight = found.linked.first, found.linked.rows.astype(np.float64)
    number = found.release.classes.cell_class[found.linked.second]
    code = found.original.classes.cell_codes[attribute][cells]
    values = found.original.attributes[attribute].values
    places = found.covering.places(found.original.cells)[cells]
    parts = [
        _divide_values(boxes, found.original.cells)[places[:, at]]
        for at, boxes in enumerate(found.covering.columns)
    ]
    return group_people(number, found.release.classes.count, parts, code, values, weight, seed)


def group_people(
    number: Ints,
    classes: int,
    parts: Sequence[Ints],
    code: Ints,
    values: int,
    weight: Floats,
    seed: int,
) -> People:
    """Rows by class, parts of their quasi-identifiers and value (−1: missing) as kinds of people.

    Of very many classes some are drawn by chance.
    """
    kinds = len(group_codes([number, *parts])[1])
    kept = np.flatnonzero((code >= 0) & _draw_groups(number, kinds * values, seed))
    label, first = group_codes([number[kept], *(part[kept] for part in parts)])
    truth = np.zeros((len(first), values))
    np.add.at(truth, (label, code[kept]), weight[kept])
    held = np.zeros((classes, values))
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


def _divide_values(boxes: Boxes, cells: Cells) -> Ints:
    """The part of each place of a column, on the number line or not."""
    if not boxes.on_a_line:
        return np.arange(boxes.values + 1)
    rows = np.bincount(boxes.rank[cells.codes[boxes.name]], cells.rows, boxes.values + 1)
    return divide_line(rows, boxes.known)


def divide_line(rows: NDArray[np.number], known: int) -> Ints:
    """The part of each place on a number line, from the rows at each: an eighth of them.

    Where there are few places, each is a part; what is beyond those known is missing, another part.
    """
    if known <= 2 * PARTS:
        return np.arange(len(rows))
    part = split_evenly(rows, PARTS)
    part[known:] = PARTS
    return part
