"""What people read: reports, terminal views and pictures of what `verify` found.

- `terminal`  audits and explanations as tables for a terminal
- `released`  a release: its promise, its losses, what was tried
- `utility`   what a release is still good for
- `attacks`   what attacks on it found
- `frontier`  loss against t or k in words and tables; `curves` as a picture, `frontier_page` as a
  section of a report
- `lattice`   generalizations of whole columns, as a picture and as tables
- `flow`      the flow behind one distance as a self-contained SVG picture
- `svg`       what every picture is drawn with
- `document`  a report as sections, words, tables and charts; what it looks like is not its business
- `compose`   from what was counted (`subject`) to a document: `overview`, `spread`, `worst`,
  `findings` make its sections, `words` their sentences, `presets` the thresholds of others
- `html`, `charts`, `style`, `screen`, `saving`   a document as a page, a terminal view, a file
"""

from tclose.report.charts.flow import flow_svg
from tclose.report.charts.frontier import frontier_svg
from tclose.report.render.frontier import frontier_view
from tclose.report.render.terminal import audit_view, checks_view, explanation_view

__all__ = [
    "audit_view",
    "checks_view",
    "explanation_view",
    "flow_svg",
    "frontier_svg",
    "frontier_view",
]
