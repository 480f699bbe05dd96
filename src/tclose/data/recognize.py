"""Recognizes values that look like addresses, names, free text, codes or missing ones.

The patterns are those of the common written forms; they find what should not be passed on by
accident, and cannot prove that a column is harmless. Nothing here returns a value.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from itertools import repeat

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.data.encode.cells import Cells
from tclose.data.source import ROWS, Source, write_out
from tclose.distance.histogram import add_by_group
from tclose.errors import DataError
from tclose.policy.cleaning import AMOUNTS, CURRENCY, DecimalMark
from tclose.policy.model import Policy
from tclose.policy.suggest import is_person_number

SAMPLE = 10_000
"""How many rows are examined."""
LONGEST = 300
"""How many characters of a value are examined."""
TEXTS = 200_000
"""How many different texts of a column are examined."""
TEXT_BYTES = 1 << 26
"""About how many bytes of different texts are examined."""
FEW_KINDS = 0.05
"""The share of different texts in the first rows up to which all rows are examined."""
FEWEST = 20
"""How many values are needed for a share to mean anything."""
MOSTLY = 0.9
FREE_TEXT_WORDS = 5.0
SOME = 0.05
"""The share of different values from which on a number may be that of a person."""
ONCE = 0.01
"""The share of rows with a long text of their own from which on a column holds free text."""

EMAIL = re.compile(r"[\w.+-]+@[\w-]+(\.[\w-]+)+")
TELEPHONE = re.compile(
    r"(?<![\w.,-])(\+\d{1,3}([ ()/.-]{0,2}\d{2,8}){2,5}|\(?\d{2,5}\)?([ ()/.-]{1,2}\d{2,8}){2,5}"
    r"|\(?0\d{1,4}\)?( ?[/-] ?| )\d{5,9}|0\d{9,11})(?![\w-])"
)
DATE_WITHIN = re.compile(
    r"(?<![\w.,/-])(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d{2}))(?![-/.]?\d)"
)
GROUPED_NUMBER = re.compile(r"\d{1,3}([ ,.]\d{3})+([.,]\d+)?")
ADDRESS_OF_WEB = re.compile(r"https?://\S+", re.IGNORECASE)
ADDRESS_OF_MACHINE = re.compile(r"(?<![\d.])(\d{1,3}\.){3}\d{1,3}(?![\d.])")
IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
NATIONAL_ID = re.compile(
    r"(?<![\w-])(\d{3}-\d{2}-\d{4}|756\.\d{4}\.\d{4}\.\d{2}|\d{6}[-+]\d{4}|\d{8}-?[A-HJ-NP-TV-Z])"
    r"(?![\w-])"
)
ORDERED = re.compile(r"\d+|[+-]?\d+\.\d+|\d{4}-\d{2}-\d{2}([T ][\d:.]+)?")
"""Texts that are numbers or dates, which are released as intervals."""
ICD_10 = re.compile(r"[A-Z]\d[0-9AB]\.?[0-9A-Z]{0,4}-?[*+!†]?")
ICD_9 = re.compile(r"\d{3}(\.\d{1,2})?|V\d{2}(\.\d{1,2})?|E\d{3}(\.\d)?")
BETWEEN_CODES = re.compile(r"\s*[,;|/]\s*|\s+")
"""What separates the codes of a list."""
SURE_ICD_9 = re.compile(r"[VE]\d+(\.\d+)?|0\d{2}\.\d+")
"""Codes of ICD-9 that are not plain numbers."""
MONEY = re.compile(
    r"([$€£¥]|(USD|EUR|GBP|CHF|Fr\.|kr) ?)\s?-?\d[\d., ']*"
    r"|-?\d[\d., ']*\s?([$€£¥]|USD|EUR|GBP|CHF|kr)"
    r"|\d{1,3}(,\d{3})+\.\d{2}|\d{1,3}(\.\d{3})+,\d{2}"
)
MARKS = frozenset(
    "? ?? - -- . n/a na #n/a nan null nil unknown unk missing unbekannt k.a. inconnu desconocido "
    "desconhecido sconosciuto onbekend n.a. n.d. n.b. k.a o.a.".split()
) | {
    "not known", "not available", "not stated", "not reported", "keine angabe", "ohne angabe",
    "nicht bekannt", "k. a.", "non renseigné", "non connu", "ne sait pas",
}  # fmt: skip
"""Texts that mean a missing value, in lower case."""
ZERO_DATE = re.compile(r"0{1,4}([-/.])0{1,2}\1(?:0{1,4})( 0+:0+(:0+)?)?")
"""A date of zeros, which some exports write where there is none."""
NUMBER_MARKS = frozenset(("-9", "-99", "-999", "-9999", "-9.0", "-99.0", "-999.0"))
"""Numbers that mean a missing value if the others are not negative."""
NAME = re.compile(
    r"[^\W\d_a-z][^\W\d_]+(?:, ?| |-| [^\W\d_]\. ?)[^\W\d_a-z][^\W\d_]+(?: [^\W\d_]+)?"
)

GIVEN = 0.3
"""The share of values with a common given name from which on a column seems to name people."""
SUSPECT = re.compile(r"@|://|[A-Z]{2}\d{2}|(\d[^\w,]{0,3}){7}|(\d{1,3}\.){3}\d|\d{6}[-+]\d{4}")
"""What every value has that `ANYWHERE` could find something in."""


@cache
def list_given_names() -> frozenset[str]:
    """Common given names, written down by hand from everyday knowledge of several languages."""
    listed = resources.files("tclose.data") / "given_names.txt"
    return frozenset(listed.read_text(encoding="utf-8").split())


def has_given_name(text: str) -> bool:
    """Whether a text of few capitalized words has a common given name among them.

    >>> [has_given_name(text) for text in ("Köhler, Jörg", "Maria", "Heart Failure", "maria")]
    [True, True, False, False]
    """
    words = re.findall(r"[^\W\d_]+", text)
    if not 1 <= len(words) <= 4:
        return False
    return any(word[0].isupper() and word.casefold() in list_given_names() for word in words)


def has_iban(text: str) -> bool:
    """Whether an account number with right check digits is in the text.

    >>> has_iban("DE89 3704 0044 0532 0130 00"), has_iban("DE88 3704 0044 0532 0130 00")
    (True, False)
    """
    for found in IBAN.finditer(text):
        number = found[0].replace(" ", "")
        digits = "".join(str(int(letter, 36)) for letter in number[4:] + number[:4])
        if int(digits) % 97 == 1:
            return True
    return False


def has_telephone(text: str) -> bool:
    """Whether a telephone number is in the text; a date is none, nor a number of thousands.

    >>> [has_telephone(text) for text in ("call 0171 555 12 34", "seen 24.10.2023", "1 234 567")]
    [True, False, False]
    """
    if GROUPED_NUMBER.fullmatch(text.strip()) or NATIONAL_ID.search(text):
        return False
    text = DATE_WITHIN.sub(" ", text)
    return any(
        sum(letter.isdigit() for letter in found[0]) >= 7 for found in TELEPHONE.finditer(text)
    )


ANYWHERE: dict[str, Callable[[str], object]] = {
    "e-mail addresses": lambda text: "@" in text and EMAIL.search(text),
    "account numbers (IBAN)": has_iban,
    "national identity numbers": NATIONAL_ID.search,
    "telephone numbers": has_telephone,
    "web addresses": ADDRESS_OF_WEB.search,
    "addresses of machines (IP)": ADDRESS_OF_MACHINE.search,
}
"""Kinds of texts that are also found within longer texts."""


NAMES, FREE_TEXT = "names of people", "free text"


@dataclass(frozen=True)
class ColumnPattern:
    """A kind of values found in a column, and their share."""

    kind: str
    share: float
    """Of the values that are not missing."""

    def __str__(self) -> str:
        if self.share >= 1:
            return self.kind
        percent = "under 1" if self.share < 0.01 else f"{100 * self.share:.0f}"
        return f"{self.kind} in {percent} % of its values"


def find_patterns(values: Iterable[str] | Mapping[str, int]) -> list[ColumnPattern]:
    """Finds kinds of texts, given with or without counts, that should not be released by accident.

    >>> print(*find_patterns(["ask ann@example.org", "none"]))
    e-mail addresses in 50 % of its values
    """
    occurrences = Counter(values)
    n_values = occurrences.total()
    found = []
    suspect = {value: n for value, n in occurrences.items() if SUSPECT.search(value)}
    for kind, test in ANYWHERE.items():
        rows = sum(count for value, count in suspect.items() if test(value))
        if rows:
            found.append(ColumnPattern(kind, rows / n_values))
    distinct = len(occurrences) / max(n_values, 1)
    if n_values >= FEWEST and distinct > 0.2:
        words = sum(count * len(value.split()) for value, count in occurrences.items()) / n_values
        names = sum(n for value, n in occurrences.items() if NAME.fullmatch(value.strip()))
        named = names / n_values
        if words >= FREE_TEXT_WORDS:
            found.append(ColumnPattern(FREE_TEXT, 1.0))
        elif named > MOSTLY and distinct > 0.5:
            found.append(ColumnPattern(NAMES, named))
    if not any(pattern.kind == FREE_TEXT for pattern in found):
        found += _find_some_free_text(occurrences)
    if n_values >= FEWEST and len(occurrences) >= FEWEST and not found:
        given = sum(n for value, n in occurrences.items() if has_given_name(value)) / n_values
        if given >= GIVEN:
            found.append(ColumnPattern(NAMES, 1.0))
    return found


def _find_some_free_text(occurrences: Counter[str]) -> list[ColumnPattern]:
    """Finds free text among other values: long texts, many of which occur only once."""
    n_values = occurrences.total()
    long = {text: n for text, n in occurrences.items() if len(text.split()) >= FREE_TEXT_WORDS}
    once = sum(n == 1 for n in long.values())
    if once < max(FEWEST, ONCE * n_values):
        return []
    return [ColumnPattern(FREE_TEXT, sum(long.values()) / n_values)]


def find_codes(values: Sequence[str]) -> list[ColumnPattern]:
    """Which codes or amounts nearly all values are: diagnoses by ICD-9 or ICD-10, or money.

    A code of three characters may be a room: some must be longer. A number may be anything: some
    codes of ICD-9 must be none.

    >>> print(*find_codes(["J45.901", "E11.9", "I10"] * 9), *find_codes(["$1,200.50", "$80"] * 9))
    ICD-10 codes amounts of money
    """
    occurrences = Counter(values)

    lists = {value: BETWEEN_CODES.split(value.strip()) for value in occurrences}

    def share(pattern: re.Pattern[str]) -> float:
        rows = sum(
            n for value, n in occurrences.items() if all(map(pattern.fullmatch, lists[value]))
        )
        return rows / max(len(values), 1)

    parts = {part for listed in lists.values() for part in listed}
    found = {}
    if any(ICD_10.fullmatch(part) and len(part) > 3 for part in parts):
        found["ICD-10 codes"] = share(ICD_10)
    if any(map(SURE_ICD_9.fullmatch, parts)):
        found["ICD-9 codes"] = share(ICD_9)
    if any(len(listed) > 1 for listed in lists.values()):
        found = {f"lists of {kind}": much for kind, much in found.items()}
    money = sum(n for value, n in occurrences.items() if MONEY.fullmatch(value.strip()))
    found["amounts of money"] = money / max(len(values), 1)
    return [ColumnPattern(kind, much) for kind, much in found.items() if much >= MOSTLY]


def find_marks(values: Iterable[str]) -> tuple[str, ...]:
    """The values that mean "missing", as they are written, the commonest first.

    >>> find_marks(["a", "b", "c", "?", "N/A", "?"]), find_marks(["3", "-9"]), find_marks(["-9"])
    (('?', 'N/A'), ('-9',), ())
    """
    occurrences = Counter(values)
    marks = [
        value
        for value in occurrences
        if value.strip().casefold() in MARKS or ZERO_DATE.fullmatch(value.strip())
    ]
    others = [value for value in occurrences if value not in marks]
    numbers = [value for value in others if value not in NUMBER_MARKS]
    if len(numbers) < len(others) and all(value[:1].isdigit() for value in numbers):
        marks += [value for value in others if value in NUMBER_MARKS]
        others = numbers
    rows = sum(occurrences[value] for value in marks)
    if not others or rows > sum(occurrences.values()) / 2:
        return ()
    return tuple(sorted(marks, key=lambda value: (-occurrences[value], value)))


def find_decimal_marks(values: Iterable[str]) -> tuple[DecimalMark, ...]:
    """The decimal marks by which all values are amounts of at most one currency; both if it cannot
    be decided whether a mark separates thousands or decimals.

    >>> find_decimal_marks(["1.234,50", "80"]), find_decimal_marks(["1,234"])
    ((',',), (',', '.'))
    """
    texts = {value.strip() for value in values}
    signs = {found[0] for text in texts if (found := re.search(CURRENCY, text))}
    if len(signs) > 1 or not any(mark in text for mark in ",." for text in texts):
        return ()
    return tuple(
        mark for mark in AMOUNTS if all(re.fullmatch(AMOUNTS[mark], text) for text in texts)
    )


def is_nearly_unique(values: pa.Array | pa.ChunkedArray) -> bool:
    """Whether nearly every value occurs once, so that it finds a row again.

    >>> is_nearly_unique(pa.array(range(100))), is_nearly_unique(pa.array([1, 2] * 50))
    (True, False)
    """
    known = int(len(values) - values.null_count)
    try:
        distinct = int(pc.count_distinct(values).as_py())
    except pa.ArrowNotImplementedError:  # decimals of many digits, and the like
        return False
    return known >= FEWEST and distinct > MOSTLY * known


def describe_exposed(
    policy: Policy, source: Source, cells: Cells | None = None, *, exact_quasi: bool = False
) -> tuple[str, ...]:
    """Warnings about columns that a release would show unchanged, unless the policy accepts them.

    Columns that are counted in `cells` are not counted again.

    Identifiers are not released. Values of quasi-identifiers without a hierarchy are listed in
    sets, or released as they are (`exact_quasi`).
    """
    shown = [
        name
        for name, column in policy.columns.items()
        if name in source.columns
        and column.accept is None
        and column.role in ("sensitive", "insensitive", "quasi")
        and source.is_scalar(name)
    ]
    warnings = []
    for name, sample in (sample_columns(source, shown) if shown else {}).items():
        values = write_out(sample)
        in_sets = policy.columns[name].role == "quasi" and not exact_quasi
        in_groups = in_sets and policy.columns[name].hierarchy is not None
        if cells is not None and name in cells.codes:
            texts = _count_cell_texts(cells, name)
        else:
            texts = _count_all_texts(source, name, values)
        reasons = [str(found) for found in find_patterns(texts)]
        if is_nearly_unique(values) and not in_sets:
            reasons.append("nearly every value occurs once, so it identifies a person")
        if in_sets and not in_groups and _names_each(texts):
            reasons.append(
                "most rows have a value of their own, and every set lists those of its rows"
            )
        if reasons:
            how = "released in sets" if in_sets else "released as they are"
            how = "released as they are or in groups" if in_groups else how
            remedy = "Make it an identifier"
            if policy.columns[name].role == "sensitive" and _are_numbers(values):
                remedy = "Round it (clean = { round = … }), make it an identifier"
            elif in_sets and not in_groups:
                remedy = "Give it a hierarchy or a date_format, make it an identifier"
            warnings.append(
                f"values of column {name!r} are {how}: {'; '.join(reasons)}. {remedy}, or say why "
                'it may be released: accept = "…"'
            )
    return tuple(warnings)


def describe_repeated_people(policy: Policy, source: Source) -> tuple[str, ...]:
    """Warnings about identifiers that seem to number people who have several rows, each of which
    counts as a person of its own; none where the policy names a `subject`.

    Looked at are the first rows. A number of few values is hardly that of a person.
    """
    numbers = [
        name
        for name in policy.identifiers
        if policy.counting is None or policy.counting[0] == "weight"
        if name in source.columns and policy.columns[name].accept is None
        if is_person_number(name) and name != policy.household and source.is_scalar(name)
    ]
    repeated = []
    for name, values in (sample_columns(source, numbers) if numbers else {}).items():
        known = len(values) - values.null_count
        if known >= FEWEST and SOME * known < pc.count_distinct(values).as_py() < known:
            repeated.append(name)
    instead = "" if policy.counting is None else " (in place of the weight)"
    return tuple(
        f"some values of column {name!r} occur in several rows: if each stands for a person, "
        f'classes count rows and hold fewer people. Give it the role "subject"{instead}, which '
        'counts people, or say why rows may be counted: accept = "…"'
        for name in repeated
    )


def _are_numbers(values: pa.ChunkedArray) -> bool:
    """Whether all values are numbers that can be rounded."""
    if values.type != pa.large_string():
        return bool(pa.types.is_floating(values.type) or pa.types.is_decimal(values.type))
    return bool(pc.all(pc.match_substring_regex(values, r"^[+-]?\d+\.\d+$")).as_py())


def _names_each(texts: Counter[str]) -> bool:
    """Whether sets reveal nearly as much as the texts themselves, as intervals do not."""
    if texts.total() < FEWEST or 2 * sum(n == 1 for n in texts.values()) <= texts.total():
        return False
    return not all(map(ORDERED.fullmatch, texts))


def _count_all_texts(source: Source, name: str, sample: pa.ChunkedArray) -> Counter[str]:
    """The texts of the whole column, where they are not too much to look at; else the sample's."""
    first = _count_texts(sample, repeat(1))
    if not first or len(sample) < SAMPLE:
        return first
    each = sample.nbytes / len(sample)
    # What is grouped has to fit: texts of few kinds, or not too many of them.
    if len(first) > FEW_KINDS * len(sample) and source.n_rows * each > TEXT_BYTES:
        return first
    within = replace(source, max_cells=min(source.max_cells, TEXTS, int(TEXT_BYTES / each)))
    try:
        counted = within.group_within_limit([name])
    except DataError:
        counted = None
    if counted is None:
        return first
    return _count_texts(write_out(counted.column(name)), counted.column(ROWS).to_pylist())


