"""Skewness: how much more a value is believed of a class than of the whole table.

Li et al. 2007, Example 2: a test that is positive for one in a hundred, and for half of a class.
For every value the largest ratio p/q and the largest difference p − q over all classes. A row
counts as affected where belief in some value at least doubles and rises by a tenth or more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tclose.attacks.finding import Finding, find_highest, flag_classes, rank_worst
from tclose.data.encode.classes import Classes
from tclose.verify.wording import rows_text

RATIO = 2
DIFFERENCE = 10
"""One over the least rise of belief that counts: a tenth."""
MOST_VALUES = 20


def find_skewness(
    classes: Classes, attribute: str, protected: Sequence[str] | None = None
) -> Finding:
    """The largest gains in belief; `protected` values are marked in the details."""
    tally = classes.tally(attribute)
    histogram, rows = tally.histogram, tally.total
    wide = rows >= 2**29
    count = histogram.count.astype(object) if wide else histogram.count
    size = tally.size[histogram.owner()]
    in_table = tally.table[histogram.code]
    gain = count * rows - size * in_table
    large = (count * rows >= RATIO * size * in_table) & (DIFFERENCE * gain >= size * rows)
    flagged = np.zeros(histogram.classes, dtype=bool)
    flagged[histogram.owner()[large.astype(bool)]] = True
    harmed = flag_classes(classes, tally, flagged)
    share, usual = _divide(histogram.count, size), _divide(in_table, np.array(rows))
    ratio, rise = share / np.where(usual > 0, usual, np.nan), share - usual
    by_row = np.full(histogram.classes, -np.inf)
    np.maximum.at(by_row, histogram.owner(), np.nan_to_num(rise, nan=1.0))
    affected = int(classes.class_rows[harmed].sum())
    sharpest = int(np.argmax(rise))
    rise_words = f"from {usual[sharpest]:.1%} to {share[sharpest]:.1%}"
    if affected:
        sentence = (
            f"For {rows_text(affected)} belief in some {attribute} at least doubles, and rises by "
            f"a tenth or more; at worst it rises {rise_words}."
        )
    else:
        sentence = (
            f"In no class does belief in a {attribute} both double and rise by a tenth; the "
            f"sharpest rise is {rise_words}."
        )
    ratios = np.nan_to_num(ratio, nan=np.inf)
    return Finding(
        "skewness", attribute, sentence, affected, classes.n_rows,
        rank_worst(harmed, find_highest(classes, tally, by_row)),
        {"largest ratio": float(ratios.max()), "largest difference": float(rise.max())},
        _list_values(classes, attribute, histogram.code, ratios, rise, protected),
    )  # fmt: skip


def _divide(part: NDArray[np.int64], whole: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.asarray(part, dtype=np.float64) / np.asarray(whole, dtype=np.float64)


def _list_values(
    classes: Classes,
    attribute: str,
    code: NDArray[np.int64],
    ratio: NDArray[np.float64],
    rise: NDArray[np.float64],
    protected: Sequence[str] | None,
) -> tuple[dict[str, float | int | bool | None], ...]:
    """Per value, by its place in the attribute's order from 1: the sharpest rises first."""
    values = classes.attributes[attribute].values
    largest, highest_rise = np.zeros(values), np.full(values, -1.0)
    np.maximum.at(largest, code, ratio)
    np.maximum.at(highest_rise, code, rise)
    labels = classes.attributes[attribute].labels
    marked = {at for at, label in enumerate(labels) if label in (protected or ())}
    order = np.argsort(-highest_rise, kind="stable")
    chosen = [at for at in order.tolist() if at in marked]
    chosen += [at for at in order.tolist() if at not in marked and highest_rise[at] > -1.0]
    return tuple(
        {
            "value": at + 1,
            "largest ratio": float(largest[at]),
            "largest difference": float(highest_rise[at]),
            "protected": at in marked,
        }
        for at in chosen[:MOST_VALUES]
    )
