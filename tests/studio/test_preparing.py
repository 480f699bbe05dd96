"""Open, Columns, Values: what the pages show and what they make of the policy."""

from __future__ import annotations

import csv
import html
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

import tclose
from tclose.studio.server import ServerSettings, Studio

Make = Callable[..., Studio]
Enter = Callable[[Studio], httpx.Client]
Settle = Callable[..., str]

MESSY = "Name;Größe;Ort;Befund\nAnn;171;Köln;grippe\nBob;?;Köln;asthma\nEve;160;Bonn;grippe\n"


@pytest.fixture(scope="module")
def messy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("messy") / "messy.csv"
    path.write_bytes(MESSY.encode("latin-1"))
    return path


def end(studio: Studio) -> None:
    """Ends a studio as Ctrl-C does."""
    studio.server.should_exit = True
    while studio.private.exists():
        time.sleep(0.02)


def read_policy(studio: Studio) -> tclose.Policy:
    return tclose.Policy.load(studio.bench.project.folder / "policy.toml")


def test_a_messy_file_is_opened_as_it_is_written(
    make: Make, enter: Enter, settle: Settle, messy: Path
) -> None:
    studio = make(table=None)
    client = enter(studio)
    assert "Open a table" in client.get("/open").text
    how = {"path": str(messy), "delimiter": ";", "encoding": "latin-1", "nulls": "?, NA"}
    assert client.post("/open", data=how).status_code == 200
    page = settle(client, "/open")
    assert "Größe" in page and "Köln" in page and "3 rows, 4 columns" in page
    assert "--delimiter ';' --encoding latin-1 --null '?' --null NA" in page
    assert studio.bench.view().result.profiles["Größe"].missing == 1


def test_complaints_name_the_line_and_no_value(make: Make, enter: Enter, tmp_path: Path) -> None:
    client = enter(make(table=None))
    path = tmp_path / "torn.csv"
    path.write_text("a,b\n" + "1,2\n" * 30 + "secret,of,somebody\n", encoding="utf-8")
    page = client.post("/open", data={"path": str(path)}).text
    assert 'role="alert"' in page and "32" in page and "secret" not in page
    page = client.post("/open", data={"path": str(tmp_path / "nothing.csv")}).text
    assert "there is no such file" in page
    assert "no table is chosen" in client.post("/open", data={}).text
    for address in ("mysql://x", "somewhere"):
        assert 'role="alert"' in client.post("/open", data={"address": address}).text


def test_an_upload_is_private_and_gone_at_the_end_unless_it_is_kept(
    make: Make, enter: Enter, settle: Settle
) -> None:
    studio = make(table=None)
    client = enter(studio)
    content = b"age,ill\n" + b"".join(b"%d,flu\n" % age for age in range(20, 60))
    client.post("/open", files={"file": ("../../people.csv", content)})
    stored = Path(str(studio.bench.project.table))
    assert stored.parent == studio.private / "uploads" and stored.name == "people.csv"
    assert stored.stat().st_mode & 0o077 == 0 and stored.parent.stat().st_mode & 0o077 == 0
    assert "40 rows" in settle(client, "/open")
    client.post("/open", files={"file": ("kept.csv", content)}, data={"keep": "yes"})
    kept = Path(str(studio.bench.project.table))
    assert kept.parent == studio.bench.project.folder / "data"
    end(studio)
    assert not studio.private.exists() and kept.exists()


def test_a_file_with_the_same_columns_keeps_the_policy_and_another_does_not(
    make: Make, enter: Enter, settle: Settle
) -> None:
    studio = make(table=None)
    client = enter(studio)
    content = b"age,ill\n" + b"".join(b"%d,flu\n" % age for age in range(20, 60))
    client.post("/open", files={"file": ("people.csv", content)})
    settle(client, "/columns")
    client.post("/columns", data={"what": "set", "role": "insensitive", "column": ["ill"]})
    client.post("/open", files={"file": ("april.csv", content[:-7])})
    assert "39 rows" in settle(client, "/open")
    assert studio.bench.project.columns["ill"]["role"] == "insensitive"
    client.post("/open", files={"file": ("other.csv", content.replace(b"ill", b"is"))})
    settle(client, "/columns")
    assert sorted(studio.bench.project.columns) == ["age", "is"]


