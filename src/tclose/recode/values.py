"""The released values of each class, column by column: intervals, ancestors, sets, or centroids.

release.md has the forms; `tclose.data.encode.labels` reads all of them back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
from pydantic import ConfigDict

from tclose.arrays import Ints
from tclose.data.binding import BoundTable
from tclose.data.encode.columns import MISSING, NUMBER, Dictionary
from tclose.data.encode.labels import ANYTHING, unit_of
from tclose.utility.loss import ColumnLoss, LossReport, Quasi, ends, weigh_loss


@dataclass(frozen=True)
class Released:
    """One column's released value for every class (None: missing)."""

    __pydantic_config__ = ConfigDict(
        extra="forbid",
        strict=True,
        # Older versions of pydantic do not take it from the docstring.
        json_schema_extra={
            "description": "One column's released value for every class (None: missing)."
        },
    )

    column: str
    kind: str
    values: tuple[str | None, ...]


@dataclass(frozen=True)
class SensitiveColumn:
    """A sensitive column that is not released as it is.

    `texts` are the values that may be written, `code[cell]` is the one of each cell (−1: missing);
    without `texts` the column keeps its values, and those of the cells with code −1 are missing.
    """

    code: Ints
    texts: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Recoding:
    """The class of each cell (−1: not released) and what every class is released as."""

    label: Ints
    released: tuple[Released, ...]
    loss: LossReport
    """Of the released values, not of the narrowest ones that would do."""
    quasi: Quasi
    """Where each cell lies (code −1: nowhere), so that it can be told roughly who is left out."""
    sensitive: Mapping[str, SensitiveColumn] = field(default_factory=dict)
    groups: Ints | None = None
    """Full-domain: the class of each cell, whether it is released or not."""

    def with_label(self, label: Ints, rows: Ints) -> Recoding:
        """The same classes with other cells in them, which stand for these numbers of rows."""
        names = [released.column for released in self.released]
        return replace(self, label=label, loss=weigh_loss(names, self.loss.classes, rows, label))


def merge_alike(columns: Sequence[Released]) -> tuple[tuple[Released, ...], list[int]]:
    """Released values in which classes released alike are one, and the new number of each class.

    >>> merge_alike([Released("q", "set", ("a", "b", "a"))])[1]
    [0, 1, 0]
    """
    rows = list(zip(*(released.values for released in columns), strict=True))
    number = {row: at for at, row in enumerate(dict.fromkeys(rows))}
    merged = tuple(
        Released(released.column, released.kind, tuple(row[at] for row in number))
        for at, released in enumerate(columns)
    )
    return merged, [number[row] for row in rows]


def number_released(recoding: Recoding) -> tuple[tuple[Released, ...], Ints]:
    """The classes that a reader sees, and which of them each class is; −1 for one without rows.

    Classes with equal released values are one.
    """
    used = np.unique(recoding.label[recoding.label >= 0])
    columns, number = merge_alike([
        replace(released, values=tuple(released.values[at] for at in used.tolist()))
        for released in recoding.released
    ])  # fmt: skip
    numbers = np.full(int(used.max(initial=-1)) + 2, -1, dtype=np.int64)  # the last: left out
    numbers[used] = number
    return columns, numbers


def count_released(recoding: Recoding) -> int:
    """The number of classes a reader sees."""
    return int(number_released(recoding)[1].max(initial=-1)) + 1


def write_values(
    bound: BoundTable, quasi: Quasi, label: Ints, *, recoding: str = "local"
) -> tuple[Released, ...]:
    """The released values of every class: recoded locally, or by the chosen centroid."""
    classes = int(label.max(initial=-1)) + 1
    kept = np.flatnonzero(label >= 0)
    result = []
    for at, column in enumerate(quasi.columns):
        writer = LabelWriter(column, bound.cells.dictionaries[column.name])
        codes, owner, kind = quasi.codes[kept, at], label[kept], recoding
        if recoding == "local":
            values, kind = writer.local(codes, owner, classes), column.kind
        else:
            values = writer.central(codes, owner, bound.cells.rows[kept], classes, recoding)
        result.append(Released(column.name, kind, tuple(values)))
    return tuple(result)


