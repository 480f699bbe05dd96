"""What a report says: everything it should, the same in every form, and no value outside."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tclose
from tclose.attacks.suite import attack_release
from tclose.errors import UsageError
from tclose.report.document import (
    Bars,
    Card,
    Cards,
    Document,
    Figures,
    Gauges,
    HistogramChart,
    Paragraph,
    Picture,
    Points,
    Section,
    Table,
)
from tclose.report.render.saving import render_page, save_document
from tclose.report.render.terminal import write_plain_text
from tclose.report.sections.findings import ABOUT_T, ENDED, PRESETS
from tclose.sample import write_hospital
from tclose.verify.recheck import Check, recheck

RELEASE = [
    "glance", "promise", "columns", "before-and-after", "risk", "spread", "worst", "attacks",
    "limits", "thresholds", "method",
]  # fmt: skip


def release_json(case: Any, folder: Path, edition: str) -> dict[str, Any]:
    path = folder / f"{edition}.json"
    document = case.release.report(path, edition=edition)
    told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    assert told == document.to_json()
    return told


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)


def parts(told: dict[str, Any], key: str, kind: str) -> list[dict[str, Any]]:
    (section,) = [one for one in told["sections"] if one["key"] == key]
    return [part for part in section["parts"] if part["kind"] == kind]


def walk_texts(value: object) -> Iterator[str]:
    """Every piece of text in a document."""
    if isinstance(value, Document):
        value = value.to_json()
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from walk_texts(inner)


def test_a_release_is_told_from_the_promise_to_the_hashes(case: Any, tmp_path: Path) -> None:
    told = release_json(case, tmp_path, "external")
    assert [one["key"] for one in told["sections"]] == RELEASE
    assert told["edition"] == "external"
    promise, useful, attacks = parts(told, "glance", "cards")[0]["entries"]
    assert [card["title"] for card in (promise, useful, attacks)] == [
        "The promise", "Usefulness", "Attacks",
    ]  # fmt: skip
    assert (promise["headline"], promise["tone"]) == ("kept", "good")
    assert "every person is one of at least 4" in promise["note"]
    close = "the spread of illness and salary is as close to that of the whole table as promised"
    assert close in promise["note"]


def test_an_audit_and_a_verified_file_have_no_before(case: Any) -> None:
    for document in (case.audited("external"), case.verified("external")):
        keys = [one.key for one in document.sections]
        assert "before-and-after" not in keys
    assert usefulness(case.audited("external")).headline == "as it was"
    assert "left" in usefulness(case.verified("external")).headline


def usefulness(document: Document) -> Card:
    (cards,) = [part for part in document.section("glance").parts if isinstance(part, Cards)]
    return cards.entries[1]


def test_a_broken_promise_is_said_first(case: Any) -> None:
    cards = case.audited("external").sections[0].parts[0]
    assert isinstance(cards, Cards)
    assert (cards.entries[0].headline, cards.entries[0].tone) == ("does not hold", "bad")
    assert cards.entries[0].facts[0].value == "broken"


def test_before_and_after_agree_with_the_audits(case: Any, tmp_path: Path) -> None:
    told = release_json(case, tmp_path, "external")
    (table,) = parts(told, "before-and-after", "table")
    rows = {row[0]: row[1:] for row in table["rows"]}
    before, after = tclose.audit(case.table, case.policy), case.release.audit
    assert rows["rows"] == [f"{before.rows:,}", f"{after.rows:,}"]
    assert rows["classes"] == [f"{before.classes:,}", f"{after.classes:,}"]
    (promises,) = parts(told, "promise", "gauges")
    for one, other, gauge in zip(
        before.requirements, after.requirements, promises["entries"], strict=True
    ):
        assert gauge["before"].startswith(f"{one.achieved_text} (")
        assert (gauge["attained"], gauge["outcome"]) == (other.achieved_text, "kept")
        assert gauge["required"].split()[-1] == other.required
    assert rows["identifier person"] == ["in the table", "removed"]


def test_a_report_on_persons_speaks_of_persons_and_of_what_cleaning_did() -> None:
    """It spoke of rows that fit, and called rounded costs and pseudonyms released as they are."""
    ages, costs = [20, 20, 30, 30, 40, 40, 50, 50], [149, 151, 249, 251] * 2
    table = pa.table({"who": list("aabbccdd"), "age": ages, "cost": costs})
    cost = {"role": "sensitive", "t": 1, "clean": {"round": 100}}
    policy = {"k": 2, "columns": {"who": "subject", "age": "quasi", "cost": cost}}
    release = tclose.anonymize(table, policy, method="mondrian")
    text = write_plain_text(release.report(attacks=False))
    assert "finds at least 2 persons that fit" in " ".join(text.split())
    assert "cost: cleaned; not generalized" in text
    entries = {entry.column: entry.treatment for entry in release.dictionary().columns}
    assert entries["cost"] == "rounded to 100; not generalized"
    checks = {check.line: check for check in recheck(release.certificate, release.audit, None)}
    assert checks["smallest class, in persons"].counted == str(release.audit.k)


def test_risks_are_those_of_the_attacks(case: Any, tmp_path: Path) -> None:
    told = release_json(case, tmp_path, "external")
    (figures,) = parts(told, "risk", "figures")
    shown = {one["label"]: (one["value"], one["note"]) for one in figures["entries"]}
    size = [int(one) for one in case.release.audit.bound.classes.size]
    was = [int(one) for one in tclose.audit(case.table, case.policy).bound.classes.size]
    surest = (f"{1 / min(size):.1%}", f"before: {1 / min(was):.1%}")
    assert shown["prosecutor: highest probability"] == surest
    rightly = (f"{len(size) / sum(size):.1%}", f"before: {len(was) / sum(was):.1%}")
    assert shown["marketer: rows assigned correctly"] == rightly


def test_an_attack_that_found_nothing_on_two_levels_is_named_once(tmp_path: Path) -> None:
    table, policy, _ = write_hospital(tmp_path, rows=200)
    audit = tclose.audit(table, policy)
    tried = [finding for finding in attack_release(audit.bound).findings if not finding.found]
    assert sum(found.attack == "similarity" for found in tried) > 1, "on each level of diagnoses"
    told = tclose.audit_report(audit).to_json()
    (words,) = [
        part["text"].partition(": ")[2].rstrip(".")
        for part in parts(told, "attacks", "paragraph")
        if " found nothing: " in part["text"]
    ]
    names = words.split("; ")
    assert "Similarity, diagnosis" in names and len(names) == len(set(names))


def test_how_a_search_ended_is_told_in_words(case: Any, tmp_path: Path) -> None:
    told = release_json(case, tmp_path, "external")
    rows = {row[0]: row[1] for row in parts(told, "method", "table")[0]["rows"]}
    assert rows["the search ended"] == ENDED[case.release.certificate.stopped]


def test_losses_are_those_of_the_release(case: Any, tmp_path: Path) -> None:
    told = release_json(case, tmp_path, "external")
    useful = parts(told, "glance", "cards")[0]["entries"][1]
    left = {fact["name"]: fact["share"] for fact in useful["facts"]}
    assert left == pytest.approx({n: 1 - loss for n, loss in case.release.loss.columns.items()})


def test_what_is_not_covered_is_in_every_report(case: Any) -> None:
    for document in (case.audited("internal"), case.verified("external")):
        (_, points) = document.section("limits").parts
        assert isinstance(points, Points) and len(points.entries) >= 9


def test_no_report_claims_what_no_report_can(case: Any) -> None:
    for document in (case.audited("internal"), case.verified("external")):
        words = " ".join(walk_texts(document)).lower()
        assert "complian" not in words and "gdpr" not in words
        assert ABOUT_T.lower() in words
    assert [one.k for one in PRESETS] == sorted(one.k for one in PRESETS)
    assert all(one.source and one.says for one in PRESETS)


@pytest.mark.parametrize("kind", ["release", "audit", "verify"])
def test_an_external_edition_holds_no_value_of_the_table_or_the_release(
    case: Any, pages: dict[str, Path], kind: str, tmp_path: Path
) -> None:
    page = pages[f"{kind}-external"].read_text(encoding="utf-8")
    forms = [page]
    if kind == "release":
        for path in (tmp_path / "r.json", tmp_path / "r.txt"):
            case.release.report(path)
            forms.append(path.read_text(encoding="utf-8"))
    else:
        document = case.audited("external") if kind == "audit" else case.verified("external")
        forms += [write_plain_text(document), json.dumps(document.to_json(), ensure_ascii=False)]
    for text in forms:
        assert [value for value in case.secrets if value in text] == []


@pytest.mark.parametrize("kind", ["release", "audit", "verify"])
def test_an_internal_edition_names_the_worst_classes_and_shows_their_flows(
    pages: dict[str, Path], case: Any, kind: str
) -> None:
    text = pages[f"{kind}-internal"].read_text(encoding="utf-8")
    assert "Internal edition" in text and "Zill-" in text and "Clb-" in text
    assert text.count('<figure class="flow"') == 2, "arcs, folded"
    assert text.count("the class has more") == 4, "bars, for a wide screen and for a narrow one"
    # Names stay in the house even there: they are no part of a class.
    assert "Pxname" not in text and "Rmk-" not in text


def test_the_seed_and_the_command_stay_with_the_steward(tmp_path: Path, case: Any) -> None:
    rows = dict(parts(release_json(case, tmp_path, "external"), "method", "table")[0]["rows"])
    assert rows["seed"] == "stated in the certificate" and "command" not in rows
    inside = dict(parts(release_json(case, tmp_path, "internal"), "method", "table")[0]["rows"])
    assert inside["seed"] == str(case.release.certificate.seed)
    assert inside["sha256 of the output"] == case.release.certificate.hashes.output


def test_a_refuted_certificate_is_said_at_the_top(case: Any) -> None:
    found = tclose.verify(case.release.path, case.policy)
    checks = (Check("rows", "9", "240", False), Check("loss", "0.1", "needs the original", None))
    document = tclose.audit_report(found, kind="verify", checks=checks)
    first = document.section("glance").parts[0]
    assert isinstance(first, Paragraph) and first.tone == "bad"
    assert "1 of 2 lines is refuted" in first.text


def test_page_text_and_json_say_the_same(case: Any) -> None:
    document = case.audited("internal")
    text = re.sub(r"[\s│┃]+", " ", write_plain_text(document))
    page = re.sub(r"\s+", " ", render_page(document))
    for section in document.sections:
        assert section.title in text and section.title in page
        for part in section.parts:
            if isinstance(part, Figures):
                for one in part.entries:
                    assert one.value in text and one.value in page
            if isinstance(part, Cards):
                for card in part.entries:
                    assert card.headline in text and escape(card.headline) in page
            if isinstance(part, Gauges):
                for gauge in part.entries:
                    assert gauge.attained in text and gauge.attained in page
            if isinstance(part, HistogramChart | Bars | Picture | Table):
                table = part if isinstance(part, Table) else part.table()
                assert f"<caption>{table.caption}</caption>" in page
    told = json.loads(json.dumps(document.to_json(), allow_nan=False))
    assert set(strings(told)) >= {one.title for one in document.sections}


def test_a_section_of_somebody_else_finds_its_place() -> None:
    """What a frontier brings stands where it is asked to."""
    own = Document("R", "", "external", (Section("attacks", "A", ()), Section("limits", "L", ())))
    extra = Section("frontier", "F", (Paragraph("curves"),))
    keys = [one.key for one in own.with_section(extra, before="attacks").sections]
    assert keys == ["frontier", "attacks", "limits"]
    assert [one.key for one in own.with_section(extra).sections][-1] == "frontier"


def test_further_sections_stand_before_the_attacks(case: Any) -> None:
    extra = Section("frontier", "What a stricter promise costs", (Paragraph("curves"),))
    audit = tclose.audit(case.table, case.policy)
    keys = [one.key for one in tclose.audit_report(audit, further=[extra]).sections]
    assert keys[keys.index("frontier") + 1] == "attacks"


@pytest.mark.parametrize("rows", ["keep", "shuffle"])
def test_a_frame_gives_a_report_too(rows: str) -> None:
    table = pa.table({"q": list(range(40)), "s": ["a", "b"] * 20})
    rules = {
        "k": 2,
        "release": {"rows": rows},
        "columns": {"q": "quasi", "s": {"role": "sensitive", "t": 0.2}},
    }
    release = tclose.anonymize(table, rules, method="mondrian")
    assert release.report().subtitle == "frame: 40 rows"


def test_equal_releases_give_equal_reports(case: Any, tmp_path: Path) -> None:
    first, second = tmp_path / "a.html", tmp_path / "b.html"
    for path in (first, second):
        case.release.report(path)
    assert first.read_bytes() == second.read_bytes()


def test_a_table_without_sensitive_columns_or_promise_is_reported(tmp_path: Path) -> None:
    found = tclose.audit(pa.table({"q": ["a", "a", "b"]}), quasi="q")
    page = tclose.audit_report(found, tmp_path / "r.html", edition="internal")
    assert "There is no promise that a class" in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.sections[0].key == "glance"


@pytest.mark.parametrize(
    "promise",
    [
        {"t": 0}, {"t": 1}, {"t": "1/1000"}, {"t": 0.2, "distance": "kl"}, {"l": {"entropy": 2}},
        {"l": {"recursive": {"c": 2, "l": 2}}}, {"l": {"probabilistic": 2}}, {"beta": 1},
        {"beta": {"enhanced": 1}}, {"delta": 2}, {"alpha": 0.6}, {"p": 2},
        {"missing": "any", "t": 1},
    ],
)  # fmt: skip
def test_every_requirement_has_its_words(promise: dict[str, Any], tmp_path: Path) -> None:
    values = ["x", "y", "x", "z", "x", "y", None, "z"]
    table = pa.table({"q": ["a"] * 4 + ["b"] * 4, "s": values, "u": list(range(8))})
    columns = {"q": "quasi", "s": {"role": "sensitive", **promise}, "u": "insensitive"}
    for edition in ("internal", "external"):
        document = tclose.audit_report(tclose.audit(table, {"columns": columns}), edition=edition)
        for suffix in (".html", ".json", ".txt"):
            save_document(document, tmp_path / f"r{suffix}")
        (gauges,) = [p for p in document.section("promise").parts if isinstance(p, Gauges)]
        for gauge in gauges.entries:
            words = gauge.sentence
            assert gauge.name and words[:1].isupper() and words.endswith(".")


def test_what_is_no_report_is_refused_before_any_work(case: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown kind of report"):
        case.release.report(tmp_path / "r.docx")
    with pytest.raises(UsageError, match="edition"):
        case.release.report(tmp_path / "r.html", edition="public")
    assert list(tmp_path.iterdir()) == []


def test_a_limit_that_is_a_fraction_is_told_as_one() -> None:
    table = pa.table({"q": ["a", "a", "b"], "s": ["x", "y", "x"]})
    rules = {"columns": {"q": "quasi", "s": {"role": "sensitive", "t": str(Fraction(1, 3))}}}
    words = " ".join(walk_texts(tclose.audit_report(tclose.audit(table, rules))))
    assert "by more than 1/3 on a scale" in words


def test_a_loose_promise_is_not_praised(tmp_path: Path) -> None:
    """A t of 0.9 allows nearly anything: no sentence may call that close."""
    table = pa.table({"q": list("aabb"), "s": list("xyxx")})
    rules = {"k": 2, "columns": {"q": "quasi", "s": {"role": "sensitive", "t": 0.9}}}
    told = tclose.audit_report(tclose.audit(table, rules), tmp_path / "report.txt")
    text = (tmp_path / "report.txt").read_text("utf-8")
    assert told.edition == "external"
    assert "by more than 0.9 on a scale from 0 (alike) to 1" in " ".join(text.split())
    assert "spread nearly" not in text and "tells little" not in text


def test_a_broken_requirement_is_told_as_a_wish() -> None:
    table = pa.table({"q": list("aab"), "s": list("xyx")})
    rules = {"k": 2, "columns": {"q": "quasi", "s": {"role": "sensitive", "t": 0.9}}}
    document = tclose.audit_report(tclose.audit(table, rules)).to_json()
    broken, kept = parts(document, "promise", "gauges")[0]["entries"]
    assert broken["name"] == "Being one of many"
    assert broken["outcome"] == "broken for 1 row in 1 class"
    assert broken["sentence"].startswith("Required: someone who knows a person's q")
    assert kept["name"] == "Closeness of s" and kept["outcome"] == "kept"
    assert kept["sentence"].startswith("In no class")


@pytest.mark.parametrize(
    ("promise", "required", "whole"),
    [
        ({"t": 0.5}, "at most 0.5", "the whole table"),
        ({"t": 0.5, "n": 4}, "n=4, t=0.5", "a large part of the table"),
        (
            {"t": 0.5, "reference": "uniform"},
            "at most 0.5",
            "a uniform distribution over 2 values",
        ),
    ],
)
def test_a_report_names_what_classes_are_compared_with(
    promise: dict[str, Any], required: str, whole: str
) -> None:
    table = pa.table({"q": ["a", "a", "b", "b"] * 2, "s": ["x", "y", "x", "x"] * 2})
    quasi = {"role": "quasi", "hierarchy": {"groups": {"all": ["a", "b"]}}}
    rules = {"k": 2, "columns": {"q": quasi, "s": {"role": "sensitive", **promise}}}
    text = re.sub(
        r"[\s│┃]+", " ", write_plain_text(tclose.audit_report(tclose.audit(table, rules)))
    )
    assert f"{required} required" in text
    assert f"is as close to that of {whole} as promised" in text
    assert f"Rows by how far their class is from {whole}: s" in text


def test_attacks_that_were_left_out_are_not_said_to_have_found_nothing(case: Any) -> None:
    found = tclose.verify(case.release.path, case.policy)
    document = tclose.audit_report(found, kind="verify", attacks=False)
    text = re.sub(r"\s+", " ", write_plain_text(document))
    assert "Attacks: not tried" in text and "No attack was tried." in text
    assert "nothing found" not in text and "found nothing" not in text


def test_the_first_card_gives_values_beside_what_was_required(case: Any) -> None:
    """A share of a limit, 42 % where 12 rows look alike and 5 are enough, says the opposite."""
    document = case.verified("external")
    (cards,) = [part for part in document.section("glance").parts if isinstance(part, Cards)]
    facts = {fact.name: fact.value for fact in cards.entries[0].facts}
    (crowd,) = [v for v in case.release.audit.requirements if v.requirement == "k-anonymity"]
    assert facts["Being one of many"] == f"{crowd.achieved_text}, at least {crowd.required}"
    assert all(", at most " in value for name, value in facts.items() if "Closeness" in name)
