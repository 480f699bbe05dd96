"""How far the table that a reader would rebuild from the release is from the original.

A reader who knows nothing else spreads the rows of a class evenly over all combinations of the
original's values that the class covers (Kifer and Gehrke 2006). KL(original ‖ rebuilt) in bits,
over quasi-identifiers and sensitive attributes together; a row left out is spread over everything.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tclose.data.alignment import translate_codes
from tclose.data.encode.classes import group_codes
from tclose.kernels.boxes.reconstruction import spread_rows
from tclose.utility.pair import Pair
from tclose.utility.result import Measure

MEANING = "bits per row by which the rebuilt table misses the original"

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def measure_reconstruction(pair: Pair) -> Measure:
    """The divergence of the original's joint distribution from the rebuilt one."""
    if pair.central:
        return Measure("reconstruction", None, MEANING, note="not defined for central values")
    rebuilt = rebuild_rows(pair)
    weight = pair.original.cells.rows
    if not (rebuilt > 0).all():
        lost = int(weight[rebuilt <= 0].sum())
        lie = "row lies" if lost == 1 else "rows lie"
        note = f"{lost:,} {lie} in no class, so the divergence is infinite"
        return Measure("reconstruction", float("inf"), MEANING, note=note)
    bits = float(weight @ np.log2(weight / rebuilt)) / pair.rows
    return Measure("reconstruction", max(bits, 0.0), MEANING)


def rebuild_rows(pair: Pair) -> Floats:
    """How many rows the rebuilt table has in each cell of the original."""
    mine, theirs = _number_combinations(pair)
    classes = pair.release.classes
    tuples, first = group_codes([pair.original.cells.codes[name] for name in classes.quasi])
    order = np.argsort(tuples, kind="stable")
    cell_start = np.searchsorted(tuples[order], np.arange(len(first) + 1))
    inside = np.lexsort((theirs, classes.cell_class))
    class_start = np.searchsorted(classes.cell_class[inside], np.arange(classes.count + 1))
    width = pair.covering.width().astype(np.float64)
    density = 1.0 / np.prod(np.where(width > 0, width, 1.0), axis=1)
    result = np.empty(len(order))
    result[order] = spread_rows(
        pair.covering.grid, pair.covering.places(pair.original.cells)[first],
        cell_start.astype(np.int64), mine[order], class_start.astype(np.int64), theirs[inside],
        classes.cell_rows[inside].astype(np.float64), density,
    )  # fmt: skip
    everywhere = [float(boxes.values) for boxes in pair.covering.columns]
    spread = float(np.prod(everywhere)) * (int(mine.max(initial=0)) + 1)
    return result + pair.left_out / spread


def _number_combinations(pair: Pair) -> tuple[Ints, Ints]:
    """One number per combination of sensitive values, in both tables; −1 where only released."""
    mine, theirs = [], []
    for name, attribute in pair.original.attributes.items():
        code = translate_codes(pair.release.attributes[name], attribute)
        mine.append(pair.original.classes.cell_codes[name])
        theirs.append(code[pair.release.classes.cell_codes[name]])
    if not mine:
        return np.zeros(len(pair.original.cells.rows), np.int64), np.zeros(
            len(pair.release.cells.rows), np.int64
        )
    both = [np.concatenate(some) for some in zip(mine, theirs, strict=True)]
    label, _ = group_codes(both)
    known = label[: len(mine[0])]
    number = np.full(int(label.max()) + 1, -1, dtype=np.int64)
    distinct = np.unique(known)
    number[distinct] = np.arange(len(distinct))
    return number[known], number[label[len(mine[0]) :]]
