"""Homogeneity and background knowledge: classes in which one value is, or soon becomes, certain.

Both from the paper on l-diversity (Machanavajjhala et al. 2007). A class shows d different values:
excluding d − 1 of them leaves one. What the table as a whole teaches is not held against a class:
where the table itself has two values only, excluding one says everything everywhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.attacks.finding import Finding, find_highest, flag_classes, rank_worst
from tclose.data.encode.classes import Classes
from tclose.distance import Histogram
from tclose.verify.wording import classes_text, rows_text

MOST_EXCLUDED = 4


def find_homogeneity(classes: Classes, attribute: str) -> Finding:
    """Classes with one value only."""
    tally = classes.tally(attribute)
    shown = int(np.count_nonzero(tally.table))
    single = (np.diff(tally.histogram.start) == 1) & (shown > 1)
    harmed = flag_classes(classes, tally, single)
    affected = int(classes.class_rows[harmed].sum())
    if affected:
        sentence = (
            f"In {classes_text(int(harmed.sum()))} everybody has the same {attribute}: whoever "
            f"knows that a person is among these {rows_text(affected)} knows it for certain."
        )
    else:
        sentence = f"No class shows a single {attribute}."
    numbers = {"classes": int(harmed.sum()), "values in the table": shown}
    return Finding(
        "homogeneity", attribute, sentence, affected, classes.n_rows,
        rank_worst(harmed, classes.size), numbers,
    )  # fmt: skip


def find_background_knowledge(classes: Classes, attribute: str) -> Finding:
    """How few values need be excluded, by whoever knows a person, to be certain."""
    tally = classes.tally(attribute)
    needed = np.diff(tally.histogram.start) - 1
    usual = int(np.count_nonzero(tally.table)) - 1
    harmed = flag_classes(classes, tally, (needed == 1) & (needed < usual))
    fewest = -find_highest(classes, tally, -needed.astype(np.float64))
    affected = int(classes.class_rows[harmed].sum())
    least = int(fewest.min())
    if affected:
        sentence = (
            f"For {rows_text(affected)} it is enough to rule out one value to be certain of the "
            f"{attribute}; in the whole table that takes {usual:,}."
        )
    else:
        sentence = (
            f"To be certain of anybody's {attribute}, at least {least:,} values have to be ruled "
            f"out; in the whole table that takes {usual:,}."
        )
    numbers: dict[str, float | int | bool | None] = {
        "fewest values to exclude": least,
        "in the whole table": usual,
        "surest guess when one value is excluded": float(
            guess_without_runner_up(tally.histogram).max()
        ),
    }
    for count in range(1, min(MOST_EXCLUDED, usual) + 1):
        numbers[f"rows certain when {count} are excluded"] = int(
            classes.class_rows[fewest <= count].sum()
        )
    return Finding(
        "background knowledge", attribute, sentence, affected, classes.n_rows,
        rank_worst(harmed, classes.size), numbers,
    )  # fmt: skip


def guess_without_runner_up(histogram: Histogram) -> NDArray[np.float64]:
    """The surest guess in each class once its likeliest other value is known to be wrong.

    >>> guess_without_runner_up(Histogram.from_dense([[6, 3, 1], [2, 0, 0]])).round(3).tolist()
    [0.857, 1.0]
    """
    order = np.lexsort((-histogram.count, histogram.owner()))
    count = np.append(histogram.count[order], 0)
    first = count[histogram.start[:-1]]
    second = np.where(np.diff(histogram.start) > 1, count[histogram.start[:-1] + 1], 0)
    rest = (histogram.size - second).astype(np.float64)
    result: NDArray[np.float64] = first.astype(np.float64) / rest
    return result
