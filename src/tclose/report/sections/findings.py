"""What attacks found and what to do, what is not covered, and how to check it all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from tclose.attacks.finding import Finding
from tclose.plain import number_text, rows_text, share_text
from tclose.policy.model import Policy
from tclose.report.document import Folded, Paragraph, Part, Points, Section, Table, Tone
from tclose.report.subject import Subject
from tclose.verify.certificate import Certificate
from tclose.verify.recheck import TOLD, Check
from tclose.version import VERSION


class Preset(NamedTuple):
    """A named threshold: its value, who uses it, and what the source says."""

    k: int
    name: str
    source: str
    says: str


PRESETS = (
    Preset(
        3, "a minimum", "Common practice of statistical offices for tables of counts",
        "Cells with fewer than three contributors are withheld, because of two each would know "
        "the other. Offices differ, and many ask for more.",
    ),
    Preset(
        5, "usual", "Common practice in health statistics, and the number met most often in the "
        "literature on k-anonymity",
        "Counts below five are withheld or merged.",
    ),
    Preset(
        10, "research output",
        "Checking of research output at the Office for National Statistics (United Kingdom)",
        "A threshold of ten is part of its rules; results about fewer than ten observations are "
        "looked at case by case before they leave.",
    ),
    Preset(
        11, "CMS cell size",
        "Centers for Medicare & Medicaid Services (United States), cell size suppression policy",
        "No cell from 1 to 10 of its data may be displayed: the smallest count shown is 11. The "
        "policy is about counts in published tables and names neither k-anonymity nor classes.",
    ),
)  # fmt: skip
"""Sorted by k; a source speaks about its own tables, so none of these is a verdict."""
ABOUT_T = (
    "For t no regulator that we know of gives a value. Opinion 05/2014 of the Article 29 Data "
    "Protection Working Party (WP216) describes k-anonymity, l-diversity and t-closeness, their "
    "merits and their weaknesses, and names no value for t. The number in this report was chosen "
    "by those who wrote the policy; what it allows is shown above, so that the choice can be "
    "argued."
)


COMPARABLE = ("homogeneity", "skewness", "prosecutor", "journalist", "marketer")
"""Attacks whose findings before and after can be compared.