def test_a_pattern_stands_for_several_files(
    make: Make, enter: Enter, settle: Settle, tmp_path: Path
) -> None:
    for month in ("april", "may"):
        (tmp_path / f"{month}.csv").write_text("age,ill\n20,flu\n30,flu\n", encoding="utf-8")
    client = enter(make(table=None))
    client.post("/open", data={"path": str(tmp_path / "*.csv")})
    assert "4 rows" in settle(client, "/open")
    (tmp_path / "june.csv").write_text("age,ill\n20,flu\n", encoding="utf-8")
    assert "5 rows" in settle(client, "/open")


def test_all_columns_that_the_filter_shows_are_set_at_once(
    make: Make, enter: Enter, settle: Settle
) -> None:
    studio = make()
    client = enter(studio)
    page = settle(client, "/columns", filter="date")
    shown = re.findall(r'name="shown" value="([^"]+)"', page)
    assert shown == ["birth_date", "admission_date"] and "all 2 shown" in page
    form = {"what": "set-shown", "role": "insensitive", "shown": shown, "filter": "date"}
    again = client.post("/columns", data=form).text
    assert re.findall(r'name="shown" value="([^"]+)"', again) == shown, "the filter stays"
    roles = {name: column["role"] for name, column in studio.bench.project.columns.items()}
    assert {name for name in roles if roles[name] == "insensitive"} == set(shown)


def test_how_values_are_read_is_said_beside_the_suggested_role(
    make: Make, enter: Enter, settle: Settle
) -> None:
    """The policy takes two rows' births for missing; whoever confirms it has to know."""
    days = ["31.12.1950", "01.02.1960", "15.07.1971"] * 20 + ["1950", "spring 1960", "unknown"]
    lines = [
        f"{day};{at % 3},{at % 9}5;0{at % 3}/0{1 + at % 9}/2020" for at, day in enumerate(days)
    ]
    studio = make(table=None)
    client = enter(studio)
    content = "\n".join(["birth;design_weight;visit", *lines, ""]).encode()
    client.post("/open", files={"file": ("births.csv", content)})
    page = settle(client, "/columns")
    assert "'unknown' means missing; dates are written as %d.%m.%Y" in page
    assert "2 rows have no date in this form: they count as missing" in page
    assert "numbers have the decimal mark ','" in page
    client.post("/columns", data={"what": "set", "role": "weight", "column": ["design_weight"]})
    weight = studio.bench.project.columns["design_weight"]
    assert weight == {"role": "weight", "decimal": ","}


def test_roles_are_suggested_confirmed_changed_and_taken_back(
    make: Make, enter: Enter, settle: Settle
) -> None:
    studio = make()
    client = enter(studio)
    page = settle(client, "/columns")
    assert "Confirm the 10 suggested roles" in page
    assert "3,0" not in page and "names a person" in page
    for path in ("/search", "/risk", "/explore"):
        assert "Confirm the roles of the columns" in settle(client, path)
    assert "10 roles are only suggested" in settle(client, "/search")
    assert "10 roles are only suggested" in settle(client, "/risk")
    client.post("/columns", data={"what": "set", "role": "insensitive", "column": ["sex", "cost"]})
    page = client.post("/columns", data={"what": "one-3", "role-3": "quasi"}).text
    assert "Confirm the 8 suggested roles" in page
    client.post("/columns", data={"what": "confirm"})
    policy = read_policy(studio)
    assert policy.columns["sex"].role == "quasi" and policy.columns["cost"].role == "insensitive"
    assert "name" in policy.identifiers and "diagnosis" in policy.sensitive
    client.post("/columns", data={"what": "undo"})
    assert studio.bench.project.columns["name"]["role"] == "identifier?"
    assert (
        "no columns are chosen"
        in client.post("/columns", data={"what": "set", "role": "quasi"}).text
    )


