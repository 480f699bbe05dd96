"""Cells that stay with the engine: laid along a curve, cut into fragments, worked on one by one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Ints = NDArray[np.int64]

ORDER = "__tclose_order__"
STRATUM = "__tclose_stratum__"
FIRST = "__tclose_first__"
DEALS = "__tclose_deals__"
FRAGMENT = "__tclose_fragment__"
TIE = "__tclose_tie_{}"


class CellPositions(NamedTuple):
    """Where cells lie: their place on the curve, their stratum, and what decides between equals."""

    order: Ints
    stratum: Ints
    first: Ints
    deals: Ints
    """The cells of a stratum go to so many fragments in turn, from the first on."""
    ties: tuple[Ints, ...]
    """One cell and no other has all of these numbers."""

    def columns(self) -> dict[str, Ints]:
        """The same as columns of a table."""
        ties = {TIE.format(at): tie for at, tie in enumerate(self.ties)}
        mine = {ORDER: self.order, STRATUM: self.stratum, FIRST: self.first, DEALS: self.deals}
        return mine | ties


class PartResult(NamedTuple):
    """What the work on a fragment gave: lines of a translation, and a report on it."""

    cell_table: pa.Table
    report: bytes


class CellStore(ABC):
    """The cells of a table where the engine keeps them.

    Nothing may depend on how many workers an engine has: cells are cut in an order that their
    values alone determine, and reports come in the order of the fragments.
    """

    @property
    @abstractmethod
    def n_cells(self) -> int:
        """How many cells there are."""

    @abstractmethod
    def sketch(self, snap: Callable[[pa.Table], pa.Table], numbers: Sequence[str]) -> pa.Table:
        """Cells as `snap` makes them, equal ones united: their `numbers` add up."""

    @abstractmethod
    def cut(self, laid: Callable[[pa.Table], CellPositions], columns: Sequence[str]) -> pa.Table:
        """Deals the cells of every stratum out to its fragments, in turn along the order.

        Returns the rows (`WEIGHT`) of every fragment (`FRAGMENT`) with each tuple of some columns.
        """

    @abstractmethod
    def work(
        self, united: Ints, work: Callable[[pa.Table], PartResult], schema: pa.Schema
    ) -> list[bytes]:
        """Works on fragments, some of them united (`united[fragment]` is the number of the union).

        The lines of all fragments together (of this schema) are kept as a translation.
        """

    @property
    @abstractmethod
    def translation(self) -> Any:
        """The lines of all fragments, as the engine's own kind of table."""
