"""A frontier of loss against t or k: in words, as a chart, in a report and on a terminal.

The policy's own threshold is marked as chosen (a ring) and the knee as suggested (a diamond);
nothing is chosen here. The loss axis starts at 0, so that steepness is not exaggerated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tclose.report.charts import plots
from tclose.report.charts.axes import Axis, Plot, ticks_between, ticks_to, write_number
from tclose.report.charts.colours import SOFT
from tclose.report.charts.svg import line, picture, text
from tclose.report.document import Document, Paragraph, Part, Picture, Section, Table, Tone
from tclose.search.frontier.curves import Curve, Frontier, Point, place_text, show_number

KNEE_RULE = (
    "The knee is the point farthest below the straight line between the ends of a curve, both axes "
    "scaled to 1. It is only a suggestion."
)
PROPOSED = (
    "Every point is a release that satisfies its promise, found with its share of the effort; more "
    "effort may find less loss. Points are not written or certified; anonymize does that."
)
LINE = 17
HEADING = 56
"""What a title takes, down to the words above the axis."""
KEPT = "every point satisfies its promise; more effort may find less loss"
AXES = {"t": "t: largest distance of a class from the table", "k": "k: least size of a class"}
BAR = 24


def name_frontier(frontier: Frontier) -> str:
    """Says what is drawn against what."""
    lost = "Loss" if frontier.measure == "loss" else f"Loss ({frontier.measure})"
    return f"{lost} against {frontier.across}"


def describe_frontier(frontier: Frontier) -> Iterator[str]:
    """Yields sentences that explain the marks."""
    if len(set(frontier.thresholds.values())) > 1 and frontier.across == "t":
        parts = (f"{name} {show_number(part)} of it" for name, part in frontier.thresholds.items())
        yield f"t is the largest of those promised; the others keep their part: {', '.join(parts)}."
    if frontier.chosen is None:
        yield "The policy's own promise is not among the points."
    else:
        yield f"The policy's own promise is {place_text(frontier.chosen.place)}."
    for curve in frontier.curves:
        where = "no knee: the curve does not bend downwards"
        if curve.knee is not None:
            where = f"knee at {place_text(curve.knee.place)} (suggested, not chosen)"
        yield f"{curve.name}: {where}."
    if not frontier.complete:
        yield "Stopped before the last point."


def write_loss(loss: float | None) -> str:
    """Writes a loss, shortened.

    >>> write_loss(0.51234), write_loss(1234567.0), write_loss(None)
    ('0.5123', '1,234,567', 'no release')
    """
    if loss is None:
        return "no release"
    return f"{loss:,.0f}" if loss >= 1000 else f"{loss:.4f}"


def describe_point(frontier: Frontier, point: Point) -> str:
    """Describes a point, for the pointer resting on it."""
    found = f"{point.method}, {place_text(point.place)}: "
    found += f"{frontier.measure} {write_loss(point.loss)}"
    if point.loss is None:
        return found
    found += f"; {point.classes:,} {'class' if point.classes == 1 else 'classes'}"
    if point.left_out:
        found += f"; rows left out: {point.left_out:,}"
    return found + ("" if point.worst is None else f"; farthest class {point.worst:.4f}")


def list_points(curve: Curve) -> Iterator[tuple[str, ...]]:
    """Yields the headings, then the numbers of each point as text."""
    yield curve.across, "loss", "classes", "left out", "farthest class", ""
    for point in curve.points:
        counts = ("", "", "")
        if point.loss is not None:
            far = "" if point.worst is None else f"{point.worst:.4f}"
            counts = (f"{point.classes:,}", f"{point.left_out:,}", far)
        place = show_number(getattr(point, curve.across))
        marks = ["the policy's own"] * point.chosen + ["knee (suggested)"] * (point is curve.knee)
        yield place, write_loss(point.loss), *counts, ", ".join(marks)


def draw_frontier(
    frontier: Frontier, *, inline: bool = False, link: Callable[[Point], str] | None = None,
    current: Point | None = None,
) -> str:  # fmt: skip
    """Draws the frontier as an SVG file, or for a page that has its own title and sentences.

    `link` gives the page that a click on a point leads to; the `current` point is drawn larger.
    """
    notes, title = list(describe_frontier(frontier)), name_frontier(frontier)
    plot = plots.lay_out(0 if inline else HEADING)
    parts, bottom = list(_draw_plot(frontier, plot, link, current)), plot.floor + plots.BELOW
    if not inline:
        first = bottom + 12
        parts = [
            text(plot.left, 26, title, size=16, weight="bold"),
            text(plot.left, 46, f"{frontier.rows:,} rows; {KEPT}", fill=SOFT),
            *parts,
            *(text(plot.left, first + LINE * at, note) for at, note in enumerate(notes)),
        ]
        bottom = first + LINE * len(notes)
    size = (plots.CURVES_WIDE, bottom)
    return picture(title, " ".join(notes), size, parts, inline=inline, links=link is not None)


def _draw_plot(
    frontier: Frontier, plot: Plot, link: Callable[[Point], str] | None, current: Point | None
) -> Iterator[str]:
    places = [_place(frontier, point) for point in frontier.points]
    losses = [point.loss for point in frontier.points if point.loss is not None]
    ticks = ticks_to(max(losses, default=0.0), 6)
    up = Axis(0.0, ticks[-1], plot.floor, plot.top)
    across = plots.find_across(plot, places)
    marks = [(across.place(tick), f"{tick:g}") for tick in ticks_between(min(places), max(places))]
    meaning = "loss (0 exact, 1 nothing left)" if frontier.measure == "loss" else frontier.measure
    yield from plot.draw_upward(up, ticks, write_number, meaning)
    yield from plot.draw_below(marks, AXES[frontier.across])
    if frontier.chosen is not None:
        x, top = across.place(_place(frontier, frontier.chosen)), plot.top - 4
        own = show_number(getattr(frontier.chosen, frontier.across))
        yield line(x, top, x, plot.floor, SOFT, dash="4 4")
        yield text(x + 12, top - 6, f"the policy's own {frontier.across}={own}", fill=SOFT)
    curves: list[plots.PlottedCurve] = []
    for curve in frontier.curves:
        points = []
        for point in curve.found:
            at, loss = _place(frontier, point), float(point.loss or 0)
            words, knee = describe_point(frontier, point), point is curve.knee
            leads = "" if link is None else link(point)
            points.append(
                plots.PlottedPoint(at, loss, words, point.chosen, knee, leads, point is current)
            )
        curves.append((curve.name, points))
    yield from plots.draw_curves(curves, plot, across, up)
    x, y = plot.right + 35, plot.top + 18 + 22 * len(frontier.curves)
    yield plots.draw_ring(x, y)
    yield text(x + 25, y + 4, "the policy's own promise")
    yield plots.draw_diamond(x, y + 26)
    yield text(x + 25, y + 30, "knee: suggested, not chosen")


def _place(frontier: Frontier, point: Point) -> float:
    return float(getattr(point, frontier.across) or 0)


def make_frontier_section(
    frontier: Frontier, *, link: Callable[[Point], str] | None = None, current: Point | None = None
) -> Section:
    """Makes a section of the curves, for a report or for a page where points are links."""
    title = name_frontier(frontier)
    rows = [(curve.name, *row) for curve in frontier.curves for row in [*list_points(curve)][1:]]
    headings = ("curve", *next(list_points(frontier.curves[0])))
    numbers = Table(title, headings, tuple(rows), (1, 2, 3, 4, 5))
    drawn = draw_frontier(frontier, inline=True, link=link, current=current)
    picture = Picture(title, drawn, numbers)
    sentences = (Paragraph(sentence) for sentence in describe_frontier(frontier))
    parts: list[Part] = [Paragraph(PROPOSED), picture, *sentences, Paragraph(KNEE_RULE, "aside")]
    return Section("frontier", "What a stricter promise costs", tuple(parts))


def make_frontier_document(frontier: Frontier, source: str) -> Document:
    """Makes a report of the frontier alone."""
    subtitle = f"{source}: {frontier.rows:,} rows"
    return Document("Frontier", subtitle, "external", (make_frontier_section(frontier),))


def summarize_frontier(frontier: Frontier) -> list[Part]:
    """Summarizes the curves and their marks."""
    most = max((float(point.loss or 0) for point in frontier.points), default=0.0)
    return [
        Paragraph(name_frontier(frontier), "strong"),
        *(_tabulate(curve, most) for curve in frontier.curves),
        *(Paragraph(sentence) for sentence in (*describe_frontier(frontier), KNEE_RULE)),
    ]


def _tabulate(curve: Curve, most: float) -> Table:
    (across, loss, *others), *points = list_points(curve)
    rows = []
    for point, (place, lost, *rest) in zip(curve.points, points, strict=True):
        bar = "█" * (round(BAR * float(point.loss or 0) / most) if most else 0)
        rows.append((place, lost, bar, *rest))
    tones: list[Tone] = ["strong" if point.chosen else "plain" for point in curve.points]
    headings = (across, loss, "", *others)
    return Table(curve.name, headings, tuple(rows), (0, 1, 3, 4, 5), tuple(tones))
