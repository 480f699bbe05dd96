"""What attacks found, what each column lost, what is not covered, and how to check it all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tclose.attacks.finding import Finding
from tclose.report.document import Bars, Paragraph, Part, Points, Section, Series, Table
from tclose.report.subject import Subject
from tclose.verify.certificate import Certificate
from tclose.verify.wording import rows_text
from tclose.version import VERSION


@dataclass(frozen=True)
class Preset:
    """A named threshold: what it is, who uses it, and what that does not mean."""

    name: str
    k: int
    source: str
    says: str


PRESETS: tuple[Preset, ...] = (
    Preset(
        "a minimum",
        3,
        "Common practice of statistical offices for tables of counts",
        "Cells with fewer than three contributors are withheld, because of two each would know "
        "the other. Offices differ, and many ask for more.",
    ),
    Preset(
        "usual",
        5,
        "Common practice in health statistics, and the number met most often in the literature "
        "on k-anonymity",
        "Counts below five are withheld or merged.",
    ),
    Preset(
        "research output",
        10,
        "Checking of research output at the Office for National Statistics (United Kingdom)",
        "A threshold of ten is part of its rules; results about fewer than ten observations are "
        "looked at case by case before they leave.",
    ),
    Preset(
        "CMS cell size",
        11,
        "Centers for Medicare & Medicaid Services (United States), cell size suppression policy",
        "No cell from 1 to 10 of its data may be displayed: the smallest count shown is 11. The "
        "policy is about counts in published tables and names neither k-anonymity nor classes.",
    ),
)
"""In the order of k; what a source says is about its own tables, and none is a verdict."""
ABOUT_T = (
    "For t no regulator that we know of gives a value. Opinion 05/2014 of the Article 29 Data "
    "Protection Working Party (WP216) describes k-anonymity, l-diversity and t-closeness, their "
    "merits and their weaknesses, and names no value for t. The number in this report was chosen "
    "by whoever wrote the policy; what it allows is shown above, so that the choice can be argued."
)


RISKS = ("prosecutor", "journalist", "marketer")
COMPARABLE = ("homogeneity", "skewness")
"""Others count only what the class alone does not give away, so they find less where it does."""


def make_attacks_section(subject: Subject) -> Section:
    """Every attack that was tried, in a sentence each."""
    report = subject.now.attacks
    found = [finding for finding in report.found if finding.attack not in RISKS]
    quiet = [f for f in report.findings if not f.found and f.attack not in RISKS]
    parts: list[Part] = [
        Paragraph(
            "What could somebody learn who means ill? These attacks were tried on the "
            f"{subject.thing}. They go beyond the promise, and none of them is judged against it: "
            "whether a finding is acceptable is for a person to decide."
        )
    ]
    if found:
        parts.append(Paragraph(f"{len(found)} found something, most rows first:", "note"))
        parts.append(Points(tuple(_describe_finding(finding, subject) for finding in found)))
    else:
        parts.append(Paragraph("No attack that was tried found anything.", "good"))
    if quiet:
        parts.append(Paragraph(f"{len(quiet)} found nothing:"))
        parts.append(Points(tuple(_describe_finding(finding, subject) for finding in quiet)))
    if report.not_tried:
        parts.append(Points(tuple(("Not tried:", f"{line}.") for line in report.not_tried)))
    return Section("attacks", "Attacks that were tried", tuple(parts))


def _describe_finding(finding: Finding, subject: Subject) -> tuple[str, str]:
    """A sentence, led by how many rows it affects and affected before."""
    about = f", {finding.attribute}" if finding.attribute else ""
    counted = f"{finding.affected:,} of {rows_text(finding.total)}"
    if subject.before is not None and finding.attack in COMPARABLE:
        before = subject.before.attacks.of(finding.attack)
        same = [other for other in before if other.attribute == finding.attribute]
        counted += f" (before: {same[0].affected:,})" if same else ""
    words = finding.sentence
    if subject.internal and finding.classes:
        worst = ", ".join(f"{number:,}" for number in finding.classes[:5])
        words += f" Worst classes: {worst}."
    return f"{finding.attack[:1].upper()}{finding.attack[1:]}{about}: {counted}.", words


def make_losses_section(subject: Subject) -> Section | None:
    """What each column lost, where it is known."""
    columns = subject.lost
    if not columns:
        return None
    words = (
        "Values of these columns were made coarser so that people look alike. 0% means that a "
        "column is as it was, 100% that nothing of it is left; in between, it is the share of the "
        "column's range that a released value covers on the average. Other columns are unchanged "
        "unless this report says otherwise."
    )
    if subject.kind == "verify":
        words += " They stand in the certificate; the original was not there to recount them."
    lost = (Series("lost", tuple(columns.values())),)
    chart = Bars("Detail lost by each column", "share of detail lost", tuple(columns), lost)
    parts: list[Part] = [Paragraph(words), chart, *_describe_left_out(subject)]
    return Section("losses", "What each column lost", tuple(parts))


def _describe_left_out(subject: Subject) -> Iterator[Part]:
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
                (name, part, str(count))
                for name, parts in gone.parts.items()
                for part, count in parts.items()
            )
            yield Table("Where they came from", ("column", "part", "rows"), rows, (2,))
    if leftover is not None:
        kept = {
            "with every identifying column blank": leftover.rooted,
            "with their sensitive values hidden": leftover.hidden,
            "with their sensitive values made coarser": leftover.generalized,
        }
        for how, count in kept.items():
            if count:
                yield Paragraph(f"{count} rows were kept {how}.", "note")


SEVERAL_ROWS = "Several rows of one person."
NOT_COVERED = {
    "Facts about everybody.": (
        "If the table shows that smokers die younger, everybody learns it, also about people "
        "who are not in it. That is what publishing is for."
    ),
    "Being in the table.": (
        "Nobody is kept from learning that a person is in it, unless the promise names presence."
    ),
    "Several releases.": (
        "Two releases about the same people, each of them safe, can give a person away "
        "together, whoever published them. This report is about one table."
    ),
    "What others know already.": (
        "Somebody who can rule values out, or knows nearly a whole row, learns more than the "
        "class shows."
    ),
    "How the release was made.": (
        "Whoever knows the method may infer why a class was not split further, and something "
        "about its values from that."
    ),
    "Columns called harmless.": (
        "They were not looked at. A note in free text, an exact date or a price to the cent "
        "may identify a person."
    ),
    "Learning across classes.": (
        "A model trained on the whole release may guess better than a person's class suggests."
    ),
    SEVERAL_ROWS: (
        "Every row is taken to be a different person. Where that is not so, a class hides "
        "fewer people than it has rows."
    ),
    "Differential privacy.": (
        "This is a different kind of guarantee; neither follows from the other."
    ),
    "The law.": (
        "No number here makes data anonymous in the eyes of a law. Whether a table may be "
        "published is a judgement about data, recipients and harm; this report is evidence "
        "for it."
    ),
}
"""The limits of every guarantee here, as docs/promise.md tells them."""
LINKED_ROWS = (
    "Rows of one person taken together.",
    "Persons are counted once, whatever rows they have. But their rows can be told to belong "
    "together: whoever knows several of them looks for a person who is in all their classes, and "
    "these may have few persons, or one, in common.",
)
"""In place of what is said about several rows of one person, where persons are counted."""


def make_limits_section(subject: Subject) -> Section:
    """What the guarantee does not cover."""
    lead = Paragraph("The promise is about what a class shows. It does not cover:")
    limits = tuple(NOT_COVERED.items())
    if subject.now.audit.bound.policy.subject is not None:
        limits = tuple(LINKED_ROWS if limit[0] == SEVERAL_ROWS else limit for limit in limits)
    return Section("limits", "What this does not cover", (lead, Points(limits)))


def make_presets_section(subject: Subject) -> Section:
    """Thresholds that others use, beside what was attained."""
    reached = [preset.k for preset in PRESETS if preset.k <= subject.now.audit.k]
    words = "fewer than any threshold in this list."
    if reached:
        words = f"so it reaches the thresholds up to {reached[-1]}."
    lead = Paragraph(
        f"The smallest class has {subject.now.audit.k_text}, {words} What a source says is about "
        "its own tables, and is no verdict on this."
    )
    entries = tuple(
        (f"k = {preset.k}, {preset.name}.", f"{preset.source}. {preset.says}") for preset in PRESETS
    )
    parts = (lead, Points(entries), Paragraph(ABOUT_T, "note"))
    return Section("thresholds", "Thresholds that others use", parts)


def make_method_section(subject: Subject) -> Section:
    """How it came about, and how anybody can check it."""
    rows: list[tuple[str, str]] = []
    if subject.certificate is not None:
        rows += _list_method(subject.certificate, internal=subject.internal)
    rows += [(f"sha256 of the {name}", value) for name, value in _list_hashes(subject)]
    rows.append(("counted by", f"tclose {VERSION}"))
    parts: list[Part] = []
    if subject.kind != "audit":
        parts.append(
            Paragraph(
                "The promise was counted on the written file by code that shares nothing with the "
                "search, in whole numbers. Whoever has the file and the policy can repeat it: "
                "tclose verify."
            )
        )
    caption = "Method, seed and hashes" if subject.internal else "Method and hashes"
    parts.append(Table(caption, ("what", "value"), tuple(rows)))
    if subject.checks:
        outcomes = {True: "confirmed", False: "REFUTED", None: "not checked"}
        lines = tuple((c.line, c.stated, c.counted, outcomes[c.confirmed]) for c in subject.checks)
        headings = ("line", "stated", "counted", "")
        parts.append(Table("The certificate, line by line", headings, lines))
    return Section("method", "How it was made and how to check it", tuple(parts))


def _list_method(certificate: Certificate, *, internal: bool) -> Iterator[tuple[str, str]]:
    shown = {
        "method": certificate.method,
        "work allowed (seconds of an ordinary core)": certificate.effort,
        "seconds allowed": certificate.seconds,
        "share of rows that may be left out": certificate.suppression,
        "the search ended": certificate.stopped,
        "rows read": certificate.input_rows,
    }
    for name, value in shown.items():
        if value is not None:
            yield name, f"{value:,}" if isinstance(value, int) else str(value)
    if certificate.levels is not None:
        yield "levels", ", ".join(f"{name} {level}" for name, level in certificate.levels.items())
    versions = ", ".join(f"{name} {number}" for name, number in certificate.versions.items())
    yield "made with", versions
    # Whoever reasons about how classes were made is helped by the seed (docs/promise.md), and a
    # command names folders and files of the house.
    yield "seed", str(certificate.seed) if internal else "kept by the steward"
    if internal and certificate.command:
        yield "command", certificate.command


def _list_hashes(subject: Subject) -> Iterator[tuple[str, str]]:
    stated = {} if subject.certificate is None else dict(subject.certificate.hashes)
    for name, value in {**subject.hashes, **stated}.items():
        if isinstance(value, dict):
            yield from ((f"hierarchy of {column}", digest) for column, digest in value.items())
        elif value is not None:
            yield name, value
