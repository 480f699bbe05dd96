"""What people read: terminal views and pictures of what `verify` found.

- `terminal`  audits and explanations as tables for a terminal
- `released`  a release: its promise, its losses, what was tried
- `flow`      the flow behind one distance as a self-contained SVG picture
"""

from tclose.report.flow import flow_svg
from tclose.report.terminal import audit_view, checks_view, explanation_view

__all__ = ["audit_view", "checks_view", "explanation_view", "flow_svg"]
