"""Linkage: somebody who has the original's quasi-identifiers looks for each person's row.

The nearest box is taken: first a class that covers the person, else the one with the smallest gap
(on the number line, or by places in the column's order; both as a share of all, added up); of
several the narrowest, and of its rows any. Where rows are linked, it is known whether the guess
hits; elsewhere every guess is taken to hit the right class, which is the most that is possible.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.attacks.finding import Finding, worst
from tclose.attacks.reidentification import threshold
from tclose.data.alignment import Beside
from tclose.data.encode.classes import grouped
from tclose.data.encode.coverage import spot
from tclose.distance.kernel import compiled
from tclose.verify.wording import rows_text

MOST_PAIRS = 2_000_000_000
"""How many people × classes are compared one by one; of more, people are drawn by chance."""

TINY = 1e-9
"""The gap of a person whom a class does not cover, though it lies on both sides."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def linkage(found: Beside, *, seed: int = 1) -> Finding:
    """How often the guess is right, and for how many rows that is likelier than 1/k."""
    names = found.release.classes.quasi
    tuples, first = grouped([found.original.cells.codes[name] for name in names])
    some = np.arange(len(first))
    if found.central:  # everybody is compared with every class
        some = _drawn(len(first), found.release.classes.count, seed)
    places = found.covering.places(found.original.cells)[first]
    gap, narrow, rows = nearest(found, places[some])
    k, total = threshold(found.release), found.release.classes.n_rows
    if found.linked is None:
        weight = np.bincount(tuples, found.original.cells.rows, len(first))[some]
        chance = np.where(gap == 0, 1 / np.maximum(rows, 1), 0.0)
        right_class, number = float(weight @ (gap == 0)), None
    else:
        at = np.full(len(first), -1, dtype=np.int64)
        at[some] = np.arange(len(some))
        of_tuple = at[tuples[found.linked.first]]
        kept = of_tuple >= 0
        of_tuple, weight = of_tuple[kept], found.linked.rows[kept].astype(np.float64)
        number = found.release.classes.cell_class[found.linked.second[kept]]
        mine, wide = _gaps(found, places[some][of_tuple], number), volume(found)[number]
        hit = (mine == gap[of_tuple]) & (wide == narrow[of_tuple])
        chance = np.where(hit, 1 / np.maximum(rows[of_tuple], 1), 0.0)
        right_class = float(weight @ hit)
    seen = float(weight.sum()) or 1.0
    high = chance * k > 1
    affected = round(float(weight @ high) / seen * total)
    rate = float(weight @ chance) / seen
    harmed = np.zeros(found.release.classes.count, dtype=bool)
    if number is not None:
        harmed[number[high]] = True
    sentence = (
        "Whoever has everybody's quasi-identifiers and takes the nearest class finds the right "
        f"row with {rate:.2%}; for {rows_text(affected)} with more than one in {k:,}."
    )
    numbers = {
        "success rate": rate,
        "right class": right_class / seen,
        "rows tried": int(weight.sum()),
        "known whose row is whose": found.linked is not None,
    }
    sizes = found.release.classes.size
    return Finding("linkage", None, sentence, affected, total, worst(harmed, -sizes), numbers)


def volume(found: Beside) -> Floats:
    """The logarithm of how many combinations of values each class covers."""
    result: Floats = np.log2(np.maximum(found.covering.width(), 1)).sum(axis=1)
    return result


def nearest(found: Beside, places: Ints) -> tuple[Floats, Floats, Floats]:
    """For each person: the smallest gap, the smallest volume at that gap, and the rows there."""
    gap = np.full(len(places), np.inf)
    narrow = np.full(len(places), np.inf)
    rows = np.zeros(len(places))
    _nearest(
        places, found.covering.key, *found.covering.flat, *_lines(found), *found.covering.grid,
        volume(found), found.release.classes.size.astype(np.float64), gap, narrow, rows,
    )  # fmt: skip
    return gap, narrow, rows


def _gaps(found: Beside, places: Ints, number: Ints) -> Floats:
    """The gap between each person and the class beside it."""
    result = np.zeros(len(places))
    _each(places, number, found.covering.key, *found.covering.flat, *_lines(found), result)
    return result


