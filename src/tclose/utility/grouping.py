"""What class sizes say: discernibility, and the average class size."""

from __future__ import annotations

from tclose.utility.pair import Pair
from tclose.utility.result import Measure
from tclose.utility.sizes import class_sizes


def discernibility(pair: Pair) -> Measure:
    """Σ |class|², plus the whole table for every row left out (Bayardo and Agrawal 2005).

    Between n (everybody stands alone) and n² (nobody can be told apart); `share` is the part of n².
    """
    sizes = class_sizes(pair.size, pair.rows)
    return Measure(
        "discernibility",
        float(sizes.discernibility),
        "rows that each row cannot be told from, added up",
        numbers={"share": sizes.discernibility / pair.rows**2},
    )


def average_class_size(pair: Pair) -> Measure:
    """Rows per class, and that divided by the promised k: C_avg (LeFevre et al. 2006)."""
    sizes = class_sizes(pair.size, pair.rows)
    k = pair.release.policy.k
    numbers = {
        "classes": float(sizes.classes),
        "smallest": float(sizes.smallest),
        "largest": float(sizes.largest),
    }
    if k is not None:
        numbers["c_avg"] = sizes.mean / k
    return Measure("average-class-size", sizes.mean, "rows per class", numbers=numbers)
