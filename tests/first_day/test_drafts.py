"""`init` looks at values: what it recognizes, why it suggests it, and what it asks."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import Result

import tclose
from tclose.data.dates import find_date_formats
from tclose.data.opening import open_source
from tclose.data.profile import profile_columns
from tclose.data.recognize import find_codes, find_marks, find_patterns
from tclose.errors import PolicyError
from tclose.policy.draft import draft, list_doubtful, list_questions
from tclose.policy.suggest import Profile, choose_widths, suggest
from tclose.sample import hospital

DAYS = [pd.Timestamp("1940-01-05") + pd.Timedelta(days=997 * row) for row in range(30)]


def drafted(columns: dict[str, list[Any]]) -> tuple[dict[str, Any], str]:
    """The columns of a draft, and its text."""
    text = draft("t.csv", profile_columns(open_source(pd.DataFrame(columns))))
    return tomllib.loads(text)["columns"], text


def role_of(column: Any) -> str:
    role: str = column if isinstance(column, str) else column["role"]
    return role


def test_the_messy_hospital_is_understood(messy: Path) -> None:
    profiles = profile_columns(open_source(messy))
    columns = tomllib.loads(draft("hospital.csv", profiles))["columns"]
    assert {name: role_of(column) for name, column in columns.items()} == {
        "MRN": "identifier?",
        "patient_name": "identifier?",
        "notes": "identifier?",
        "dob": "quasi?",
        "zip": "quasi?",
        "sex": "quasi?",
        "admitted": "quasi?",
        "primary_dx": "sensitive?",
        "cost": "sensitive?",
        "deceased": "sensitive?",
    }
    assert columns["dob"]["date_format"] == "%m/%d/%Y"
    assert "date_format" not in columns["admitted"]  # ISO, with a time
    assert columns["deceased"]["nulls"] == ["?"]
    reasons = {profile.name: suggest(profile).reason for profile in profiles}
    assert "free text" in reasons["notes"] and "telephone numbers" in reasons["notes"]
    assert "ICD-10 codes" in reasons["primary_dx"]


@pytest.mark.slow
def test_the_messy_hospitals_draft_leads_to_a_release_that_holds(
    messy: Path, run: Callable[..., Result], elsewhere: Path
) -> None:
    assert run("init", str(messy), "-o", "p.toml").exit_code == 0
    assert run("policy", "confirm", "p.toml", "--t", "0.4").exit_code == 0
    assert run("policy", "check", "p.toml", str(messy)).exit_code == 0
    command = ("anonymize", str(messy), "-p", "p.toml", "-o", "r.csv", "--effort", "0.5")
    assert run(*command).exit_code == 0
    released = pd.read_csv("r.csv", dtype=str)
    assert {"MRN", "patient_name", "notes"}.isdisjoint(released.columns)
    assert released["dob"].str.startswith(("[19", "[20", "19", "20", "*")).all()


def test_a_german_export_is_understood_and_its_release_names_nobody(
    klinik: Path, run: Callable[..., Result], elsewhere: Path
) -> None:
    """Names that repeat, a column named `befund` of free text, amounts with commas, odd dates."""
    assert run("init", str(klinik), "-o", "p.toml").exit_code == 0
    columns = tomllib.loads(Path("p.toml").read_text(encoding="utf-8"))["columns"]
    assert {name: role_of(column) for name, column in columns.items()} == {
        "Fallnummer": "identifier?",
        "Patient": "identifier?",
        "befund": "identifier?",
        "Tel.": "identifier?",
        "geburtsdatum": "quasi?",
        "plz": "quasi?",
        "Geschlecht": "quasi?",
        "Größe": "quasi?",
        "Aufnahmedatum": "quasi?",
        "Hauptdiagnose": "sensitive?",
        "Nebendiagnosen": "sensitive?",
        "Kosten (€)": "sensitive?",
        "HbA1c": "sensitive?",
        "Verstorben": "sensitive?",
    }
    assert columns["geburtsdatum"]["unreadable"] == "missing"
    assert columns["Kosten (€)"]["decimal"] == columns["HbA1c"]["decimal"] == ","
    text = Path("p.toml").read_text(encoding="utf-8")
    assert "with so many unordered values" in text.partition("Nebendiagnosen")[2][:600]
    assert run("policy", "confirm", "p.toml", "--t", "0.5").exit_code == 0
    assert run("policy", "check", "p.toml", str(klinik)).exit_code == 0
    made = run("anonymize", str(klinik), "-p", "p.toml", "-o", "r.csv", "--effort", "0.1")
    assert made.exit_code == 0 and "'Kosten (€)' are released as they are" in made.output
    released = Path("r.csv").read_text(encoding="utf-8")
    raw = pd.read_csv(klinik, sep=";", dtype=str, encoding="cp1252").fillna("")
    for name in ("Fallnummer", "Patient", "befund", "Tel."):
        assert not any(value in released for value in {*raw[name]} - {""}), name
    assert run("verify", "r.csv", "-p", "p.toml").exit_code == 0


def test_what_is_confirmed_though_it_was_doubtful_is_named(
    run: Callable[..., Result], elsewhere: Path
) -> None:
    number = [17 * row % 1009 for row in range(60)]
    table = {
        "a b": ["x", "y"] * 30,
        "sex": ["f", "m"] * 30,
        "seen": ["01/02/2023", "03/04/2023"] * 30,
        "n": number,
    }
    pd.DataFrame(table).to_csv("raw.csv", index=False)
    assert run("init", "raw.csv", "-o", "p.toml").exit_code == 0
    said = run("policy", "confirm", "p.toml").output
    assert 'doubtful columns: n, "a b", seen;' in " ".join(said.split())
    assert "doubtful" not in run("policy", "confirm", "p.toml").output


NAMES = {
    "primary_dx": "sensitive", "dx_code": "sensitive", "procedure": "sensitive",
    "deceased": "sensitive", "discharge_ts": "quasi", "Gehalt": "sensitive",
    "Geburtsdatum": "quasi", "PLZ": "quasi", "Nachname": "identifier", "salaire": "sensitive",
    "code_postal": "quasi", "apellido": "identifier", "enfermedad": "sensitive",
    "cognome": "identifier", "data_nascita": "quasi", "leeftijd": "quasi", "ziekte": "sensitive",
    "medical_record_number": "identifier", "nativeCountry": "quasi", "wage": "sensitive",
    "HbA1c": "sensitive", "percentage": "quasi", "ICD10": "sensitive", "zip5": "quasi",
    "Größe": "quasi", "décès": "sensitive", "prénom": "identifier", "Nebendiagnosen": "sensitive",
    "Hauptdiagnose": "sensitive", "Familienname": "identifier", "Versicherungsnummer": "identifier",
    "Grunderkrankung": "sensitive", "Wohnort": "quasi", "Patient": "identifier",
    "patient_age": "quasi", "Todesdatum": "sensitive", "befund": "sensitive", "Unnamed: 0": "quasi",
    "customer_id": "identifier", "employee_number": "identifier",
    "téléphone": "identifier", "tumor_stage": "sensitive", "Dauermedikation": "sensitive",
    "Straße": "identifier", "Behandlungskosten": "sensitive", "Körpergewicht": "quasi",
    "health": "sensitive", "ndisease": "sensitive", "selfhealth": "sensitive", "wages": "sensitive",
    "hhincome": "sensitive", "married": "quasi", "health_insurance": "quasi",
    "disability": "sensitive", "children": "quasi", "Schwerbehinderung": "sensitive",
    "Verweildauer (Tage)": "sensitive", "BMI": "sensitive", "voted_for": "sensitive",
    "Blutdruck": "sensitive", "claim_amount": "sensitive", "student_no": "identifier",
    "Staatsangehörigkeit": "quasi", "Kinderzahl": "quasi", "municipality": "quasi",
}  # fmt: skip


@pytest.mark.parametrize(("name", "role"), NAMES.items(), ids=list(NAMES))
def test_names_of_columns_in_several_languages(name: str, role: str) -> None:
    assert suggest(Profile(name, "text", 40, 9, 0)).role == role


IDENTIFYING: dict[str, list[str]] = {
    "e-mail": [f"p{row}@example.org" for row in range(30)],
    "telephone": [f"+49 171 555 {row:04d}" for row in range(30)],
    "IBAN": ["DE89 3704 0044 0532 0130 00", "GB82 WEST 1234 5698 7654 32"] * 15,
    "national": [f"{row + 100}-12-{row + 1000}" for row in range(30)],
    "free text": [f"seen on ward {row}, went home with her son again" for row in range(30)],
    "telephone numbers": [f"erreichbar unter 0171 {1234567 + row}" for row in range(30)],
    "names of people": [f"Ann {chr(65 + row % 26)}{'abel' * (1 + row // 26)}"
                        for row in range(30)],
}  # fmt: skip


@pytest.mark.parametrize("kind", IDENTIFYING)
def test_values_that_find_people_are_identifiers_whatever_the_name(kind: str) -> None:
    (profile,) = profile_columns(open_source(pd.DataFrame({"x": IDENTIFYING[kind]})))
    suggestion = suggest(profile)
    assert suggestion.role == "identifier" and kind in suggestion.reason
    assert not suggestion.doubt


SENSITIVE: dict[str, list[str]] = {
    "ICD-10 codes": ["J45.901", "E11.9", "I10"] * 10,
    "ICD-9 codes": ["250.01", "401.9", "V58.69", "008.45"] * 10,
    "amounts of money": ["$1,250.00", "$80.10", "$1,999,000.00"] * 10,
    "lists of ICD-10 codes": ["I10.90G", "E11.9, I10.90", "J44.19+;M54.5", "G35.1 F32.1"] * 10,
}


@pytest.mark.parametrize("kind", SENSITIVE)
def test_codes_of_diagnoses_and_money_are_sensitive_whatever_the_name(kind: str) -> None:
    (profile,) = profile_columns(open_source(pd.DataFrame({"x": SENSITIVE[kind]})))
    assert suggest(profile).role == "sensitive" and kind in suggest(profile).reason


def test_names_that_repeat_are_names_and_words_in_capitals_are_not() -> None:
    first, last = ("Jörg", "Anna", "Käthe", "Paul", "Olga"), ("Fuchs", "Nagel", "Eberle", "Dröge")
    names = [f"{surname}, {given}" for given in first for surname in last] * 40
    columns, _ = drafted({"x": names, "y": ["Heart Failure", "Chronic Asthma"] * 400})
    assert columns["x"] == "identifier?" and role_of(columns["y"]) == "quasi?"
    towns = ["Paris, France", "Bern, Schweiz", "San Diego, California", "Ulm", "Bad Aibling"]
    assert not find_patterns([f"{town} {row % 7}" for row, town in enumerate(towns * 30)])


def test_columns_that_are_mostly_dates_are_dates() -> None:
    days = [f"{1 + row % 28:02d}.{1 + row % 12:02d}.{1930 + row % 70}" for row in range(100)]
    days[7], days[21], days[35], days[49] = "4.3.50", "31.02.1980", "in May", "00.00.0000"
    table = pd.DataFrame({"born": days, "ill": ["flu", "ulcer"] * 50})
    draft = tclose.draft_policy(table)
    born = tomllib.loads(draft.text)["columns"]["born"]
    assert born["date_format"] == "%d.%m.%Y" and born["nulls"] == ["00.00.0000"]
    assert born["unreadable"] == "missing" and "3 rows have no date in this form" in draft.text
    kept = draft.answer({("born", "unreadable"): "no"})
    assert "unreadable" not in tomllib.loads(kept.text)["columns"]["born"]
    columns = {"born": draft.confirm().columns["born"], "ill": tclose.Column.sensitive(t=0.5)}
    audit = tclose.audit(table, tclose.Policy.build(columns, k=2))
    assert "values of another form counted as missing" in " ".join(audit.notes)
    with pytest.raises(PolicyError, match="3 of 99 distinct values are no dates"):
        tclose.audit(table, kept.confirm())


def test_dates_whose_order_is_asked_about_keep_what_is_no_date_for_later() -> None:
    days = [f"{1 + row % 12:02d}/{1 + row % 12:02d}/{1930 + row % 70}" for row in range(100)]
    days[3] = "in May"
    draft = tclose.draft_policy(pd.DataFrame({"born": days}))
    assert '# unreadable = "missing"' in draft.text
    answered = tomllib.loads(draft.answer({("born", "dates"): "day"}).text)["columns"]["born"]
    assert answered["date_format"] == "%d/%m/%Y" and answered["unreadable"] == "missing"


def test_spellings_and_postcodes_of_different_length_are_offered_their_cleaning() -> None:
    _, text = drafted(
        {"Geschlecht": ["m", "w", "M", " w", "W"] * 8, "plz": ["01067", "8001", "A-1010", "1"] * 10}
    )
    assert 'clean = { trim = true, case = "lower" }  # 5 spellings become 2' in text
    assert "# hierarchy = { prefix = [3, 2, 1] }" in text


def test_a_role_that_a_draft_speaks_of_is_confirmed_with_its_question_mark(
    run: Callable[..., Result], elsewhere: Path
) -> None:
    """The draft asks for "subject", and whoever wrote "subject?" could not confirm it."""
    rows = "".join(f"P{at // 2},{20 + at % 9},{'ab'[at % 2]}\n" for at in range(60))
    (elsewhere / "t.csv").write_text("patient_id,age,illness\n" + rows)
    assert run("init", "t.csv", "-o", "p.toml").exit_code == 0
    written = (elsewhere / "p.toml").read_text()
    (elsewhere / "p.toml").write_text(written.replace('"identifier?"', '"subject?"'))
    confirmed = run("policy", "confirm", "p.toml", "--t", "0.5")
    assert confirmed.exit_code == 0 and "3 suggested roles confirmed" in confirmed.output
    assert "doubtful column: patient_id;" in confirmed.output
    assert run("audit", "t.csv", "-p", "p.toml").exit_code in (0, 1)


def test_postcodes_that_differ_by_spaces_alone_keep_their_case() -> None:
    _, text = drafted({"plz": ["01067", "8001", "A-1010", "8001 "] * 10})
    assert "# clean = { trim = true }  # 4 spellings become 3" in text


def test_numbers_of_records_are_not_drafted_as_diagnoses() -> None:
    """P104193 has the form of a code of ICD-10, and was to be released as it is."""
    numbers = [f"P{100_000 + 7 * at}" for at in range(150)] * 2
    for name in ("N° patient", "Patienten-Nr", "Num_patient", "IPP", "N° dossier", "Matricule"):
        columns, text = drafted({name: numbers, "age": [*range(300)]})
        assert role_of(columns[name]) == "identifier?" and "ICD" not in text
        assert '"subject" counts people' in text
    columns, text = drafted({"Kürzel": numbers})  # a name that says nothing
    assert role_of(columns["Kürzel"]) == "sensitive?" and "DOUBTFUL: are they diagnoses" in text


def test_french_and_german_names_are_understood() -> None:
    values: dict[str, list[Any]] = {
        "Pondération": [0.5, 1.25, 2.0, 0.75] * 10,
        "Durée de séjour": [3, 4, 5, 6] * 10,
        "Fumeur": ["oui", "non"] * 20,
        "État civil": ["marié", "veuf"] * 20,
        "Wohnadresse": ["Gasse 1", "Gasse 2"] * 20,
        "Geb.Dat.": [day.date() for day in DAYS] + [DAYS[0].date()] * 10,
    }
    columns, _ = drafted(values)
    assert [role_of(columns[name]) for name in values] == [
        "weight?", "sensitive?", "sensitive?", "quasi?", "identifier?", "quasi?"
    ]  # fmt: skip


def test_weights_with_a_decimal_comma_are_read(run: Callable[..., Result], elsewhere: Path) -> None:
    rows = "".join(f"{20 + at % 9};{'ab'[at % 2]};{at % 3},{at % 9}5\n" for at in range(60))
    (elsewhere / "t.csv").write_text("alter;krankheit;Gewichtung\n" + rows)
    assert run("init", "t.csv", "-o", "p.toml").exit_code == 0
    assert tomllib.loads((elsewhere / "p.toml").read_text())["columns"]["Gewichtung"] == {
        "role": "weight?", "decimal": ","
    }  # fmt: skip
    confirmed = run("policy", "confirm", "p.toml", "--t", "0.5")
    assert confirmed.exit_code == 0 and "doubtful column: Gewichtung;" in confirmed.output
    assert run("audit", "t.csv", "-p", "p.toml").exit_code in (0, 1)
    plain = tclose.draft_policy(elsewhere / "t.csv").confirm(t=0.5)
    weight = plain.columns["Gewichtung"].model_copy(update={"decimal": None})
    unread = plain.model_copy(update={"columns": plain.columns | {"Gewichtung": weight}})
    with pytest.raises(PolicyError, match="60 rows have no positive number") as refused:
        tclose.audit(elsewhere / "t.csv", unread)
    assert "decimal = ','" in str(refused.value)


def test_a_table_of_one_row_is_not_taken_for_constant_columns() -> None:
    columns, _ = drafted({"age": [34], "plz": ["1010"], "diagnose": ["I10"]})
    assert [role_of(each) for each in columns.values()] == ["quasi?", "quasi?", "sensitive?"]


def test_marks_that_say_not_determined_leave_a_column_of_numbers() -> None:
    columns, _ = drafted({"lab": ["4.5", "n.d.", "5.1", "6"] * 10, "age": [*range(40)]})
    assert columns["lab"]["nulls"] == ["n.d."]
    assert find_marks(["1", "2", "k. A.", "n.a."]) == ("k. A.", "n.a.")


def test_numbers_that_repeat_may_still_be_those_of_people() -> None:
    for name, role in (("insurance_id", "quasi"), ("customer_id", "identifier")):
        suggestion = suggest(Profile(name, "text", 2_000, 300, 0))
        assert suggestion.role == role and "does it identify people?" in suggestion.doubt


def test_numbers_of_patients_that_look_like_diagnoses_are_never_released() -> None:
    """P102443 has the form of an ICD-10 code; a column of such numbers was drafted as sensitive."""
    numbers = [f"P{100_000 + 7 * (row // 2)}" for row in range(400)]
    codes = [("I10", "E11.9", "J45.901")[row % 3] for row in range(400)]
    table = pd.DataFrame({"Patienten-ID": numbers, "code": numbers, "Hauptdiagnose": codes})
    columns, text = drafted(table.to_dict("list"))
    assert columns["Patienten-ID"] == "identifier?"
    assert role_of(columns["code"]) == role_of(columns["Hauptdiagnose"]) == "sensitive?"
    assert list_doubtful(text) == ["Patienten-ID", "code"]  # what is sensitive is released


def test_a_number_that_stands_for_a_person_with_several_rows_may_be_the_subject() -> None:
    """Otherwise five visits of one person pass for five people."""
    table = pd.DataFrame(
        {"patient_id": [row // 2 for row in range(60)], "sex": ["f"] * 20 + ["m"] * 40}
    )
    draft = tclose.draft_policy(table)
    (question,) = draft.questions
    assert "counts people instead of rows" in question.text and "subject" in question.answers
    answered = draft.answer({("patient_id", "role"): "subject"}).confirm()
    assert tclose.audit(table, answered).requirements[0].achieved == 10
    assert tclose.audit(table, draft.confirm()).requirements[0].achieved == 20
    for column in ({"patient_id": list(range(60))}, {"phone_no": [row // 2 for row in range(60)]}):
        assert "counts people" not in drafted(column)[1]


@pytest.mark.parametrize("name", ["design_weight", "surveyWeight", "fnlwgt", "Designgewicht"])
def test_survey_weights_are_weights(name: str) -> None:
    columns, _ = drafted({name: [0.5 + row / 7 for row in range(60)]})
    assert columns[name] == "weight?"
    columns, _ = drafted({"Körpergewicht": [50.5 + row for row in range(60)]})
    assert role_of(columns["Körpergewicht"]) == "quasi?"


def test_a_suggested_weight_has_to_be_confirmed_and_is_doubtful() -> None:
    table = pd.DataFrame(
        {"sex": ["f", "m"] * 30, "design_weight": [1 + row / 7 for row in range(60)]}
    )
    draft = tclose.draft_policy(table)
    assert list_doubtful(draft.text) == ["design_weight"]
    with pytest.raises(PolicyError, match="only suggested"):
        tclose.audit(table, tomllib.loads(draft.text))
    assert draft.confirm().columns["design_weight"].role == "weight"


def test_a_draft_with_many_quasi_identifiers_says_what_they_cost() -> None:
    many = {f"age{letter}": [20 + row % 40 for row in range(60)] for letter in "abcdefghijklm"}
    assert "13 columns are suggested as quasi" in drafted(many)[1]
    del many["agem"]
    assert "columns are suggested as quasi" not in drafted(many)[1]


def test_rooms_and_plain_numbers_are_no_diagnoses() -> None:
    assert not find_codes(["A12", "B07", "C01"] * 10)
    assert not find_codes(["250.1", "401.9"] * 10)
    assert not find_codes(["1250", "80.10"] * 10)
    assert not find_codes(["007", "012", "131"] * 10)
    assert [str(found) for found in find_codes(["008.45", "401.9"] * 10)] == ["ICD-9 codes"]


FORMS = [
    "%m/%d/%Y", "%d.%m.%Y", "%d/%m/%Y", "%d-%m-%Y", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d-%b-%Y",
    "%d %B %Y", "%b %d, %Y", "%m/%d/%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%m/%d/%Y %I:%M %p",
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_common_forms_of_dates_are_recognized_and_applied(form: str) -> None:
    table = pd.DataFrame(
        {"seen": [f"{day + pd.Timedelta(hours=9):{form}}" for day in DAYS], "n": range(30)}
    )
    (profile, _) = profile_columns(open_source(table))
    assert profile.kind == "date" and profile.date_formats == ((form,),)
    policy = {"columns": {"seen": {"role": "quasi", "date_format": form}, "n": "insensitive"}}
    labels = tclose.check(table, policy).cells.dictionaries["seen"].labels
    assert [label[:10] for label in labels] == [f"{day:%Y-%m-%d}" for day in DAYS]


def test_dates_in_several_forms_have_several_formats() -> None:
    mixed = ["01/24/2023", "24.01.2023", "2023-01-24", "02/03/2023 10:30"]
    (formats,) = find_date_formats(mixed)
    assert set(formats) == {"%m/%d/%Y", "%d.%m.%Y", "%Y-%m-%d", "%m/%d/%Y %H:%M"}
    assert find_date_formats([*mixed, "soon"]) == []


def test_dates_that_do_not_tell_day_from_month_are_asked_about() -> None:
    table = {"seen": [f"0{1 + row % 9}/0{1 + row % 7}/2021" for row in range(40)]}
    columns, text = drafted(table)
    assert "date_format" not in columns["seen"]
    assert '# date_format = "%m/%d/%Y"' in text and '# date_format = "%d/%m/%Y"' in text
    profiles = profile_columns(open_source(pd.DataFrame(table)))
    (question,) = list_questions(profiles)
    assert (question.topic, question.answers) == ("dates", ("month", "day"))
    answered = draft("t", profiles, {("seen", "dates"): "day"})
    assert tomllib.loads(answered)["columns"]["seen"]["date_format"] == "%d/%m/%Y"
    # One later row decides.
    table["seen"].append("24/01/2021")
    assert drafted(table)[0]["seen"]["date_format"] == "%d/%m/%Y"


def test_in_python_a_draft_tells_its_questions_and_takes_answers() -> None:
    table = pd.DataFrame({"blorp": [row % 7 for row in range(40)], "sex": ["f", "m"] * 20})
    suggested = tclose.draft_policy(table)
    (question,) = suggested.questions
    assert (question.column, question.topic) == ("blorp", "role")
    answered = suggested.answer({("blorp", "role"): "insensitive"})
    assert answered.confirm().with_role("insensitive") == ("blorp",)
    with pytest.raises(tclose.UsageError, match="not an answer to a question"):
        suggested.answer({("sex", "role"): "quasi"})


def test_marks_of_missing_values_are_offered_as_nulls() -> None:
    columns, _ = drafted(
        {
            "age": ["20", "31", "-9", "44", "N/A"] * 8,
            "town": ["Ulm", "Bonn", "unknown", "?", "Trier"] * 8,
            "level": ["-9", "-3", "4", "7", "9"] * 8,
        }
    )
    assert set(columns["age"]["nulls"]) == {"-9", "N/A"}
    assert set(columns["town"]["nulls"]) == {"unknown", "?"}
    assert "nulls" not in columns["level"]  # other numbers are negative, too
    assert find_marks(["?"] * 9) == ()


def test_a_number_with_marks_is_a_number_and_a_code_keeps_its_zeros() -> None:
    table = pd.DataFrame({"age": ["20", "31", "N/A"] * 9, "zip": ["01001", "90210", "02139"] * 9})
    kinds = {profile.name: profile.kind for profile in profile_columns(open_source(table))}
    assert kinds == {"age": "number", "zip": "code"}


def test_every_suggestion_has_its_reason_and_doubts_say_so() -> None:
    columns = {"blorp": [row % 7 for row in range(40)], "sex": ["f", "m"] * 20}
    _, text = drafted(columns)
    lines = [line for line in text.splitlines() if '?"' in line and not line.startswith("#")]
    assert all("  # " in line for line in lines)
    assert "nothing is known about it" in text and "DOUBTFUL: could others know it" in text
    assert text.count("DOUBTFUL") == 1


def test_a_draft_is_the_same_for_the_same_table(messy: Path) -> None:
    first, second = (draft("t", profile_columns(open_source(messy))) for _ in range(2))
    assert first == second


SPANS = {
    "age": ((17, 90), (19, 63), True, ["5", "10", "20"]),
    "capital gain": (
        (0, 99_999), (0, 5_013), True, ["500", "1000", "2000", "4000", "20000", "40000"]
    ),
    "latitude": ((47.2, 47.9), (47.25, 47.85), False, ["0.05", "0.1", "0.2"]),
    "HbA1c": ((4.1, 14.2), (5.0, 9.1), False, ["0.5", "1", "2", "4"]),
}  # fmt: skip


@pytest.mark.parametrize("name", SPANS)
def test_suggested_intervals_follow_the_range(name: str) -> None:
    span, spread, is_whole, widths = SPANS[name]
    profile = Profile(name, "number", 999, 99, 0, span=span, spread=spread, is_whole=is_whole)
    assert choose_widths(profile) == widths


def test_capital_gain_of_mostly_zeros_follows_its_range() -> None:
    gains = [0] * 190 + [1_000 * step for step in range(1, 11)]
    (profile,) = profile_columns(open_source(pd.DataFrame({"gain": gains})))
    assert profile.spread == (0, 0) and profile.span == (0, 10_000)
    assert choose_widths(profile)[0] == "1000"


def answer(words: bytes, *arguments: str) -> tuple[str, int]:
    """Runs `tclose init` on a terminal of its own and types; what it shows, and its exit code."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "tclose", "init", *arguments]
    started = subprocess.Popen(
        command,
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**os.environ, "COLUMNS": "200"},
    )
    os.close(follower)
    os.write(leader, words)
    shown = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(leader)
    return shown.decode(), started.wait()


