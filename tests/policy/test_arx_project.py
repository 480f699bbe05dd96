"""Projects of ARX: what they declare becomes a policy, and what does not is said."""

from __future__ import annotations

import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tclose
from tclose.policy.arx_project import read_arx_project
from tclose.policy.load import load_policy
from tclose.small_files import MOST_BYTES

COLUMN = (
    "<assigment><name>{}</name><type>{}_ATTRIBUTE</type><datatype>String</datatype>{}</assigment>"
)
REF = "<ref>hierarchies/{}.csv</ref><min>{}</min><max>{}</max>"
LONG = "9" * 400
MANY = REF.format("zip", "All", "9" * 5000)
ENTITIES = '<!DOCTYPE a [<!ENTITY b "c">]><config>&b;</config>'
QUASI, SENSITIVE = "QUASI_IDENTIFYING", "SENSITIVE"
HIERARCHIES = {
    "zip": "47601;476**;*\n47602;476**;*\n47901;479**;*\n47902;479**;*\n",
    "ill": "flu;lung;*\nasthma;lung;*\nulcer;other;*\n",
}
TABLE = "name;zip;ill\n" + "".join(
    f"p{at};{zip_code};{ill}\n"
    for at, (zip_code, ill) in enumerate(
        (zip_code, ill)
        for zip_code in ("47601", "47602", "47901", "47902")
        for ill in ("flu", "asthma", "ulcer")
    )
)