class LabelWriter:
    """Writes the labels of one column: `texts` and `last` are those of its codes."""

    def __init__(self, column: ColumnLoss, dictionary: Dictionary) -> None:
        self.column = column
        self.known = column.values - column.has_missing
        self.kind = dictionary.kind
        self.positions = dictionary.places[0]
        self.texts, self.last = _texts(column, dictionary)

    def local(self, codes: Ints, owner: Ints, classes: int) -> list[str | None]:
        """The narrowest label of each class."""
        if self.column.kind == "set":
            members: list[list[int]] = [[] for _ in range(classes)]
            for pair in np.unique(owner * self.column.values + codes).tolist():
                members[pair // self.column.values].append(pair % self.column.values)
            return [self._write_set(inside) for inside in members]
        low, high = ends(codes, owner, classes, self.column.values)
        spans = list(zip(low.tolist(), high.tolist(), strict=True))
        labels = {span: self._write_span(*span) for span in dict.fromkeys(spans)}
        return [labels[span] for span in spans]

    def _write_span(self, low: int, high: int) -> str | None:
        if low >= self.known:
            return None
        if high >= self.known:
            return ANYTHING
        tree = self.column.hierarchy
        if tree is None:
            return write_interval(self.texts[low], self.last[high])
        return tree.labels[tree.lca([int(self.column.place[low]), int(self.column.place[high])])]

    def _write_set(self, members: Sequence[int]) -> str | None:
        known = [code for code in members if code < self.known]
        known.sort(key=lambda code: float(self.column.place[code]))
        return write_set([self.texts[code] for code in known], missing=len(known) < len(members))

    def central(
        self, codes: Ints, owner: Ints, weight: Ints, classes: int, how: str
    ) -> list[str | None]:
        """Mean or median of numbers, the median of dates, the commonest value of all else."""
        order = np.lexsort((codes, owner))
        bounds = np.searchsorted(owner[order], np.arange(classes + 1))
        result: list[str | None] = []
        for start, stop in pairwise(bounds):
            some = order[start:stop]
            inside = codes[some] < self.known
            mine, theirs = codes[some][inside], weight[some][inside]
            result.append(self._centre(mine, theirs, how) if len(mine) else None)
        return result

    def _centre(self, codes: Ints, weight: Ints, how: str) -> str:
        on_a_line = self.column.kind == "interval" and how in ("mean", "median")
        if on_a_line and how == "mean" and self.kind == "number":
            pairs = zip(codes.tolist(), weight.tolist(), strict=True)
            total = sum((self.positions[code] * w for code, w in pairs), Fraction(0))
            unit = None if NUMBER.match(self.texts[0]) else unit_of(self.texts[0])
            before, after = unit or ("", "")
            return f"{before}{float(total / int(weight.sum())):.12g}{after}"
        if on_a_line:
            return self.texts[int(codes[np.searchsorted(np.cumsum(weight), weight.sum() / 2)])]
        return self.texts[int(np.argmax(np.bincount(codes, weight)))]


def write_interval(low: str, high: str) -> str:
    """An interval, or the value itself where both ends are one."""
    return low if low == high else f"[{low}, {high}]"


def write_set(names: Sequence[str], *, missing: bool) -> str | None:
    """A set of values, perhaps with a missing one; a single member as it is.

    >>> write_set(["flu", "a, b"], missing=True), write_set(["a, b"], missing=False)
    ('{flu, "a, b", (missing)}', 'a, b')
    """
    if len(names) + missing == 1:
        return names[0] if names else None
    return "{" + ", ".join([*map(quote_member, names), *[MISSING] * missing]) + "}"


def quote_member(text: str) -> str:
    """A value as a set writes it.

    >>> quote_member("flu"), quote_member("a, b")
    ('flu', '"a, b"')
    """
    plain = text and text == text.strip() and not set(text) & set(',{}"') and text != MISSING
    return text if plain else json.dumps(text, ensure_ascii=False)


def _texts(column: ColumnLoss, dictionary: Dictionary) -> tuple[list[str], list[str]]:
    """The text of each code; if several texts are the same number, its first and its last."""
    if column.kind == "tree" and column.hierarchy is not None:
        leaves = [column.hierarchy.labels[int(leaf)] for leaf in column.place]
        return leaves, leaves
    if column.kind == "set" or dictionary.positions is None:
        texts = [dictionary.labels[int(code)] for code in column.place]
        return texts, texts
    place, rank = dictionary.places
    first, last = [""] * len(place), [""] * len(place)
    for at, text in zip(rank.tolist(), dictionary.labels, strict=True):
        first[at], last[at] = first[at] or text, text
    return first, last
