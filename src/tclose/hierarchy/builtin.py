"""Hierarchies that come with the package: groups of common codes and words, from public sources.

Those that are simple bands are settings of a builder (`AS_BUILDER`); the others look a value up in
a list in `lists`, whose first lines name its version and its source. A value that is not in the
list belongs to no group except the root.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from tclose.errors import UsageError, nearest
from tclose.hierarchy.build import ROOT, build_tree
from tclose.hierarchy.tree import Hierarchy

AS_BUILDER: dict[str, dict[str, Any]] = {
    "ages": {
        "cuts": [
            [*range(0, 91, 5)],
            [*range(0, 91, 10)],
            [0, 20, 40, 60, 80],
            [0, 20, 60],
        ]
    },
    "birth_dates": {"dates": ["year", "5 years", "decade", "20 years"]},
}
"""Built-in hierarchies that a builder makes, with the arguments of the builder."""
_BANDS = {
    "ages": ("ages in bands of 5, 10 and 20 years; 90 and over together", "made for this package"),
    "birth_dates": ("birth dates by year and bands of 5, 10 and 20 years", "made for this package"),
}
_ICD10 = re.compile(r"([A-Z][0-9][0-9A-Z])\.?[0-9A-Z]{0,4}[-+!]*")
_ZIP = re.compile(r"[0-9]{3,5}|[0-9]{5}-?[0-9]{4}")
_SMALL = "000**"

Climb = Callable[[str], Sequence[str] | None]
"""Maps a value to the groups above it, innermost first and without the root; None if unknown."""


@dataclass(frozen=True)
class BuiltIn:
    """A built-in hierarchy: its description, and the groups of any value.

    >>> find_builtin("icd10").climb("J45.901")
    ('J45*', 'J40-J47', 'J00-J99 breathing')
    >>> find_builtin("us_zip").climb("02139"), find_builtin("us_zip").climb("05901")
    (('021**', '0****'), ('000**',))
    >>> find_builtin("countries").climb("DE")
    ('Western Europe', 'Europe')
    """

    name: str
    title: str
    version: str
    source: str
    climb: Climb
    listed: tuple[str, ...]
    """Every value or code in the list."""

    def build(self, values: Iterable[str], column: str) -> Hierarchy:
        """Builds the tree of some values; unknown values are right below the root."""
        distinct = dict.fromkeys(values)
        return build_tree(([value, *(self.climb(value) or ()), ROOT] for value in distinct), column)

    def find_member(self, label: str) -> str:
        """Returns a value that belongs to a group; the label itself if it is not a group."""
        return _members(self.name).get(label, label)


def list_builtins() -> list[str]:
    """Returns the names of all built-in hierarchies."""
    return [*AS_BUILDER, *_LISTS]


@cache
def find_builtin(name: str) -> BuiltIn:
    """Returns a built-in hierarchy that uses a list; raises UsageError if there is none."""
    if name not in _LISTS:
        raise UsageError("no such built-in hierarchy", where=name, hint=nearest(name, _LISTS))
    facts, rows = _read_list(name)
    climb, listed = _LISTS[name](rows)
    return BuiltIn(name, facts["title"], facts["version"], facts["source"], climb, listed)


def describe_builtin(name: str) -> tuple[str, str, str]:
    """Returns title, version and source of any built-in hierarchy."""
    if name in _BANDS:
        return (*_BANDS[name], "bands, no list")
    found = find_builtin(name)
    return found.title, found.version, found.source


@cache
def _members(name: str) -> dict[str, str]:
    """Returns, for each group, a value that belongs to it."""
    found = find_builtin(name)
    member: dict[str, str] = {}
    for value in found.listed:
        for group in found.climb(value) or ():
            member.setdefault(group, value)
    return member


def _read_list(name: str) -> tuple[dict[str, str], list[list[str]]]:
    """Returns the facts in the first lines of a list, and its rows."""
    path = resources.files("tclose.hierarchy") / "lists" / f"{name}.csv"
    lines = path.read_text(encoding="utf-8").splitlines()
    comments = [line[2:].split(": ", 1) for line in lines if line.startswith("# ")]
    facts = {words[0]: words[1] for words in comments if len(words) == 2}
    return facts, [line.split(";") for line in lines if not line.startswith("#")]


def _plain(text: str) -> str:
    """Returns a word without capitals, accents and punctuation."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return " ".join(re.findall(r"[^\W_]+", bare))


