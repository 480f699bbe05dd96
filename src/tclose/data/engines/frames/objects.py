"""Columns of Python objects: of one kind each, or refused, since mixed ones change when counted.

Of a date beside a moment only the day would be left, a moment without a zone would be taken for one
of another's zone, and bytes beside text would become one with them.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

from tclose.errors import DataError

FAMILIES: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("truths", (bool, np.bool_)),
    ("numbers", (int, float, np.integer, np.floating)),
    ("decimals", (Decimal,)),
    ("texts", (str,)),
    ("bytes", (bytes, bytearray)),
    ("moments", (datetime, np.datetime64)),
    ("days", (date,)),
    ("spans", (timedelta, np.timedelta64)),
    ("times", (time,)),
    ("lists", (list, tuple, np.ndarray)),
    ("structures", (dict,)),
)
"""The kinds of values, each before those that its types are also instances of."""


def refuse_mixed(name: str, column: Any) -> None:
    """Raises where a column of a pandas frame holds objects of several kinds."""
    values = column.array.categories if column.dtype == "category" else column
    if values.dtype != object:
        return
    known = values[~values.isna()]
    kinds = set(map(type, known))
    families = {_family(kind) for kind in kinds}
    if len(families) > 1 and families != {"decimals", "numbers"}:
        raise _mixed(name, sorted(families))
    if families == {"moments"}:
        _refuse_moments(name, known)
    if families == {"sets"}:
        raise _mixed(name, ["sets, which have no order"])


def _family(kind: type) -> str:
    if issubclass(kind, set | frozenset):
        return "sets"
    return next((told for told, kinds in FAMILIES if issubclass(kind, kinds)), kind.__name__)


def _refuse_moments(name: str, moments: Iterable[Any]) -> None:
    """Moments with and without a zone cannot be compared; objects lose their nanoseconds."""
    zones = {getattr(moment, "tzinfo", None) is None for moment in moments}
    if len(zones) > 1:
        raise _mixed(name, ["moments with a zone", "moments without"])
    if any(getattr(moment, "nanosecond", 0) for moment in moments):
        raise DataError(
            "moments as objects would lose their nanoseconds",
            where=f"column {name!r}",
            hint="make it a column of type datetime64[ns]",
        )


def _mixed(name: str, told: list[str]) -> DataError:
    return DataError(
        f"the column holds {' and '.join(told)}",
        where=f"column {name!r}",
        hint="each column must hold one kind of value",
    )
