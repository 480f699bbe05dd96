"""Composition: several releases about the same people, each harmless alone (Ganta et al. 2008).

Somebody in class A of one release and class B of the other has a value that both classes have: if
there is only one, it is certain. With the classes independent given the value, the belief in s is
proportional to P_A(s) · P_B(s) / Q(s).

Projections have different sensitive attributes. The people in all of a person's classes at once may
be fewer than k. In the worst case an attacker also knows how the attributes depend on each other in
the whole table, so that a class B with values b says about a: P(a | B) = Σ_b P_B(b) · Q(a | b), and
the belief in a is proportional to P_A(a) · Π_B P(a | B) / Q(a).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tclose.arrays import Flags, Floats, Ints
from tclose.attacks.classes import find_threshold
from tclose.attacks.finding import Finding, Number, rank_worst
from tclose.data.alignment import LinkedRows, translate_codes
from tclose.data.binding import BoundTable
from tclose.data.encode.cells import bin_codes
from tclose.distance.histogram import Histogram, count_pairs, group_codes
from tclose.kernels.classes.histograms import combine_beliefs
from tclose.plain import rows_text

NEARLY = 0.95
"""The belief from which a value counts as nearly certain."""
PARTS = 8
"""Attributes of other projections with more values are grouped into this many parts."""
CHUNK = 2_000_000
"""The largest number of beliefs in memory."""


@dataclass(frozen=True)
class CombinedBeliefs:
    """The result of combining classes: possible values, strongest belief, change of beliefs."""

    left: Ints
    strongest: Floats
    moved: Floats

    def report(
        self, attribute: str, rows: Ints, owner: Ints, certain_alone: Flags, alone: Floats,
        found: Callable[[str], str], quiet: str, *, own: Mapping[str, Number] = {},
        further: Mapping[str, Number] = {},
    ) -> Finding:  # fmt: skip
        """Reports rows whose value becomes certain, although their own class does not make it so.

        `owner` is the attacked release's class of each combination, `alone` the strongest belief in
        it; `own` and `further` are additional numbers for the finding.
        """
        certain = (self.left == 1) & ~certain_alone
        nearly = (self.strongest >= NEARLY) & (alone < NEARLY)
        per_class = np.bincount(owner[certain], rows[certain], int(owner.max()) + 1)
        affected = int(rows[certain].sum())
        numbers = {
            "fewest values left": int(self.left.min()),
            "strongest belief": float(self.strongest.max()),
            **own,
            "rows newly believed with 95 % or more": int(rows[nearly].sum()),
            "farthest from the table": float(self.moved.max()),
            **further,
        }
        return Finding(
            "composition", attribute, found(rows_text(affected)) if affected else quiet,
            affected, int(rows.sum()), rank_worst(per_class > 0, per_class), numbers,
        )  # fmt: skip


def find_composition(
    first: BoundTable, second: BoundTable, linked: LinkedRows, attribute: str
) -> Finding:
    """Finds rows whose value two releases make certain together, although neither does alone."""
    mine = first.classes.cell_class[linked.first]
    theirs = second.classes.cell_class[linked.second]
    label, sample = group_codes([mine, theirs])  # pairs of classes with people in common
    rows = np.bincount(label, linked.rows, len(sample)).astype(np.int64)
    mine, theirs = mine[sample], theirs[sample]
    histogram = first.classes.histogram(attribute)
    other = _translate_histogram(first, second, attribute)
    beliefs = compose(histogram, other, mine, theirs)
    single = (np.diff(histogram.start) == 1)[mine] | (np.diff(other.start) == 1)[theirs]
    highest = np.maximum.reduceat(histogram.count.astype(np.float64), histogram.start[:-1])
    k = find_threshold(first)
    return beliefs.report(
        attribute, rows, mine, single, (highest / histogram.size.astype(np.float64))[mine],
        lambda rows: f"Both releases together make the {attribute} of {rows} certain, although "
        "neither does alone.",
        f"Both releases together make the {attribute} of no row certain; the strongest belief is "
        f"{float(beliefs.strongest.max()):.1%}.",
        further={
            f"rows in common groups below {k}": int(rows[rows < k].sum()),
            "rows linked": linked.n_rows,
        },
    )  # fmt: skip


def compose(mine: Histogram, theirs: Histogram, first: Ints, second: Ints) -> CombinedBeliefs:
    """Combines the beliefs of pairs of classes in the values of an attribute.

    >>> one, two = Histogram.from_dense([[1, 1, 0]]), Histogram.from_dense([[0, 1, 1]])
    >>> compose(one, two, np.array([0]), np.array([0])).left.tolist()
    [1]
    """
    table = mine.total().astype(np.float64)
    a, b = (
        (each.start, each.code, each.count.astype(np.float64), each.size.astype(np.float64))
        for each in (mine, theirs)
    )
    return CombinedBeliefs(*combine_beliefs(a, b, table / table.sum(), first, second))


def _translate_histogram(first: BoundTable, second: BoundTable, attribute: str) -> Histogram:
    """Returns the second release's histogram in the first one's codes, without unknown values."""
    histogram = second.classes.histogram(attribute)
    code = translate_codes(second.attributes[attribute], first.attributes[attribute])
    values = first.classes.histogram(attribute).values
    # A missing value that may be any is the last one of both.
    code[-1] = values - 1 if values > first.attributes[attribute].values else -2
    kept = code[histogram.code] >= 0
    return Histogram.from_cells(
        histogram.owner()[kept], code[histogram.code[kept]], histogram.count[kept],
        classes=histogram.classes, values=values,
    )  # fmt: skip


@dataclass(frozen=True)
class Projection:
    """One projection: its sensitive attributes, and the class of every row of the table."""

    columns: tuple[str, ...]
    label: Ints


def compose_projections(
    original: BoundTable, cell: Ints, projections: Sequence[Projection]
) -> tuple[Finding, ...]:
    """Yields what all projections together reveal; `cell` is the cell of each row."""
    together, first = group_codes([each.label for each in projections])
    rows = np.bincount(together)
    found = [_count_people(original, rows)]
    for at, mine in enumerate(projections):
        others = [each for other, each in enumerate(projections) if other != at]
        for name in mine.columns:
            found.append(_attack_attribute(original, cell, name, mine, others, first, rows))
    return tuple(found)


def _count_people(original: BoundTable, rows: Ints) -> Finding:
    """Counts how few people are in the same class of every projection."""
    k = original.policy.k or 2
    few = rows < k
    affected, total = int(rows[few].sum()), int(rows.sum())
    sentence = f"No intersection of classes of all projections has fewer than {k} people."
    if affected:
        sentence = (
            f"Someone who finds a person's class in every projection can narrow "
            f"{rows_text(affected)} down to fewer than {k} people; the smallest such group has "
            f"{rows_text(int(rows.min()))}."
        )
    numbers = {"fewest rows in all classes at once": int(rows.min()), "groups": len(rows)}
    return Finding("composition", None, sentence, affected, total, (), numbers)


def _attack_attribute(
    original: BoundTable, cell: Ints, name: str, mine: Projection, others: Sequence[Projection],
    first: Ints, rows: Ints,
) -> Finding:  # fmt: skip
    """Finds what the other projections add to one attribute of this one."""
    code = original.classes.cell_codes[name][cell]
    values = original.attributes[name].values
    code = np.where(code < 0, values, code)
    table = np.bincount(code, minlength=values + 1) / len(code)
    shares = _find_shares(mine.label, code, values + 1)
    ratios = [_weigh_values(original, cell, each, code, table) for each in others]
    beliefs = _combine_projections(shares, ratios, mine, others, first, table)
    in_class = shares[mine.label[first]]
    alone, certain_alone = in_class.max(axis=1), np.count_nonzero(in_class, axis=1) == 1
    return beliefs.report(
        name, rows, mine.label[first], certain_alone, alone,
        lambda rows: f"The projections together make the {name} of {rows} certain for someone who "
        "knows how the attributes are associated, though its own projection does not.",
        _describe_nobody_new(name, rows, certain_alone, beliefs.strongest, alone),
        own={"strongest belief by its own projection": float(alone.max())},
    )  # fmt: skip


def _describe_nobody_new(
    name: str, rows: Ints, certain_alone: Flags, strongest: Floats, alone: Floats
) -> str:
    """Returns the sentence for a finding that affects nobody."""
    known, others = rows_text(int(rows[certain_alone].sum())), ~certain_alone
    if certain_alone.all():
        return f"Its own projection makes the {name} of {known} certain already."
    start = "The"
    if certain_alone.any():
        start = f"Apart from {known} that its own projection makes certain, the"
    return (
        f"{start} projections together make the {name} of no row certain; the strongest belief of "
        f"someone who knows how the attributes are associated is "
        f"{float(strongest[others].max()):.1%} ({float(alone[others].max()):.1%} from its own "
        "projection)."
    )


def _find_shares(label: Ints, code: Ints, values: int) -> Floats:
    """Returns [classes, values]: the share of each value in each class."""
    held = count_pairs(label, code, shape=(int(label.max()) + 1, values))
    result: Floats = held / held.sum(axis=1, keepdims=True)
    return result


def _weigh_values(
    original: BoundTable, cell: Ints, other: Projection, code: Ints, table: Floats
) -> Floats:
    """Returns [classes of the other projection, values]: P(a | B) / Q(a)."""
    parts = [bin_codes(original.classes.cell_codes[name][cell], PARTS) for name in other.columns]
    label, _ = group_codes(parts)
    given = _find_shares(label, code, len(table))
    pair, first = group_codes([other.label, label])
    count = np.bincount(pair).astype(np.float64)
    result = np.zeros((int(other.label.max()) + 1, len(table)))
    np.add.at(result, other.label[first], given[label[first]] * count[:, None])
    result /= np.bincount(other.label)[:, None]
    ratio: Floats = result / np.where(table > 0, table, 1.0)
    return ratio


def _combine_projections(
    shares: Floats, ratios: Sequence[Floats], mine: Projection, others: Sequence[Projection],
    first: Ints, table: Floats,
) -> CombinedBeliefs:  # fmt: skip
    """Combines the beliefs of each combination of classes, some of them at a time."""
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
    return CombinedBeliefs(left, strongest, moved)
