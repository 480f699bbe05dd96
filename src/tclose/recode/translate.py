"""A recoding as a table that an engine joins with its own rows: one line for each cell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.data.binding import BoundTable
from tclose.data.encode.classes import group_codes
from tclose.data.source import KEY, NEW, Change, Translation
from tclose.recode.identifiers import MASK, Pseudonyms
from tclose.recode.recoding import Recoding

Ints = NDArray[np.int64]


def translation_of(
    bound: BoundTable,
    recoding: Recoding,
    pseudonyms: Pseudonyms,
    columns: Sequence[str],
    *,
    by_cells: bool = False,
) -> Translation:
    """What the rows of every released cell become; columns are those of the release, in order.

    Rows are told apart by the quasi-identifiers alone where these decide about everything, unless
    all columns of a cell are asked for.
    """
    kept = np.flatnonzero(recoding.label >= 0)
    keys, some = _keys(bound, recoding, kept, by_cells=by_cells)
    made = {KEY.format(at): _values(bound, name, some) for at, name in enumerate(keys)}
    changes = []
    released = {one.column: one for one in recoding.released}
    for at, name in enumerate(columns):
        new = NEW.format(at)
        if name in released:
            texts = pa.array(released[name].values, pa.string())
            made[new] = texts.take(pa.array(recoding.label[some]))
            changes.append(Change(name, "text", new))
        elif name in recoding.sensitive:
            how = recoding.sensitive[name]
            code = how.code[some]
            if how.texts is None:
                made[new] = pa.array(code < 0)
                changes.append(Change(name, "hidden", new))
            else:
                words = pa.array(how.texts, pa.string())
                made[new] = words.take(pa.array(code, mask=code < 0))
                changes.append(Change(name, "text", new))
        elif name == bound.policy.subject:
            changes.append(Change(name, "pseudonym"))
        elif name in bound.policy.identifiers:
            masked = bound.policy.release.identifiers == "mask"
            changes.append(Change(name, "mask" if masked else "pseudonym"))
        else:
            changes.append(Change(name, "same"))
    return Translation(
        keys,
        pa.table(made),
        tuple(changes),
        pseudonyms.column,
        MASK,
        bound.policy.release.rows == "shuffle",
        int(bound.cells.table_rows[kept].sum()),
    )


def _keys(
    bound: BoundTable, recoding: Recoding, kept: Ints, *, by_cells: bool
) -> tuple[tuple[str, ...], Ints]:
    """The columns that tell cells apart, and the released cells with each of their values once."""
    quasi, all_columns = bound.classes.quasi, (*bound.classes.quasi, *bound.attributes)
    if not recoding.sensitive and not by_cells:
        owner = bound.classes.cell_class
        _, one = group_codes([owner])
        same = recoding.label == recoding.label[one][owner]
        if same.all():
            released = one[recoding.label[one] >= 0]
            return quasi, released
    return all_columns, kept


def _values(bound: BoundTable, name: str, cells: Ints) -> pa.Array:
    """The values of some cells in a column."""
    dictionary, code = bound.cells.dictionaries[name], bound.cells.codes[name][cells]
    return dictionary.values.take(pa.array(code, mask=code >= dictionary.known))
