"""How rows are spread over sizes and distances of classes, and which classes are the worst.

Bins end at the limit, and a class is put on the side of the limit on which it was judged, so that
rounding cannot make the chart contradict the verdict. An external document does not name classes,
not even by number: together with the release, a number would lead to the values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from tclose.arrays import Floats, Ints
from tclose.distance.registry import DISTANCES
from tclose.plain import number_text, share_text
from tclose.report.charts.plots import NARROW, WIDE
from tclose.report.document import (
    Folded,
    HistogramChart,
    Limit,
    Paragraph,
    Part,
    Picture,
    Section,
    Series,
    Table,
)
from tclose.report.explanation import choose_shares, draw_differences, draw_flow
from tclose.report.sections.overview import find_limit, name_whole, write_required
from tclose.report.subject import Subject
from tclose.requirements import compile_constraints, state_requirements
from tclose.verify.audit import Audit
from tclose.verify.explanation import explain_class
from tclose.verify.verdict import ClassReport, Verdict

SIZES = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Where bins of class sizes start; the required k is added."""
BINS = 20
MOST_BELOW = 10
MOST_MARKS = 11
MOST_BINS = 60
MOST_CLASSES = 10
MOST_FLOWS = 4
MOST_VALUES = 12


def make_spread_section(subject: Subject) -> Section:
    """Makes the section on class sizes and distances, with the limits."""
    audit = subject.now.audit
    lead = Paragraph(
        "Each bar shows a share of the rows. Lines between the bars mark the promised limits: no "
        "class may be smaller, or farther away, than they allow."
    )
    shown = [verdict for verdict in audit.requirements if _can_be_drawn(audit, verdict)]
    charts = [_chart_distances(subject, verdict) for verdict in shown]
    parts: list[Part] = [lead, _chart_sizes(subject), *charts]
    return Section("spread", "Sizes and distances of the classes", tuple(parts))


def _chart_sizes(subject: Subject) -> HistogramChart:
    """Charts the rows in classes of each size."""
    policy = subject.now.audit.bound.policy
    audits = [table.audit for table in (subject.before, subject.now) if table is not None]
    sizes = [audit.bound.classes.size.astype(np.float64) for audit in audits]
    largest = max(policy.k or 1, *(float(size.max()) for size in sizes))
    usual = [start for start in SIZES if start <= largest]
    starts = usual if policy.k is None else sorted({*usual, policy.k})
    ranges = [(start, end - 1) for start, end in pairwise(starts)]
    names = (f"{low:,}" if low == high else f"{low:,}–{high:,}" for low, high in ranges)
    bins = (*names, f"{starts[-1]:,}+")
    edges = np.array([*starts, np.inf], dtype=np.float64)
    series = tuple(
        Series(name, _share_rows(np.searchsorted(edges, size, side="right") - 1, audit, len(bins)))
        for name, size, audit in zip(_name_series(subject), sizes, audits, strict=True)
    )
    what = "rows" if policy.subject is None else "persons"
    limit = None
    if policy.k is not None:
        limit = Limit(f"at least {policy.k:,} {what}", starts.index(policy.k), "after")
    title, across = "Rows by the size of their class", f"{what} in the class"
    return HistogramChart(title, across, "share of rows", bins, series, limit)


def _chart_distances(subject: Subject, verdict: Verdict) -> HistogramChart:
    """Charts the rows in classes at each distance from what they are compared with."""
    pairs = [(subject.now.audit, verdict)]
    was = subject.was(verdict)
    if subject.before is not None and was is not None:
        pairs.insert(0, (subject.before.audit, was))
    limit = find_limit(verdict)
    values = np.concatenate([judged.measurement.value for _, judged in pairs])
    scale = _choose_bins(float(np.max(values[np.isfinite(values)], initial=0.0)), limit)
    series = tuple(
        Series(name, _share_rows(_place_classes(judged, scale), audit, scale.count))
        for name, (audit, judged) in zip(_name_series(subject)[-len(pairs) :], pairs, strict=True)
    )
    measure = DISTANCES.get(verdict.distance or "")
    unit = "bits" if measure and measure.in_bits else "0 alike, 1 as different as can be"
    about = subject.show(verdict.attribute or "")
    title = f"Rows by how far their class is from {name_whole(verdict)}: {about}"
    across = f"distance ({verdict.distance}; {unit})"
    line = None if limit is None else Limit(write_required(verdict), scale.below, "before")
    return HistogramChart(title, across, "share of rows", scale.bins, series, line, scale.edges)


