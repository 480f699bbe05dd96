"""Amounts of memory, as people write them."""

from __future__ import annotations

import re

AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt])(i?)b?\s*$", re.IGNORECASE)


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
