"""The content of a report, apart from its appearance: paragraphs, numbers, tables and charts.

The HTML page, the JSON and the terminal view are made from the same document, so that their content
is the same. An external document is made without any value of the table; nothing is removed
afterwards.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from tclose.plain import share_text, to_plain

FORMAT = 1

Edition = Literal["internal", "external", "users"]
EDITIONS: tuple[Edition, ...] = ("external", "internal", "users")
Tone = Literal["plain", "good", "bad", "note", "aside", "strong"]
"""How a text is meant: good or bad news, a caution, an aside, or with emphasis."""
CLOSING = (
    "All numbers were counted on the table itself. They inform the decision whether it may be "
    "published, and do not replace it."
)


@dataclass(frozen=True)
class Paragraph:
    """Some sentences, with a tone."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True)
class Points:
    """A list; each entry has a few leading words."""

    entries: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Figure:
    """One number to be seen at a glance."""

    label: str
    value: str
    note: str = ""
    tone: Tone = "plain"


@dataclass(frozen=True)
class Figures:
    """Several numbers side by side."""

    entries: tuple[Figure, ...]


@dataclass(frozen=True)
class Table:
    """Rows of text below headings; the first cell of a row names it.

    `numeric` are the columns aligned as numbers, counted from 0; `tones` say for each row whether
    it is good news, if that is to be shown.
    """

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[int, ...] = ()
    tones: tuple[Tone, ...] = ()


@dataclass(frozen=True)
class Limit:
    """A limit, drawn as a line between two bins of a histogram."""

    words: str
    after: int
    """The number of bins before the line."""
    good: Literal["before", "after"]


@dataclass(frozen=True)
class Series:
    """Numbers with the same colour: one per bin or bar; None for no number."""

    name: str
    values: tuple[float | None, ...]


@dataclass(frozen=True)
class HistogramChart:
    """Shares of rows in bins, for one table or two, and the limit between bins."""

    title: str
    across: str
    up: str
    bins: tuple[str, ...]
    series: tuple[Series, ...]
    """Shares in [0, 1]."""
    limit: Limit | None = None
    edges: tuple[str, ...] = ()
    """Labels between the bins, if these are parts of a scale: one more than bins."""

    def table(self) -> Table:
        """Returns the numbers as a table."""
        return _tabulate(self.title, self.across, self.bins, self.series)


@dataclass(frozen=True)
class Bars:
    """A number in [0, most] for each name, as horizontal bars."""

    title: str
    across: str
    names: tuple[str, ...]
    series: tuple[Series, ...]
    most: float = 1.0

    def table(self) -> Table:
        """Returns the numbers as a table."""
        return _tabulate(self.title, "column", self.names, self.series)


@dataclass(frozen=True)
class Picture:
    """A finished SVG picture, with its numbers as a table.

    If it shows values of a table, it may only be in an internal document.
    """

    title: str
    svg: str
    numbers: Table
    narrow: str = ""
    """A version for narrow screens; empty for none."""

    def table(self) -> Table:
        """Returns the numbers as a table."""
        return self.numbers


Chart = HistogramChart | Bars | Picture


@dataclass(frozen=True)
class Fact:
    """One line of a card: a name, a value and, for a share, a bar of that length."""

    name: str
    value: str
    tone: Tone = "plain"
    share: float | None = None


@dataclass(frozen=True)
class Card:
    """Everything about one thing: a verdict, or a column."""

    title: str
    headline: str
    tone: Tone = "plain"
    facts: tuple[Fact, ...] = ()
    note: str = ""
    chart: HistogramChart | None = None


@dataclass(frozen=True)
class Cards:
    """Cards side by side, as many as fit."""

    entries: tuple[Card, ...]


@dataclass(frozen=True)
class Gauge:
    """One requirement: what is required and attained, and where both are on a scale from 0 to 1."""

    name: str
    sentence: str
    required: str
    attained: str
    outcome: str
    tone: Tone
    place: float | None = None
    """The position of what was attained."""
    limit: float | None = None
    before: str = ""
    """What was attained by the table before, that the release was made from."""


@dataclass(frozen=True)
class Gauges:
    """Requirements, one per row."""

    caption: str
    entries: tuple[Gauge, ...]

    @property
    def compares(self) -> bool:
        """Whether there is a table before."""
        return any(gauge.before for gauge in self.entries)

    def table(self) -> Table:
        """Returns the requirements as a table."""
        rows = []
        for gauge in self.entries:
            before = (gauge.before,) if self.compares else ()
            row = (
                gauge.name,
                gauge.sentence,
                gauge.required,
                *before,
                gauge.attained,
                gauge.outcome,
            )
            rows.append(row)
        was = ("before",) if self.compares else ()
        headings = ("promise", "in words", "required", *was, "attained", "outcome")
        tones = tuple(gauge.tone for gauge in self.entries)
        return Table(self.caption, headings, tuple(rows), tones=tones)


@dataclass(frozen=True)
class Folded:
    """Parts that are shown only on request."""

    summary: str
    parts: tuple[Part, ...]


Part = Paragraph | Points | Figures | Table | Chart | Cards | Gauges | Folded


@dataclass(frozen=True)
class Section:
    """A part of a document under one heading; `key` names it in JSON and in links."""

    key: str
    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Document:
    """A whole report.

    >>> page = Document("Report", "of a table", "external", (Section("a", "A", ()),))
    >>> page.with_section(Section("b", "B", ()), before="a").to_json()["sections"][0]["title"]
    'B'
    """

    title: str
    subtitle: str
    edition: Edition | None
    """None if there is only one edition."""
    sections: tuple[Section, ...]
    closing: str = CLOSING
    """The text below everything."""

    def with_section(self, section: Section, *, before: str = "") -> Document:
        """Returns the document with one more section, before that with key `before` or last."""
        keys = [section.key for section in self.sections]
        at = keys.index(before) if before in keys else len(keys)
        return replace(self, sections=(*self.sections[:at], section, *self.sections[at:]))

    def section(self, key: str) -> Section:
        """Returns the section with this key."""
        return next(section for section in self.sections if section.key == key)

    def to_json(self) -> dict[str, Any]:
        """Returns everything as plain values; pictures as their numbers."""
        return {
            "tclose_report": FORMAT,
            "title": self.title,
            "subtitle": self.subtitle,
            "edition": self.edition,
            "sections": [
                {**vars(section), "parts": [_part_to_json(part) for part in section.parts]}
                for section in self.sections
            ],
        }


def _part_to_json(part: Part) -> dict[str, Any]:
    if isinstance(part, Folded):
        inner = [_part_to_json(each) for each in part.parts]
        return {"kind": "folded", "summary": part.summary, "parts": inner}
    content: dict[str, Any] = asdict(part)
    for drawn in ("svg", "narrow"):
        content.pop(drawn, None)  # its numbers say the same
    for table in (content, content.get("numbers", {})):
        table.pop("tones", None)
    return {"kind": type(part).__name__.removesuffix("Chart").lower(), **to_plain(content)}


def _tabulate(title: str, first: str, names: tuple[str, ...], series: tuple[Series, ...]) -> Table:
    """Tabulates the numbers of a chart: a row for each name, a column for each series."""
    shares = (
        ("–" if value is None else share_text(value) for value in each.values) for each in series
    )
    rows = tuple(zip(names, *shares, strict=True))
    headings = (first, *(each.name for each in series))
    return Table(title, headings, rows, tuple(range(1, len(headings))))
