"""How the values of a column are parsed and cleaned before anything is counted."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import date, datetime
from fractions import Fraction
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from tclose.distance.numbers import Misuse, MisuseError, Number, Part, must
from tclose.plain import count_decimals, exact, write_number

CASES = {"lower": str.lower, "upper": str.upper}


Digits = must(
    "needs a number with finitely many digits",
    lambda number: count_decimals(number) is not None,
)


class Cleaning(Part):
    """The steps that clean every value of a column, in this order; cleaning twice changes nothing.

    >>> rule = Cleaning(trim=True, case="lower", replace={"female": "f"})
    >>> rule.clean_text(" Female "), rule.clean_text("F"), Cleaning(round=100).clean_text("149.5")
    ('f', 'f', '100')
    """

    trim: bool = Field(False, description="remove spaces before and after a text")
    case: Literal["lower", "upper"] | None = Field(
        None, description="change the case of all letters"
    )
    replace: dict[str, str] | None = Field(
        None, description='spelling = "value to put in its place"; "" makes it missing'
    )
    round: Annotated[Number, Digits, must("above 0", lambda unit: unit > 0)] | None = Field(
        None, description="numbers become the nearest multiple of this; halves go away from 0"
    )
    top: Annotated[Number, Digits] | None = Field(
        None, description="numbers above this become it (top-coding)"
    )
    bottom: Annotated[Number, Digits] | None = Field(
        None, description="numbers below this become it (bottom-coding)"
    )

    def find_misuses(self) -> Iterator[Misuse]:
        """Steps that would change what they have made, or leave one value."""
        if not self.model_fields_set:
            yield "no cleaning step is given", "give trim, case, replace, round, top or bottom"
        for spelling, value in (self.replace or {}).items():
            if self._fold(spelling) != spelling:
                what = "a spelling to be replaced never occurs once values are trimmed and folded"
                yield what, "write it as it is after trimming and folding"
            if self._fold(value) != value or self._replace(value) not in (value, None):
                what = "a replacement would itself be cleaned"
                yield what, "write the value that it becomes in the end"
        for name in ("top", "bottom"):
            end = getattr(self, name)
            if self.round and end is not None and end % self.round:
                what = f"`{name}` is not a multiple of `round`, so that cleaning twice would not be"
                yield f"{what} the same", "choose a multiple"
        if self.top is not None and self.bottom is not None and self.bottom >= self.top:
            yield "`bottom` is not below `top`, so only one value would remain", "swap them"

    @property
    def is_numeric(self) -> bool:
        """Whether a step changes numbers: round, top or bottom."""
        return not (self.round is None and self.top is None and self.bottom is None)

    def clean_text(self, text: str) -> str | None:
        """Cleans a text; None if it becomes a missing value."""
        found = self.replace_spelling(text)
        return found if found is None else self.clean_written_number(found)

    def replace_spelling(self, text: str) -> str | None:
        """Trims a text, changes its case, and replaces it if it is a listed spelling."""
        return self._replace(self._fold(text))

    def clean_written_number(self, text: str) -> str:
        """Rounds and limits a number that is written as text; returns other texts unchanged."""
        if not self.is_numeric:
            return text
        try:
            number = exact(text.replace("/", "no fraction"))
        except ValueError:
            return text
        cleaned = self.clean_number(number)
        is_clean = cleaned == number and self.round is None
        return text if is_clean else write_number(cleaned)

    def clean_number(self, number: Fraction) -> Fraction:
        """Rounds a number and limits it to `bottom` and `top`."""
        if self.round is not None:
            whole = math.floor(abs(number) / self.round + Fraction(1, 2))
            number = self.round * (whole if number >= 0 else -whole)
        number = number if self.top is None else min(number, self.top)
        return number if self.bottom is None else max(number, self.bottom)

    def describe(self) -> str:
        """Describes the steps in words, without any value of the table.

        >>> Cleaning(trim=True, top=Fraction(50000)).describe()
        'trimmed, top-coded at 50000'
        """
        return ", ".join(self._list_steps())

    def _list_steps(self) -> Iterator[str]:
        if self.trim:
            yield "trimmed"
        if self.case:
            yield f"{self.case} case"
        if self.replace:
            yield f"spellings replaced: {len(self.replace):,}"
        if self.round is not None:
            yield f"rounded to {write_number(self.round)}"
        if self.top is not None:
            yield f"top-coded at {write_number(self.top)}"
        if self.bottom is not None:
            yield f"bottom-coded at {write_number(self.bottom)}"

    def _fold(self, text: str) -> str:
        text = text.strip() if self.trim else text
        return CASES[self.case](text) if self.case else text

    def _replace(self, text: str) -> str | None:
        if not self.replace or text not in self.replace:
            return text
        return self.replace[text] or None


def write_values(values: Any) -> Any:
    """Converts a list of values to text, as hierarchies and releases write them."""
    if not isinstance(values, list | tuple):
        return values
    return [str(value).lower() if isinstance(value, bool) else str(value) for value in values]


def _check_formats(formats: tuple[str, ...]) -> tuple[str, ...]:
    moment = datetime(2001, 12, 31)
    for form in formats:
        try:
            read = datetime.strptime(moment.strftime(form), form)
        except ValueError:
            read = None
        if read != moment:
            what = "a date format has a day, a month and a year"
            raise MisuseError(what, 'such as "%d.%m.%Y", "%m/%d/%Y" or "%Y-%m-%d %H:%M"')
    return formats


def _list(value: object) -> Any:
    """Returns a list as it is, and a single value as a list of one."""
    return value if isinstance(value, list | tuple) else [value]


def _several(*kinds: str) -> WithJsonSchema:
    """Makes the schema of a value of these types, or of a list of them."""
    value = {"type": [*kinds]}
    return WithJsonSchema({"anyOf": [value, {"type": "array", "items": value}]})


DateFormats = Annotated[
    tuple[str, ...],
    BeforeValidator(_list),
    AfterValidator(_check_formats),
    _several("string"),
]
Marks = Annotated[
    tuple[str, ...],
    BeforeValidator(write_values),
    BeforeValidator(_list),
    _several("string", "number"),
]
DecimalMark = Literal[",", "."]
GAPS = " '\u00a0\u202f"
OTHER_MARK: dict[DecimalMark, str] = {",": ".", ".": ","}
CURRENCY = r"[$€£¥]|USD|EUR|GBP|CHF|Fr\.|kr"
AMOUNTS: dict[DecimalMark, str] = {
    mark: rf"(?:(?:{CURRENCY})\s?)?([+-]?)(\d+|[1-9]\d{{0,2}}(?:[{other}{GAPS}]\d{{3}})+)"
    rf"(?:{re.escape(mark)}(\d+))?(?:\s?(?:{CURRENCY}))?"
    for mark, other in OTHER_MARK.items()
}
"""Regular expressions of amounts by decimal mark, perhaps with a currency; thousands may be
separated by the other mark, spaces or apostrophes."""
LIKE_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
"""Plain numbers that would be read as thousands if they were cleaned again, as those of a release
are in an audit: 1,359 is written as 1.3590."""
OLDEST = 150


class ColumnCleaning(Part):
    """The cleaning of a column's values before they are counted, in this order: marks of missing
    values, `clean`'s texts, the decimal mark, dates, ages, `clean`'s numbers.

    >>> ColumnCleaning(nulls=("?",), date_format=("%m/%d/%Y",)).clean_value("1/24/2023")
    '2023-01-24'
    >>> ColumnCleaning(decimal=",", clean=Cleaning(round=10)).clean_value("1.234,50")
    '1230'
    >>> ColumnCleaning(decimal=",").clean_value("1,359")  # 1.359 would be read as 1359 next time
    '1.3590'
    >>> ColumnCleaning(age_on=date(2026, 1, 1)).clean_value(date(1950, 3, 4))
    75
    """

    nulls: Marks = Field((), description="values that mean a missing one, such as '?' or -9")
    date_format: DateFormats = Field(
        (), description="how dates are written, such as '%d.%m.%Y'; several are tried in order"
    )
    decimal: DecimalMark | None = Field(
        None, description="the decimal mark of amounts that are written as text"
    )
    age_on: date | None = Field(
        None, description="dates of birth become ages in whole years on this day"
    )
    clean: Cleaning | None = Field(
        None, description="how values are cleaned before they are counted"
    )
    unreadable: Literal["missing"] | None = Field(
        None, description="values that do not have the declared form count as missing"
    )

    def find_misuses(self) -> Iterator[Misuse]:
        """Unreadable values where no form is declared."""
        if self.unreadable and not (self.date_format or self.decimal or self.age_on):
            what = "no form of values is declared, so none is unreadable"
            yield what, "give date_format, decimal or age_on, or leave out unreadable"

    def without_cleaning(self) -> Self:
        """Returns the column without its cleaning, for a table that is clean already."""
        return self.model_copy(update=dict(ColumnCleaning()))

    @property
    def cleaning_keys(self) -> tuple[str, ...]:
        """The cleaning keys that are given."""
        return tuple(name for name in ColumnCleaning.model_fields if getattr(self, name))

    def clean_value(self, value: Any) -> Any:
        """Cleans a text, a number or a date; None if it becomes a missing value."""
        if isinstance(value, date):
            return value if self.age_on is None else find_age(value, self.age_on)
        return self.clean_text(value) if isinstance(value, str) else self._clean_number(value)

    def clean_text(self, text: str) -> str | None:
        """Cleans a text; one that is not a date or amount of the declared form stays as it is."""
        found = None if text in self.nulls else text
        if found is not None and self.clean is not None:
            found = self.clean.replace_spelling(found)
        if found is None or found in self.nulls:
            return None
        if self.decimal is not None:
            found = read_amount(found, self.decimal) or found
        if self.date_format:
            found = read_date(found, self.date_format) or found
        if self.age_on is not None:
            found = _find_written_age(found, self.age_on) or found
        if self.clean is not None:
            found = self.clean.clean_written_number(found)
        if self.decimal == "," and LIKE_THOUSANDS.fullmatch(found):
            found += "0"
        return found

    def _clean_number(self, value: Any) -> Any:
        """Cleans a number, read exactly as it was written."""
        text = write_number(exact(value)) if math.isfinite(value) else str(value)
        if text in self.nulls or str(value) in self.nulls:
            return None
        if self.clean is None or not math.isfinite(value):
            return value
        found: str | None = text
        if self.clean.replace is not None:
            found = self.clean.replace.get(text, text) or None
        if found is None:
            return None
        number = self.clean.clean_number(exact(found))
        return value if number == exact(value) else number

    def describe_cleaning(self) -> str:
        """Describes the cleaning in words, without any value of the table."""
        return ", ".join(self._list_steps())

    def _list_steps(self) -> Iterator[str]:
        if self.nulls:
            n_marks = len(self.nulls)
            yield f"{n_marks:,} mark{'' if n_marks == 1 else 's'} of missing values"
        if self.decimal:
            yield f"amounts with the decimal mark {self.decimal!r} became plain numbers"
        if self.date_format:
            yield f"dates written as {' or '.join(self.date_format)} became ISO dates"
        if self.age_on:
            yield f"age in whole years on {self.age_on.isoformat()}"
        if self.clean:
            yield self.clean.describe()
        if self.unreadable:
            yield "values of another form counted as missing"


def read_date(text: str, formats: tuple[str, ...]) -> str | None:
    """Converts a date, or date and time, to ISO form; None if it fits no format.

    >>> read_date("04.03.1950", ("%d.%m.%Y",)), read_date("4.3.1950 9:05", ("%d.%m.%Y %H:%M",))
    ('1950-03-04', '1950-03-04T09:05:00')
    """
    for form in formats:
        try:
            moment = datetime.strptime(text.strip(), form)
        except ValueError:
            continue
        has_time = "%H" in form or "%I" in form
        return moment.isoformat() if has_time else moment.date().isoformat()
    return None


def read_amount(text: str, decimal: DecimalMark) -> str | None:
    """Converts an amount to a plain number; None if it is not written with that decimal mark.

    >>> read_amount("1.234,50 €", ","), read_amount("$1,234.50", "."), read_amount("1.2", ",")
    ('1234.50', '1234.50', None)
    """
    found = re.fullmatch(AMOUNTS[decimal], text.strip())
    if found is None:
        return None
    sign, whole, digits = found.groups()
    return sign + re.sub(r"\D", "", whole) + (f".{digits}" if digits else "")


def find_age(birth: date, day: date) -> int | None:
    """Returns the age in whole years on a day; None if it is negative or above OLDEST.

    Somebody born on 29 February has their birthday on 1 March in other years.

    >>> find_age(date(1950, 3, 4), date(2026, 3, 3)), find_age(date(2027, 1, 1), date(2026, 1, 1))
    (75, None)
    """
    age = day.year - birth.year - ((day.month, day.day) < (birth.month, birth.day))
    return age if 0 <= age <= OLDEST else None


def _find_written_age(text: str, day: date) -> str | None:
    try:
        age = find_age(datetime.fromisoformat(text.strip()), day)
    except ValueError:
        return None
    return None if age is None else str(age)
