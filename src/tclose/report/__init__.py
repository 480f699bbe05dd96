"""Everything that people read about results: reports, summaries on a terminal, and charts.

A `document` is content without appearance: `sections` make the parts of a report, `summaries` those
of a command's output, `charts` draw charts as SVG, and `render` turns parts into a page, text on a
terminal, or plain values. All of these forms have the same content.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tclose.report.explanation import draw_differences, draw_flow
    from tclose.report.frontier import draw_frontier
else:
    from tclose.lazy import load_on_use

    load_on_use(
        __name__,
        {
            "tclose.report.explanation": ["draw_differences", "draw_flow"],
            "tclose.report.frontier": ["draw_frontier"],
        },
    )

__all__ = ["draw_differences", "draw_flow", "draw_frontier"]
