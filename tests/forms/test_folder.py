"""A folder appears whole or not at all, and is believed only after it was counted again."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tclose
from tclose.data.io.counting import file_hash
from tclose.data.io.files import write_folder
from tclose.errors import DataError, UsageError
from tclose.plain import json_hash

RULES: dict[str, Any] = {
    "k": 3,
    "columns": {
        "name": "identifier",
        "age": "quasi",
        "ill": {"role": "sensitive", "l": 3},
        "pay": {"role": "sensitive", "t": 0.3},
    },
}
FORMS = ["anatomy", "slicing", "projections"]


def people(rows: int = 48) -> pa.Table:
    return pa.table(
        {
            "name": [f"person {at}" for at in range(rows)],
            "age": [20 + (at * 5) % 40 for at in range(rows)],
            "ill": [["flu", "ulcer", "asthma", "hiv"][at % 4] for at in range(rows)],
            "pay": [1 + (at * 7) % 12 for at in range(rows)],
        }
    )


@pytest.fixture(params=["csv", "parquet", "arrow"])
def kind(request: Any) -> str:
    return str(request.param)


@pytest.mark.parametrize("form", FORMS)
def test_what_was_written_is_confirmed_by_a_fresh_count(
    form: str, kind: str, tmp_path: Path
) -> None:
    made = tclose.split(people(), RULES, form=form, output=tmp_path / "out", kind=kind, effort=0.1)
    assert made.path == tmp_path / "out" and made.tables == {}
    found = tclose.verify_split(tmp_path / "out")
    assert found.holds, str(found)
    assert [one for one in found.checks if one.confirmed is False] == []
    assert found.rows == 48
    files = {one.name for one in (tmp_path / "out").iterdir()}
    assert files == {"certificate.json", *(part.file for part in found.layout.parts)}
    assert all(file.endswith(f".{kind}") for file in files - {"certificate.json"})
    assert [one.name for one in tmp_path.iterdir()] == ["out"]


def test_no_raw_value_stands_in_a_certificate(tmp_path: Path) -> None:
    for form in FORMS:
        tclose.split(people(), RULES, form=form, output=tmp_path / form, effort=0.1)
        text = (tmp_path / form / "certificate.json").read_text(encoding="utf-8")
        assert not [word for word in ("person 1", "flu", "ulcer", "asthma", "hiv") if word in text]


def test_a_written_file_keeps_every_value_exactly(tmp_path: Path) -> None:
    tclose.split(people(), RULES, form="anatomy", output=tmp_path / "out", kind="parquet")
    table = pq.read_table(tmp_path / "out" / "quasi.parquet")
    assert sorted(table.column("age").to_pylist()) == sorted(people().column("age").to_pylist())
    assert table.column_names == ["group", "age"]


@pytest.mark.parametrize("error", [OSError(28, "full"), KeyboardInterrupt(), ValueError()])
def test_a_failed_write_leaves_nothing(error: BaseException, tmp_path: Path) -> None:
    def fill(part: Path) -> None:
        (part / "half.csv").write_text("half")
        raise error

    with pytest.raises(DataError if isinstance(error, OSError) else type(error)):
        write_folder(tmp_path / "deep" / "out", fill)
    assert [one for one in tmp_path.rglob("*") if one.name != "deep"] == []


def test_a_killed_process_leaves_no_folder(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from tclose.data.io.files import write_folder\n"
        "def fill(part):\n"
        "    (part / 'half.csv').write_text('half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "write_folder(Path(sys.argv[1]), fill)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "out")],
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == -signal.SIGKILL
    left = [path.name for path in tmp_path.iterdir()]
    assert not (tmp_path / "out").exists()
    assert all(name.startswith(".out.") and name.endswith((".part", ".journal")) for name in left)
    write_folder(tmp_path / "out", lambda part: (part / "whole.csv").write_text("whole"))
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_release_that_does_not_hold_is_never_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search that is wrong: every row a group of its own."""
    import numpy as np

    from tclose.search.anatomy import Groups
    from tclose.workflows import split as forms

    alone = Groups(np.arange(48), "wrong", "finished", ())
    monkeypatch.setattr(forms, "form_groups", lambda problem, budget: alone)
    with pytest.raises(tclose.InternalError, match="do not keep their promise"):
        tclose.split(people(), RULES, form="anatomy", output=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    with pytest.raises(DataError, match="exists already"):
        tclose.split(people(), RULES, form="anatomy", output=tmp_path / "out")
    assert (tmp_path / "out" / "mine.txt").read_text() == "mine"


def test_empty_texts_are_refused_where_csv_cannot_tell_them(tmp_path: Path) -> None:
    table = pa.table({"q": ["", "a", "b", None], "s": ["x", "y", "x", "y"]})
    rules = {"k": 2, "columns": {"q": "quasi", "s": {"role": "sensitive", "l": 2}}}
    with pytest.raises(UsageError, match="empty texts"):
        tclose.split(table, rules, form="anatomy", output=tmp_path / "out")
    made = tclose.split(table, rules, form="anatomy", output=tmp_path / "out", kind="parquet")
    assert made.holds


# --------------------------------------------------------------------------------------- tampering


def edit(path: Path, change: Callable[[list[list[str]]], None]) -> None:
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    change(rows)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


def more_of_one(rows: list[list[str]]) -> None:
    rows[1][-1] = str(int(rows[1][-1]) + 1)


def no_number(rows: list[list[str]]) -> None:
    rows[1][-1] = "1.5"


def less_than_nothing(rows: list[list[str]]) -> None:
    rows[1][-1] = "-1"


def all_alike(rows: list[list[str]]) -> None:
    group = rows[1][0]
    for row in rows[1:]:
        if row[0] == group:
            row[1] = rows[1][1]


def one_row_less(rows: list[list[str]]) -> None:
    del rows[-1]


def other_group(rows: list[list[str]]) -> None:
    rows[1][0] = rows[-1][0]


def told_after_all(rows: list[list[str]]) -> None:
    rows[0].append("ill")
    for row in rows[1:]:
        row.append("flu")


def one_column_more(rows: list[list[str]]) -> None:
    for at, row in enumerate(rows):
        row.append("row" if at == 0 else str(at))


CHANGES = [
    ("anatomy", "sensitive-ill.csv", more_of_one),
    ("anatomy", "sensitive-ill.csv", no_number),
    ("anatomy", "sensitive-ill.csv", less_than_nothing),
    ("anatomy", "sensitive-ill.csv", all_alike),
    ("anatomy", "sensitive-pay.csv", one_row_less),
    ("anatomy", "quasi.csv", one_row_less),
    ("anatomy", "quasi.csv", other_group),
    ("anatomy", "quasi.csv", told_after_all),
    ("slicing", "sliced.csv", one_row_less),
    ("slicing", "sliced.csv", other_group),
    ("slicing", "sliced.csv", one_column_more),
    ("projections", "projection-1.csv", one_row_less),
    ("projections", "projection-2.csv", told_after_all),
]


@pytest.fixture(scope="module")
def splits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of each form, to be copied and changed."""
    folder = tmp_path_factory.mktemp("splits")
    for form in FORMS:
        sets = [["ill"], ["pay"]]
        tclose.split(people(), RULES, form=form, output=folder / form, sets=sets, effort=0.1)
    return folder


@pytest.mark.parametrize("sly", [False, True], ids=["plain", "with the certificate's hash"])
@pytest.mark.parametrize("form, file, change", CHANGES)
def test_a_changed_file_is_refused(
    form: str, file: str, change: Callable[[Any], None], sly: bool, splits: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shutil.copytree(splits / form, out)
    edit(out / file, change)
    if sly:
        content = json.loads((out / "certificate.json").read_text(encoding="utf-8"))
        content["hashes"]["files"][file] = file_hash(out / file)
        (out / "certificate.json").write_text(json.dumps(content), encoding="utf-8")
    assert not tclose.verify_split(out).holds


def change_certificate(out: Path, change: Callable[[dict[str, Any]], None]) -> None:
    content = json.loads((out / "certificate.json").read_text(encoding="utf-8"))
    change(content)
    (out / "certificate.json").write_text(json.dumps(content), encoding="utf-8")


def test_a_certificate_that_leaves_a_table_out_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    tclose.split(people(), RULES, form="anatomy", output=out, effort=0.1)

    def leave_out(content: dict[str, Any]) -> None:
        content["form"]["files"].pop()

    change_certificate(out, leave_out)
    assert not tclose.verify_split(out).holds


def test_a_certificate_with_another_policy_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    tclose.split(people(), RULES, form="anatomy", output=out, effort=0.1)

    def promise_more(content: dict[str, Any]) -> None:
        content["policy"]["k"] = 40
        content["hashes"]["policy"] = json_hash(content["policy"])

    change_certificate(out, promise_more)
    assert not tclose.verify_split(out).holds


@pytest.mark.parametrize("form", FORMS)
def test_no_size_or_set_of_columns_is_changed_unnoticed(form: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    tclose.split(people(), RULES, form=form, output=out, effort=0.1)
    content = json.loads((out / "certificate.json").read_text(encoding="utf-8"))
    changed = [{"k": content["k"] + 1}, {"form": {**content["form"], "sets": [["ill", "name"]]}}]
    sizes = content["sizes"].items()
    changed += [{"form": {**content["form"], "group": "", "count": "x"}}]
    changed += [{"sizes": {**content["sizes"], key: value + 1}} for key, value in sizes]
    for wrong in changed:
        text = json.dumps({**content, **wrong})
        (out / "certificate.json").write_text(text, encoding="utf-8")
        assert not tclose.verify_split(out).holds, wrong


def test_a_policy_of_ones_own_is_judged_in_place_of_the_certificate_s(tmp_path: Path) -> None:
    out = tmp_path / "out"
    tclose.split(people(), RULES, form="anatomy", output=out, effort=0.1)
    assert tclose.verify_split(out, {**RULES, "k": 40}).holds is False


def test_a_file_too_many_or_too_few_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out"
    tclose.split(people(), RULES, form="anatomy", output=out, effort=0.1)
    (out / "links.csv").write_text("age,ill\n20,flu\n")
    assert not tclose.verify_split(out).holds
    (out / "links.csv").unlink()
    assert tclose.verify_split(out).holds
    (out / "sensitive-pay.csv").unlink()
    assert not tclose.verify_split(out).holds


def test_a_folder_without_a_certificate_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"certificate\.json"):
        tclose.verify_split(tmp_path)


@pytest.mark.parametrize("file", ["../out.csv", "/etc/hosts", ".hidden"])
def test_a_certificate_names_no_file_outside_its_folder(file: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    tclose.split(people(), RULES, form="anatomy", output=out, effort=0.1)

    def lead_away(content: dict[str, Any]) -> None:
        content["form"]["files"][0]["file"] = file

    change_certificate(out, lead_away)
    with pytest.raises(UsageError, match=r"not a certificate of tclose: form\.files\.0\.file"):
        tclose.verify_split(out)


def test_a_policy_beside_the_folder_may_name_a_hierarchy_by_a_relative_path(tmp_path: Path) -> None:
    (tmp_path / "ill.csv").write_text("flu,lung,*\nasthma,lung,*\nulcer,other,*\nhiv,other,*\n")
    pq.write_table(people(), tmp_path / "people.parquet")
    ill = {"role": "sensitive", "t": 0.5, "hierarchy": "ill.csv"}
    rules = {"k": 3, "columns": {**RULES["columns"], "ill": ill}}
    (tmp_path / "policy.json").write_text(json.dumps(rules))
    out = tmp_path / "release"
    for form in FORMS:
        policy = tmp_path / "policy.json"
        tclose.split(tmp_path / "people.parquet", policy, form=form, output=out, effort=0.1)
        assert tclose.verify_split(out).holds
        shutil.rmtree(out)
    tclose.split(tmp_path / "people.parquet", policy, form="anatomy", output=out, effort=0.1)
    (tmp_path / "ill.csv").rename(tmp_path / "elsewhere.csv")
    with pytest.raises(UsageError, match="needs a file that is not there"):
        tclose.verify_split(out)


@pytest.mark.parametrize("form", FORMS)
def test_columns_that_look_like_free_text_are_warned_about(form: str, tmp_path: Path) -> None:
    remarks = [f"call {at} 0171 555 12 {at + 10} about the next visit" for at in range(48)]
    columns = {**RULES["columns"], "remark": "insensitive"}
    table = people().append_column("remark", pa.array(remarks))
    made = tclose.split(table, {**RULES, "columns": columns}, form=form, effort=0.1)
    (warning,) = [text for text in made.certificate.warnings or () if "'remark'" in text]
    assert "free text" in warning and "telephone" in warning and f"warning: {warning}" in str(made)
    columns["remark"] = {"role": "insensitive", "accept": "made up"}
    accepted = tclose.split(table, {**RULES, "columns": columns}, form=form, effort=0.1)
    assert not any("'remark'" in text for text in accepted.certificate.warnings or ())


def test_exact_quasi_identifiers_are_warned_about_whatever_their_hierarchy() -> None:
    columns = {**RULES["columns"], "mail": {"role": "quasi", "hierarchy": {"prefix": [1]}}}
    table = people().append_column("mail", pa.array([f"p{at}@example.org" for at in range(48)]))
    made = tclose.split(table, {**RULES, "columns": columns}, form="anatomy", effort=0.1)
    assert any("'mail' are released as they are" in text for text in made.certificate.warnings)
