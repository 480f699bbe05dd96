"""Small pictures of the pages: a column's values at a glance."""

from __future__ import annotations

from tclose.plain import share_text
from tclose.report.charts.colours import BLUE
from tclose.report.charts.svg import box, picture
from tclose.report.document import HistogramChart, Picture

WIDE, TALL, GAP = 132, 30, 2
LEAST_BARS = 10
"""As wide as if there were so many: a few bars are no blocks."""


def draw_spark(chart: HistogramChart | None) -> Picture | None:
    """Bars without axes, each of which says in words what it shows."""
    if chart is None:
        return None
    shares = [share or 0.0 for share in chart.series[0].values]
    most, wide = max(shares, default=0.0) or 1.0, WIDE / max(len(shares), LEAST_BARS)
    bars = [
        box(at * wide, TALL - (tall := max(share / most * (TALL - 2), 0.6)), wide - GAP, tall,
            BLUE, f"{name}: {share_text(share)}")
        for at, (name, share) in enumerate(zip(chart.bins, shares, strict=True))
    ]  # fmt: skip
    drawn = picture(chart.title, chart.across, (WIDE, TALL), bars, inline=True)
    return Picture(chart.title, drawn, chart.table())
