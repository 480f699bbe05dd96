"""How tables are read: with which options, and which names of columns are refused."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import InitVar, dataclass

from tclose.data.io.paths import Address
from tclose.errors import DataError, UsageError, nearest

ENGINES = ("duckdb", "spark")
"""What can read files; the first does unless another is asked for."""
CELL_BYTES = 512
"""What a cell takes while it is searched, more or less."""
AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt])(i?)b?\s*$", re.IGNORECASE)


@dataclass(frozen=True)
class Reading:
    """How files are read: whatever is not told is found out.

    >>> Reading(memory="400MB").cell_limit, Reading().cell_limit, Reading().chosen_engine
    (781250, None, 'duckdb')
    >>> Reading(cells=50) == Reading(max_cells=50)
    True
    """

    delimiter: str | None = None
    encoding: str | None = None
    nulls: tuple[str, ...] = ("",)
    memory: str | None = None
    max_cells: int | None = None
    """How many distinct combinations of values are taken into one place at most; tables with more
    are audited and anonymized part by part."""
    engine: str | None = None
    """What reads and counts files: `duckdb` (the usual) or `spark`."""
    query: str | None = None
    """What is asked of a database whose address names no table: one SELECT."""
    sheet: str | None = None
    """Which sheet of an Excel file is read; the first, if unsaid."""
    cells: InitVar[int | None] = None
    """The same as `max_cells`, as it was called at first."""

    def __post_init__(self, cells: int | None) -> None:
        if cells is not None:
            object.__setattr__(self, "max_cells", cells)

    @property
    def cell_limit(self) -> int | None:
        """How many cells are taken into one place: as told, or as many as the memory holds."""
        amount = bytes_of(self.memory)
        if self.max_cells is not None or amount is None:
            return self.max_cells
        return amount // CELL_BYTES

    @property
    def chosen_engine(self) -> str:
        """The engine that reads files; raises where there is no such."""
        if self.engine is not None and self.engine not in ENGINES:
            hint = nearest(self.engine, ENGINES)
            raise UsageError("there is no such engine", where="engine", hint=hint)
        return self.engine or ENGINES[0]

    def refuse_idle_query(self, *tables: object) -> None:
        """Raises where none of the tables is one that the query could be asked of."""
        addresses = [Address.of(table) for table in tables]
        if self.query is not None and all(place is None or place.table for place in addresses):
            raise UsageError(
                "there is no database to ask this query of",
                where="query",
                hint="name one by its address, without #table",
            )


AS_FOUND = Reading()
"""Everything is found out from the file itself."""


def bytes_of(memory: str | None) -> int | None:
    """How many bytes an amount is; None where none is told, or it is no amount with a unit.

    >>> bytes_of("400MB"), bytes_of("1 GiB"), bytes_of(None)
    (400000000, 1073741824, None)
    """
    amount = AMOUNT.match(memory or "")
    if amount is None:
        return None
    unit = 1024 if amount[3] else 1000
    return int(float(amount[1]) * unit ** (1 + "kmgt".index(amount[2].lower())))


def refuse_ambiguous(names: list[str], where: str) -> None:
    """Raises where column names are empty, or equal but for capitals (SQL takes them for one)."""
    if any(not name for name in names):
        place = next(at for at, name in enumerate(names, 1) if not name)
        raise DataError(
            f"column {place} has no name", where=where, hint="name every column in the header"
        )
    often = Counter(name.lower() for name in names)
    twice = [name for name in dict.fromkeys(names) if often[name.lower()] > 1]
    if twice:
        shown = ", ".join(repr(name) for name in twice[:6])
        raise DataError(
            f"duplicate column names: {shown}",
            where=where,
            hint="rename them until no two are equal; capitals alone do not tell them apart",
        )
