"""Numbers and counts as people read them."""

from __future__ import annotations

import math


def number_text(value: float) -> str:
    """A number as a steward reads it.

    >>> number_text(5.0), number_text(0.37500001), number_text(0.0), number_text(0.99999)
    ('5', '0.3750', '0', '0.99999')
    """
    if math.isinf(value):
        return "infinite"
    if value == int(value):
        return f"{int(value):,}"
    if abs(value) >= 1000:
        return f"{value:,.1f}"
    text = f"{value:.4f}"
    return text if float(text) != int(float(text)) else f"{value:.6g}"


def rows_text(rows: int) -> str:
    """A number of rows in words.

    >>> rows_text(1), rows_text(2000)
    ('1 row', '2,000 rows')
    """
    return f"{rows:,} row{'' if rows == 1 else 's'}"


def classes_text(count: int) -> str:
    """A number of classes in words.

    >>> classes_text(1), classes_text(1200)
    ('1 class', '1,200 classes')
    """
    return f"{count:,} class{'' if count == 1 else 'es'}"