def _climb_words(groups: dict[str, tuple[str, ...]]) -> tuple[Climb, tuple[str, ...]]:
    """Makes a lookup of words that ignores capitals, accents and punctuation."""
    plain = {_plain(word): above for word, above in groups.items()}
    return lambda value: plain.get(_plain(value)), tuple(groups)


def _icd10(rows: list[list[str]]) -> tuple[Climb, tuple[str, ...]]:
    special: dict[str, tuple[str, ...]] = {}
    blocks: list[tuple[str, str, tuple[str, ...]]] = []
    chapters: list[tuple[str, str, str]] = []
    for span, title, held in rows:
        chapter = f"{span} {title}"
        for block in held.split():
            name, _, category = block.partition("=")
            if category:
                special[category] = (name, chapter)
            else:
                low, high = block.split("-")
                blocks.append((low, high, (block, chapter)))
        if "=" not in held:
            low, high = span.split("-")
            chapters.append((low, high, chapter))
    blocks.sort()
    chapters.sort()

    def climb(value: str) -> tuple[str, ...] | None:
        found = _ICD10.fullmatch(value.strip().upper())
        if found is None:
            return None
        category = found[1]
        if category in special:
            return (f"{category}*", *special[category])
        at = bisect_right(blocks, (category, "~", ())) - 1
        if at >= 0 and category <= blocks[at][1]:
            return (f"{category}*", *blocks[at][2])
        chapter = [title for low, high, title in chapters if low <= category <= high]
        return (f"{category}*", chapter[0]) if chapter else None

    letters = sorted({low[0] for low, _, _ in blocks})
    codes = [f"{letter}{number:02d}" for letter in letters for number in range(100)]
    in_blocks = [code for code in codes if len(climb(code) or ()) == 3]
    return climb, tuple(dict.fromkeys([*in_blocks, *special]))


def _us_zip(rows: list[list[str]]) -> tuple[Climb, tuple[str, ...]]:
    small = {digits for digits, _ in rows} | {"000"}

    def climb(value: str) -> tuple[str, ...] | None:
        if not _ZIP.fullmatch(value.strip()):
            return None
        digits = value.strip().zfill(5)[:3]  # a number has lost its leading zeros
        return (_SMALL,) if digits in small else (f"{digits}**", f"{digits[0]}****")

    return climb, tuple(f"{number:03d}00" for number in range(1, 1000))


def _countries(rows: list[list[str]]) -> tuple[Climb, tuple[str, ...]]:
    groups: dict[str, tuple[str, ...]] = {}
    for region, part, two, three, names in rows:
        groups |= dict.fromkeys([*names.split("|"), two, three], (part, region))
    return _climb_words(groups)


def _education(rows: list[list[str]]) -> tuple[Climb, tuple[str, ...]]:
    return _climb_words(
        {word: (level, group) for group, level, words in rows for word in words.split("|")}
    )


def _occupation(rows: list[list[str]]) -> tuple[Climb, tuple[str, ...]]:
    words: dict[str, tuple[str, ...]] = {}
    by_digits: dict[str, tuple[str, ...]] = {}
    for skill, major, digits, title, values in rows:
        words |= {word: (major, skill) for word in values.split("|") if word}
        by_digits[major[0]] = (major, skill)
        if digits:
            by_digits[digits] = (f"{digits} {title}", major, skill)
    look_up, known = _climb_words(words)

    def climb(value: str) -> Sequence[str] | None:
        code = value.strip()
        if re.fullmatch("[0-9]{1,4}", code):
            return by_digits.get(code[:2])
        return look_up(value)

    return climb, (*by_digits, *known)


_LISTS: dict[str, Callable[[list[list[str]]], tuple[Climb, tuple[str, ...]]]] = {
    "countries": _countries,
    "education": _education,
    "icd10": _icd10,
    "occupation": _occupation,
    "us_zip": _us_zip,
}