def make_project(
    path: Path, criteria: list[str], columns: list[str] | None = None, **parts: str | bytes
) -> Path:
    """A project as ARX 3.9 writes it, less what only ARX can read."""
    columns = columns or [
        COLUMN.format("name", "IDENTIFYING", ""),
        COLUMN.format("zip", QUASI, REF.format("zip", "All", "All")),
        COLUMN.format("ill", SENSITIVE, REF.format("ill", "All", "All")),
    ]
    listed = "".join(f"<criterion>{text}</criterion>" for text in criteria)
    content: dict[str, str | bytes] = {
        "metadata.xml": "<metadata><version>3.9.1</version></metadata>",
        "project.xml": "<project><separator>;</separator></project>",
        "project.dat": "\xac\xed",
        "data/input.csv": TABLE,
        "input/definition.xml": f"<definition>{''.join(columns)}</definition>",
        "input/config.xml": "<config><relativeMaxOutliers>0.1</relativeMaxOutliers>"
        f"<criteria>{listed}</criteria></config>",
        **{f"input/hierarchies/{name}.csv": text for name, text in HIERARCHIES.items()},
        **parts,
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in content.items():
            if text:
                archive.writestr(name, text)
    return path


OF = " for attribute 'ill'"


@pytest.mark.parametrize(
    ("model", "promise"),
    [
        (f"0.2-closeness with equal ground-distance{OF}", {"t": 0.2, "distance": "equal"}),
        (f"0.5-closeness with ordered distance{OF}", {"t": 0.5, "distance": "ordered"}),
        (f"distinct-3-diversity{OF}", {"l": {"distinct": 3}}),
        (f"shannon-entropy-2.5-diversity{OF}", {"l": {"entropy": 2.5}}),
        (f"recursive-(3.0,2)-diversity{OF}", {"l": {"recursive": {"c": 3, "l": 2}}}),
        (f"basic-2.0-likeness{OF}", {"beta": {"basic": 2}}),
        (f"enhanced-1.5-likeness{OF}", {"beta": {"enhanced": 1.5}}),
        (
            f"1.0-disclosure privacy{OF}",
            {"delta": {"max": 1, "base": "2", "absent": "ignore"}},
        ),
    ],
)
def test_every_model_has_its_place(tmp_path: Path, model: str, promise: dict[str, Any]) -> None:
    project = read_arx_project(make_project(tmp_path / "a.deid", ["5-anonymity", model]))
    assert project.policy["k"] == 5
    assert project.policy["columns"]["ill"] == {"role": "sensitive", **promise}
    assert project.policy["columns"]["name"] == {"role": "identifier"}
    assert project.policy["search"] == {"suppression": 0.1}


def test_a_hierarchical_distance_keeps_its_hierarchy(tmp_path: Path) -> None:
    model = f"0.3-closeness with hierarchical ground-distance{OF}"
    project = read_arx_project(make_project(tmp_path / "a.deid", [model]))
    assert project.policy["columns"]["ill"]["hierarchy"] == "hierarchy-ill.csv"
    assert project.hierarchies["hierarchy-ill.csv"].decode() == HIERARCHIES["ill"]


def test_what_is_not_carried_over_is_said(tmp_path: Path) -> None:
    columns = [
        COLUMN.format("a/b", QUASI, REF.format("zip", "1", "2")),
        COLUMN.format(
            "ill", SENSITIVE, "<microaggregationFunction>Mode</microaggregationFunction>"
        ),
        COLUMN.format("odd", "UNKNOWN", ""),
    ]
    models = ["Inclusion", "0.05-average-risk", "grassberger-entropy-2.0-diversity" + OF]
    project = read_arx_project(make_project(tmp_path / "a.deid", models, columns))
    assert project.policy["columns"]["a/b"]["max_level"] == 2
    assert project.policy["columns"]["a/b"]["hierarchy"] == "hierarchy-0-a_b.csv"
    told = " ".join(project.notes)
    assert "at least to level 1" in told and "0.05-average-risk" in told and "'odd'" in told
    assert "grassberger" in told and "Inclusion" not in told
    assert all(f"# Not carried over: {note}" in project.to_toml() for note in project.notes)


def test_the_command_makes_what_an_audit_needs(run: Callable[..., Any], elsewhere: Path) -> None:
    make_project(Path("a.deid"), ["3-anonymity", f"0.2-closeness with equal ground-distance{OF}"])
    assert run("policy", "import-arx", "a.deid", "-o", "bare").exit_code == 0
    assert not Path("bare/table.csv").exists()
    made = run("policy", "import-arx", "a.deid", "-o", "made", "--table")
    assert made.exit_code == 0 and "raw data" in made.output
    assert load_policy("made/policy.toml").k == 3
    assert run("audit", "made/table.csv", "--policy", "made/policy.toml").exit_code == 0
    assert run("policy", "import-arx", "a.deid", "-o", "made").exit_code == 2


@pytest.mark.parametrize(
    "parts",
    [
        {"input/config.xml": ""},
        {"input/config.xml": "<config>"},
        {"input/config.xml": ENTITIES},
        {"input/config.xml": ENTITIES.encode("utf-16")},
        {"input/hierarchies/zip.csv": ""},
        {"input/hierarchies/zip.csv": "x" * (MOST_BYTES + 1)},
        {"input/definition.xml": "<definition><assigment><type>SENSITIVE_ATTRIBUTE</type>"
         "</assigment></definition>"},
        {"input/definition.xml": f"<definition>{COLUMN.format('zip', QUASI, MANY)}</definition>"},
        {"input/config.xml": f"<config><criterion>{'9' * 5000}-anonymity</criterion></config>"},
        {"input/config.xml": f"<config><criterion>{LONG}-closeness with equal ground-distance{OF}"
         "</criterion></config>"},
        {"input/config.xml": f"<config><relativeMaxOutliers>{LONG}</relativeMaxOutliers></config>"},
    ],
    ids=[
        "absent", "damaged", "entities", "wide entities", "no hierarchy", "large hierarchy",
        "no name", "long level", "long k", "long t", "long share",
    ],
)  # fmt: skip
def test_damaged_projects_are_refused(tmp_path: Path, parts: dict[str, Any]) -> None:
    with pytest.raises(tclose.DataError):
        read_arx_project(make_project(tmp_path / "a.deid", [], **parts))


def test_another_file_is_no_project(tmp_path: Path) -> None:
    (tmp_path / "a.deid").write_bytes(b"not an archive")
    with pytest.raises(tclose.DataError, match="not an ARX project"):
        read_arx_project(tmp_path / "a.deid")


def test_a_table_that_would_fill_the_memory_is_read_only_if_asked_for_and_refused_then(
    tmp_path: Path,
) -> None:
    bomb = make_project(tmp_path / "a.deid", [], **{"data/input.csv": "x" * (65 << 20)})
    assert read_arx_project(bomb).table is None
    with pytest.raises(tclose.DataError, match="200 times"):
        read_arx_project(bomb, table=True)
    path = make_project(tmp_path / "b.deid", [])
    assert read_arx_project(path, table=True).table == TABLE.encode()


def test_hierarchies_that_are_named_again_and_again_have_one_limit(tmp_path: Path) -> None:
    columns = [COLUMN.format(f"zip{at}", QUASI, REF.format("zip", "All", "All")) for at in range(5)]
    large: dict[str, Any] = {"input/hierarchies/zip.csv": "x" * (MOST_BYTES // 4)}
    with pytest.raises(tclose.DataError, match="MiB"):
        read_arx_project(make_project(tmp_path / "a.deid", [], columns, **large))


def test_no_text_of_a_project_adds_a_key_to_the_policy(tmp_path: Path) -> None:
    forged = '1\n[release]\nrows = "keep"\n#\x85'
    columns = [COLUMN.format("zip", QUASI, REF.format("zip", forged, "All"))]
    text = read_arx_project(make_project(tmp_path / "a.deid", [], columns)).to_toml()
    assert "release" not in tomllib.loads(text) and "\x85" not in text


def test_columns_that_share_a_name_or_a_cleaned_name_do_not_share_a_file(tmp_path: Path) -> None:
    names = ["a/b", "a b", "a_b", "1", "0-a_b", "x" * 4000]
    columns = [COLUMN.format(name, QUASI, REF.format("zip", "All", "All")) for name in names]
    project = read_arx_project(make_project(tmp_path / "a.deid", [], columns))
    files = [column["hierarchy"] for column in project.policy["columns"].values()]
    assert len({*files}) == len(names) == len(project.hierarchies)
    assert max(map(len, files)) < 100
    with pytest.raises(tclose.DataError, match="twice"):
        read_arx_project(make_project(tmp_path / "a.deid", [], columns[:1] * 2))


def test_a_model_is_read_in_one_pass(tmp_path: Path) -> None:
    """Its text was tried from each of 400 000 places on, which takes hours."""
    text = "0.2-closeness with " + "distance for attribute &apos;" * 400_000
    project = read_arx_project(make_project(tmp_path / "a.deid", [text]))
    assert any("privacy model" in note for note in project.notes)


def test_a_part_that_begins_before_the_archive_is_damage(tmp_path: Path) -> None:
    path = make_project(tmp_path / "a.deid", [])
    content = bytearray(path.read_bytes())
    end = content.rindex(b"PK\x05\x06")
    start = int.from_bytes(content[end + 16 : end + 20], "little")
    content[end + 16 : end + 20] = (start + 100_000).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(tclose.DataError, match="damaged"):
        read_arx_project(path)
    with pytest.raises(FileNotFoundError):
        read_arx_project(tmp_path / "none.deid")