def test_on_a_terminal_doubts_are_asked_one_by_one(elsewhere: Path) -> None:
    table = {
        "blorp": [row % 7 for row in range(40)],
        "seen": [f"0{1 + row % 9}/0{1 + row % 7}/2021" for row in range(40)],
        "town": ["Ulm", "Bonn", "?", "Trier"] * 10,
    }
    pd.DataFrame(table).to_csv("t.csv", index=False)
    shown, code = answer(b"insensitive\nday\n\n", "t.csv", "-o", "p.toml")
    assert code == 0, shown
    assert "blorp" in shown and "the day comes first" in shown and "mean missing" in shown
    columns = tomllib.loads(Path("p.toml").read_text())["columns"]
    assert columns["blorp"] == "insensitive"  # answered: no question mark
    assert columns["seen"]["date_format"] == "%d/%m/%Y"
    assert columns["town"]["role"] == "quasi?"
    shown, code = answer(b"i\nins\nmonday\nday\n\n", "t.csv", "-o", "again.toml")
    assert code == 0 and "Which of identifier/quasi/sensitive/insensitive?" in shown
    assert "Which of month/day?" in shown and "1 question is open" in shown
    assert Path("again.toml").read_text() == Path("p.toml").read_text()
    silent, code = answer(b"", "t.csv", "-o", "q.toml", "--no-ask")
    assert code == 0 and "mean missing" not in silent


