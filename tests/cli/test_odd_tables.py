"""Tables that look wrong but are right: they must be read, and counted as a person would."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tclose.plain import escape_controls

ROWS = [("30", "476", "flu"), ("30", "476", "ulcer"), ("40", "479", "flu"), ("40", "479", "flu")]


def written(delimiter: str = ",", end: str = "\n", before: str = "") -> str:
    lines = [("age", "zip", "disease"), *ROWS]
    return before + "".join(delimiter.join(line) + end for line in lines)


def audited(run: Any, *arguments: object) -> dict[str, Any]:
    result = run("audit", *arguments, "--json")
    assert result.exit_code in (0, 1), (result.stdout, result.stderr)
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def distance(found: dict[str, Any], name: str = "equal") -> str:
    verdicts = [*found["requirements"], *found["measured"]]
    return next(
        str(verdict["achieved_exact"])
        for verdict in verdicts
        if verdict["requirement"] == "t-closeness" and verdict["distance"] == name
    )


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(written(";").encode(), id="semicolons"),
        pytest.param(written("\t").encode(), id="tabs"),
        pytest.param(written("|").encode(), id="bars"),
        pytest.param(written(end="\r\n").encode(), id="CRLF"),
        pytest.param(written(end="\r").encode(), id="CR"),
        pytest.param(written().rstrip("\n").encode(), id="no end of the last line"),
        pytest.param((written() + "\n\n").encode(), id="blank lines at the end"),
        pytest.param(written(before="\n\n").encode(), id="blank lines at the beginning"),
        pytest.param(written(end="\r\n", before="\r\n").encode(), id="CRLF, blank beginning"),
        pytest.param(written().encode("utf-8-sig"), id="UTF-8 with a mark"),
        pytest.param(written().encode("utf-16"), id="UTF-16 with a mark"),
        pytest.param(written().encode("utf-32"), id="UTF-32 with a mark"),
    ],
)
def test_however_it_is_written_it_is_the_same_table(run: Any, named: Any, content: bytes) -> None:
    Path("t.csv").write_bytes(content)
    found = audited(run, "t.csv", *named)
    assert (found["rows"], found["classes"], found["k"]) == (4, 2, 2)
    # One class has flu once in two, the table three times in four.
    assert distance(found) == "1/4"


def test_text_that_is_not_utf_8_is_read_with_a_note(run: Any, named: Any) -> None:
    Path("t.csv").write_bytes("age,zip,disease\n1,2,Ménière\n1,2,Müller\n".encode("latin-1"))
    found = audited(run, "t.csv", *named)
    assert found["rows"] == 2
    assert any("not UTF-8" in note and "--encoding" in note for note in found["notes"])
    shown = run("explain", "t.csv", *named)
    assert "Ménière" in shown.stdout


def test_lines_are_counted_from_the_top_of_the_file_in_a_converted_copy(
    refused: Any, named: Any
) -> None:
    Path("t.csv").write_bytes("\n\nage,zip,disease\n1,2,é\n1,2\n".encode("latin-1"))
    refused("audit", "t.csv", *named, says=("t.csv, line 5", "2 fields"))


def test_one_row(run: Any, named: Any) -> None:
    Path("t.csv").write_text("age,zip,disease\n1,2,flu\n")
    found = audited(run, "t.csv", *named)
    assert (found["rows"], found["classes"], found["k"], distance(found)) == (1, 1, 1, "0")
    assert "1 row in 1 class;" in run("audit", "t.csv", *named).stdout


def test_a_sensitive_attribute_with_a_single_value(run: Any, named: Any) -> None:
    Path("t.csv").write_text("age,zip,disease\n1,2,flu\n1,2,flu\n3,4,flu\n")
    found = audited(run, "t.csv", *named)
    assert distance(found) == "0"


@pytest.mark.parametrize("by", ["equal", "ordered", "numeric"])
def test_a_constant_number_is_at_no_distance(run: Any, by: str) -> None:
    Path("t.csv").write_text("age,disease\n1,7\n1,7\n3,7\n")
    Path("p.toml").write_text(
        f'columns = {{ age = "quasi", disease = {{ role = "sa", distance = "{by}", t = 0 }} }}'
    )
    found = audited(run, "t.csv", "-p", "p.toml")
    assert found["holds"] and distance(found, by) == "0"


def test_a_quasi_identifier_that_is_all_different(run: Any, named: Any) -> None:
    lines = "".join(f"{age},1,{'flu' if age % 2 else 'ulcer'}\n" for age in range(50))
    Path("t.csv").write_text(f"age,zip,disease\n{lines}")
    found = audited(run, "t.csv", *named)
    assert (found["k"], found["classes"], distance(found)) == (1, 50, "1/2")


def test_missing_values_count_as_a_value(run: Any, named: Any) -> None:
    Path("t.csv").write_text("age,zip,disease\n1,2,\n1,2,flu\n,2,?\n,2,flu\n")
    assert audited(run, "t.csv", *named)["classes"] == 2
    assert distance(audited(run, "t.csv", *named)) == "1/4"
    assert distance(audited(run, "t.csv", *named, "--null", "?")) == "0"


def test_dates_have_an_order(run: Any) -> None:
    Path("t.csv").write_text("q,day\na,2024-01-01\na,2024-01-02\nb,2024-01-03\nb,2024-01-05\n")
    found = audited(run, "t.csv", "--quasi", "q", "--sensitive", "day")
    assert distance(found, "ordered") == "1/3"


@pytest.mark.parametrize("by", ["ordered", "numeric"])
def test_words_among_numbers_are_counted_and_a_way_out_is_named(
    refused: Any, run: Any, by: str
) -> None:
    Path("t.csv").write_text("age,disease\n1,1.5\n1,inf\n2,nan\n2,3\n")
    Path("p.toml").write_text(
        f'columns = {{ age = "quasi", disease = {{ role = "sa", distance = "{by}", t = 1 }} }}'
    )
    says = ("columns.disease.distance", "2 of the 4 distinct values are not finite", "--null")
    refused("audit", "t.csv", "-p", "p.toml", says=says)
    nulls = ("--null", "nan", "--null", "inf")
    assert audited(run, "t.csv", "-p", "p.toml", *nulls)["holds"]


@pytest.mark.parametrize("by", ["ordered", "numeric"])
def test_decimal_commas_are_not_taken_for_numbers(refused: Any, by: str) -> None:
    Path("t.csv").write_text("age;cost\n1;2,50\n1;3,10\n2;4\n")
    Path("p.toml").write_text(
        f'columns = {{ age = "quasi", cost = {{ role = "sa", distance = "{by}", t = 1 }} }}'
    )
    says = ("columns.cost.distance", "2 of the 3 distinct values are not finite numbers")
    refused("audit", "t.csv", "-p", "p.toml", says=says)


@pytest.mark.parametrize("by", ["ordered", "numeric"])
def test_an_infinite_number_is_refused_on_a_line(refused: Any, by: str) -> None:
    doubles = [1.0, float("nan"), float("inf"), None]
    pq.write_table(pa.table({"age": [1, 1, 2, 2], "disease": doubles}), "t.parquet")
    Path("p.toml").write_text(
        f'columns = {{ age = "quasi", disease = {{ role = "sa", distance = "{by}", t = 1 }} }}'
    )
    told = refused("audit", "t.parquet", "-p", "p.toml", says=("1 of the 2 distinct values",))
    assert "use ordered" not in told


def test_nan_is_a_missing_value(run: Any) -> None:
    doubles = [1.0, float("nan"), 1.0, None]
    pq.write_table(pa.table({"age": [1, 1, 2, 2], "disease": doubles}), "t.parquet")
    found = audited(run, "t.parquet", "--quasi", "age", "--sensitive", "disease")
    assert distance(found) == "0"


ODD = [
    'a "quoted" name',
    "two words",
    "größe",
    "select",
    "semi;colon",
    "com,ma",
    "it's",
    "new\nline",
    "dot.ted",
    "[bold]x[/]",
    "columns",
    "{brace}",
]


def odd_table(end: str) -> None:
    page = io.StringIO()
    writer = csv.writer(page, lineterminator=end)
    writer.writerow(ODD)
    writer.writerows([[f"v{row // 3}"] * (len(ODD) - 1) + [f"s{row % 3}"] for row in range(6)])
    Path("t.csv").write_bytes(page.getvalue().encode())


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_columns_with_odd_names(run: Any, end: str) -> None:
    odd_table(end)
    assert run("init", "t.csv", "-o", "p.toml").exit_code == 0
    refusal = run("audit", "t.csv", "-p", "p.toml")
    assert refusal.exit_code == 2
    for name in ODD:
        assert f"columns.{escape_controls(name, lines=False)}.role" in refusal.stderr
    assert refusal.stderr.count("the role is only suggested") == 1
    assert f"{len(ODD)} problems" in refusal.stderr
    assert run("policy", "confirm", "p.toml").exit_code == 0
    found = audited(run, "t.csv", "-p", "p.toml")
    assert (found["rows"], found["classes"]) == (6, 6)


@pytest.mark.parametrize("name", ODD)
def test_an_odd_name_can_be_explained_and_drawn(run: Any, name: str) -> None:
    odd_table("\n")
    sensitive = '"com,ma"' if name == "com,ma" else name
    quasi = "two words" if name != "two words" else "select"
    arguments = ("--quasi", quasi, "--sensitive", sensitive, "--svg", "flow.svg")
    result = run("explain", "t.csv", *arguments, "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["attribute"] == name
    assert Path("flow.svg").is_file()


@pytest.mark.slow
def test_two_thousand_columns(run: Any) -> None:
    names = [f"c{at}" for at in range(2000)]
    rows = [",".join(str(at * row % 7) for at in range(2000)) for row in range(20)]
    Path("t.csv").write_text("\n".join([",".join(names), *rows]) + "\n")
    found = audited(run, "t.csv", "--quasi", "c1,c2", "--sensitive", "c3")
    assert (found["rows"], found["classes"]) == (20, 7)


@pytest.mark.slow
def test_a_draft_of_many_columns_names_each(run: Any) -> None:
    names = [f"c{at}" for at in range(250)]
    rows = [",".join(str(at * row % 7) for at in range(250)) for row in range(20)]
    Path("t.csv").write_text("\n".join([",".join(names), *rows]) + "\n")
    drafted = run("init", "t.csv").stdout
    assert all(f"[columns.{name}]" in drafted for name in names[1:3])
    assert drafted.count('?"') == 250
