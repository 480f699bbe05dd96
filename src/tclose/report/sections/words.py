"""Requirements in sentences that need no mathematics."""

from __future__ import annotations

from collections.abc import Sequence

from tclose.verify.verdict import Verdict
from tclose.verify.wording import rows_text

SCALES = {
    "equal": "counting every different value as equally far",
    "ordered": "counting neighbouring values as near",
    "numeric": "counting by how far numbers are apart",
    "hierarchical": "counting values of one group as near",
    "matrix": "counting by distances that an expert has given",
    "kl": "counted in bits",
    "js": "counted in bits",
    "smoothed-js": "counted in bits",
}
BITS = ("kl", "js", "smoothed-js")
READINGS = {
    "separate": "",
    "cross": " This holds even against somebody who knows the person's other sensitive values.",
    "joint": "",
}


def listed(names: Sequence[str]) -> str:
    """Names as a sentence lists them.

    >>> listed(["age", "zip", "sex"]), listed(["age"])
    ('age, zip and sex', 'age')
    """
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def short_name(verdict: Verdict) -> str:
    """What a requirement is about, in a few words."""
    about = verdict.attribute or ""
    name = {
        "k-anonymity": "Being one of many",
        "k-map": "Being one of many people out there",
        "delta-presence": "Being in the table at all",
        "identifiers-removed": f"Names removed: {about}",
        "t-closeness": f"Closeness of {about}",
        "(n,t)-closeness": f"Closeness of {about}",
        "joint-t-closeness": f"Closeness of {about} together",
    }.get(verdict.requirement)
    if name is None:
        belief = "beta" in verdict.requirement or "delta" in verdict.requirement
        name = f"Belief in {about}" if belief else f"Variety of {about}"
    return f"{name} (others known)" if verdict.reading == "cross" else name


def sentence(verdict: Verdict, quasi: Sequence[str]) -> str:
    """What a requirement asks of every class, in plain words."""
    about, asked = verdict.attribute or "", verdict.required or ""
    by = SCALES.get(verdict.distance or "", "")
    scale = "" if verdict.distance in BITS else " on a scale from 0 (alike) to 1"
    told = {
        "k-anonymity": (
            f"Whoever knows a person's {listed(quasi)} finds at least {asked} rows that fit, and "
            "cannot tell which of them is the person's."
        ),
        "k-map": f"Every class fits at least {asked} people of the population.",
        "delta-presence": (
            f"Of the people who fit a class, a share within {asked} is in the table, so that being "
            "in it stays uncertain."
        ),
        "t-closeness": (
            f"In no class does the spread of {about} differ from that of the whole table by more "
            f"than {asked}{scale}, {by}. The smaller this number, the less a person's class tells "
            "beyond what the table tells about everybody."
        ),
        "(n,t)-closeness": (
            f"In every class the spread of {about} is as close to that of some large part of the "
            f"table as promised ({asked}), {by}."
        ),
        "joint-t-closeness": (
            f"In no class does the spread of the combinations of {about} differ from that of the "
            f"whole table by more than {asked}{scale}."
        ),
        "distinct-l-diversity": f"Every class shows at least {asked} different values of {about}.",
        "p-sensitive-k-anonymity": (
            f"Every class shows at least {asked} different values of {about}."
        ),
        "probabilistic-l-diversity": (
            f"Nobody who knows only the class guesses {about} right more often than once in "
            f"{asked}."
        ),
        "entropy-l-diversity": (
            f"In every class {about} is at least as uncertain as among {asked} equally likely "
            "values."
        ),
        "recursive-(c,l)-diversity": (
            f"In no class is one value of {about} overwhelming, even if some others can be ruled "
            f"out ({asked})."
        ),
        "alpha-k-anonymity": (
            f"No protected value of {about} makes up more than a share of {asked} of any class."
        ),
        "basic-beta-likeness": (
            f"Knowing the class raises the belief in any {about} by at most {asked} times what it "
            "was."
        ),
        "enhanced-beta-likeness": (
            f"Knowing the class raises the belief in any {about} by at most {asked} times what it "
            "was, and less for common values."
        ),
        "delta-disclosure": (
            f"Knowing the class changes the belief in any {about}, up or down, by less than the "
            f"factor that {asked} stands for."
        ),
        "identifiers-removed": f"The column {about}, which names people, is not in the table.",
    }.get(verdict.requirement, f"{verdict.title}: {asked}.")
    return told + READINGS.get(verdict.reading, "")


def outcome(verdict: Verdict) -> str:
    """Whether it is kept, in a few words."""
    if verdict.required is None:
        return f"attained: {verdict.achieved_text}"
    if verdict.holds is None:
        return "cannot be decided"
    if verdict.holds:
        return "kept"
    return f"broken for {rows_text(verdict.failing_rows)}"
