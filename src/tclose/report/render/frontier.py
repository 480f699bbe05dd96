"""A frontier of loss against t or k in words, and as tables for a terminal.

The policy's own promise is marked as chosen and the knee as suggested; nothing is chosen here.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tclose.search.frontier.curves import Curve, Frontier, Point, place_text, shown_number

BAR = 24
RULE = (
    "The knee is the point farthest below the straight line between the ends of a curve, both axes "
    "scaled to 1: suggested, not chosen."
)


def frontier_view(frontier: Frontier) -> RenderableType:
    """The curves as tables with bars."""
    parts: list[RenderableType] = [Text(title_of(frontier), "bold")]
    for curve in frontier.curves:
        parts.append(_table(frontier, curve))
    parts += [Text(line) for line in (*told(frontier), RULE)]
    return Group(*parts)


def title_of(frontier: Frontier) -> str:
    """What is drawn against what."""
    lost = "Loss" if frontier.measure == "loss" else f"Loss ({frontier.measure})"
    return f"{lost} against {frontier.across}"


def told(frontier: Frontier) -> Iterator[str]:
    """What the marks mean, in sentences."""
    if len(set(frontier.thresholds.values())) > 1 and frontier.across == "t":
        parts = (f"{name} {shown_number(part)} of it" for name, part in frontier.thresholds.items())
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


def loss_text(loss: float | None) -> str:
    """A loss, short.

    >>> loss_text(0.51234), loss_text(1234567.0), loss_text(None)
    ('0.5123', '1,234,567', 'no release')
    """
    if loss is None:
        return "no release"
    return f"{loss:,.0f}" if loss >= 1000 else f"{loss:.4f}"


def point_words(frontier: Frontier, point: Point) -> str:
    """What a point says where the pointer rests on it."""
    found = f"{point.method}, {place_text(point.place)}: {frontier.measure} {loss_text(point.loss)}"
    if point.loss is None:
        return found
    found += f"; {point.classes:,} {'class' if point.classes == 1 else 'classes'}"
    if point.left_out:
        found += f"; rows left out: {point.left_out:,}"
    return found + ("" if point.worst is None else f"; farthest class {point.worst:.4f}")


def _mark(curve: Curve, point: Point) -> str:
    words = ["the policy's own"] if point.chosen else []
    return ", ".join([*words, "knee (suggested)"] if point is curve.knee else words)


def point_rows(curve: Curve) -> Iterator[tuple[Point, tuple[str, ...]]]:
    """Each point with its numbers as text, below the `headings`."""
    for point in curve.points:
        counts = ("", "", "")
        if point.loss is not None:
            far = "" if point.worst is None else f"{point.worst:.4f}"
            counts = (f"{point.classes:,}", f"{point.left_out:,}", far)
        place = shown_number(getattr(point, curve.across))
        yield point, (place, loss_text(point.loss), *counts, _mark(curve, point))


def headings(curve: Curve) -> tuple[str, ...]:
    """What stands above the numbers of a curve."""
    return (curve.across, "loss", "classes", "left out", "farthest class", "")


def _table(frontier: Frontier, curve: Curve) -> Table:
    most = max((float(p.loss or 0) for one in frontier.curves for p in one.points), default=0.0)
    view = Table(title=curve.name, title_justify="left", title_style="")
    for at, heading in enumerate(headings(curve)):
        view.add_column(heading, justify="right" if at < 5 else "left", no_wrap=True)
        if at == 1:
            view.add_column("", no_wrap=True)
    for point, (place, loss, *rest) in point_rows(curve):
        long = round(BAR * float(point.loss or 0) / most) if most else 0
        view.add_row(place, loss, "█" * long, *rest, style="bold" if point.chosen else None)
    return view
