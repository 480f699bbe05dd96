"""What a release would be judged like: its cells with the values that are to be written.

The last word has `verify`, on the file itself. Whoever chooses between several ways of writing a
release asks the same requirements beforehand, about the same classes: rows that are released alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.data.binding import BoundTable, narrow
from tclose.data.encode.cells import Cells
from tclose.data.encode.classes import form_classes
from tclose.data.encode.columns import Dictionary
from tclose.errors import PolicyError
from tclose.recode.values import Released
from tclose.requirements import failing_classes, state_requirements

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


def failing_cells(
    bound: BoundTable, population: Cells | None, label: Ints, released: Sequence[Released]
) -> Flags:
    """Which cells lie in a class that breaks a promise once it is released (−1: it is not)."""
    result = label >= 0
    if not result.any():
        return result
    kept = result.copy()
    try:
        table = released_table(bound, label, released)
    except PolicyError:
        return result  # what is left cannot even be measured
    broken = failing_classes(state_requirements(table, population), table.classes)
    result[kept] = broken[table.classes.cell_class]
    return result


def released_table(bound: BoundTable, label: Ints, released: Sequence[Released]) -> BoundTable:
    """The table of some cells as it would be released: class `label[cell]`, or −1 for left out."""
    kept = label >= 0
    lacking = _lacks_values(bound, kept)
    now = narrow(bound, kept) if lacking else bound
    rows = now.cells if lacking else bound.cells.only(kept)
    dictionaries, codes = dict(rows.dictionaries), dict(rows.codes)
    for one in released:
        words = pa.chunked_array([pa.array(one.values, pa.string())])
        dictionaries[one.column], of_class = Dictionary.encode(words)
        codes[one.column] = of_class[label[kept]]
    cells = replace(rows, dictionaries=dictionaries, codes=codes)
    wild = [name for name in bound.policy.quasi if bound.policy.columns[name].missing == "any"]
    classes = form_classes(cells, bound.classes.quasi, now.attributes, wild)
    return replace(bound, cells=cells, classes=classes)


def _lacks_values(bound: BoundTable, kept: Flags) -> bool:
    """Whether a sensitive value of the table, or a missing one, does not occur in these cells."""
    codes = (bound.cells.codes[name] for name in bound.attributes)
    return any(len(np.unique(code[kept])) < len(np.unique(code)) for code in codes)