def test_the_filter_finds_by_name_kind_and_role(client: httpx.Client, settle: Settle) -> None:
    settle(client, "/columns")
    found = re.findall(r'<th scope="row">(\w+)</th>', settle(client, "/columns", filter="date qu"))
    assert found == ["birth_date", "admission_date"]


def test_counts_and_histograms_are_those_of_the_table(
    client: httpx.Client, settle: Settle, hospital: Path
) -> None:
    with (hospital / "hospital.csv").open(encoding="utf-8", newline="") as file:
        sexes = Counter(row["sex"] for row in csv.DictReader(file))
    page = settle(client, "/columns")
    for value, rows in sexes.items():
        assert f"{value}: {100 * rows / 400:.1f}%" in page


def test_intervals_are_previewed_on_real_counts_before_they_are_taken(
    make: Make, enter: Enter, settle: Settle, hospital: Path
) -> None:
    studio = make(policy=hospital / "policy.toml")
    client = enter(studio)
    settle(client, "/values", column="length_of_stay")
    asked = {"column": "length_of_stay", "kind": "intervals", "of-intervals": "7, 28"}
    page = client.post("/values/preview", data=asked).text
    with (hospital / "hospital.csv").open(encoding="utf-8", newline="") as file:
        stays = [row["length_of_stay"] for row in csv.DictReader(file)]
    bands = Counter(int(stay) // 7 for stay in stays if stay)
    level = re.search(r'data-label="level">1</th><td[^>]*>([\d,]+)</td><td[^>]*>([\d,]+)<', page)
    assert level is not None
    assert [int(level[1]), int(level[2])] == [len(bands), min(bands.values())]
    assert "hierarchy" not in studio.bench.project.columns["length_of_stay"]
    revision = str(studio.bench.project.revision)
    client.post(
        "/values", data={**asked, "what": "column", "revision": revision, "t": "0.3",
                         "distance": "numeric"}
    )  # fmt: skip
    column = read_policy(studio).columns["length_of_stay"]
    assert column.hierarchy is not None and [*map(int, column.hierarchy.intervals or ())] == [7, 28]
    assert str(column.t) == "3/10"
    wrong = client.post("/values/preview", data={**asked, "of-intervals": "7, 10"}).text
    assert 'role="alert"' in wrong


def test_t_is_told_in_the_tables_own_numbers(
    make: Make, enter: Enter, settle: Settle, tmp_path: Path
) -> None:
    table = tmp_path / "pay.csv"
    rows = [(age, pay) for age in range(20, 60) for pay in (1000, 2000, 5000)]
    table.write_text("age,pay\n" + "".join(f"{a},{p}\n" for a, p in rows), encoding="utf-8")
    policy = tmp_path / "policy.toml"
    text = 'k = 3\n[columns]\nage = "quasi"\npay = {{role = "sensitive", t = 0.1, distance = "{}"}}'
    told = {
        "numeric": "mean of all rows is 2,666.67; that of every group of rows that look alike must "
        "lie between 2,266.67 and 3,066.67",
        "ordered": "no more than 0.2 places each",
        "equal": "from 23.3% to 43.3%",
    }
    for distance, sentence in told.items():
        policy.write_text(text.format(distance), encoding="utf-8")
        client = enter(make(table=str(table), policy=policy))
        assert sentence in settle(client, "/values", column="pay")


@pytest.mark.parametrize("missing", ["value", "any"])
def test_gaps_are_rows_where_t_is_told_in_the_tables_own_numbers(
    make: Make, enter: Enter, settle: Settle, tmp_path: Path, missing: str
) -> None:
    """Half the rows have a, an eighth have none: a share of 4/7 is the table's nowhere."""
    table, policy = tmp_path / "ill.csv", tmp_path / "policy.toml"
    ills = ["a", "a", "a", "a", "b", "b", "c", ""] * 10
    rows = "".join(f"{at},{ill},{at % 3 + 1}\n" for at, ill in enumerate(ills))
    table.write_text(f"age,ill,w\n{rows}", encoding="utf-8")
    text = (
        'k = 3\n[columns]\nage = "quasi"\nw = "{}"\n'
        'ill = {{role = "sensitive", t = 0.1, missing = "{}"}}'
    )
    for role in ("insensitive", "weight"):
        policy.write_text(text.format(role, missing), encoding="utf-8")
        page = settle(enter(make(table=str(table), policy=policy)), "/values", column="ill")
        is_plain = (role, missing) == ("insensitive", "value")
        told = "50.0% of all rows have" in page and "from 40.0% to 60.0%" in page
        assert told is is_plain and ("farther than 0.1 from the whole" in page) is not is_plain


def test_groups_are_edited_value_by_value(
    make: Make, enter: Enter, settle: Settle, hospital: Path
) -> None:
    studio = make(policy=hospital / "policy.toml")
    client = enter(studio)
    page = settle(client, "/values", column="ethnicity")
    values = re.findall(r'aria-label="Group of ([^"]+)"', page)
    groups = ["many", "few", "few", *["" for _ in values[3:]]]
    revision = str(studio.bench.project.revision)
    form = {"column": "ethnicity", "kind": "groups", "group": groups, "what": "column"}
    client.post("/values", data={**form, "revision": revision})
    spec = studio.bench.project.columns["ethnicity"]["hierarchy"]["groups"]
    assert spec["many"] == values[:1] and sorted(spec["few"]) == sorted(values[1:3])
    again = settle(client, "/values", column="ethnicity")
    assert re.findall(r'name="group" value="([^"]*)"', again) == groups


def test_groups_within_groups_are_edited(
    make: Make, enter: Enter, settle: Settle, hospital: Path
) -> None:
    studio = make(policy=hospital / "policy.toml")
    client = enter(studio)
    page = settle(client, "/values", column="ethnicity")
    values = re.findall(r'aria-label="Group of ([^"]+)"', page)
    groups = ["all > many", "all > few", "all", *["" for _ in values[3:]]]
    form = {"column": "ethnicity", "kind": "groups", "group": groups, "what": "column"}
    client.post("/values", data={**form, "revision": str(studio.bench.project.revision)})
    spec = studio.bench.project.columns["ethnicity"]["hierarchy"]["groups"]
    first, second, third, *others = values
    assert spec["all"] == {"many": [first], "few": [second], f"only {third}": [third]}
    assert all(spec[f"only {value}"] == [value] for value in others)
    again = settle(client, "/values", column="ethnicity")
    assert re.findall(r'name="group" value="([^"]*)"', again) == groups
    levels = re.findall(r'data-label="level">(\d)</th><td[^>]*>(\d+)<', again)
    assert levels == [("0", "5"), ("1", "5"), ("2", "3"), ("3", "1")]


def test_what_t_and_the_distance_mean_is_told_while_one_types(
    make: Make, enter: Enter, hospital: Path
) -> None:
    studio = make(policy=hospital / "policy.toml")
    client = enter(studio)
    counts = studio.bench.count_column("length_of_stay")
    asked = {"column": "length_of_stay", "kind": "", "t": "0.5", "distance": "ordered"}
    page = client.post("/values/meaning", data=asked).text
    places = (len(counts.labels) - 1) / 2
    assert f"no more than {places:.1f} places" in page and "t = 0.5: people may have to" in page
    assert 'role="alert"' in client.post("/values/meaning", data={**asked, "t": "7"}).text
    tree = {"column": "diagnosis", "kind": "file", "t": "0.1", "distance": "hierarchical"}
    page = client.post("/values/meaning", data=tree).text
    assert "of level 1 1/3 apart, of level 2 2/3 apart" in page and "diagnosis: its groups" in page
    assert str(read_policy(studio).columns["length_of_stay"].t) == "1/5"


def test_a_sensitive_column_needs_a_t_or_words_why_not(
    make: Make, enter: Enter, settle: Settle, tmp_path: Path
) -> None:
    table = tmp_path / "pay.csv"
    rows = "".join(f"{age},{age % 7}\n" for age in range(20, 60))
    table.write_text(f"age,salary\n{rows}", encoding="utf-8")
    studio = make(table=str(table))
    client = enter(studio)
    settle(client, "/columns")
    client.post("/columns", data={"what": "confirm"})
    for page in ("/risk", "/search"):
        assert "Nothing is promised of salary yet" in settle(client, page)
    assert "disabled>Search</button>" in settle(client, "/search")
    form = {"column": "salary", "what": "column", "kind": "", "t": "", "accept": "it is public",
            "distance": "ordered", "revision": str(studio.bench.project.revision)}  # fmt: skip
    client.post("/values", data=form)
    assert studio.bench.project.columns["salary"]["accept"] == "it is public"
    page = settle(client, "/search")
    assert "Nothing is promised" not in page and "disabled>Search</button>" not in page


def test_saving_a_column_keeps_what_its_form_does_not_show(
    make: Make, enter: Enter, tmp_path: Path
) -> None:
    table, policy = tmp_path / "pay.csv", tmp_path / "policy.toml"
    rows = "".join(f"{age},{age % 7}\n" for age in range(20, 60))
    table.write_text(f"age,pay\n{rows}", encoding="utf-8")
    policy.write_text(
        "k = 3\n[columns]\nage = {role = 'quasi', hierarchy = {intervals = [10], origin = 5}}\n"
        "pay = {role = 'sensitive', t = 0.1, distance = 'js'}\n", "utf-8",
    )  # fmt: skip
    studio = make(table=str(table), policy=policy)
    client = enter(studio)
    for name, form in (
        ("age", {"kind": "intervals", "of-intervals": "10"}),
        ("pay", {"kind": "", "t": "0.2", "distance": ""}),
    ):
        assert "as the policy says" in client.get("/values", params={"column": "pay"}).text
        sent = {"column": name, "what": "column", "revision": str(studio.bench.project.revision)}
        assert 'role="alert"' not in client.post("/values", data={**sent, **form}).text
    columns = studio.bench.project.columns
    assert columns["age"]["hierarchy"] == {"intervals": [10], "origin": 5}
    assert columns["pay"]["distance"] == "js" and columns["pay"]["t"] == "0.2"
    page = client.get("/values", params={"column": "pay"}).text
    assert "may be farther than 0.2 from the whole table" in page


def test_a_hierarchy_file_is_reviewed_before_it_is_taken(
    make: Make, enter: Enter, settle: Settle, hospital: Path
) -> None:
    studio = make(policy=hospital / "policy.toml")
    client = enter(studio)
    settle(client, "/values", column="sex")

    def send(text: str) -> str:
        form = {"column": "sex", "what": "import"}
        files = {"file": ("sex.csv", text.encode())}
        return client.post("/values", data=form, files=files).text

    assert "line 2" in send("female;person;*\nmale;person;*;x;y\nmale;other;*\n")
    page = send("female;person;*\nunicorn;beast;*\n")
    assert "are not in it" in page and "disabled>Take sex.csv" in page
    assert "Not in it: male" in page
    values = [value for value, _ in studio.bench.count_column("sex").ranked]
    page = send("".join(f"{value};any;*\n" for value in (*values, "unicorn")))
    assert "every value of the table is in it" in page and "1 of its values do not occur" in page
    revision = str(studio.bench.project.revision)
    client.post("/values", data={"column": "sex", "what": "take", "revision": revision})
    spec = read_policy(studio).columns["sex"].hierarchy
    assert spec is not None and spec.file is not None and spec.file.startswith("hierarchies/sex-")


def test_a_tree_that_has_no_value_of_the_table_is_shown(
    make: Make, enter: Enter, settle: Settle, hospital: Path
) -> None:
    """As after next month's table was opened, with the tree of a distance as it was."""
    studio = make(policy=hospital / "policy.toml")
    client = enter(studio)
    settle(client, "/values", column="diagnosis")
    form = {"column": "diagnosis", "revision": str(studio.bench.project.revision)}
    file = {"file": ("other.csv", b"unicorn;beast;*\ndragon;beast;*\n")}
    client.post("/values", data=form | {"what": "import"}, files=file)
    page = client.post("/values", data=form | {"what": "take"})
    assert page.status_code == 200 and "values of the table are not in it" in page.text


def test_a_tab_that_is_out_of_date_changes_nothing(
    make: Make, enter: Enter, settle: Settle, hospital: Path
) -> None:
    studio = make(policy=hospital / "policy.toml")
    client = enter(studio)
    settle(client, "/values")
    seen = str(studio.bench.project.revision)
    client.post("/values", data={"what": "k", "k": "7", "revision": seen})
    late = client.post("/values", data={"what": "k", "k": "3", "revision": seen}).text
    assert "changed meanwhile" in late and 'name="k" inputmode="numeric" value="7"' in late
    assert studio.bench.project.raw["k"] == 7


def test_people_unique_in_the_population_are_estimated(
    make: Make, enter: Enter, settle: Settle, hospital: Path
) -> None:
    studio = make(policy=hospital / "policy.toml")
    client = enter(studio)
    assert "people are unique" not in settle(client, "/risk")
    revision = str(studio.bench.project.revision)
    asked = {"what": "population_size", "population_size": "90000", "revision": revision}
    client.post("/values", data=asked)
    assert read_policy(studio).population_size == 90_000
    page = settle(client, "/risk")
    assert "rows are unique in the table; of 90,000" in page and "special" in page
    wrong = client.post("/values", data=asked | {"population_size": "0", "revision": "9"}).text
    assert "whole number" in wrong


def test_closing_and_opening_continues(
    make: Make, enter: Enter, settle: Settle, hospital: Path
) -> None:
    studio = make(policy=hospital / "policy.toml")
    client = enter(studio)
    client.post("/values", data={"what": "k", "k": "9", "revision": "1"})
    folder = studio.bench.project.folder
    end(studio)
    again = make(folder, table=None)
    assert again.bench.project.columns == studio.bench.project.columns
    assert again.bench.project.raw["k"] == 9
    page = settle(enter(again), "/open")
    assert "hospital.csv" in page and "k = 9" in page
    with pytest.raises(tclose.UsageError, match="another studio is using this folder"):
        Studio(ServerSettings(folder))
    end(again)
    with pytest.raises(tclose.UsageError, match="about another table"):
        Studio(ServerSettings(folder, str(hospital / "other.csv")))


def test_a_projects_policy_cannot_reach_outside_of_it(tmp_path: Path, hospital: Path) -> None:
    folder = tmp_path / "sent"
    Studio(ServerSettings(folder, str(hospital / "hospital.csv"), hospital / "policy.toml")).close()
    text = (folder / "policy.toml").read_text(encoding="utf-8")
    (folder / "policy.toml").write_text(
        re.sub(r'file = "[^"]*"', 'file = "../../secret.csv"', text), encoding="utf-8"
    )
    with pytest.raises(tclose.UsageError, match="outside of the project"):
        Studio(ServerSettings(folder))


def test_how_values_are_read_and_cleaned_is_set_and_counted_before_it_is_saved(
    make: Make, enter: Enter, settle: Settle, tmp_path: Path
) -> None:
    table, policy = tmp_path / "clinic.csv", tmp_path / "policy.toml"
    rows = ["01.02.1950;f; 1.200,50;flu", "02.02.1950; F ;900;?", "03/03/1960;m;-9;asthma"] * 4
    table.write_text("birth;sex;cost;illness\n" + "\n".join(rows) + "\n", encoding="utf-8")
    policy.write_text(
        "k = 2\n[columns]\nbirth = 'quasi'\nsex = 'quasi'\n"
        "cost = {role = 'sensitive', t = 0.5}\nillness = {role = 'sensitive', t = 0.5}\n", "utf-8",
    )  # fmt: skip
    studio = make(table=str(table), policy=policy)
    client = enter(studio)
    settle(client, "/values")

    def send(path: str, column: str, **form: str) -> str:
        sent = {
            "column": column,
            "what": "cleaning",
            "revision": str(studio.bench.project.revision),
        }
        return client.post(path, data={**sent, **form}).text

    preview, save = "/values/cleaning/preview", "/values/cleaning"
    form = {"trim": "yes", "case": "lower", "replace": "m = male\nf = female"}
    shown = send(preview, "sex", **form)
    assert "2 different values" in shown and "female (8)" in shown
    assert "clean" not in studio.bench.project.columns["sex"], "a preview changes nothing"
    send(save, "sex", **form)
    send(save, "birth", date_format="%d.%m.%Y\r\n%m/%d/%Y")
    send(save, "cost", decimal=",", nulls="-9", round="100", top="1000", trim="yes")
    send(save, "illness", nulls="?")
    columns = read_policy(studio).columns
    assert columns["sex"].clean_text(" F ") == "female"
    assert columns["birth"].date_format == ("%d.%m.%Y", "%m/%d/%Y")
    assert columns["cost"].clean_text(" 1.200,50") == "1000" and columns["cost"].t is not None
    assert studio.bench.count_column("illness").rows[-1] == 4
    page = settle(client, "/values", column="cost")
    assert "trimmed, rounded to 100, top-coded at 1000" in page and "'-9' means missing" in page
    for text in ("dates are written as %d.%m.%Y or %m/%d/%Y", "trimmed, lower case"):
        assert text in settle(client, "/columns"), "the page Columns says the same"
    send(save, "sex")
    assert "clean" not in studio.bench.project.columns["sex"], "an empty form removes it"


def test_what_cannot_clean_a_column_is_refused_and_stays_in_the_form(
    make: Make, enter: Enter, settle: Settle, tmp_path: Path
) -> None:
    table, policy = tmp_path / "clinic.csv", tmp_path / "policy.toml"
    table.write_text("age,sex\n" + "20,f\n30,m\n" * 9, encoding="utf-8")
    policy.write_text(
        "k = 2\n[columns]\nage = 'quasi'\nsex = {role = 'quasi', nulls = [' ', '?']}\n", "utf-8"
    )
    studio = make(table=str(table), policy=policy)
    client = enter(studio)
    settle(client, "/values")
    before = dict(studio.bench.project.columns)
    for form, words in (
        ({"date_format": "%d.%m"}, "a day, a month and a year"),
        ({"replace": "f female"}, "line 1 has no ="),
        ({"replace": "f = w\nf = x"}, "line 2 has a spelling for the second time"),
        ({"round": "ten"}, "number"),
        ({"bottom": "9", "top": "3"}, "swap them"),
        ({"unreadable": "yes"}, "no form of values is declared"),
    ):
        sent = {"column": "sex", "what": "cleaning", "revision": str(studio.bench.project.revision)}
        for path in ("/values/cleaning/preview", "/values/cleaning"):
            page = html.unescape(client.post(path, data={**sent, **form}).text)
            assert 'role="alert"' in page and words in page, (path, form)
        for value in form.values():
            assert value.splitlines()[0] in page, "what was typed is not lost"
    assert studio.bench.project.columns == before
    sent = {"column": "sex", "what": "cleaning", "nulls": "\r\n?", "case": "upper"}
    client.post("/values/cleaning", data={**sent, "revision": str(studio.bench.project.revision)})
    column = studio.bench.project.columns["sex"]
    assert column["nulls"] == [" ", "?"], "a mark of spaces is kept"
    assert column["clean"] == {"case": "upper"}
