"""The risk of households: that a member is recognized, or all members by their combination.

Recognizing one member identifies the rows of the others, if the table says who lives together, and
often even if not. The chance that nobody is recognized is Π (1 − 1/n) over the members, with n the
size of each one's class; a household of several people has a higher risk than any of its members.
"""

from __future__ import annotations

import numpy as np

from tclose.arrays import Floats, Ints
from tclose.attacks.classes import find_threshold
from tclose.attacks.finding import Finding, Number, rank_worst
from tclose.data.alignment import Alignment, encode_rows, locate_rows
from tclose.data.binding import BoundTable
from tclose.data.encode.labels import MASK
from tclose.distance.histogram import group_codes
from tclose.plain import rows_text


def find_households(release: BoundTable, original: Alignment | None) -> list[Finding]:
    """Finds how likely a member of a household is recognized, and which combinations stand out.

    The latter only if the release says who lives together. Returns no finding if neither table says
    it.
    """
    column = release.policy.household
    assert column is not None
    classes = release.classes
    is_released = column in release.source.columns and not _is_masked(release, column)
    if is_released:
        of_row = classes.cell_class[locate_rows(release)]
        home = _number_homes(release, column)
        who = _number_persons(release)
    else:
        if original is None or column not in original.original.source.columns:
            return []
        owner = original.find_classes()
        if owner is None:
            return []
        kept = owner >= 0
        of_row = owner[kept]
        home = _number_homes(original.original, column)[kept]
        who = _number_persons(original.original)[kept]
    # A person with several rows is one member, found as easily as in the smallest of the classes.
    order = np.lexsort((classes.size[of_row], who, home))
    first = np.unique(np.stack([home[order], who[order]]), axis=1, return_index=True)[1]
    member = order[first]
    risk = measure_risk(home[member], classes.size[of_row[member]].astype(np.int64))
    found = [_report_risk(release, risk, home, of_row)]
    return [*found, _report_structure(release, home, of_row)] if is_released else found


def measure_risk(home: Ints, size: Ints) -> Floats:
    """Returns the chance that a member of each household is recognized, from sizes of classes.

    >>> measure_risk(np.array([0, 0, 1]), np.array([2, 4, 1])).tolist()
    [0.625, 1.0]
    """
    hidden = np.ones(int(home.max(initial=-1)) + 1)
    np.multiply.at(hidden, home, 1.0 - 1.0 / size)
    return 1.0 - hidden


def count_alike(home: Ints, of_row: Ints) -> Ints:
    """Counts the households with equally many rows in the same classes, for each household.

    >>> count_alike(np.array([0, 0, 1, 1, 2]), np.array([3, 5, 5, 3, 3])).tolist()
    [2, 2, 1]
    """
    order = np.lexsort((of_row, home))
    start = np.searchsorted(home[order], np.arange(int(home.max(initial=-1)) + 2))
    parts = np.split(of_row[order], start[1:-1])
    number: dict[bytes, int] = {}
    kind = np.array([number.setdefault(part.tobytes(), len(number)) for part in parts])
    alike: Ints = np.bincount(kind)[kind]
    return alike


def _report_risk(release: BoundTable, risk: Floats, home: Ints, of_row: Ints) -> Finding:
    k, rows = find_threshold(release), np.bincount(home)
    high = risk > 1 / k + 1e-12
    affected_classes = np.zeros(release.classes.count, dtype=bool)
    affected_classes[of_row[high[home]]] = True
    affected = int(rows[high].sum())
    sentence = (
        f"The probability that a member of a household is recognized is {risk.mean():.1%} on "
        f"average and {risk.max():.1%} at most; it is above 1/{k:,} in "
        f"{np.count_nonzero(high):,} of {len(risk):,} households ({rows_text(affected)})."
    )
    numbers: dict[str, Number] = {
        "households": len(risk),
        "mean risk": float(risk.mean()),
        "highest risk": float(risk.max()),
        "expected households": float(risk.sum()),
        "threshold": 1 / k,
    }
    worst = rank_worst(affected_classes, -release.classes.size)
    return Finding("household", None, sentence, affected, len(home), worst, numbers)


def _report_structure(release: BoundTable, home: Ints, of_row: Ints) -> Finding:
    alike, rows, k = count_alike(home, of_row), np.bincount(home), find_threshold(release)
    few = alike < k
    affected = int(rows[few].sum())
    affected_classes = np.zeros(release.classes.count, dtype=bool)
    affected_classes[of_row[few[home]]] = True
    sentence = (
        f"The release shows who lives together: {np.count_nonzero(few):,} of {len(alike):,} "
        f"households ({rows_text(affected)}) have a combination of classes that fewer than {k:,} "
        f"households have, and {np.count_nonzero(alike == 1):,} a unique one; someone who knows "
        "all members can find these."
    )
    numbers: dict[str, Number] = {
        "households": len(alike),
        "unique households": int(np.count_nonzero(alike == 1)),
        "fewest alike": int(alike.min()),
    }
    worst = rank_worst(affected_classes, -release.classes.size)
    return Finding("household structure", None, sentence, affected, len(home), worst, numbers)


def _is_masked(table: BoundTable, column: str) -> bool:
    """Whether the column has stars in place of households."""
    return set(encode_rows(table.source, column)[0].labels) == {MASK}


def _number_homes(table: BoundTable, column: str) -> Ints:
    """Numbers the household of every row; a row without one is a household by itself."""
    dictionary, code = encode_rows(table.source, column)
    alone = np.flatnonzero(code >= dictionary.known)
    code = code.copy()
    code[alone] = dictionary.known + np.arange(len(alone))
    return group_codes([code])[0]


def _number_persons(table: BoundTable) -> Ints:
    """Numbers the person of every row; every row is one, unless a column names persons."""
    subject = table.policy.subject
    if subject is None or subject not in table.source.columns:
        return np.arange(table.cells.n_rows)
    return encode_rows(table.source, subject)[1]
