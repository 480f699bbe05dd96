"""The deFinetti attack: learning from the release who in a class has which value (Kifer 2009).

The attacker knows everybody's quasi-identifiers, and thereby their classes. The attack starts from
the shares of each class, trains a naive Bayes model on these soft labels, distributes the values of
every class again by the model (each person gets one value in total, each value keeps its count),
and repeats.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tclose.arrays import Floats, Ints, draw_within
from tclose.attacks.finding import Finding, rank_worst
from tclose.data.alignment import Alignment
from tclose.data.binding import BoundTable
from tclose.data.encode.cells import split_evenly
from tclose.distance.histogram import group_codes, list_run_places
from tclose.plain import describe_sample, rows_text

PARTS = 8
ROUNDS = 5
SHARINGS = 5
GROUPS_EFFORT = 5.0
COST = 1.5e-6
"""Seconds that an ordinary core takes per belief, for all rounds together."""
NOISE = 0.01
"""A gain by a smaller share of the rows is not reported."""
CHANCE = 3
"""A gain of fewer standard deviations may be chance, if each difference were a coin toss."""


@dataclass(frozen=True)
class People:
    """Kinds of people: those in one class with the same quasi-identifiers.

    `bins[:, q]` is the part of column q; kinds are in the order of their classes. A belief is about
    one kind (`kind`) and one value that its class has (`value`): beliefs in other values are 0.
    """

    number: Ints
    rows: Floats
    bins: Ints
    kind: Ints
    value: Ints
    slot: Ints
    """[beliefs]: the number of its class and value; equal for all kinds of a class."""
    held: Floats
    """[slots]: how often the class has the value."""
    truth: Floats
    """[beliefs]: how many people of the kind have the value; only used to judge the attack."""
    is_sample: bool
    """Whether only some classes were tried, drawn at random."""

    @cached_property
    def start(self) -> Ints:
        """[kinds]: the first belief."""
        return np.searchsorted(self.kind, np.arange(len(self.number)))

    def scale(self, belief: Floats) -> Floats:
        """Scales the beliefs of every kind to add up to 1."""
        return belief / np.add.reduceat(belief, self.start)[self.kind]

    def find_best(self, belief: Floats) -> Ints:
        """Returns the strongest belief of every kind, the first of equal ones."""
        best = np.flatnonzero(belief == np.maximum.reduceat(belief, self.start)[self.kind])
        return best[np.unique(self.kind[best], return_index=True)[1]]


def find_definetti(
    found: Alignment, attribute: str, seed: int, effort: float = math.inf
) -> Finding:
    """Finds how many more people the attack guesses right than their class; rows must be linked."""
    assert found.linked is not None
    classes = found.release.classes
    cells, weight = found.linked.first, found.linked.rows.astype(np.float64)
    number = classes.cell_class[found.linked.second]
    parts, known = [], found.original.cells
    for boxes in found.covering.columns:
        place = boxes.rank[known.codes[boxes.name]]
        divided = _divide_line(place, known.rows, boxes.known) if boxes.on_a_line else place
        parts.append(divided[cells])
    people = _group_people(found.original, attribute, cells, number, parts, weight, seed, effort)
    who = "Someone who knows all quasi-identifiers and learns from the release how they"
    finding, more = _report_guesses(
        people, attribute, classes.n_rows, who, "release", "class", seed
    )
    each = np.bincount(people.number, more, classes.count)
    return replace(finding, classes=rank_worst((each > 0) & finding.found, each))


def attack_groups(
    original: BoundTable, cell: Ints, group: Ints, attribute: str, seed: int
) -> Finding:
    """Finds how many more people the attack guesses right than their group of an anatomy release.

    Everybody's quasi-identifiers and groups are published there, so the original is only needed to
    judge how many guesses are right. `cell` and `group` are those of each row.
    """
    parts, known = [], original.cells
    for name in original.classes.quasi:
        dictionary, code = known.dictionaries[name], known.codes[name]
        if dictionary.positions is not None:
            code = _divide_line(code, known.rows, dictionary.known)
        parts.append(code[cell])
    people = _group_people(
        original, attribute, cell, group, parts, np.ones(len(cell)), seed, GROUPS_EFFORT
    )
    who = "Someone who learns from the tables how quasi-identifiers"
    finding, _ = _report_guesses(people, attribute, len(cell), who, "tables", "group", seed)
    return finding


def _report_guesses(
    people: People, attribute: str, total: int, who: str, source: str, group: str, seed: int
) -> tuple[Finding, Floats]:
    """Returns the gain over guessing the commonest value of each class, and the gain by kind.

    A small gain, or one that chance would explain if each difference were a coin toss, is not
    reported. The rows that were tried stand for all.
    """
    learned = people.find_best(share_out(people))
    usual = people.find_best(people.held[people.slot])
    by_attack, by_class = people.truth[learned], people.truth[usual]
    more, decided = by_attack - by_class, float((by_attack + by_class)[learned != usual].sum())
    rows = float(people.rows.sum())
    right, right_before = (float(right.sum()) / (rows or 1.0) for right in (by_attack, by_class))
    gain = float(more.sum()) / (int(rows) or 1)
    beyond = gain >= NOISE and more.sum() >= CHANCE * decided**0.5
    affected = round(gain * total) if beyond else 0
    groups, mark = ("their class", "") if group == "class" else ("their groups", " (deFinetti)")
    if affected:
        sentence = (
            f"{who} are associated with {attribute} guesses {rows_text(affected)} more correctly "
            f"than from {groups}{mark}."
        )
    else:
        sentence = (
            f"Learning from the {source} how quasi-identifiers are associated with {attribute} "
            f"gains almost nothing: {right:.1%} of the guesses are right, {right_before:.1%} from "
            f"the {group} alone{mark}."
        )
    numbers = {
        f"guessed by the {group}": right_before,
        "guessed by the attack": right,
        "gain": gain,
        "rows tried": int(rows),
    }
    if people.is_sample:
        sentence += describe_sample(int(rows), total, seed)
    return Finding("deFinetti", attribute, sentence, affected, total, (), numbers), more


def share_out(people: People) -> Floats:
    """Returns every belief after all rounds."""
    held = people.held[people.slot]
    belief = people.scale(held)
    # Only pairs of part and value that occur are stored: there may be many of both.
    pairs = [group_codes([part[people.kind], people.value]) for part in people.bins.T]
    for _ in range(ROUNDS):
        likely = np.zeros_like(belief)
        weighted = belief * people.rows[people.kind]
        of_value = np.bincount(people.value, weighted)
        for part, (pair, first) in zip(people.bins.T, pairs, strict=True):
            seen, parts = np.bincount(pair, weighted), int(part.max(initial=0)) + 1
            likely += np.log((1.0 + seen) / (parts + of_value[people.value[first]]))[pair]
        likely -= np.maximum.reduceat(likely, people.start)[people.kind]
        belief = held * np.exp(likely)
        for _ in range(SHARINGS):
            belief = people.scale(belief)
            sums = np.bincount(people.slot, belief * people.rows[people.kind], len(people.held))
            belief *= (people.held / np.where(sums > 0, sums, 1.0))[people.slot]
        belief = people.scale(belief)
    return belief


def _group_people(
    original: BoundTable, attribute: str, cell: Ints, number: Ints, parts: Sequence[Ints],
    weight: Floats, seed: int, effort: float,
) -> People:  # fmt: skip
    """Groups rows into kinds of people, without missing values; draws some classes if very many."""
    code = original.classes.cell_codes[attribute][cell]
    kept, known = np.flatnonzero(code >= 0), int((code >= 0).sum())
    beliefs = _count_groups(number[kept], [part[kept] for part in parts])
    beliefs = beliefs * _count_groups(number[kept], [code[kept]])
    if beliefs.sum() * COST > effort:
        drawn = draw_within(beliefs, effort / COST, seed)
        kept = kept[drawn[number[kept]]]
    number, code, weight = number[kept], code[kept], weight[kept]
    slot, first_slot = group_codes([number, code])
    kind, first = group_codes([number, *(part[kept] for part in parts)])
    owner = number[first_slot]  # ascending, and so are the classes of kinds
    begin = np.searchsorted(owner, number[first])
    width = np.searchsorted(owner, number[first], "right") - begin
    start = np.cumsum(width) - width
    kinds = np.repeat(np.arange(len(first)), width)
    slots = list_run_places(begin, width)
    return People(
        number[first],
        _add_up(kind, weight, len(first)),
        np.stack([part[kept][first] for part in parts], axis=1),
        kinds,
        code[first_slot][slots],
        slots,
        _add_up(slot, weight, len(first_slot)),
        _add_up(start[kind] + slot - begin[kind], weight, len(kinds)),
        len(kept) < known,
    )


def _add_up(owner: Ints, weight: Floats, groups: int) -> Floats:
    return np.asarray(np.bincount(owner, weight, groups), dtype=np.float64)


def _count_groups(number: Ints, columns: Sequence[Ints]) -> Ints:
    """Counts the different tuples of each class."""
    _, first = group_codes([number, *columns])
    return np.bincount(number[first], minlength=int(number.max(initial=-1)) + 1)


def _divide_line(code: Ints, rows: Ints, known: int) -> Ints:
    """Divides a number line into parts with an eighth of the rows each; missing values are another.

    With few values, each is a part.
    """
    if known <= 2 * PARTS:
        return code
    part = split_evenly(np.bincount(code, rows, known + 1), PARTS)
    part[known:] = PARTS
    return part[code]
