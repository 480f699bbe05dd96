"""B0 → B1 → B2: what the table as a whole teaches, and what a class adds (Li et al. 2007).

Only the second step is what closeness limits: the first is the reason for publishing at all.
"""

from __future__ import annotations

import numpy as np

from tclose.attacks.finding import Belief
from tclose.data.encode.classes import Classes


def measure_belief(classes: Classes, attribute: str) -> Belief:
    """The chance that a guess is right, and the bits unknown, at each of the three steps."""
    histogram = classes.histogram(attribute)
    table = classes.merge_histogram(attribute, np.zeros(classes.count, np.int64), 1).dense()[0]
    table, values = table.astype(np.float64), max(classes.attributes[attribute].values, 1)
    count, size = histogram.count.astype(np.float64), histogram.size.astype(np.float64)
    commonest = np.maximum.reduceat(count, histogram.start[:-1])
    share = table[table > 0] / table.sum()
    unknown = float((count * np.log2(size[histogram.owner()] / count)).sum() / count.sum())
    one_of, each_of = table.sum(), size.sum()
    if classes.persons is not None:  # who has several values counts for each of them
        one_of, each_of = classes.everyone, classes.size.sum()
    return Belief(
        attribute=attribute,
        values=values,
        guess=(1 / values, float(table.max() / one_of), float(commonest.sum() / each_of)),
        bits=(float(np.log2(values)), float(-(share @ np.log2(share))), unknown),
    )
