"""Plain values: numbers as people write and read them, and results as JSON can hold them."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

LONGEST = 1000
"""Exponents beyond this are no quantity (`1e999999999` is an article number) but fill memory."""
MOST_DIGITS = 100
"""Of a whole number in JSON; products of two are still numbers that a float can show."""
CONTROLS = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff\ufff9-\ufffb\ufffe\uffff]"
)
"""C0 (but the end of a line), C1, what changes the direction or form of text, and what XML cannot
hold."""
Written = int | float | str | Decimal | Fraction
"""What people write numbers as."""


def escape_controls(text: str, *, lines: bool = True) -> str:
    """The text with every control character escaped, so that none reaches a terminal.

    Everything that is printed or rendered passes here: a cell may hold what moves a terminal's
    cursor, or shows words backwards. The ends of lines stay unless the text is one line.

    >>> print(escape_controls("a\\x1b[2Jb\\u202ec"))
    a\\u001b[2Jb\\u202ec
    """
    text = CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return text if lines else text.replace("\n", "\\n")


def join_lines(lines: Iterable[str]) -> str:
    """The lines of a text that is shown, each as one line, whatever names it holds.

    >>> print(join_lines(["first", "not\\nthree"]))
    first
    not\\nthree
    """
    return "\n".join(escape_controls(line, lines=False) for line in lines)


def exact(number: Written) -> Fraction:
    """The rational number that was written, read digit by digit.

    >>> exact(0.2), exact("1/8"), exact("2.50")
    (Fraction(1, 5), Fraction(1, 8), Fraction(5, 2))
    """
    if isinstance(number, bool):
        raise ValueError("a truth value is not a number")
    if isinstance(number, Fraction | int):
        return Fraction(number)
    text = str(number).strip()
    try:
        if "/" in text:
            above, below = text.split("/")
            return _read_decimal(above) / _read_decimal(below)
        return _read_decimal(text)
    except (InvalidOperation, ValueError, OverflowError, ZeroDivisionError) as error:
        raise ValueError("not a number or a fraction such as 1/8") from error


def _read_decimal(text: str) -> Fraction:
    """A decimal number; one with thousands of digits before or after its point is refused."""
    if "_" in text:
        raise ValueError("a name or a code, though Python reads 1_0 as ten")
    number = Decimal(text)
    is_long = abs(number.adjusted()) > LONGEST or len(number.as_tuple().digits) > LONGEST
    if number.is_finite() and is_long:
        raise ValueError("a number too large or too small to be meant")
    return Fraction(number)


def count_decimals(number: Fraction) -> int | None:
    """How many digits a number has after its point; None where they do not end.

    >>> count_decimals(Fraction(5, 2)), count_decimals(Fraction(7)), count_decimals(Fraction(1, 3))
    (1, 0, None)
    """
    rest, places = number.denominator, 0
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest, power = rest // prime, power + 1
        places = max(places, power)
    return places if rest == 1 else None


def write_number(number: Fraction) -> str:
    """The shortest exact text of a number: decimal if that ends, else a fraction.

    >>> write_number(Fraction(5, 2)), write_number(Fraction(-20)), write_number(Fraction(1, 3))
    ('2.5', '-20', '1/3')
    """
    places = count_decimals(number)
    if not places:
        return str(number)
    digits = str(abs(number.numerator) * 10**places // number.denominator).rjust(places + 1, "0")
    sign = "-" if number < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}"


def to_plain(value: object) -> Any:
    """The value for JSON: infinite numbers become null, and objects are converted by their
    `to_json`.

    >>> to_plain({"a": (1, float("inf"))})
    {'a': [1, None]}
    """
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {name: to_plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(inner) for inner in value]
    return value.to_json() if hasattr(value, "to_json") else value


def json_text(value: object) -> str:
    """Plain values as the lines of a JSON file, with control characters spelled out.

    >>> print(json_text({"a": "\\x1b\\u202e"}), end="")
    {
      "a": "\\u001b\\u202e"
    }
    """
    text = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    return escape_controls(text) + "\n"


def json_hash(value: object) -> str:
    """The sha256 of plain values, whatever the order of their keys.

    >>> json_hash({"k": 5, "l": 2}) == json_hash({"l": 2, "k": 5})
    True
    """
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class AmbiguousJson(ValueError):  # noqa: N818
    """JSON that programs read differently."""


def parse_json(text: str, parse_float: Callable[[str], object] = float) -> Any:
    """Plain values from JSON; raises AmbiguousJson where an object has a key twice, or a number is
    beyond measure.

    >>> parse_json('{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    >>> parse_json('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    tclose.plain.AmbiguousJson: a key occurs twice in one object
    """

    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise AmbiguousJson("a key occurs twice in one object")
        return found

    def refuse(number: str) -> object:
        raise AmbiguousJson("a number is none, or has hundreds or thousands of digits")

    def read_integer(digits: str) -> object:
        return int(digits) if len(digits) <= MOST_DIGITS else refuse(digits)

    def read_float(number: str) -> object:
        return refuse(number) if math.isinf(float(number)) else parse_float(number)

    return json.loads(
        text,
        object_pairs_hook=build,
        parse_int=read_integer,
        parse_float=read_float,
        parse_constant=refuse,
    )


def number_text(value: float) -> str:
    """A number as a steward reads it.

    >>> number_text(5.0), number_text(0.37500001), number_text(0.0), number_text(0.99999)
    ('5', '0.3750', '0', '0.99999')
    >>> number_text(0.0000130719), number_text(-1e-9)
    ('0.000013', 'just below 0')
    """
    if math.isinf(value):
        return "infinite"
    if value == int(value):
        return f"{int(value):,}"
    if abs(value) >= 1000:
        return f"{value:,.1f}"
    text = f"{value:.4f}"
    if float(text) == int(float(text)):
        text = f"{value:.6f}".rstrip("0").rstrip(".")
    return text if text.strip("-0") else f"just {'above' if value > 0 else 'below'} 0"


def share_text(share: float) -> str:
    """A share in percent with one decimal; never 0% or 100% unless it is exactly that.

    >>> share_text(0.123), share_text(0.0002), share_text(0.99999), share_text(1.0)
    ('12.3%', 'below 0.1%', 'above 99.9%', '100.0%')
    """
    text = f"{share:.1%}"
    if text == "0.0%" and share > 0:
        return "below 0.1%"
    return "above 99.9%" if text == "100.0%" and share < 1 else text


def rows_text(rows: int) -> str:
    """A number of rows in words.

    >>> rows_text(1), rows_text(2000)
    ('1 row', '2,000 rows')
    """
    return f"{rows:,} row{'' if rows == 1 else 's'}"


def describe_sample(tried: int, total: int, seed: int) -> str:
    """A note that only some rows were tried: how many of how many, and the seed."""
    return f" Tried on {tried:,} of {rows_text(total)}, drawn by chance (seed {seed})."


def classes_text(count: int) -> str:
    """A number of classes in words.

    >>> classes_text(1), classes_text(1200)
    ('1 class', '1,200 classes')
    """
    return f"{count:,} class{'' if count == 1 else 'es'}"