def _lines(found: Beside) -> tuple[Ints, Floats, Floats]:
    """Where gaps are measured on: the positions of a column's places, and the ends of its values.

    Positions and ends are shares of the column's range; `offset[q]` is where those of column q
    begin. A column without numbers has its places themselves on the line.
    """
    offset = np.cumsum([0, *(one.values + 1 for one in found.covering.columns)])
    positions, ends = [], []
    for one in found.covering.columns:
        place = np.arange(one.values + 1) / max(one.known - 1, 1)
        edge = np.full((len(one.start), 2), np.nan)
        if one.on_a_line:
            assert one.number is not None
            least, wide = float(one.number[0]), float(one.number[-1] - one.number[0]) or 1.0
            place[: one.known] = (one.number - least) / wide
            edge[:-1] = (one.ends - least) / wide
        place[one.known :] = np.nan
        positions.append(place)
        ends.append(edge)
    return offset[:-1].astype(np.int64), np.concatenate(positions), np.concatenate(ends)


def _drawn(people: int, classes: int, seed: int) -> Ints:
    most = max(MOST_PAIRS // max(classes, 1), 1)
    if people <= most:
        return np.arange(people)
    return np.sort(np.random.default_rng(seed).choice(people, most, replace=False))


@compiled
def _gap(
    places: Any, t: Any, key: Any, c: Any, begin: Any, run_start: Any, low: Any, high: Any,
    offset: Any, position: Any, ends: Any, most: Any,
) -> Any:  # fmt: skip
    """How far a person lies outside a class, all columns together; stops beyond `most`."""
    total = 0.0
    for q in range(key.shape[1]):
        at = begin[q] + key[c, q]
        mine = position[offset[q] + places[t, q]]
        if ends[at, 0] == ends[at, 1] and mine == mine:  # one number, which may be central
            total += abs(mine - ends[at, 0])
            if total > most:
                break
            continue
        least = 1.0
        hit = False
        for run in range(run_start[at], run_start[at + 1]):
            if low[run] <= places[t, q] < high[run]:
                hit = True
                break
            if mine == mine:  # not a missing value
                first = position[offset[q] + low[run]]
                last = position[offset[q] + high[run] - 1]
                away = max(first - mine, mine - last)
                if away == away:
                    least = min(least, max(away, TINY))
        if hit:
            continue
        if mine == mine and ends[at, 0] == ends[at, 0]:
            least = max(ends[at, 0] - mine, mine - ends[at, 1], TINY)
        total += least
        if total > most:
            break
    return total


@compiled
def _nearest(
    places: Any, key: Any, begin: Any, run_start: Any, low: Any, high: Any, offset: Any,
    position: Any, ends: Any, first: Any, second: Any, many: Any, start: Any, near: Any, wide: Any,
    size: Any, gap: Any, narrow: Any, rows: Any,
) -> None:  # fmt: skip
    """First among the classes that cover a person in two columns; all, where none covers it."""
    for t in range(len(places)):
        p = spot(places, t, first, second, many)
        for everywhere in range(2):
            count = len(key) if everywhere else start[p + 1] - start[p]
            for i in range(count):
                c = i if everywhere else near[start[p] + i]
                most = gap[t] if everywhere else 0.0
                away = _gap(
                    places, t, key, c, begin, run_start, low, high, offset, position, ends, most
                )
                if not everywhere and away > 0.0:
                    continue
                if away < gap[t] or (away == gap[t] and wide[c] < narrow[t]):
                    gap[t], narrow[t], rows[t] = away, wide[c], size[c]
                elif away == gap[t] and wide[c] == narrow[t]:
                    rows[t] += size[c]
            if gap[t] == 0.0:
                break


@compiled
def _each(
    places: Any, number: Any, key: Any, begin: Any, run_start: Any, low: Any, high: Any,
    offset: Any, position: Any, ends: Any, result: Any,
) -> None:  # fmt: skip
    for t in range(len(places)):
        result[t] = _gap(
            places, t, key, number[t], begin, run_start, low, high, offset, position, ends, np.inf
        )  # fmt: skip
