"""How the rows of every cell are released, as a table that an engine can join with its own rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

KEY, NEW = "__tclose_key_{}", "__tclose_new_{}"

Kind = Literal["same", "text", "hidden", "mask", "pseudonym"]


@dataclass(frozen=True)
class Change:
    """What becomes of one column.

    same: nothing. text: the cell's text in column `at` of the translation. hidden: no value where
    that column is true. mask: one text for all. pseudonym: see `Translation.pseudonyms`.
    """

    name: str
    kind: Kind
    at: str = ""


@dataclass(frozen=True)
class Translation:
    """The released rows: those whose key is in `cell_table`, with some columns changed.

    `cell_table` has one row for each key: columns `KEY` (a missing value is null and equals itself;
    NaN is missing; −0 is 0), in the order of `keys`, and the columns that `changes` name.
    """

    keys: tuple[str, ...]
    cell_table: Any
    """An Arrow table, or the engine's own kind of table where it made the cells itself."""
    changes: tuple[Change, ...]
    """The released columns, in order; columns of the table that are not named are dropped."""
    pseudonyms: Callable[[pa.Array], pa.Array]
    """From an identifier's values to what is released in their place."""
    mask: str
    shuffle: bool
    """Whether the order of the rows must not be foretold."""
    rows: int
    """How many rows the release has."""
