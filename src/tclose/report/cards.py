"""Results as cards for notebooks: the parts of their summaries, the first few open.

No card shows a value of the table except those of an explanation or of beliefs about a person,
which are about values and say so.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Any

from tclose.attacks.finding import AttackReport
from tclose.attacks.person import PersonBelief
from tclose.dictionary import HEADINGS, DataDictionary
from tclose.distance.comparison import DistanceComparison
from tclose.errors import UsageError
from tclose.policy.model import Policy
from tclose.release import Release
from tclose.report.charts.plots import draw_chart
from tclose.report.document import Paragraph, Part, Table
from tclose.report.explanation import draw_differences, summarize_explanation
from tclose.report.fragments import draw_matrix, summarize_matrix
from tclose.report.frontier import draw_frontier, make_frontier_section
from tclose.report.lattice import draw_lattice, summarize_lattice
from tclose.report.render.saving import render_template
from tclose.report.summaries import (
    chart_belief,
    summarize_attacks,
    summarize_audit,
    summarize_distances,
    summarize_person,
    summarize_release,
    summarize_utility,
)
from tclose.search.by_construction.matrix import FragmentMatrix
from tclose.search.frontier.curves import Frontier
from tclose.search.full_domain.survey import Survey
from tclose.utility.pair import Utility
from tclose.verify.audit import Audit
from tclose.verify.explanation import Explanation

OPEN = 4
"""The number of parts that are shown open; the others are folded."""
SHOWS_VALUES = (
    "Shows values of the table: for the steward's own eyes. Clear this output before the notebook "
    "is passed on."
)


def render_card(result: object) -> str:
    """Renders a result as HTML: no script, nothing fetched, everything escaped.

    >>> render_card(Policy.build({"<zip>": "quasi"}, k=2)).count("&lt;zip&gt;")
    1
    """
    parts = next(summarize(result) for kind, summarize in CARDS.items() if isinstance(result, kind))
    # Ids of parts must differ between the cards of one page.
    name = f"tclose-{hashlib.sha256(repr(parts).encode()).hexdigest()[:12]}"
    shown = sum(isinstance(part, Paragraph) for part in parts[:OPEN]) + 1
    return render_template(
        "card.html",
        title=re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(result).__name__),
        name=name,
        parts=parts[: max(shown, OPEN)],
        more=parts[max(shown, OPEN) :],
    )


def draw_result(result: object) -> str:
    """Draws an explanation, a frontier, a lattice or a belief as the text of an SVG file."""
    drawn = next(draw(result) for kind, draw in PICTURES.items() if isinstance(result, kind))
    if drawn is None:
        raise UsageError("there are too many nodes to draw", where="svg", hint="print it instead")
    return drawn


def summarize_policy(policy: Policy) -> list[Part]:
    """Summarizes the requirements, and the columns with their roles."""
    required = [f"{key} = {value}" for key, value in policy.to_json().items() if key in STATED]
    rows = []
    for name, column in policy.columns.items():
        keys = column.model_dump(mode="json", exclude_unset=True, exclude={"role"})
        settings = ", ".join(f"{key} = {_write(value)}" for key, value in keys.items())
        rows.append((name, column.role, settings))
    return [
        Paragraph(f"Promised of the whole table: {', '.join(required) or 'nothing'}.", "strong"),
        Table("Columns", ("column", "role", "settings"), tuple(rows)),
    ]


STATED = ("k", "k_map", "presence", "joint", "combinations", "readings")


def summarize_dictionary(dictionary: DataDictionary) -> list[Part]:
    """Summarizes the columns of a release: what was done to them and the loss of each."""
    rows = []
    for entry in dictionary.columns:
        loss = "" if entry.loss is None else f"{entry.loss:.4f}"
        rows.append((entry.column, entry.role, entry.treatment, entry.levels, loss))
    return [Table("Data dictionary", HEADINGS, tuple(rows), (4,))]


def _write(value: object) -> str:
    """Writes a value of a policy, shortened."""
    text = str(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


CARDS: dict[type, Callable[[Any], Sequence[Part]]] = {
    Audit: lambda audit: summarize_audit(audit, values=False),
    Release: summarize_release,
    Explanation: lambda why: [
        Paragraph(SHOWS_VALUES, "note"),
        *summarize_explanation(why, drawn=True),
    ],
    Frontier: lambda frontier: make_frontier_section(frontier).parts,
    FragmentMatrix: lambda found: [Paragraph(SHOWS_VALUES, "note"), *summarize_matrix(found)],
    Survey: summarize_lattice,
    Utility: summarize_utility,
    AttackReport: summarize_attacks,
    PersonBelief: lambda belief: [Paragraph(SHOWS_VALUES, "note"), *summarize_person(belief)],
    DistanceComparison: summarize_distances,
    Policy: summarize_policy,
    DataDictionary: summarize_dictionary,
}
"""The function that makes the card of each kind of result."""
PICTURES: dict[type, Callable[[Any], str | None]] = {
    PersonBelief: lambda belief: draw_chart(chart_belief(belief)),
    Explanation: draw_differences,
    Frontier: draw_frontier,
    FragmentMatrix: draw_matrix,
    Survey: draw_lattice,
}
"""The function that draws each kind of result; a lattice may be too large to draw."""
