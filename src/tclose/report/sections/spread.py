"""How rows are spread over sizes and distances of classes, and which classes are worst off.

Bins end where the limit is, and a class stands on the side of the limit on which it was judged:
the picture cannot contradict the verdict by a rounding. An external document names no class, not
even by its number: with the release beside it a number would lead to the values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tclose.distance.registry import DISTANCES
from tclose.report.document import (
    HistogramChart,
    Limit,
    Paragraph,
    Part,
    Picture,
    Section,
    Series,
    Table,
)
from tclose.report.explanation import draw_flow
from tclose.report.subject import Subject
from tclose.verify.audit import Audit
from tclose.verify.explanation import Explanation, explain_class
from tclose.verify.verdict import ClassReport, Verdict
from tclose.verify.wording import number_text

Floats = NDArray[np.float64]


SIZES = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Where bins of class sizes start; the promised k is put among them."""
BINS = 20
MOST_BELOW = 10
MOST_MARKS = 11
MOST_BINS = 60


def make_spread_section(subject: Subject) -> Section:
    """The distributions of class sizes and distances, with the limits drawn."""
    parts: list[Part] = [
        Paragraph(
            "Each bar is a share of the rows. A limit that was promised stands between the bars; "
            "nothing may be beyond it, in smaller classes or at greater distances."
        ),
        chart_sizes(subject),
    ]
    parts += [
        chart_distances(subject, verdict)
        for verdict in subject.now.audit.requirements
        if _can_be_drawn(subject.now.audit, verdict)
    ]
    return Section("spread", "How large and how close the classes are", tuple(parts))


def chart_sizes(subject: Subject) -> HistogramChart:
    """How many rows are in classes of which size."""
    k = subject.now.audit.bound.policy.k
    sizes = [audit.bound.classes.size.astype(np.float64) for audit in _list_audits(subject)]
    rows = [_count_rows(audit) for audit in _list_audits(subject)]
    largest = max(k or 1, *(float(size.max()) for size in sizes))
    starts = sorted(
        {start for start in SIZES if start <= largest} | ({k} if k is not None else set())
    )
    edges = np.array([*starts, np.inf], dtype=np.float64)
    bins = tuple(
        _write_range(start, starts[at + 1] - 1 if at + 1 < len(starts) else None)
        for at, start in enumerate(starts)
    )
    series = tuple(
        Series(name, _share_rows(np.searchsorted(edges, size, side="right") - 1, each, len(bins)))
        for name, size, each in zip(_name_series(subject), sizes, rows, strict=True)
    )
    what = "rows" if subject.now.audit.bound.policy.subject is None else "persons"
    limit = None if k is None else Limit(f"at least {k:,} {what}", starts.index(k), "after")
    across = f"{what} in the class"
    return HistogramChart(
        "Rows by the size of their class", across, "share of rows", bins, series, limit
    )


def chart_distances(subject: Subject, verdict: Verdict) -> HistogramChart:
    """How many rows are in classes how far from the whole table."""
    pairs = [(subject.now.audit, verdict)]
    was = subject.was(verdict)
    if subject.before is not None and was is not None:
        pairs.insert(0, (subject.before.audit, was))
    limit = find_limit(verdict)
    scale = _choose_bins(
        max(float(np.max(_drop_infinite(judged.measurement.value))) for _, judged in pairs), limit
    )
    series = tuple(
        Series(name, _share_rows(_place_classes(judged, scale), _count_rows(audit), scale.count))
        for name, (audit, judged) in zip(_name_series(subject)[-len(pairs) :], pairs, strict=True)
    )
    measure = DISTANCES.get(verdict.distance or "")
    in_bits = measure is not None and measure.in_bits
    unit = "bits" if in_bits else "0 alike, 1 as different as can be"
    return HistogramChart(
        f"Rows by how far their class is from the whole table: {verdict.attribute}",
        f"distance ({verdict.distance}; {unit})",
        "share of rows",
        scale.bins,
        series,
        None if limit is None else Limit(f"at most {verdict.required}", scale.below, "before"),
        scale.edges,
    )