Others count only what the class alone does not reveal, so they find less where it reveals more.
"""
Severity = Literal["high", "medium", "low"]
RISKS = ("prosecutor", "journalist", "marketer")
SEVERITY_TONES: dict[Severity, Tone] = {"high": "bad", "medium": "note", "low": "plain"}
SEVERITIES: tuple[Severity, ...] = ("high", "medium", "low")
HIGH, MEDIUM = 0.05, 0.01
CERTAIN = ("homogeneity", "background join")
"""Attacks that make a value certain, not only more likely; they are a step more severe."""
LEAD = (
    "What could an attacker learn? These attacks were tried on the {thing}. They go "
    "beyond the promise, and none of them is judged against it: whether a finding is acceptable is "
    "for a person to decide. High: at least 5% of the rows; medium: at least 1%; a step more where "
    "a value becomes certain."
)
ADVICE = {
    "homogeneity": "Promise variety of {about} (l), or a smaller t.",
    "background knowledge": "Promise more variety of {about} (l).",
    "skewness": "Promise a smaller t of {about}, or limit belief in single values (alpha, beta).",
    "similarity": "Use a distance that knows which values of {about} are alike.",
    "background join": "Round or group {about}, or require it against somebody who knows the other "
    'sensitive columns (readings = ["cross"]).',
    "prosecutor": "Ask for a larger k.",
    "journalist": "Ask for a larger k, or promise k-map.",
    "marketer": "Ask for a larger k, so that classes are larger on average.",
    "population uniqueness": "Ask for a larger k, or make coarser what makes people unique.",
    "special uniques": "Make the columns coarser that single these rows out, or leave the rows "
    "out.",
    "order": 'Leave rows = "keep" out of the policy, so that rows are shuffled.',
    "linkage": "Ask for a larger k, or make the columns that are still exact coarser.",
    "minimality": "Use a method whose classes do not depend on sensitive values, and keep method "
    "and seed to yourself.",
    "deFinetti": "Promise a smaller t of {about}, or release fewer columns beside it.",
    "composition": "Do not publish both, or make the new release by the plan of the first.",
}
"""What a data steward can do about each attack."""


def rate_severity(finding: Finding) -> Severity:
    """Rates a finding by its share of rows and by whether values become certain.

    >>> [rate_severity(Finding("skewness", "a", "", n, 1000)) for n in (50, 10, 1)]
    ['high', 'medium', 'low']
    """
    step = 0 if finding.share >= HIGH else 1 if finding.share >= MEDIUM else 2
    return SEVERITIES[max(step - (finding.attack in CERTAIN), 0)]


def rank_findings(found: Iterable[Finding]) -> list[Finding]:
    """Sorts findings by severity, then by affected rows."""
    return sorted(found, key=lambda f: (SEVERITIES.index(rate_severity(f)), -f.affected))


def name_attack(finding: Finding, subject: Subject) -> str:
    """Names an attack and its attribute."""
    about = f", {subject.show(finding.attribute)}" if finding.attribute else ""
    return f"{finding.attack[:1].upper()}{finding.attack[1:]}{about}"


def make_attacks_section(subject: Subject) -> Section:
    """Makes the section of findings by severity, with what to do; the others are folded."""
    report = subject.now.attacks
    found = rank_findings(report.found)
    quiet = [finding for finding in report.findings if not finding.found]
    parts: list[Part] = [Paragraph(LEAD.format(thing=subject.thing))]
    if found:
        parts.append(_tabulate_findings(found, subject))
    elif all(finding.attack in RISKS for finding in quiet):
        parts.append(Paragraph("No attack was tried.", "note"))
    else:
        parts.append(Paragraph("No attack that was tried found anything.", "good"))
    if quiet:
        names = "; ".join(dict.fromkeys(name_attack(finding, subject) for finding in quiet))
        parts.append(Paragraph(f"{len(quiet)} found nothing: {names}."))
        lines = ((f"{name_attack(f, subject)}.", _describe_finding(f, subject)) for f in quiet)
        parts.append(Folded("What found nothing, in words", (Points(tuple(lines)),)))
    if report.not_tried:
        parts.append(Points(tuple(("Not tried:", f"{line}.") for line in report.not_tried)))
    return Section("attacks", "Attacks that were tried", tuple(parts))


def _tabulate_findings(found: Sequence[Finding], subject: Subject) -> Table:
    rows, tones = [], []
    before = subject.before is not None
    for finding in found:
        severity, about = rate_severity(finding), subject.show(finding.attribute or "")
        was = (_count_before(finding, subject),) if before else ()
        rows.append((
            severity, name_attack(finding, subject), f"{finding.affected:,}", *was,
            share_text(finding.share), _describe_finding(finding, subject),
            ADVICE.get(finding.attack, "").format(about=about),
        ))  # fmt: skip
        tones.append(SEVERITY_TONES[severity])
    was = ("before",) if before else ()
    headings = ("severity", "attack", "rows", *was, "of all", "what it finds", "what to do")
    numeric = tuple(range(2, 4 + before))
    return Table("What attacks found", headings, tuple(rows), numeric, tuple(tones))


def _count_before(finding: Finding, subject: Subject) -> str:
    """Returns the rows that the same attack affected before, if that can be compared."""
    if subject.before is None or finding.attack not in COMPARABLE:
        return "–"
    before = subject.before.attacks.of(finding.attack)
    same = [other for other in before if other.attribute == finding.attribute]
    return f"{same[0].affected:,}" if same else "–"


def _describe_finding(finding: Finding, subject: Subject) -> str:
    words = subject.relabel(finding.sentence, finding.attribute)
    if subject.internal and finding.classes:
        worst = ", ".join(f"{number:,}" for number in finding.classes[:5])
        words += f" Worst classes: {worst}."
    return words


def describe_left_out(subject: Subject) -> Iterator[Part]:
    """Yields what happened to rows that are not in the release, or not like the others."""
    certificate = subject.certificate
    if certificate is None:
        return
    gone, leftover = certificate.left_out, certificate.leftover
    if gone is not None and gone.rows:
        yield Paragraph(
            f"{gone.rows:,} rows are not in the release. Nothing about them can be learned "
            "from it, and it says less about people like them.",
            "note",
        )
        if subject.internal:
            rows = tuple(
                (subject.show(name), at, f"{count:,}")
                for name, parts in gone.parts.items()
                for at, count in parts.items()
            )
            yield Table("Where they came from", ("column", "part", "rows"), rows, (2,))
    if certificate.masked is not None:
        done = "hidden" if certificate.masked.how == "hide" else "released as a group of values"
        for name, count in certificate.masked.rows.items():
            words = f"In {rows_text(count)} the value of {subject.show(name)} is {done}, so that "
            yield Paragraph(f"{words}classes could be smaller.", "note")
    if leftover is not None:
        kept = {
            "with every identifying column blank": leftover.rooted,
            "with their sensitive values hidden": leftover.hidden,
            "with their sensitive values made coarser": leftover.generalized,
        }
        for how, count in kept.items():
            if count:
                yield Paragraph(f"{rows_text(count)} kept {how}.", "note")


SEVERAL_ROWS = "Several rows of one person."
NOT_COVERED = {
    "Facts about everybody.": "If the table shows that smokers die younger, everybody learns it, "
    "also about people who are not in it. That is what publishing is for.",
    "Being in the table.": "Nobody is kept from learning that a person is in it, unless the "
    "promise names presence.",
    "Several releases.": "Two releases about the same people, each of them safe, can give a "
    "person away together, whoever published them. This report is about one table.",
    "What others know already.": "Somebody who can rule values out, or knows nearly a whole row, "
    "learns more than the class shows.",
    "The ends of intervals.": "An interval that is written from the values of its class reveals "
    "its least and its greatest value exactly; the borders of a hierarchy do not.",
    "The order of rows.": "Where it was kept, a list of the people in the table's order shows "
    "whose row is whose; the certificate says whether it was.",
    "How the release was made.": "Somebody who knows the method may infer why a class was not "
    "split further, and something about its values from that.",
    "Columns called harmless.": "They were not looked at. A note in free text, an exact date or "
    "a price to the cent may identify a person.",
    "Learning across classes.": "A model trained on the whole release may guess better than a "
    "person's class suggests.",
    SEVERAL_ROWS: "Every row is taken to be a different person. Where that is not so, a class "
    "hides fewer people than it has rows.",
    "Differential privacy.": "This is a different kind of guarantee; neither follows from the "
    "other.",
    "The law.": "No number here makes data anonymous in the eyes of a law. Whether a table may "
    "be published is a judgement about data, recipients and harm; this report is evidence for it.",
}
"""The limits of every guarantee here, as in promise.md."""
LINKED_ROWS = (
    "Rows of one person taken together.",
    "Persons are counted once, whatever rows they have. But it can be seen which rows belong "
    "together: somebody who knows several of them can look for a person in all their classes, "
    "and these may have few persons, or one, in common.",
)
"""Replaces the entry on several rows of one person, where persons are counted."""


def make_limits_section(subject: Subject) -> Section:
    """Makes the section on what the guarantee does not cover."""
    lead = Paragraph("The promise is about what a class shows. It does not cover:")
    limits = tuple(NOT_COVERED.items())
    if subject.now.audit.bound.policy.subject is not None:
        limits = tuple(LINKED_ROWS if limit[0] == SEVERAL_ROWS else limit for limit in limits)
    return Section("limits", "What this does not cover", (lead, Points(limits)))


def make_presets_section(subject: Subject) -> Section:
    """Makes the section on thresholds that others use, with what was attained."""
    reached = max((each.k for each in PRESETS if each.k <= subject.now.audit.k), default=None)
    words = "fewer than any threshold in this list."
    if reached is not None:
        words = f"so it reaches the thresholds up to {reached}."
    lead = Paragraph(
        f"The smallest class has {subject.now.audit.k_text}, {words} What a source says is about "
        "its own tables, and is not a verdict on this one."
    )
    entries = tuple((f"k = {k}, {name}.", f"{by}. {says}") for k, name, by, says in PRESETS)
    parts = (lead, Points(entries), Paragraph(ABOUT_T))
    return Section("thresholds", "Thresholds that others use", parts)


ENDED = {
    "budget": "when its effort was spent",
    "clock": "by the clock",
    "cancelled": "by hand",
    "finished": "with nothing left to try",
}
"""How a search ended, in words."""
LONGEST_NUMBER = 26
"""Longer texts are hashes, even if they could be parsed as numbers."""
RECOUNTED = (
    "The promise was counted on the written file by code that shares nothing with the search, in "
    "whole numbers. Anyone with the file and the policy can repeat it: tclose verify."
)


def make_method_section(subject: Subject) -> Section:
    """Makes the section on how the result was made and how to check it."""
    rows: list[tuple[str, str]] = []
    if subject.certificate is not None:
        policy = subject.now.audit.bound.policy
        rows += _list_method(subject.certificate, policy, internal=subject.internal)
    rows += [(f"sha256 of the {name}", value) for name, value in _list_hashes(subject)]
    rows.append(("counted by", f"tclose {VERSION}"))
    parts: list[Part] = [] if subject.kind == "audit" else [Paragraph(RECOUNTED)]
    caption = "Method, seed and hashes" if subject.internal else "Method and hashes"
    parts.append(Table(caption, ("what", "value"), tuple(rows)))
    if subject.checks:
        outcomes = {True: "confirmed", False: "REFUTED", None: "not checked"}
        lines = tuple(
            (check.line, *_write_check(check, subject), outcomes[check.confirmed])
            for check in subject.checks
        )
        headings = ("line", "stated", "counted", "")
        parts.append(Table("The certificate, line by line", headings, lines))
    return Section("method", "How it was made and how to check it", tuple(parts))


def _write_check(check: Check, subject: Subject) -> tuple[str, str]:
    """Returns what is stated and counted; statements that cannot be counted are only internal."""
    stated = check.stated if subject.internal or check.counted != TOLD else ""
    return _shorten_number(stated), _shorten_number(check.counted)


def _shorten_number(text: str) -> str:
    """Writes a number of a certificate as in the rest of the report; other text is unchanged."""
    try:
        return number_text(float(text)) if len(text) < LONGEST_NUMBER else text
    except ValueError:
        return text


def _list_method(
    certificate: Certificate, policy: Policy, *, internal: bool
) -> Iterator[tuple[str, str]]:
    shown = {
        "method": certificate.method,
        "work allowed (seconds of an ordinary core)": certificate.effort,
        "steps": "as published, nothing after" if certificate.polish is False else None,
        "seconds allowed": certificate.seconds,
        "share of rows that may be left out": certificate.suppression,
        "the search ended": ENDED.get(certificate.stopped or ""),
        "rows read": certificate.input_rows,
    }
    for name, value in shown.items():
        if value is not None:
            yield name, value if isinstance(value, str) else number_text(value)
    if certificate.levels is not None:
        words = (policy.name_level(name, level) for name, level in certificate.levels.items())
        yield "levels", " · ".join(words)
    yield "made with", ", ".join(f"{name} {at}" for name, at in certificate.versions.items())
    # The seed helps to reason about how classes were made (promise.md), and a command contains
    # names of folders and files.
    yield "seed", str(certificate.seed) if internal else "kept by the steward"
    if internal and certificate.command:
        yield "command", certificate.command


def _list_hashes(subject: Subject) -> Iterator[tuple[str, str]]:
    """Yields hashes that may be shown: who knows most of a table can guess the rest from one."""
    stated = {} if subject.certificate is None else dict(subject.certificate.hashes)
    guessable = () if subject.internal else ("table", "input", "plan", "hierarchies")
    for name, value in {**subject.hashes, **stated}.items():
        if name in guessable or value is None:
            continue
        if isinstance(value, dict):
            about = "hierarchy of" if name == "hierarchies" else "file"
            yield from ((f"{about} {which}", digest) for which, digest in value.items())
        else:
            yield name, value