def test_nothing_is_asked_in_a_pipe(run: Callable[..., Result], elsewhere: Path) -> None:
    pd.DataFrame({"blorp": [row % 7 for row in range(40)]}).to_csv("t.csv", index=False)
    plain = run("init", "t.csv")
    assert plain.exit_code == 0 and "Enter leaves it open" not in plain.output
    refused = run("init", "t.csv", "--ask")
    assert refused.exit_code == 2 and "no terminal to ask on" in refused.output


def test_years_and_salaries_are_numbers_though_all_have_four_digits() -> None:
    rows = range(40)
    columns = {
        "Geburtsjahr": [str(1950 + row) for row in rows],
        "Gehalt": [str(2500 + 130 * row) for row in rows],
        "PLZ": [str(8000 + row // 4) for row in rows],
        "kundenart": [f"{row // 4:02}" for row in rows],
    }
    drafts, text = drafted(columns)
    assert drafts["Gehalt"] == {"role": "sensitive?", "distance": "ordered"}
    kinds = {
        column.name: column.kind for column in profile_columns(open_source(pd.DataFrame(columns)))
    }
    assert kinds == {
        "Geburtsjahr": "number", "Gehalt": "number", "PLZ": "code", "kundenart": "code",
    }  # fmt: skip
    assert "prefix" in text and "intervals" in text


def test_record_numbers_that_look_like_codes_are_identifiers(tmp_path: Path) -> None:
    """A letter and five digits may be a diagnosis; where no two rows share one, it is none."""
    lines = [f"P{at:05d},{'J45.901' if at % 3 else 'I10'}" for at in range(200)]
    (tmp_path / "t.csv").write_text("\n".join(["nr,finding", *lines, ""]))
    number, finding = map(suggest, profile_columns(open_source(tmp_path / "t.csv")))
    assert number.role == "identifier" and number.doubt
    assert finding.role == "sensitive"


def test_a_constant_text_about_somebody_is_not_harmless(tmp_path: Path) -> None:
    lines = [f"{at % 9},{'please call 0171 555 12 34' if at % 2 else ''},yes" for at in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["age,note,seen", *lines, ""]))
    _, note, seen = map(suggest, profile_columns(open_source(tmp_path / "t.csv")))
    assert note.role == "identifier" and "telephone" in note.reason
    assert seen.role == "insensitive"


def test_amounts_with_a_decimal_comma_are_numbers_and_ordered() -> None:
    table = {"cost": [f"{1 + row % 9}.{row % 10}34,{row % 10}0" for row in range(40)]}
    columns, _ = drafted(table)
    assert columns["cost"]["decimal"] == "," and columns["cost"]["distance"] == "ordered"
    assert drafted({"height": ["1,75", "1,8", "2"] * 9})[0]["height"]["decimal"] == ","
    assert drafted({"cost": ["$1,250.00", "$80.10", "$7"] * 9})[0]["cost"]["decimal"] == "."
    for plain in (["1.75", "180"], ["0.125", "1.250"], ["1.5 €", "$1.5"], ["1,5 cm", "3"]):
        assert "decimal" not in drafted({"cost": plain * 9})[1]


def test_infinite_numbers_have_no_order_that_would_be_refused_later() -> None:
    table = pd.DataFrame(
        {
            "age": [20 + row for row in range(40)],
            "cost": [10.5, 20.5, 30.25, float("inf")] * 10,
            "salary": [10.5, 20.5, 30.25, float("nan")] * 10,
        }
    )
    draft = tclose.draft_policy(table)
    columns = draft.confirm().columns
    assert columns["cost"].distance and columns["cost"].distance.name == "equal"
    assert columns["salary"].distance and columns["salary"].distance.name == "ordered"
    assert tclose.audit(table, draft.confirm()).rows == 40


def test_amounts_that_do_not_tell_thousands_from_decimals_are_asked_about() -> None:
    for amounts in (["1,234", "2,500", "3,750"], ["1.234", "2.500", "3.750"]):
        table = {"cost": amounts * 9}
        columns, text = drafted(table)
        assert "decimal" not in columns["cost"] and columns["cost"]["distance"] == "equal"
        assert '# decimal = ","' in text and '# decimal = "."' in text
        profiles = profile_columns(open_source(pd.DataFrame(table)))
        (question,) = list_questions(profiles)
        assert (question.topic, question.answers) == ("decimal", ("comma", "point"))
        answered = draft("t", profiles, {("cost", "decimal"): "comma"})
        assert tomllib.loads(answered)["columns"]["cost"]["decimal"] == ","


def test_rounding_is_offered_where_nearly_every_amount_finds_its_row() -> None:
    _, text = drafted({"cost": [f"{100 + 3 * row}.{row % 100:02d}" for row in range(60)]})
    assert "# clean = { round = " in text
    assert "clean" not in drafted({"cost": ["100", "200", "300"] * 20})[1]


def test_an_age_is_offered_in_place_of_a_date_of_birth_and_no_day_is_chosen() -> None:
    _, text = drafted({"birth_date": [f"{day:%Y-%m-%d}" for day in DAYS], "sex": ["f", "m"] * 15})
    assert '# age_on = "YYYY-MM-DD"' in text and "birth_dates" in text
    assert "age_on" not in drafted({"admission": [f"{day:%Y-%m-%d}" for day in DAYS]})[1]


# --- what drafts suggest loses no more than nothing would, measured on the hospital and on Adult


def confirm_draft(table: Any, t: str = "0.3") -> tuple[dict[str, Any], dict[str, Any]]:
    """The confirmed draft of a table, and the same with every line that it offers as a comment."""
    text = draft("t", profile_columns(open_source(table)))
    text = text.replace('?"', '"').replace("# t = 0.2", f't = "{t}"')
    return tomllib.loads(text), tomllib.loads(text.replace("# hierarchy", "hierarchy"))


def lose(table: Any, policy: dict[str, Any]) -> float:
    return tclose.anonymize(table, policy, effort=0.1).loss.overall


def compare(table: Any, least: int) -> None:
    """The draft against itself without hierarchies and with those that it only offers."""
    policy, offered = confirm_draft(table)
    without = {
        name: {key: value for key, value in column.items() if key != "hierarchy"}
        if isinstance(column, dict) and column["role"] == "quasi"
        else column
        for name, column in policy["columns"].items()
    }
    loss = lose(table, policy)
    assert loss <= lose(table, {**policy, "columns": without})
    suggested = [
        name
        for name, column in offered["columns"].items()
        if isinstance(column, dict) and column["role"] == "quasi" and "hierarchy" in column
    ]
    assert len(suggested) >= least
    for name in suggested:
        columns = {**policy["columns"], name: offered["columns"][name]}
        assert lose(table, {**policy, "columns": columns}) > loss, name


def test_the_made_up_hospital() -> None:
    kept = ["birth_date", "sex", "postcode", "admission_date", "diagnosis"]
    compare(hospital(600).select(kept), least=3)


def test_adult(adult_dir: Path) -> None:
    table = pd.read_csv(adult_dir / "adult.csv", sep=";").head(1_000)
    compare(table, least=4)


def days_apart(labels: pd.Series[str], form: str) -> float:
    """How many days a released value spans, on average, by the dates that stand in it."""
    ends = labels.str.findall(r"[0-9]+[/-][0-9]+[/-][0-9]+")
    moments = [[pd.to_datetime(text, format=form) for text in texts] for texts in ends]
    return sum((max(some) - min(some)).days for some in moments) / len(moments)


def test_dates_by_their_form_are_told_in_far_narrower_terms_than_texts(messy: Path) -> None:
    table = pd.read_csv(messy, dtype=str)[["dob", "sex", "primary_dx"]].head(400)
    policy, _ = confirm_draft(table, "0.6")
    form = policy["columns"]["dob"]["date_format"]
    assert form == "%m/%d/%Y"
    texts = {**policy, "columns": {**policy["columns"], "dob": "quasi"}}
    read, unread = (tclose.anonymize(table, rules, effort=0.1).data for rules in (policy, texts))
    assert days_apart(read["dob"], "%Y-%m-%d") < days_apart(unread["dob"], form) / 4


def test_a_mark_beside_gaps_is_not_the_same_in_every_row() -> None:
    """Exports of forms write an x where a box was ticked, and nothing where it was not."""
    columns, _ = drafted({"hiv": ["pos", None] * 20, "smoker": ["x", None] * 20, "y": [None] * 40})
    assert {name: role_of(column) for name, column in columns.items()} == {
        "hiv": "sensitive?",
        "smoker": "sensitive?",
        "y": "insensitive?",
    }


def test_a_diagnosis_that_everybody_has_is_doubtful() -> None:
    _, text = drafted({"diagnosis": ["J45.0"] * 30, "country": ["DE"] * 30, "age": [*range(30)]})
    assert list_doubtful(text) == ["diagnosis"]
    assert 'diagnosis = "insensitive?"' in text and "being in the table reveals it" in text


def test_a_column_called_weight_may_be_of_a_survey() -> None:
    weights = [40 + 0.37 * at for at in range(60)]
    profiles = profile_columns(open_source(pd.DataFrame({"weight": weights, "height": weights})))
    (question,) = list_questions(profiles)
    assert question.column == "weight" and "weight" in question.answers
    answered = draft("t.csv", profiles, {("weight", "role"): "weight"})
    assert 'weight = "weight"' in answered


def test_codes_beyond_a_short_scale_are_asked_about() -> None:
    columns, text = drafted(
        {"trust": [1, 2, 3, 4, 5, 99] * 9, "age": [20, 30, 40, 50, 98, 99] * 9, "n": [1, 99] * 27}
    )
    assert columns["trust"]["nulls"] == ["99"] and "nulls" not in columns["age"] | columns["n"]
    assert "trust" in list_doubtful(text), "the line stands, so the reader is asked"


def test_confirming_says_which_columns_got_the_t_and_what_is_not_protected(
    run: Callable[..., Result], elsewhere: Path
) -> None:
    policy = elsewhere / "p.toml"
    policy.write_text('[columns]\nage = "quasi?"\n[columns.hiv]\nrole = "sensitive?"\n# t = 0.2\n')
    shown = run("policy", "confirm", "p.toml", "--t", "0.1")
    assert "2 suggested roles confirmed; t = 0.1 added to hiv" in shown.output
    assert "no column is sensitive" not in shown.output
    policy.write_text('k = 3\n[columns]\nage = "quasi?"\n')
    assert "no column is sensitive" in run("policy", "confirm", "p.toml").output


@pytest.mark.parametrize(
    ("name", "role"),
    [("Personalnr.", "identifier"), ("Schwerbehindert", "sensitive"), ("Stadium", "sensitive"),
     ("bullied", "sensitive"), ("fraud_flag", "sensitive"), ("Geb.", "quasi")],
)  # fmt: skip
def test_names_of_payrolls_registries_and_surveys_are_known(name: str, role: str) -> None:
    found = suggest(Profile(name, "date" if name == "Geb." else "text", 400, 3, 0))
    assert found.role == role and "nothing is known" not in found.reason


def test_rows_without_any_value_are_mentioned_in_a_draft(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("age;ill\n" + "30;flu\n;\n31;\n" * 3, encoding="utf-8")
    (note,) = tclose.draft_policy(path).notes
    assert note.startswith("every column lacks a value in 3 rows or more")
    path.write_text("age;ill\n30;flu\n31;\n", encoding="utf-8")
    assert tclose.draft_policy(path).notes == ()


def test_a_total_below_a_column_of_numbers_is_noticed(tmp_path: Path) -> None:
    """One text makes a column of ages a text, and its classes sets in place of intervals."""
    path = tmp_path / "t.csv"
    path.write_text("age;illness\n" + "30;flu\n41;ulcer\n" * 20 + "Sum;\n", encoding="utf-8")
    profiles = profile_columns(open_source(path))
    text = draft("t.csv", profiles)
    assert "# DOUBTFUL: 1 row has no number, and all others do" in text and "Sum" not in text
    assert list_doubtful(text) == ["age"]
    assert profiles[1].no_numbers == 0
