"""`tclose reproduce li2007` as a user runs it: files, page, refusals."""

from __future__ import annotations

import csv
import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tclose.cli import app

pytestmark = pytest.mark.slow

FILES = [
    "claims.csv",
    "efficiency.csv",
    "li2007.html",
    "quality.csv",
    "readings.csv",
    "similarity.csv",
    "tables.csv",
]


def run(*words: object) -> Result:
    return CliRunner().invoke(app, ["reproduce", "li2007", *map(str, words)])


@pytest.fixture(scope="module")
def written(census: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("out") / "new" / "folder"
    result = run("--adult", census.folder, "-o", folder, "--force")
    assert result.exit_code == 0, result.stderr
    assert "entropy 2-diversity: minimal tables" in result.stdout
    return folder


def lines(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def page(folder: Path) -> str:
    return (folder / "li2007.html").read_text(encoding="utf-8")


def test_the_folder_holds_the_page_and_its_numbers_and_nothing_else(written: Path) -> None:
    assert sorted(path.name for path in written.iterdir()) == FILES


def test_the_counts_are_those_of_brute_force(written: Path, census: Any, by_force: Any) -> None:
    entropy, recursive, *beside = lines(written / "similarity.csv")
    for line, kind, parameter in (
        (entropy, "entropy l-diversity", 2), (recursive, "recursive (4, l)-diversity", 4),
    ):  # fmt: skip
        expected = census.minimal(by_force(kind, parameter)).values()
        assert int(line["minimal"]) == len(expected)
        assert int(line["vulnerable"]) == sum(one.exposed > 0 for one in expected)
        assert int(line["worst"]) == max((one.exposed for one in expected), default=0)
    assert (entropy["minimal_paper"], entropy["vulnerable_paper"]) == ("21", "13")
    assert (recursive["minimal_paper"], recursive["worst_paper"]) == ("26", "")
    assert [line["minimal_paper"] for line in beside] == ["", "", ""]


def test_values_that_the_paper_only_draws_are_not_invented(written: Path) -> None:
    for line in lines(written / "efficiency.csv"):
        assert line["seconds_paper"] == "figure only" and float(line["seconds"]) > 0
    for line in lines(written / "quality.csv"):
        assert line["discernibility_paper"] == line["group_size_paper"] == "figure only"
    assert "figure only" in page(written)


def test_the_page_refers_to_nothing_outside_itself(written: Path) -> None:
    text = page(written)
    assert not re.search(r"https?:|//[a-z]|url\(|@import|<script|<link|<img|<iframe|src=", text)
    assert not re.search(r"\shref=\"[^#]", text)


def test_the_page_is_well_formed_and_its_charts_say_what_they_show(written: Path) -> None:
    root = ET.fromstring(page(written).removeprefix("<!DOCTYPE html>"))
    charts = list(root.iter("svg"))
    assert len(charts) == 6
    for chart in charts:
        assert chart.get("role") == "img" and chart.findtext("title")
        turned = [text for text in chart.iter("text") if "rotate" in text.get("transform", "")]
        assert len(turned) == 1 and turned[0].text, "the axis upwards has a name"
    for chart in charts[1:]:
        told = " ".join(chart.itertext())
        assert "quasi-identifier size" in told or "k and l" in told
        assert len({line.get("stroke") for line in chart.iter("polyline")}) == 5
        assert len({line.get("stroke-dasharray") for line in chart.iter("polyline")}) == 5
    assert len(list(root.iter("caption"))) == 10


def test_every_point_lies_within_its_chart(written: Path) -> None:
    root = ET.fromstring(page(written).removeprefix("<!DOCTYPE html>"))
    for line in root.iter("polyline"):
        for point in (line.get("points") or "").split():
            x, y = map(float, point.split(","))
            assert 84 <= x <= 598 and 27.9 <= y <= 324.1


def test_no_occupation_is_named(written: Path) -> None:
    for name in FILES:
        words = set(re.findall(r"[\w-]+", (written / name).read_text(encoding="utf-8")))
        assert not words & {"a0", "a1", "a2", "b0", "b1", "c0", "hand", "heart"}


def copied(census: Any, folder: Path) -> Path:
    return Path(shutil.copytree(census.folder, folder / "copy"))


def refusal(folder: Path, *more: object) -> str:
    result = run("--adult", folder, *more)
    assert result.exit_code == 2 and result.stdout == ""
    assert "Traceback" not in result.stderr and "bug in tclose" not in result.stderr
    return result.stderr


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "this folder does not exist" in refusal(tmp_path / "no", "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_all_files_that_are_missing_are_named_at_once(census: Any, tmp_path: Path) -> None:
    folder = copied(census, tmp_path)
    (folder / "adult_hierarchy_age.csv").unlink()
    (folder / "adult_hierarchy_occupation.csv").unlink()
    told = refusal(folder, "-o", tmp_path / "out")
    assert "adult_hierarchy_age.csv, adult_hierarchy_occupation.csv" in told
    assert list((tmp_path / "out").glob("*")) == []


def test_a_table_without_a_column_is_refused(census: Any, tmp_path: Path) -> None:
    folder = copied(census, tmp_path)
    table = folder / "adult.csv"
    table.write_text(table.read_text().replace("occupation", "trade", 1), encoding="utf-8")
    assert "no column 'occupation'" in refusal(folder, "-o", tmp_path / "out")


def test_missing_values_are_refused(census: Any, tmp_path: Path) -> None:
    folder = copied(census, tmp_path)
    table = folder / "adult.csv"
    head, first, rest = table.read_text().split("\n", 2)
    fields = first.split(";")
    fields[head.split(";").index("workclass")] = ""
    table.write_text("\n".join([head, ";".join(fields), rest]), encoding="utf-8")
    assert "1 row has no value" in refusal(folder, "-o", tmp_path / "out")


def test_a_hierarchy_without_groups_is_refused(census: Any, tmp_path: Path) -> None:
    folder = copied(census, tmp_path)
    tree = folder / "adult_hierarchy_occupation.csv"
    lines = [line.split(";") for line in tree.read_text().splitlines()]
    tree.write_text("".join(f"{line[0]};*\n" for line in lines), encoding="utf-8")
    assert "no level between the values and the root" in refusal(folder, "-o", tmp_path / "out")


def test_a_place_that_cannot_be_written_is_refused_before_any_work(
    census: Any, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("mine", encoding="utf-8")
    refusal(census.folder, "-o", tmp_path / "file")
    assert (tmp_path / "file").read_text(encoding="utf-8") == "mine"