def find_limit(verdict: Verdict) -> float | None:
    """The limit of a requirement as a number: what a class attains plus what it is short of it."""
    if verdict.required is None:
        return None
    known = np.flatnonzero(np.isfinite(verdict.measurement.value))
    if not len(known):
        return None
    at = int(known[0])
    return float(verdict.measurement.value[at] + verdict.measurement.margin[at])


def _can_be_drawn(audit: Audit, verdict: Verdict) -> bool:
    """Whether the distances of a requirement are those of the classes, and there are any."""
    value = verdict.measurement.value
    return (
        verdict.distance is not None
        and verdict.adversary == "knows_class"
        and len(value) == audit.classes
        and bool(np.isfinite(value).any())
    )


@dataclass(frozen=True)
class DistanceBins:
    """Bins of equal width over a distance, so many of them below the limit."""

    step: float
    below: int
    count: int
    zero: bool = False
    """The first bin is for classes exactly like the table, where the limit is 0."""
    more: bool = False
    """The last bin holds everything farther away, too."""

    @property
    def edges(self) -> tuple[str, ...]:
        """What is written between the bins; not everywhere, where there are many."""
        marks = ["", *self._marks] if self.zero else self._marks
        every = -(-len(marks) // MOST_MARKS)
        return tuple(mark if at % every == self.zero else "" for at, mark in enumerate(marks))

    @property
    def bins(self) -> tuple[str, ...]:
        """What each bin holds."""
        first = ["exactly 0"] if self.zero else []
        names = [*first, *(f"{low} to {high}" for low, high in pairwise(self._marks))]
        return (*names[:-1], f"{self._marks[-2]} and more" if self.more else names[-1])

    @property
    def _marks(self) -> list[str]:
        return [f"{self.step * at:.3g}" for at in range(self.count - self.zero + 1)]


def _choose_bins(most: float, limit: float | None) -> DistanceBins:
    """Bins up to the largest distance, of which one ends at the limit."""
    if limit is None:
        return DistanceBins((most or 1.0) / BINS, 0, BINS)
    if limit <= 0:
        return DistanceBins((most or 1.0) / BINS, 1, BINS + 1, zero=True)
    # Beside a large distance a small limit gets fewer bins, at least one.
    below = max(1, min(MOST_BELOW, int(BINS * limit / most))) if most else MOST_BELOW
    below = _choose_parts(limit, below)
    step = limit / below
    count = int(np.ceil(most / step - 1e-9))
    return DistanceBins(step, below, max(min(count, MOST_BINS), below + 1), more=count > MOST_BINS)


def _choose_parts(limit: float, most: int) -> int:
    """Of nearly as many parts as there may be, the number that cuts a limit into round steps.

    >>> _choose_parts(0.35, 8), _choose_parts(0.3, 10), _choose_parts(1 / 3, 10)
    (7, 10, 10)
    """
    some = range(most, most // 2, -1)
    return min(some, key=lambda parts: min(len(f"{limit / parts:.5g}"), 6))


def _place_classes(verdict: Verdict, scale: DistanceBins) -> NDArray[np.int64]:
    """The bin of each class: by its distance, but on the side of the limit where it was judged."""
    measured, last = verdict.measurement, scale.count - 1
    value = np.where(np.isfinite(measured.value), measured.value, scale.step * scale.count)
    place = np.clip(np.ceil(value / scale.step - 1e-9) - 1 + scale.zero, 0, last)
    if scale.below:
        good = np.minimum(place, scale.below - 1)
        place = np.where(measured.fails, np.maximum(place, scale.below), good)
    return np.asarray(np.minimum(place, last), dtype=np.int64)


def _share_rows(place: NDArray[np.int64], size: Floats, count: int) -> tuple[float, ...]:
    rows = np.bincount(place, weights=size, minlength=count)
    return tuple(float(count) / float(size.sum()) for count in rows)


def _list_audits(subject: Subject) -> list[Audit]:
    before = [] if subject.before is None else [subject.before.audit]
    return [*before, subject.now.audit]


def _name_series(subject: Subject) -> list[str]:
    return [subject.thing] if subject.before is None else ["before", "after"]


def _count_rows(audit: Audit) -> Floats:
    return audit.bound.classes.class_rows.astype(np.float64)


def _drop_infinite(value: Floats) -> Floats:
    known = value[np.isfinite(value)]
    return known if len(known) else np.zeros(1)


def _write_range(start: int, end: int | None) -> str:
    if end is None:
        return f"{start:,}+"
    return f"{start:,}" if start == end else f"{start:,}–{end:,}"


MOST_CLASSES = 10
MOST_FLOWS = 4
MOST_VALUES = 12


def make_worst_section(subject: Subject) -> Section:
    """The worst classes, as far as this edition may tell of them."""
    audit = subject.now.audit
    parts: list[Part] = [_state_outcome(subject)]
    if audit.promised:
        parts.append(_tabulate_failing(audit))
    if subject.internal:
        if audit.worst:
            parts.append(_tabulate_worst(audit.worst[:MOST_CLASSES]))
        parts += list(_draw_flows(audit))
    return Section("worst", "The classes that are worst off", tuple(parts))


def _state_outcome(subject: Subject) -> Paragraph:
    audit = subject.now.audit
    if not audit.promised:
        outcome = "Nothing was promised, so no class breaks anything."
    elif any(report.breaks for report in audit.worst):
        outcome = "Some classes break the promise."
    else:
        outcome = "No class breaks the promise."
    if subject.internal:
        return Paragraph(f"{outcome} The pictures show which shares would have to move where.")
    return Paragraph(
        f"{outcome} This edition tells only how many there are; the internal edition names the "
        "worst ones and shows what is in them."
    )


def _tabulate_failing(audit: Audit) -> Table:
    """How many classes break what, and how near the worst of them comes to the limit."""
    rows = tuple(
        (
            verdict.title,
            verdict.required or "",
            verdict.achieved_text,
            f"{verdict.failing_classes:,} of {len(verdict.measurement.fails):,}",
            f"{verdict.failing_rows:,} of {audit.rows:,}",
        )
        for verdict in audit.requirements
    )
    heads = ("requirement", "asked", "the worst class attains", "classes breaking it", "their rows")
    return Table("How many classes break the promise", heads, rows, (1, 2, 3, 4))


def _tabulate_worst(reports: tuple[ClassReport, ...]) -> Table:
    titles = list(reports[0].margins)
    rows = tuple(
        (
            f"{report.number:,}",
            ", ".join(f"{name} {value}" for name, value in report.label.items()),
            f"{report.size:,}",
            *(_write_margin(report.margins[title]) for title in titles),
        )
        for report in reports
    )
    caption = "The worst classes, and how far each is from breaking a requirement (minus: it does)"
    numeric = (0, *range(2, 3 + len(titles)))
    return Table(caption, ("class", "who", "rows", *titles), rows, numeric)


def _write_margin(value: float) -> str:
    return number_text(value).replace("-", "−")


def _draw_flows(audit: Audit) -> Iterator[Picture]:
    """The farthest class of each attribute."""
    for name in list(audit.bound.attributes)[:MOST_FLOWS]:
        why = explain_class(audit.bound, None, name)
        yield Picture(_name_flow(why), draw_flow(why, inline=True), _tabulate_shares(why))


def _name_flow(why: Explanation) -> str:
    return f"The class that is farthest from the table in {why.attribute}: class {why.number:,}"


def _tabulate_shares(why: Explanation) -> Table:
    shown = sorted(why.shares, key=lambda share: -abs(share.in_class - share.in_table))[
        :MOST_VALUES
    ]
    rows = tuple(
        (share.value, f"{float(share.in_class):.1%}", f"{float(share.in_table):.1%}")
        for share in why.shares
        if share in shown
    )
    caption = f"Shares of {why.attribute} that differ most"
    return Table(caption, (why.attribute, "in the class", "in the table"), rows, (1, 2))
