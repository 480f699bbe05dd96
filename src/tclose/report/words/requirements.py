"""Requirements in sentences that need no mathematics."""

from __future__ import annotations

from collections.abc import Sequence

from tclose.distance.registry import DISTANCES
from tclose.requirements.registry import BY_NAME
from tclose.verify.verdict import Verdict
from tclose.verify.wording import rows_text

IDENTIFIERS = (
    "Names removed: {about}",
    "The column {about}, which names people, is not in the table.",
)
"""Of a release that still has identifiers: no requirement on classes, but told like one."""
READINGS = {
    "separate": "",
    "cross": " This holds even against somebody who knows the person's other sensitive values.",
    "joint": "",
}


def join_names(names: Sequence[str]) -> str:
    """Names as a sentence lists them.

    >>> join_names(["age", "zip", "sex"]), join_names(["age"])
    ('age, zip and sex', 'age')
    """
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def name_requirement(verdict: Verdict) -> str:
    """What a requirement is about, in a few words."""
    kind = BY_NAME.get(verdict.requirement)
    topic = IDENTIFIERS[0] if kind is None else kind.topic
    name = topic.format(about=verdict.attribute or "")
    return f"{name} (others known)" if verdict.reading == "cross" else name


def describe_requirement(verdict: Verdict, quasi: Sequence[str]) -> str:
    """What a requirement asks of every class, in plain words."""
    kind, measure = BY_NAME.get(verdict.requirement), DISTANCES.get(verdict.distance or "")
    plain = (IDENTIFIERS[1] if kind is None else kind.sentence).format(
        about=verdict.attribute or "",
        required=verdict.required or "",
        quasi=join_names(quasi),
        scale="" if measure and measure.in_bits else " on a scale from 0 (alike) to 1",
        by=measure.phrase if measure else "",
    )
    return plain + READINGS.get(verdict.reading, "")


def write_outcome(verdict: Verdict) -> str:
    """Whether it is kept, in a few words."""
    if verdict.required is None:
        return f"attained: {verdict.achieved_text}"
    if verdict.holds is None:
        return "cannot be decided"
    if verdict.holds:
        return "kept"
    return f"broken for {rows_text(verdict.failing_rows)}"
