"""A frontier of loss against t or k in words, and its numbers as text.

The policy's own promise is marked as chosen and the knee as suggested; nothing is chosen here.
"""

from __future__ import annotations

from collections.abc import Iterator

from tclose.search.frontier.curves import Curve, Frontier, Point, place_text, shown_number

KNEE_RULE = (
    "The knee is the point farthest below the straight line between the ends of a curve, both axes "
    "scaled to 1: suggested, not chosen."
)


def name_frontier(frontier: Frontier) -> str:
    """What is drawn against what."""
    lost = "Loss" if frontier.measure == "loss" else f"Loss ({frontier.measure})"
    return f"{lost} against {frontier.across}"


def describe_frontier(frontier: Frontier) -> Iterator[str]:
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


def write_loss(loss: float | None) -> str:
    """A loss, short.

    >>> write_loss(0.51234), write_loss(1234567.0), write_loss(None)
    ('0.5123', '1,234,567', 'no release')
    """
    if loss is None:
        return "no release"
    return f"{loss:,.0f}" if loss >= 1000 else f"{loss:.4f}"


def describe_point(frontier: Frontier, point: Point) -> str:
    """What a point says where the pointer rests on it."""
    found = f"{point.method}, {place_text(point.place)}: "
    found += f"{frontier.measure} {write_loss(point.loss)}"
    if point.loss is None:
        return found
    found += f"; {point.classes:,} {'class' if point.classes == 1 else 'classes'}"
    if point.left_out:
        found += f"; rows left out: {point.left_out:,}"
    return found + ("" if point.worst is None else f"; farthest class {point.worst:.4f}")


def head_points(curve: Curve) -> tuple[str, ...]:
    """What stands above the numbers of a curve."""
    return (curve.across, "loss", "classes", "left out", "farthest class", "")


def list_points(curve: Curve) -> Iterator[tuple[Point, tuple[str, ...]]]:
    """Each point with its numbers as text, below the headings."""
    for point in curve.points:
        counts = ("", "", "")
        if point.loss is not None:
            far = "" if point.worst is None else f"{point.worst:.4f}"
            counts = (f"{point.classes:,}", f"{point.left_out:,}", far)
        place = shown_number(getattr(point, curve.across))
        marks = ["the policy's own"] * point.chosen + ["knee (suggested)"] * (point is curve.knee)
        yield point, (place, write_loss(point.loss), *counts, ", ".join(marks))
