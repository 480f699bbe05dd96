"""What attacks found and what to do, what is not covered, and how to check it all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from tclose.attacks.classes import SHARE_BEFORE
from tclose.attacks.finding import Finding
from tclose.plain import number_text, rows_text, share_text
from tclose.policy.model import Policy
from tclose.report.document import Folded, Paragraph, Part, Points, Section, Table, Tone
from tclose.report.subject import Subject
from tclose.verify.certificate import Certificate
from tclose.verify.recheck import UNCOUNTED, Check
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
    "No regulator that we know of recommends a value for t. Opinion 05/2014 of the Article 29 Data "
    "Protection Working Party (WP216) describes k-anonymity, l-diversity and t-closeness with "
    "their strengths and weaknesses, and names no value for t. The value in this report was chosen "
    "by the author of the policy; the report shows what it allows, so that it can be discussed."
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
KNOWN_ANYWAY = 0.95
CERTAIN = ("homogeneity", "background join")
"""Attacks that make a value certain, not only more likely; they are a step more severe."""
LEAD = (
    "These attacks were tried on the {thing}, to show what an attacker could learn. They go beyond "
    "the promise and are not judged against it: a person has to decide whether a finding is "
    "acceptable. Severity: high from 5% of the rows, medium from 1%, otherwise low; one step "
    "higher if a value becomes certain, but low if nearly all of the table have that value."
)
ADVICE = {
    "homogeneity": "Require l-diversity of {about}, or a smaller t.",
    "background knowledge": "Require a larger l for {about}.",
    "skewness": "Require a smaller t for {about}, or limit the belief in single values (alpha, "
    "beta).",
    "similarity": "Use a distance that takes into account which values of {about} are similar.",
    "background join": "Round or group {about}, or protect it against someone who knows the other "
    'sensitive columns (readings = ["cross"]).',
    "prosecutor": "Require a larger k.",
    "journalist": "Require a larger k, or k-map.",
    "marketer": "Require a larger k, so that classes are larger on average.",
    "population uniqueness": "Require a larger k, or generalize the columns that make people "
    "unique.",
    "special uniques": "Generalize the columns that make these rows unique, or leave the rows out.",
    "order": 'Remove rows = "keep" from the policy, so that rows are shuffled.',
    "linkage": "Require a larger k, or generalize the columns that are still exact.",
    "minimality": "Use a method whose classes do not depend on sensitive values, and do not "
    "publish method and seed.",
    "deFinetti": "Require a smaller t for {about}, or release fewer columns together with it.",
    "composition": "Do not publish both, or make the new release with the plan of the first.",
}
"""What a data steward can do about each attack."""


def rate_severity(finding: Finding) -> Severity:
    """Rates a finding by its share of rows and by whether values become certain.

    That everybody of a class has what nearly all of the table have reveals little.

    >>> [rate_severity(Finding("skewness", "a", "", n, 1000)) for n in (50, 10, 1)]
    ['high', 'medium', 'low']
    """
    if (finding.numbers.get(SHARE_BEFORE) or 0) >= KNOWN_ANYWAY:
        return "low"
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
        quiet = []
    else:
        parts.append(Paragraph("No attack that was tried found anything.", "good"))
    if quiet:
        names = "; ".join(dict.fromkeys(name_attack(finding, subject) for finding in quiet))
        parts.append(Paragraph(f"{len(quiet)} attacks found nothing: {names}."))
        described = ((f"{name_attack(f, subject)}.", _describe_finding(f, subject)) for f in quiet)
        parts.append(Folded("Attacks that found nothing, in detail", (Points(tuple(described)),)))
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
    headings = ("severity", "attack", "rows", *was, "share", "what it finds", "what to do")
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
            f"{gone.rows:,} rows are not in the release. People like them are therefore "
            "under-represented in it.",
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
        done = "hidden" if certificate.masked.how == "hide" else "generalized to a group"
        for name, count in certificate.masked.rows.items():
            words = f"In {rows_text(count)} the value of {subject.show(name)} is {done}, so that "
            yield Paragraph(f"{words}classes could be smaller.", "note")
    if leftover is not None:
        kept = {
            "with every quasi-identifier suppressed": leftover.rooted,
            "with their sensitive values hidden": leftover.hidden,
            "with their sensitive values generalized": leftover.generalized,
        }
        for how, count in kept.items():
            if count:
                yield Paragraph(f"{rows_text(count)} kept {how}.", "note")


SEVERAL_ROWS = "Several rows of one person."
NOT_COVERED = {
    "Facts about the population.": "If the table shows that smokers die younger, everyone learns "
    "it, also about people who are not in the table. This is the purpose of publishing it.",
    "Membership.": "The release may reveal that a person is in the table, unless the promise "
    "includes presence.",
    "Several releases.": "Two releases about the same people, each of them safe, can identify a "
    "person together, whoever published them. This report is about one table.",
    "Background knowledge.": "Someone who can rule values out, or knows nearly a whole row, learns "
    "more than the class shows.",
    "The ends of intervals.": "An interval made from the values of a class shows its exact minimum "
    "and maximum; the borders of a hierarchy do not.",
    "The order of rows.": "If the order was kept, a list of the people in the order of the table "
    "shows which row is whose; the certificate states whether it was kept.",
    "How the release was made.": "Someone who knows the method may infer why a class was not split "
    "further, and from that something about its values.",
    "Columns declared insensitive.": "They were not examined. Free text, an exact date or an exact "
    "price may identify a person.",
    "Learning across classes.": "A model trained on the whole release may guess better than a "
    "person's class suggests.",
    SEVERAL_ROWS: "Every row is assumed to be a different person. If this is not so, a class "
    "protects fewer people than it has rows.",
    "Differential privacy.": "This is a different kind of guarantee; neither implies the other.",
    "The law.": "No number in this report makes data anonymous in the legal sense. Whether a table "
    "may be published is a judgement about data, recipients and harm; this report is evidence for "
    "it.",
}
"""The limits of every guarantee here, as in promise.md."""
LINKED_ROWS = (
    "Rows of one person taken together.",
    "Persons are counted once, however many rows they have. But the rows of one person are linked: "
    "someone who knows several of them can look for a person who is in all these classes, and the "
    "classes may have few persons in common, or only one.",
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
        f"The smallest class has {subject.now.audit.k_text}, {words} The sources write about their "
        "own tables; this is not a verdict on this one."
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
    "The promise was verified on the written file, in exact integers, by code that is independent "
    "of the search. Anyone who has the file and the policy can repeat this with tclose verify."
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
    """Returns what is stated and counted; statements that cannot be counted are only internal, and
    so is what a plan states: its hashes of the table and its hierarchies let values be guessed.
    """
    if check.internal and not subject.internal:
        return "", ""
    stated = check.stated if subject.internal or check.counted != UNCOUNTED else ""
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
    yield "seed", str(certificate.seed) if internal else "stated in the certificate"
    if internal and certificate.command:
        yield "command", certificate.command


def _list_hashes(subject: Subject) -> Iterator[tuple[str, str]]:
    """Yields hashes that may be shown: who knows most of a table can guess the rest from one."""
    stated = {} if subject.certificate is None else dict(subject.certificate.hashes)
    guessable = (
        () if subject.internal else ("table", "input", "plan", "hierarchies", "promise_files")
    )
    for name, value in {**subject.hashes, **stated}.items():
        if name in guessable or value is None:
            continue
        if isinstance(value, dict):
            about = "hierarchy of" if name == "hierarchies" else "file"
            yield from ((f"{about} {which}", digest) for which, digest in value.items())
        else:
            yield name, value
