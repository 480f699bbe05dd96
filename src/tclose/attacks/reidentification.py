"""The risk that a row is recognized as a person's: prosecutor, journalist, marketer.

The prosecutor knows that a person is in the table: one over the size of the class. The journalist
does not, and has to reckon with everybody of the population who fits. The marketer wants many, and
counts how many matches would be right on the average. A risk counts as high above 1/k, with the
policy's k (5 where it states none).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from tclose.attacks.finding import Finding, rank_worst
from tclose.data.binding import BoundTable
from tclose.data.encode.cells import Cells
from tclose.data.encode.coverage import cover_classes
from tclose.verify.wording import rows_text

USUAL_K = 5


def find_threshold(bound: BoundTable) -> int:
    """The class size below which a risk counts as high."""
    return bound.policy.k if bound.policy.k is not None else USUAL_K


def find_reidentification(bound: BoundTable, population: Cells | None) -> Iterator[Finding]:
    """The three risks; the journalist's only where there is a population."""
    size = bound.classes.size.astype(np.int64)
    yield _find_high_risk(bound, "prosecutor", size, "in the release")
    seen = size
    if population is not None:
        covering = cover_classes(bound.classes, population, bound.hierarchies)
        match = covering.count_rows_covered(population)
        seen = np.maximum(match, size)
        nobody = int(np.count_nonzero(match < size))
        extra = {"classes that fewer people fit than are in them": nobody}
        yield _find_high_risk(bound, "journalist", seen, "in the population", extra)
    yield _estimate_matches(bound, seen)


def _find_high_risk(
    bound: BoundTable,
    attack: str,
    among: NDArray[np.int64],
    where: str,
    extra: dict[str, int] | None = None,
) -> Finding:
    k = find_threshold(bound)
    harmed = among < k
    affected, least = int(bound.classes.class_rows[harmed].sum()), int(among.min())
    if affected:
        sentence = (
            f"{rows_text(affected)} fit fewer than {k:,} people {where}; at worst a guess who it "
            f"is succeeds with {1 / least:.1%}."
        )
    else:
        sentence = (
            f"Whoever is looked up fits at least {least:,} people {where}: a guess who it is "
            f"succeeds with at most {1 / least:.1%}."
        )
    numbers = {"highest risk": 1 / least, "threshold": 1 / k, **(extra or {})}
    return Finding(
        attack, None, sentence, affected, bound.classes.n_rows, rank_worst(harmed, -among), numbers
    )


def _estimate_matches(bound: BoundTable, seen: NDArray[np.int64]) -> Finding:
    expected = float((bound.classes.class_rows / seen).sum())
    share, k = expected / bound.classes.n_rows, find_threshold(bound)
    high = share > 1 / k
    sentence = (
        f"Whoever matches all rows with people gets about {expected:,.0f} of "
        f"{bound.classes.n_rows:,} right ({share:.1%})."
    )
    numbers = {"share": share, "expected matches": expected, "threshold": 1 / k}
    affected = round(expected) if high else 0
    return Finding("marketer", None, sentence, affected, bound.classes.n_rows, (), numbers)
