"""The form that a column's values must have once they are read as the policy says: dates or
numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from tclose.data.encode.columns import NUMBER
from tclose.data.encode.labels import is_label
from tclose.policy.cleaning import ColumnCleaning


def _is_date(value: str) -> bool:
    """Whether a text is an ISO date, a period, or a label that may cover dates."""
    try:
        datetime.fromisoformat(find_first_day(value))
    except ValueError:
        return is_label(value)
    return True


def _is_number(value: str) -> bool:
    return NUMBER.match(value) is not None or is_label(value)


class ReadForm(NamedTuple):
    """The form of values read by a key of the policy, and the message if they do not have it."""

    key: str
    fits: Callable[[str], bool]
    what: str
    hint: str


FORMS = (
    ReadForm("age_on", _is_number, "give no age", "say how births are written (date_format)"),
    ReadForm("date_format", _is_date, "are no dates of this form", "add their form to the list"),
    ReadForm("decimal", _is_number, "are no numbers of this form", "mend them"),
)


def find_form(column: ColumnCleaning) -> ReadForm | None:
    """The form that values of a column have once they are read; None where the policy has none."""
    return next((form for form in FORMS if getattr(column, form.key)), None)


def find_first_day(value: str) -> str:
    """The first day of a period that a date hierarchy's label names, or the value itself."""
    if len(value) == 7 and value[5] == "Q":
        return f"{value[:4]}-{3 * int(value[6]) - 2:02d}-01"
    if len(value) == 7 and value[4] == "-":
        return f"{value}-01"
    if len(value) == 12 and value[4:8] == " to ":
        return f"{value[:4]}-01-01"
    if (len(value) == 4 and value.isdigit()) or (len(value) == 5 and value.endswith("0s")):
        return f"{value[:4]}-01-01"
    return value