def _count_cell_texts(cells: Cells, name: str) -> Counter[str]:
    """The texts of a whole column that was counted already; of another column none."""
    dictionary, code = cells.dictionaries[name], cells.codes[name]
    rows = add_by_group(cells.table_rows, code, dictionary.known + 1)
    return _count_texts(write_out(dictionary.values), rows.tolist())


def _count_texts(values: pa.Array | pa.ChunkedArray, rows: Iterable[int]) -> Counter[str]:
    """The beginnings of some texts, and how many rows have each; of other values none."""
    found: Counter[str] = Counter()
    if values.type != pa.large_string():
        return found
    texts = pc.utf8_slice_codeunits(values, 0, LONGEST).to_pylist()
    for text, each in zip(texts, rows, strict=False):
        if text and each:
            found[text] += each
    return found


def sample_columns(source: Source, columns: Sequence[str]) -> dict[str, pa.ChunkedArray]:
    """The first rows of some columns; of a table that cannot be read by rows, common values."""
    try:
        table = source.read_first(columns, SAMPLE)
        return dict(zip(columns, table.columns, strict=True))
    except DataError:
        return {name: _sample_values(source, name) for name in columns}


def _sample_values(source: Source, column: str) -> pa.ChunkedArray:
    try:
        counted = source.group([column]).sort_by([(ROWS, "descending")])
    except DataError:  # values that only their database knows
        return pa.chunked_array([], pa.null())
    row = np.repeat(np.arange(counted.num_rows), counted.column(ROWS).to_numpy())
    return counted.column(column).take(pa.array(row[:SAMPLE]))
