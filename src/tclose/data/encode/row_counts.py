"""What a row counts where the policy says so: for several rows, with a weight, or for a person.

- a *count* column: the row stands for that many rows;
- a *weight* column: distributions are weighted, exactly: decimal weights become whole numbers over
  a common denominator. Rows are still counted one by one;
- a *subject* column: it names the person, and several rows of one person are one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.data.encode.cells import Cells, count_cells, encode_columns, merge_equal
from tclose.data.encode.dictionary import NUMBER, Dictionary
from tclose.data.encode.persons import Persons
from tclose.data.source import ROWS, Source
from tclose.distance.histogram import Counts, lexicographic
from tclose.errors import DataError

Ints = NDArray[np.int64]
LARGEST = 2**62
"""What all rows together may count for."""


def count_weighted_cells(
    source: Source, columns: Sequence[str], counting: tuple[str, str] | None
) -> Cells:
    """Counts the distinct tuples of some columns; `counting` is a role and the column that has it.

    >>> from tclose.data.open import open_source
    >>> table = open_source(pa.table({"a": ["x", "x", "y"], "w": ["0.5", "0.5", "1"]}))
    >>> cells = count_weighted_cells(table, ["a"], ("weight", "w"))
    >>> cells.rows.tolist(), cells.weight.tolist()
    ([2, 1], [1, 1])
    """
    if counting is None:
        return count_cells(source, columns)
    role, name = counting
    if not source.is_scalar(name):
        raise DataError(
            f"a {role} column must hold plain values, not lists, bytes or durations",
            where=f"column {name!r}",
        )
    table = source.group([*columns, name])
    if table.num_rows == 0:
        return count_cells(source, columns)
    rows = table.column(ROWS).to_numpy().astype(np.int64)
    own, code = Dictionary.encode(table.column(name), name)
    dictionaries, codes = encode_columns(table, columns)
    del table
    if role == "subject":
        return _by_person(name, own, code, dictionaries, codes, rows)
    number = _read_numbers(role, name, own, code, rows)
    order = lexicographic(*codes.values())
    codes = {column: each[order] for column, each in codes.items()}
    counts = (number[code] * rows)[order]
    if role == "count":
        cells, place = merge_equal(dictionaries, codes, _refuse_many(counts, name))
        lines = np.zeros(len(cells.rows), dtype=np.int64)
        np.add.at(lines, place, rows[order])
        return replace(cells, records=lines)
    cells = merge_equal(dictionaries, codes, rows[order], counts)[0]
    return replace(cells, weight=_reduce_weight(cells))


def count_invalid(source: Source, role: str, name: str) -> int:
    """How many rows do not say what they count for."""
    table = source.group([name])
    own, code = Dictionary.encode(table.column(name), name)
    return _wrong(role, _exact(own), code, table.column(ROWS).to_numpy().astype(np.int64))


def _read_numbers(role: str, name: str, own: Dictionary, code: Ints, rows: Ints) -> Counts:
    """The number that each value of the column stands for, as whole numbers; one for a missing."""
    exact = _exact(own)
    wrong = _wrong(role, exact, code, rows)
    if wrong:
        wanted = "whole number from 1 on" if role == "count" else "positive number"
        raise DataError(
            f"{wrong:,} row{' has' if wrong == 1 else 's have'} no {wanted} in the {role} column",
            where=f"column {name!r}",
            hint="mend or leave out these rows; a missing value is no number",
        )
    known = [number for number in exact if number is not None]
    below = math.lcm(*(number.denominator for number in known))
    number = [*(int(number * below) for number in known), 0]
    small = max(number) * int(rows.sum()) < LARGEST
    return np.array(number, dtype=np.int64 if small else object)


def _wrong(role: str, exact: Sequence[Fraction | None], code: Ints, rows: Ints) -> int:
    good = [number is not None and _is_allowed(role, number) for number in exact]
    return int(rows[~np.array([*good, False])[code]].sum())


def _exact(own: Dictionary) -> list[Fraction | None]:
    """The numbers as they are written; of short floats, as these are written."""
    texts: Sequence[str] = own.labels
    if pa.types.is_float32(own.values.type) or pa.types.is_float16(own.values.type):
        texts = [str(value) for value in own.values.to_numpy(zero_copy_only=False)]
    return [Fraction(Decimal(text)) if NUMBER.match(text) else None for text in texts]


def _is_allowed(role: str, number: Fraction) -> bool:
    return number >= 1 and number.denominator == 1 if role == "count" else number > 0


def _refuse_many(counts: Counts, name: str) -> Ints:
    """The rows that each tuple stands for; raises where they are too many to be counted."""
    if counts.dtype == object and sum(counts.tolist()) >= LARGEST:
        raise DataError(
            "the counts add up to more rows than can be counted",
            where=f"column {name!r}",
            hint="is it the right column?",
        )
    result: Ints = counts.astype(np.int64)
    return result


def _reduce_weight(cells: Cells) -> Counts | None:
    """The masses without a common factor; none where they are the numbers of rows."""
    assert cells.weight is not None
    mass = cells.weight // np.gcd.reduce(cells.weight)
    if mass.dtype == object and sum(mass.tolist()) < LARGEST:
        mass = mass.astype(np.int64)
    return None if np.array_equal(mass, cells.rows) else mass


def _by_person(
    name: str,
    own: Dictionary,
    who: Ints,
    dictionaries: dict[str, Dictionary],
    codes: dict[str, Ints],
    rows: Ints,
) -> Cells:
    nobody = int(rows[who >= own.known].sum())
    if nobody:
        raise DataError(
            f"{nobody:,} row{' names' if nobody == 1 else 's name'} nobody in the subject column",
            where=f"column {name!r}",
            hint="give each its person, or leave these rows out",
        )
    order = lexicographic(*codes.values(), who)
    codes = {column: each[order] for column, each in codes.items()}
    cells, place = merge_equal(dictionaries, codes, rows[order])
    who = who[order]
    once = np.append(True, (place[1:] != place[:-1]) | (who[1:] != who[:-1]))
    return replace(cells, persons=Persons(place[once], who[once]))
