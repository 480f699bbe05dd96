"""Recognizes dates by the common forms in which they are written; returns only what is a date."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime

from tclose.data.recognize import MOSTLY

DAYS = (
    (r"\d{4}-\d{1,2}-\d{1,2}", "%Y-%m-%d", "%Y-%m-%d"),
    (r"\d{1,2}/\d{1,2}/\d{4}", "%m/%d/%Y", "%d/%m/%Y"),
    (r"\d{1,2}-\d{1,2}-\d{4}", "%m-%d-%Y", "%d-%m-%Y"),
    (r"\d{1,2}\.\d{1,2}\.\d{4}", "%d.%m.%Y", "%d.%m.%Y"),
    (r"\d{4}/\d{1,2}/\d{1,2}", "%Y/%m/%d", "%Y/%m/%d"),
    (r"\d{4}\.\d{1,2}\.\d{1,2}", "%Y.%m.%d", "%Y.%m.%d"),
    (r"(?:19|20)\d{6}", "%Y%m%d", "%Y%m%d"),
    (r"\d{1,2}-[A-Za-z]{3}-\d{4}", "%d-%b-%Y", "%d-%b-%Y"),
    (r"\d{1,2} [A-Za-z]{3} \d{4}", "%d %b %Y", "%d %b %Y"),
    (r"\d{1,2} [A-Za-z]{4,9} \d{4}", "%d %B %Y", "%d %B %Y"),
    (r"[A-Za-z]{3} \d{1,2}, \d{4}", "%b %d, %Y", "%b %d, %Y"),
    (r"[A-Za-z]{4,9} \d{1,2}, \d{4}", "%B %d, %Y", "%B %d, %Y"),
)
"""How dates are written, and their formats where the month and where the day comes first."""
TIMES = (
    ("", ""),
    (r" \d{1,2}:\d{2}", " %H:%M"),
    (r" \d{1,2}:\d{2}:\d{2}", " %H:%M:%S"),
    (r"T\d{2}:\d{2}", "T%H:%M"),
    (r"T\d{2}:\d{2}:\d{2}", "T%H:%M:%S"),
    (r" \d{1,2}:\d{2} [AaPp][Mm]", " %I:%M %p"),
    (r" \d{1,2}:\d{2}:\d{2} [AaPp][Mm]", " %I:%M:%S %p"),
)
SHAPES = tuple(
    (re.compile(day + time), (month_first + clock, day_first + clock))
    for day, month_first, day_first in DAYS
    for time, clock in TIMES
)


def find_date_formats(values: Iterable[str]) -> list[tuple[str, ...]]:
    """The formats by which all values are dates; two where month and day could change places.

    >>> find_date_formats(["01/24/2023", "02/03/2023"]), find_date_formats(["04.03.1950", "x"])
    ([('%m/%d/%Y',)], [])
    >>> find_date_formats(["01/02/2023"])
    [('%m/%d/%Y',), ('%d/%m/%Y',)]
    """
    families: dict[int, list[str]] = {}
    for value in dict.fromkeys(values):
        at = _find_shape(value)
        if at is None:
            return []
        families.setdefault(at, []).append(value.strip())
    found = []
    for first in (0, 1):
        formats = {SHAPES[at][1][first]: texts for at, texts in sorted(families.items())}
        if all(_is_date(text, form) for form, texts in formats.items() for text in texts):
            found.append(tuple(form for form in formats if not _is_in_other(form, formats)))
    return list(dict.fromkeys(found)) if families else []


def list_dates(values: Sequence[str]) -> list[str]:
    """The values that are dates in a common form; none where they are not nearly all.

    >>> list_dates(["04.03.1950"] * 19 + ["4.3.50"])[0], list_dates(["04.03.1950", "x"])
    ('04.03.1950', [])
    """
    dates = set()
    for value in dict.fromkeys(values):
        at = _find_shape(value)
        if at is not None and any(_is_date(value.strip(), form) for form in SHAPES[at][1]):
            dates.add(value)
    found = [value for value in values if value in dates]
    return found if len(found) >= MOSTLY * len(values) else []


def _find_shape(value: str) -> int | None:
    """The place of the first form of dates that a text has."""
    text = value.strip()
    return next((at for at, (shape, _) in enumerate(SHAPES) if shape.fullmatch(text)), None)


def _is_in_other(form: str, formats: dict[str, list[str]]) -> bool:
    """Whether another format reads all values of this one: May is a whole name, too."""
    whole = form.replace("%b", "%B")
    return whole != form and whole in formats and all(_is_date(t, whole) for t in formats[form])


def _is_date(text: str, form: str) -> bool:
    try:
        datetime.strptime(text, form)
    except ValueError:
        return False
    return True
