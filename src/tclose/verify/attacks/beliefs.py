"""B0 → B1 → B2: what the table as a whole teaches, and what a class adds (Li et al. 2007).

Only the second step is what closeness limits: the first is the reason for publishing at all.
"""

from __future__ import annotations

import numpy as np

from tclose.table.classes import Classes
from tclose.verify.attacks.finding import Belief


def belief(classes: Classes, attribute: str) -> Belief:
    """The chance that a guess is right, and the bits unknown, at each of the three steps."""
    histogram = classes.histogram(attribute)
    table = histogram.total().astype(np.float64)
    rows, values = table.sum(), max(classes.attributes[attribute].values, 1)
    count, size = histogram.count.astype(np.float64), histogram.size.astype(np.float64)
    commonest = np.maximum.reduceat(count, histogram.start[:-1])
    share = table[table > 0] / rows
    unknown = float((count * np.log2(size[histogram.owner()] / count)).sum() / rows)
    return Belief(
        attribute=attribute,
        values=values,
        guess=(1 / values, float(table.max() / rows), float(commonest.sum() / rows)),
        bits=(float(np.log2(values)), float(-(share @ np.log2(share))), unknown),
    )