def _can_be_drawn(audit: Audit, verdict: Verdict) -> bool:
    """Whether a requirement has finite distances, one for each class."""
    value = verdict.measurement.value
    by_class = verdict.adversary == "knows_class" and len(value) == audit.classes
    return verdict.distance is not None and by_class and bool(np.isfinite(value).any())


@dataclass(frozen=True)
class DistanceBins:
    """Bins of equal width over a distance, `below` of them below the limit."""

    step: float
    below: int
    count: int
    zero: bool = False
    """Whether the first bin is for classes exactly like the table, if the limit is 0."""
    more: bool = False
    """Whether the last bin contains everything farther away, too."""

    @property
    def edges(self) -> tuple[str, ...]:
        """The labels between the bins; only some of them if there are many."""
        marks = ["", *self._marks] if self.zero else self._marks
        every = -(-len(marks) // MOST_MARKS)
        return tuple(mark if at % every == self.zero else "" for at, mark in enumerate(marks))

    @property
    def bins(self) -> tuple[str, ...]:
        """The description of each bin."""
        first = ["exactly 0"] if self.zero else []
        names = [*first, *(f"{low} to {high}" for low, high in pairwise(self._marks))]
        return (*names[:-1], f"{self._marks[-2]} and more" if self.more else names[-1])

    @property
    def _marks(self) -> list[str]:
        return [f"{self.step * at:.3g}" for at in range(self.count - self.zero + 1)]


def _choose_bins(most: float, limit: float | None) -> DistanceBins:
    """Chooses bins up to the largest distance, with an edge at the limit."""
    if limit is None:
        return DistanceBins((most or 1.0) / BINS, 0, BINS)
    if limit <= 0:
        return DistanceBins((most or 1.0) / BINS, 1, BINS + 1, zero=True)
    # If distances are much larger than the limit it gets fewer bins, at least one.
    below = max(1, min(MOST_BELOW, int(BINS * limit / most))) if most else MOST_BELOW
    below = _choose_parts(limit, below)
    step = limit / below
    count = int(np.ceil(most / step - 1e-9))
    return DistanceBins(step, below, max(min(count, MOST_BINS), below + 1), more=count > MOST_BINS)


def _choose_parts(limit: float, most: int) -> int:
    """Chooses into how many parts a limit is divided, nearly `most`, so that steps are round.

    >>> _choose_parts(0.35, 8), _choose_parts(0.3, 10), _choose_parts(1 / 3, 10)
    (7, 10, 10)
    """
    some = range(most, most // 2, -1)
    return min(some, key=lambda parts: min(len(f"{limit / parts:.5g}"), 6))


def _place_classes(verdict: Verdict, scale: DistanceBins) -> Ints:
    """Returns the bin of each class: by distance, on the side of the limit where it was judged."""
    measured, last = verdict.measurement, scale.count - 1
    value = np.where(np.isfinite(measured.value), measured.value, scale.step * scale.count)
    place = np.clip(np.ceil(value / scale.step - 1e-9) - 1 + scale.zero, 0, last)
    if scale.below:
        good = np.minimum(place, scale.below - 1)
        place = np.where(measured.fails, np.maximum(place, scale.below), good)
    return np.asarray(np.minimum(place, last), dtype=np.int64)


def _share_rows(place: Ints, audit: Audit, count: int) -> tuple[float, ...]:
    """Returns the share of rows in each bin, from the bin of each class."""
    size: Floats = audit.bound.classes.class_rows.astype(np.float64)
    shares: Floats = np.bincount(place, weights=size, minlength=count) / size.sum()
    return tuple(shares.tolist())


def _name_series(subject: Subject) -> list[str]:
    return [subject.thing] if subject.before is None else ["before", "after"]


def make_worst_section(subject: Subject) -> Section:
    """Makes the section on the worst classes: internally with values and moves, else as counts."""
    audit = subject.now.audit
    outcome = "No class breaks the promise."
    if not audit.promised:
        outcome = "There is no promise that a class could break."
    elif any(report.breaks for report in audit.worst):
        outcome = "Some classes break the promise."
    edition = (
        "The pictures show which shares would have to move to make the class equal to the table."
    )
    if not subject.internal:
        edition = (
            "This edition shows only their number; the internal edition lists the worst classes "
            "and their values."
        )
    parts: list[Part] = [Paragraph(f"{outcome} {edition}")]
    if subject.internal:
        if audit.worst:
            parts.append(tabulate_worst(audit.worst[:MOST_CLASSES], subject))
        for name in list(audit.bound.attributes)[:MOST_FLOWS]:
            parts += _draw_farthest(subject, name)
        parts += _draw_fragments(audit)
    return Section("worst", "The worst classes", tuple(parts))


def _draw_fragments(audit: Audit) -> Iterator[Part]:
    """Draws the matrix of two sensitive attributes, if both must be close along a line."""
    bound = audit.bound
    if audit.in_parts or len(bound.attributes) < 2:
        return
    from tclose.report.fragments import describe_bounds, make_picture
    from tclose.search.by_construction.matrix import make_matrix

    constraints = compile_constraints(state_requirements(bound), bound.classes)
    found = make_matrix(bound.classes, constraints, bound.attributes)
    if found is not None:
        yield make_picture(found)
        yield Paragraph(" ".join(describe_bounds(found)[1:]), "aside")


def tabulate_worst(reports: tuple[ClassReport, ...], subject: Subject) -> Table:
    """Tabulates classes with their values, and their margins in every requirement."""
    titles = list(reports[0].margins) if reports else []
    shown = {
        verdict.title: subject.relabel(verdict.title, verdict.attribute)
        for verdict in subject.now.audit.requirements
    }
    rows = []
    for report in reports:
        who = ", ".join(f"{subject.show(name)} {value}" for name, value in report.label.items())
        margins = (number_text(report.margins[title]).replace("-", "−") for title in titles)
        rows.append((f"{report.number:,}", who, f"{report.size:,}", *margins))
    caption = "The worst classes, and how far each is from breaking a requirement (minus: it does)"
    numeric = (0, *range(2, 3 + len(titles)))
    return Table(
        caption, ("class", "who", "rows", *(shown[title] for title in titles)), tuple(rows), numeric
    )


def _draw_farthest(subject: Subject, attribute: str) -> Iterator[Part]:
    """Draws the class farthest from the table in an attribute: as bars and, folded, as arcs."""
    why = explain_class(subject.now.audit.bound, None, attribute)
    shown = subject.show(attribute)
    why = replace(why, attribute=shown)
    rows = tuple(
        (share.value, share_text(float(share.in_class)), share_text(float(share.in_table)))
        for share in choose_shares(why, MOST_VALUES)
    )
    headings = (shown, "in the class", f"in the {why.beside}")
    shares = Table(f"Shares of {shown} that differ most", headings, rows, (1, 2))
    title = f"The class that is farthest from the {why.beside} in {shown}: class {why.number:,}"
    drawn = (draw_differences(why, inline=True, wide=wide) for wide in (WIDE, NARROW))
    yield Picture(title, next(drawn), shares, next(drawn))
    if why.moves:
        arcs = Picture(f"Moves of mass in {shown}", draw_flow(why, inline=True), shares)
        yield Folded(f"The moves between class and {why.beside}, as arcs", (arcs,))
