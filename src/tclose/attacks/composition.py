"""Composition: two releases about the same people, each harmless alone (Ganta et al. 2008).

Whoever is in class A of the one and in class B of the other has a value that both show. Plainly:
the values that A and B share; one left is certainty. By belief: with the classes independent given
the value, the posterior is proportional to P_A(s) · P_B(s) / Q(s).

Rows of the two are linked by a key column that both have, or by their order where both have equally
many; in either case the sensitive values of linked rows must agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tclose.attacks.finding import Finding, rank_worst
from tclose.attacks.reidentification import find_threshold
from tclose.data.alignment import LinkedRows, translate_codes
from tclose.data.binding import BoundTable
from tclose.data.encode.classes import group_codes
from tclose.distance import Histogram
from tclose.kernels.distance.beliefs import combine_beliefs
from tclose.verify.wording import rows_text

NEARLY = 0.95
"""The belief from which on a value counts as nearly certain."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Composed:
    """What each pair of classes leaves: values, the strongest belief, how far beliefs moved."""

    left: Ints
    strongest: Floats
    moved: Floats


def find_composition(
    first: BoundTable, second: BoundTable, linked: LinkedRows, attribute: str
) -> Finding:
    """Rows whose value two releases make certain, though neither does alone."""
    mine, theirs, rows = _pair_classes(first, second, linked)
    histogram = first.classes.histogram(attribute)
    other = _translate_histogram(first, second, attribute)
    found = compose(histogram, other, mine, theirs)
    single = (np.diff(histogram.start) == 1)[mine] | (np.diff(other.start) == 1)[theirs]
    certain = (found.left == 1) & ~single
    affected = int(rows[certain].sum())
    harmed = np.zeros(first.classes.count, dtype=np.int64)
    np.add.at(harmed, mine[certain], rows[certain])
    alone = find_highest_shares(histogram)[mine]
    nearly = (found.strongest >= NEARLY) & (alone < NEARLY)
    k = find_threshold(first)
    if affected:
        sentence = (
            f"Both releases together make the {attribute} of {rows_text(affected)} certain, though "
            "neither does alone."
        )
    else:
        sentence = (
            f"Both releases together make nobody's {attribute} certain; the strongest belief is "
            f"{float(found.strongest.max()):.1%}."
        )
    numbers = {
        "fewest values left": int(found.left.min()),
        "strongest belief": float(found.strongest.max()),
        "rows newly believed with 95 % or more": int(rows[nearly].sum()),
        "farthest from the table": float(found.moved.max()),
        f"rows in common groups below {k}": int(rows[rows < k].sum()),
        "rows linked": linked.n_rows,
    }
    return Finding(
        "composition", attribute, sentence, affected, linked.n_rows, rank_worst(harmed > 0, harmed),
        numbers,
    )  # fmt: skip


def compose(mine: Histogram, theirs: Histogram, first: Ints, second: Ints) -> Composed:
    """What pairs of classes leave of an attribute.

    >>> one, two = Histogram.from_dense([[1, 1, 0]]), Histogram.from_dense([[0, 1, 1]])
    >>> compose(one, two, np.array([0]), np.array([0])).left.tolist()
    [1]
    """
    table = mine.total().astype(np.float64)
    found = combine_beliefs(_arrays(mine), _arrays(theirs), table / table.sum(), first, second)
    return Composed(*found)


def _arrays(histogram: Histogram) -> tuple[Ints, Ints, Floats, Floats]:
    count, size = histogram.count.astype(np.float64), histogram.size.astype(np.float64)
    return histogram.start, histogram.code, count, size


def find_highest_shares(histogram: Histogram) -> Floats:
    """The share of each class's commonest value."""
    top = np.maximum.reduceat(histogram.count.astype(np.float64), histogram.start[:-1])
    result: Floats = top / histogram.size.astype(np.float64)
    return result


def _pair_classes(
    first: BoundTable, second: BoundTable, linked: LinkedRows
) -> tuple[Ints, Ints, Ints]:
    """The pairs of classes that share people, and how many."""
    mine = first.classes.cell_class[linked.first]
    theirs = second.classes.cell_class[linked.second]
    label, sample = group_codes([mine, theirs])
    rows = np.zeros(len(sample), dtype=np.int64)
    np.add.at(rows, label, linked.rows)
    return mine[sample], theirs[sample], rows


def _translate_histogram(first: BoundTable, second: BoundTable, attribute: str) -> Histogram:
    """The second release's histogram in the codes of the first; values it lacks do not count."""
    histogram = second.classes.histogram(attribute)
    code = translate_codes(second.attributes[attribute], first.attributes[attribute])
    values = first.classes.histogram(attribute).values
    # A missing value that may be any is the last of both.
    code[-1] = values - 1 if values > first.attributes[attribute].values else -2
    kept = code[histogram.code] >= 0
    return Histogram.from_cells(
        histogram.owner()[kept], code[histogram.code[kept]], histogram.count[kept],
        classes=histogram.classes, values=values,
    )  # fmt: skip
