"""The report that somebody signs: verdicts, columns, promises, attacks, context, editions, PDF."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner, Result

import tclose
from tclose.attacks.finding import Finding
from tclose.cli import app
from tclose.errors import PolicyError, UsageError
from tclose.report.document import Card, Cards, Document, Folded, Gauges, HistogramChart, Table
from tclose.report.made_up import make_up
from tclose.report.render.printing import BROWSERS
from tclose.report.render.saving import render_page
from tclose.report.render.terminal import write_plain_text
from tclose.report.sections.context import FRAMEWORKS, PLACES
from tclose.report.sections.findings import ADVICE, rate_severity
from tclose.sample import write_hospital
from tclose.verify.recheck import recheck

ROWS = 120
CONTEXT = {
    "recipient": "Department of Epidemiology",
    "purpose": "Study of readmissions",
    "controls": ["secure room", "contract 17"],
    "threshold": "one in eleven",
    "justification": "one trained group, no earlier release",
    "expert": "A. Example, statistician",
    "review_date": "2027-10-01",
}
POLICY: dict[str, Any] = {
    "k": 4,
    "context": CONTEXT,
    "columns": {
        "record": "identifier",
        "birth": {"role": "quasi", "label": "Date of birth",
                  "hierarchy": {"dates": ["year", "decade"]}},
        "town": {"role": "quasi", "hierarchy": {"prefix": [3, 0]}},
        "sex": "quasi",
        "illness": {"role": "sensitive", "t": 0.4, "label": "Illness at discharge", "hierarchy": {
            "groups": {"lungs": ["Zcough", "Zasthma"], "skin": ["Zrash", "Zburn"]}}},
    },
}  # fmt: skip


def make_table() -> pa.Table:
    """Birth dates that are all different, so that hardly anything of them can be left."""
    at = np.arange(ROWS)
    return pa.table(
        {
            "record": [f"Rec-{n:04}" for n in at],
            "birth": [f"{1931 + n * 37 % 60}-{1 + n % 12:02}-{1 + n % 28:02}" for n in at],
            "town": [f"8{n % 3}{n % 4}7{n % 10}" for n in at],
            "sex": ["Fxm" if n % 2 else "Mxm" for n in at],
            "illness": [("Zcough", "Zasthma", "Zrash", "Zburn")[n * n % 7 % 4] for n in at],
        }
    )


@pytest.fixture(scope="module")
def release() -> tclose.Release:
    made: tclose.Release = tclose.anonymize(make_table(), POLICY, method="optimal")
    return made


@pytest.fixture(scope="module")
def documents(release: tclose.Release) -> dict[str, Document]:
    return {name: release.report(edition=name) for name in ("external", "internal", "users")}


def cards_of(document: Document, key: str) -> dict[str, Card]:
    (cards,) = [part for part in document.section(key).parts if isinstance(part, Cards)]
    return {card.title: card for card in cards.entries}


def text_of(document: Document) -> str:
    return json.dumps(document.to_json(), ensure_ascii=False)


# --- at a glance


def test_a_report_opens_with_three_verdicts(documents: dict[str, Document]) -> None:
    for name in ("external", "internal"):
        assert documents[name].sections[0].key == "glance"
        assert list(cards_of(documents[name], "glance")) == ["The promise", "Usefulness", "Attacks"]


def test_the_promise_says_how_near_it_is(release: tclose.Release, documents: Any) -> None:
    card = cards_of(documents["external"], "glance")["The promise"]
    used = {fact.name: fact.share for fact in card.facts}
    smallest = min(release.audit.bound.classes.size)
    assert used["Being one of many"] == pytest.approx(4 / smallest)
    close = release.audit.requirements[1].achieved
    assert used["Closeness of Illness at discharge"] == pytest.approx(close / 0.4)
    shares = [share for share in used.values() if share is not None]
    assert shares == sorted(shares, reverse=True), "the nearest first"


def test_a_column_with_nothing_left_is_told_in_red() -> None:
    levels = {"birth": [3, 3]}
    rules = {**POLICY, "search": {"levels": levels}}
    document = tclose.anonymize(make_table(), rules, method="optimal").report()
    card = cards_of(document, "glance")["Usefulness"]
    assert (card.headline, card.tone) == ("nothing left of Date of birth", "bad")
    (fact,) = [fact for fact in card.facts if fact.name == "Date of birth"]
    assert (fact.value, fact.tone, fact.share) == ("nothing left", "bad", 0.0)
    column = cards_of(document, "columns")["Date of birth"]
    assert column.tone == "bad" and column.headline.endswith("nothing left")
    assert '<div class="is-bad"><dt>Date of birth</dt><dd>nothing left</dd>' in render_page(
        document
    )


def test_what_is_left_is_one_less_what_was_lost(release: tclose.Release, documents: Any) -> None:
    card = cards_of(documents["external"], "glance")["Usefulness"]
    left = {fact.name: fact.share for fact in card.facts}
    lost = release.loss.columns
    assert left == pytest.approx(
        {"Date of birth": 1 - lost["birth"], "town": 1 - lost["town"], "sex": 1 - lost["sex"]}
    )


# --- columns


def test_every_column_has_a_card_with_role_and_treatment(documents: Any) -> None:
    cards = cards_of(documents["internal"], "columns")
    assert list(cards) == ["Date of birth", "town", "sex", "Illness at discharge", "record"]
    assert cards["record"].headline == "removed"
    assert cards["Illness at discharge"].headline == "released as it is"
    for title, role in (("town", "quasi-identifier"), ("record", "identifier")):
        assert cards[title].facts[0].value.startswith(role)
    names = [fact.name for fact in cards["town"].facts]
    assert names == ["role", "typical value", "lost", "share of *"]
    assert cards["Date of birth"].note == "column birth"


def test_the_typical_value_is_that_of_most_rows_inside_and_made_up_outside(
    release: tclose.Release, documents: Any
) -> None:
    values = release.data.column("town").to_pylist()
    (inside,) = [f for f in cards_of(documents["internal"], "columns")["town"].facts
                 if f.name == "typical value"]  # fmt: skip
    assert values.count(inside.value) == max(values.count(value) for value in values)
    for name in ("external", "users"):
        (outside,) = [f for f in cards_of(documents[name], "columns")["town"].facts
                      if f.name == "typical value"]  # fmt: skip
        assert outside.value.removesuffix(" (made up)") not in {*values, inside.value} - {"*"}


@pytest.mark.parametrize(
    ("value", "form", "made"),
    [
        ("476**", "mask", "123** (made up)"),
        ("J45.9*", "mask", "A12.3* (made up)"),
        ("[21, 30]", "interval", "[10, 19] (made up)"),
        ("[1950-01-01, 1959-12-31]", "interval", "[1910-01-01, 1919-12-31] (made up)"),
        ("[01067, 09112]", "interval", "[10000, 18000] (made up)"),
        ("[1933-06-02, 2005-09-18]", "interval", "[1910-01-01, 1981-12-31] (made up)"),
        ("[2025-01-03, 2025-04-10]", "interval", "[1910-01-01, 1910-03-31] (made up)"),
        ("[0.12, 0.38]", "interval", "[1, 1.3] (made up)"),
        ("{flu, cough}", "set", "{A, B} (made up)"),
        ("{a, b, c, d}", "set", "{A, B, C, …} of 4 values (made up)"),
        ("1950s", "group", "1900s (made up)"),
        ("a text of many words", "exact", "a value as it was"),
    ],
)
def test_a_made_up_value_has_the_form_of_the_released_one(value: str, form: str, made: str) -> None:
    assert make_up(value, form, {value}) == made


def test_a_made_up_value_is_nobodys() -> None:
    taken = {"476**", "123**"}
    assert make_up("476**", "mask", taken) == "987** (made up)"
    assert make_up("476**", "mask", {*taken, "987**"}) == "its first characters"
    assert make_up("[21, 30]", "interval", {"[21, 30]", "10"}) == "[20, 29] (made up)"


def test_the_share_of_stars_is_counted(release: tclose.Release, documents: Any) -> None:
    for name, title in (("birth", "Date of birth"), ("town", "town"), ("sex", "sex")):
        values = release.data.column(name).to_pylist()
        (fact,) = [fact for fact in cards_of(documents["external"], "columns")[title].facts
                   if fact.name == "share of *"]  # fmt: skip
        assert fact.share == pytest.approx(values.count("*") / ROWS)


def test_distributions_before_and_after_add_up(documents: Any) -> None:
    cards = cards_of(documents["internal"], "columns")
    for title in ("Date of birth", "town", "sex", "Illness at discharge"):
        chart = cards[title].chart
        assert isinstance(chart, HistogramChart)
        assert [series.name for series in chart.series] == ["before", "after"]
        for series in chart.series:
            assert sum(value or 0 for value in series.values) == pytest.approx(1)


def test_a_released_interval_is_shared_out_evenly_over_its_length() -> None:
    values = [0] * 5 + [2, 9, 10] + [4, 4, 6]
    table = pa.table({"q": values, "s": list("xyxyxyxyxyx")})
    rules = {"k": 3, "columns": {"q": "quasi", "s": {"role": "sensitive", "t": 0.9}}}
    release = tclose.anonymize(table, rules, method="mondrian")
    chart = cards_of(release.report(edition="internal"), "columns")["q"].chart
    assert chart is not None and len(chart.bins) == len(set(values)) == 6
    before, after = [0.0] * 6, [0.0] * 6
    for value in values:
        before[min(int(value / 10 * 6), 5)] += 1 / len(values)
    for label in release.data.column("q").to_pylist():
        low, *_, high = [int(end) for end in re.findall(r"\d+", label) * 2]
        grains = [low + (high - low) * (at + 0.5) / 6000 for at in range(6000)]
        for grain in grains:
            after[min(int(grain / 10 * 6), 5)] += 1 / 6000 / len(values)
    for series, expected in zip(chart.series, (before, after), strict=True):
        assert series.values == pytest.approx(expected, abs=1e-3)


def test_what_is_hidden_is_not_shared_out() -> None:
    """A column of which nothing is left must not look as if its spread were kept."""
    rules = {**POLICY, "search": {"levels": {"birth": [3, 3]}}}
    release = tclose.anonymize(make_table(), rules, method="optimal")
    chart = cards_of(release.report(), "columns")["Date of birth"].chart
    assert chart is not None and chart.bins[-1] == "hidden"
    assert chart.series[1].values == (*[0.0] * (len(chart.bins) - 1), 1.0)


def test_few_rows_of_the_table_before_are_not_told_outside() -> None:
    ages = [1.0] * 40 + [2.0] * 39 + [100.0]
    table = pa.table({"q": ages, "s": ["x", "y"] * 40})
    rules = {"k": 5, "columns": {"q": "quasi", "s": {"role": "sensitive", "t": 0.9}}}
    release = tclose.anonymize(table, rules, method="mondrian")
    for edition, hidden in (("internal", 0), ("external", 2), ("users", 2)):
        chart = cards_of(release.report(edition=edition), "columns")["q"].chart
        assert chart is not None
        assert sum(value is None for value in chart.series[0].values) == hidden


# --- promises


def test_one_row_with_a_gauge_per_promise_and_no_repetition(documents: Any) -> None:
    document = documents["external"]
    (gauges,) = [p for p in document.section("promise").parts if isinstance(p, Gauges)]
    crowd, close = gauges.entries
    assert crowd.required == "at least 4" and close.required == "at most 0.4"
    assert crowd.place is not None and crowd.limit is not None and crowd.place >= crowd.limit
    assert close.place is not None and close.limit is not None and close.place <= close.limit
    assert close.place / close.limit == pytest.approx(float(close.attained) / 0.4, abs=1e-3)
    text = text_of(document)
    assert text.count(close.sentence) == 1
    assert not [part for part in document.section("promise").parts if isinstance(part, Table)]
    page = render_page(document)
    assert page.count('class="gauge"') == 2


def test_a_broken_promise_lies_beyond_its_mark() -> None:
    table = pa.table({"q": list("aab"), "s": list("xyx")})
    rules = {"k": 2, "columns": {"q": "quasi", "s": {"role": "sensitive", "t": 0}}}
    document = tclose.audit_report(tclose.audit(table, rules))
    (gauges,) = [p for p in document.section("promise").parts if isinstance(p, Gauges)]
    crowd, close = gauges.entries
    assert crowd.tone == close.tone == "bad"
    assert crowd.place is not None and crowd.limit is not None and crowd.place < crowd.limit
    assert close.place is not None and close.limit == 0 < close.place


# --- attacks


@pytest.mark.parametrize(
    ("attack", "rows", "severity"),
    [("skewness", 50, "high"), ("skewness", 49, "medium"), ("skewness", 9, "low"),
     ("homogeneity", 10, "high"), ("homogeneity", 1, "medium")],
)  # fmt: skip
def test_severity_is_by_rows_and_by_certainty(attack: str, rows: int, severity: str) -> None:
    assert rate_severity(Finding(attack, "a", "", rows, 1000)) == severity


def test_attacks_are_a_table_by_severity_with_what_to_do(release: tclose.Release) -> None:
    document = tclose.audit_report(tclose.audit(make_table(), POLICY))
    parts = document.section("attacks").parts
    (table,) = [part for part in parts if isinstance(part, Table)]
    order = ["high", "medium", "low"]
    ranks = [order.index(row[0]) for row in table.rows]
    assert ranks == sorted(ranks) and len(table.rows) >= 2
    assert table.headings[-1] == "what to do" and all(row[-1] for row in table.rows)
    (folded,) = [part for part in parts if isinstance(part, Folded)]
    page = render_page(document)
    assert f'<details class="folded"><summary>{folded.summary}' in page


def test_there_is_advice_for_every_attack(release: tclose.Release) -> None:
    table, rules = make_table(), POLICY
    found = tclose.attack(release.data, rules, original=table)
    assert {finding.attack for finding in found.findings} <= ADVICE.keys()


def test_no_attack_affects_more_rows_than_there_are(tmp_path: Path) -> None:
    """What was found among the classes tried is taken for all; the others found nothing."""
    table, policy, _ = write_hospital(tmp_path, 1000, 3)
    in_order = '\n[release]\nrows = "keep"  # minimality has to know whose row is whose\n'
    policy.write_text(policy.read_text(encoding="utf-8") + in_order, encoding="utf-8")
    release = tclose.anonymize(table, policy, effort=0.3)
    found = tclose.attack(release.data, policy, original=table, effort=0.001)
    (minimality,) = found.of("minimality")
    assert minimality.numbers["rows tried"] < 1000
    assert all(finding.affected <= finding.total for finding in found.findings)


# --- words and numbers


def test_labels_stand_for_columns_everywhere(documents: Any) -> None:
    for name in ("external", "internal", "users"):
        text = re.sub(r"column (birth|illness)|hierarchy of \w+|sha256[^\"]*", "",
                      text_of(documents[name]))  # fmt: skip
        assert "Date of birth" in text
        assert not re.search(r"\b(birth|illness)\b(?! at discharge)", text.replace(
            "Date of birth", "").replace("Illness at discharge", ""))  # fmt: skip


def test_levels_are_told_in_words(release: tclose.Release, documents: Any) -> None:
    assert release.certificate.levels is not None
    (table,) = [p for p in documents["external"].section("method").parts if isinstance(p, Table)]
    words = dict((row[0], row[1]) for row in table.rows)["levels"].split(" · ")
    known = {
        0: "{} exact", ("birth", 1): "year of {}", ("birth", 2): "decade of {}",
        ("birth", 3): "{} hidden", ("town", 1): "3-character {}", ("town", 2): "{} hidden",
        ("sex", 1): "{} hidden",
    }  # fmt: skip
    labels = {"birth": "Date of birth", "town": "town", "sex": "sex"}
    expected = [
        known[(name, level) if level else 0].format(labels[name])
        for name, level in release.certificate.levels.items()
    ]
    assert words == expected


def test_a_lattice_names_its_nodes_in_words() -> None:
    from tclose.report.lattice import describe_lattice, draw_lattice, summarize_lattice

    found = tclose.lattice(make_table(), POLICY)
    assert found.best is not None
    assert found.name_node((2, 1, 0)) == "decade of Date of birth · 3-character town · sex exact"
    assert f"Best: {found.name_node(found.best)};" in describe_lattice(found)
    (minimal,) = [p for p in summarize_lattice(found)
                  if isinstance(p, Table) and p.caption.startswith("Minimal")]  # fmt: skip
    assert " · " in minimal.rows[0][0]
    drawn = draw_lattice(found)
    assert drawn is not None and ">3-character town" in drawn and ">sex exact" in drawn


def test_shares_have_one_format(documents: Any) -> None:
    """One decimal everywhere, but on axes and in what bins are called."""
    cards = [cards_of(documents["external"], key) for key in ("glance", "columns")]
    told = [fact.value for some in cards for card in some.values() for fact in card.facts]
    shares = re.findall(r"[\d.,]+%", " ".join(told))
    assert shares and all(re.fullmatch(r"\d+\.\d%", share) for share in shares)


# --- editions


def secrets() -> set[str]:
    return {
        str(value)
        for name in ("record", "birth", "town", "sex", "illness")
        for value in make_table().column(name).to_pylist()
    } - {"*"}


@pytest.mark.parametrize("edition", ["external", "users"])
def test_no_value_is_in_what_leaves_the_house(
    release: tclose.Release, documents: Any, edition: str
) -> None:
    released = {
        value
        for name in ("birth", "town", "sex", "illness")
        for value in release.data.column(name).to_pylist()
        if value != "*"
    }
    document = documents[edition]
    forms = (text_of(document), render_page(document), write_plain_text(document))
    hashes = set(re.findall("[0-9a-f]{64}", forms[0]))
    for text in forms:
        for digest in hashes:
            text = text.replace(digest, "")
        found = [value for value in secrets() | released
                 if re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text)]  # fmt: skip
        assert found == []


RISK = (
    "k-anonymity", "at least 4", "at most 0.4", "closeness", "prosecutor", "homogeneity", "attack",
    "skewness", "smallest class", "threshold", "one in eleven", "risk",
)  # fmt: skip


def test_users_are_told_what_was_done_and_no_risk(documents: Any) -> None:
    document = documents["users"]
    assert [section.key for section in document.sections] == [
        "glance", "columns", "reading", "context", "method",
    ]  # fmt: skip
    text = re.sub("[0-9a-f]{64}", "", text_of(document)).lower()
    assert [word for word in RISK if word in text] == []
    assert "lost" in text and "department of epidemiology" in text
    assert "Users\u0027 edition" in render_page(document).replace("&#39;", "\u0027")


def test_an_audit_has_no_users() -> None:
    table = pa.table({"q": ["a", "a"], "s": ["x", "y"]})
    with pytest.raises(UsageError, match="nothing was done to this table"):
        tclose.audit_report(tclose.audit(table, quasi="q", sensitive="s"), edition="users")


# --- context


def test_the_context_is_in_the_certificate_and_checked(release: tclose.Release) -> None:
    certificate = release.certificate
    assert certificate.context == CONTEXT
    checks = {check.line: check for check in recheck(certificate, release.audit, None)}
    assert checks["context"].confirmed is True
    other = certificate.model_copy(update={"context": {**CONTEXT, "expert": "somebody else"}})
    checks = {check.line: check for check in recheck(other, release.audit, None)}
    assert checks["context"].confirmed is False


def test_the_context_is_in_the_report(documents: Any) -> None:
    for name in ("external", "internal"):
        (table,) = [p for p in documents[name].section("context").parts if isinstance(p, Table)]
        said = {cell for row in table.rows for cell in row}
        expected = {v for value in CONTEXT.values() for v in
                    (value if isinstance(value, list) else [value])}  # fmt: skip
        assert expected <= said
        assert table.rows[-1][0] == "signature and date"
    said_to_users = text_of(documents["users"])
    for key in ("threshold", "justification", "expert"):
        assert str(CONTEXT[key]) not in said_to_users


def test_sections_are_mapped_to_what_others_ask(documents: Any) -> None:
    document = documents["external"]
    (table,) = [p for p in document.section("mapping").parts if isinstance(p, Table)]
    for name in ("27559", "164.514(b)(1)", "0070", "ESS", "Ontario"):
        assert any(name in heading for heading in table.headings)
    titles = {section.title: section.key for section in document.sections}
    assert len(table.rows) >= 9
    for row in table.rows:
        assert row[1:] == PLACES[titles[row[0]]] and all(row)
    assert len(FRAMEWORKS) == 5


def test_without_a_context_nothing_is_mapped() -> None:
    rules = {key: value for key, value in POLICY.items() if key != "context"}
    document = tclose.audit_report(tclose.audit(make_table(), rules))
    assert not {"context", "mapping"} & {section.key for section in document.sections}


def test_nothing_is_called_compliant(documents: Any) -> None:
    for document in documents.values():
        assert "complian" not in render_page(document).lower()


@pytest.mark.parametrize(
    ("context", "says"),
    [
        ({"threshold": "0.09"}, "a threshold needs its justification"),
        ({"review_date": "soon"}, "context.review_date"),
        ({"reciepient": "x"}, "recipient"),
        ({"purpose": ""}, "context.purpose"),
    ],
)
def test_a_context_that_makes_no_sense_is_refused(context: dict[str, str], says: str) -> None:
    with pytest.raises(PolicyError, match=re.escape(says)):
        tclose.audit(make_table(), {**POLICY, "context": context})


def test_two_columns_may_not_be_called_the_same() -> None:
    columns = {**POLICY["columns"], "sex": {"role": "quasi", "label": "town"}}
    with pytest.raises(PolicyError, match="two columns are called 'town'"):
        tclose.audit(make_table(), {**POLICY, "columns": columns})


def test_a_policy_file_may_hold_a_date() -> None:
    text = '[context]\nreview_date = 2027-10-01\n[columns]\nq = "quasi"\n'
    policy = tclose.Policy.model_validate(tomllib.loads(text))
    assert policy.to_json()["context"] == {"review_date": "2027-10-01"}


# --- PDF


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = [f"{20 + at},{'abab'[at % 4]}" for at in range(24)]
    Path("table.csv").write_text("age,ill\n" + "\n".join(lines) + "\n")
    Path("policy.toml").write_text(
        'k = 2\n[columns]\nage = "quasi"\nill = { role = "sensitive", t = 0.4 }\n'
    )
    return tmp_path


def anonymize_to(report: str, *more: str) -> Result:
    return run("anonymize", "table.csv", "-p", "policy.toml", "-o", "r.csv", "--method", "mondrian",
               "--report", report, *more)  # fmt: skip


@pytest.mark.browser
@pytest.mark.skipif(not any(map(shutil.which, BROWSERS)), reason="no Chromium here")
@pytest.mark.parametrize("edition", ["internal", "users"])
def test_a_report_may_be_a_pdf(home: Path, edition: str) -> None:
    result = anonymize_to("report.pdf", "--edition", edition)
    assert result.exit_code == 0, result.stderr
    content = Path("report.pdf").read_bytes()
    assert content.startswith(b"%PDF") and content.rstrip().endswith(b"%%EOF")
    pages = len(re.findall(rb"/Type\s*/Page\b", content))
    assert 1 <= pages <= 20
    assert not re.search(rb"CreationDate \(D:2", content), "equal reports are equal files"


def test_without_a_browser_a_pdf_is_refused_before_any_work(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(home))
    result = anonymize_to("report.pdf")
    assert result.exit_code == 2
    assert "a PDF needs a Chromium" in result.stderr and "Hint: install chromium" in result.stderr
    assert not Path("r.csv").exists() and not Path("report.pdf").exists()


def test_the_users_edition_of_an_audit_is_refused_on_the_command_line(home: Path) -> None:
    result = run("audit", "table.csv", "-p", "policy.toml", "--report", "a.html", "--edition",
                 "users")  # fmt: skip
    assert result.exit_code == 2 and "nothing was done to this table" in result.stderr


def test_arcs_are_an_option(home: Path) -> None:
    for more, words in (((), "the class has more"), (("--arcs",), "arcs: mass to be moved")):
        Path("a.svg").unlink(missing_ok=True)
        result = run("explain", "table.csv", "-p", "policy.toml", "--svg", "a.svg", *more)
        assert result.exit_code == 0, result.stderr
        assert words in Path("a.svg").read_text(encoding="utf-8")
    result = run("explain", "table.csv", "-p", "policy.toml", "--arcs")
    assert result.exit_code == 2 and "--svg" in result.stderr
