"""The README keeps its word: its tables come out, its commands exist and work."""

from __future__ import annotations

import re
import shlex
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import tclose
from tclose.cli import app

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)


def command_lines(program: str) -> list[list[str]]:
    text = "".join(blocks("sh")).replace("\\\n", " ")
    words = [shlex.split(line, comments=True) for line in text.splitlines()]
    return [line[1:] for line in words if line[:1] == [program]]


@pytest.mark.parametrize("words", command_lines("make"), ids=" ".join)
def test_make_targets_exist(words: list[str]) -> None:
    assert re.search(rf"^{words[0]}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)


def test_it_opens_with_what_it_does_and_fits_a_screen() -> None:
    assert len(README.splitlines()) <= 60
    first, second = README.index("```sh"), README.index("pip install tclose")
    assert README.index("audits tables about people") < first < second
    assert [words[0] for words in command_lines("make")] == ["demo", "test"]
    assert len(command_lines("tclose")) == 5


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert len(links) > 8
    assert [link for link in links if not (ROOT / link).is_file()] == []


def three_tables() -> tuple[list[list[str]], list[list[str]], list[list[str]]]:
    """Raw rows, classes and released rows as they stand side by side."""
    (text,) = blocks("text")
    lines = text.splitlines()
    starts = [0, lines[0].index("classes"), lines[0].index("released")]
    ends = [*starts[1:], None]
    raw, classes, released = (
        [re.split(r"\s{2,}", line[start:end].strip()) for line in lines[2:]]
        for start, end in zip(starts, ends, strict=True)
    )
    return raw, classes[:3], released


def test_the_three_tables_are_what_comes_out() -> None:
    raw, classes, released = three_tables()
    names = ("age", "postcode", "illness")
    table = pa.table(dict(zip(names, zip(*raw, strict=True), strict=True)))
    policy = {
        "k": 3,
        "columns": {
            "age": "quasi",
            "postcode": {"role": "quasi", "hierarchy": {"prefix": [3, 2, 0]}},
            "illness": {"role": "sensitive", "distance": "equal", "t": 0.3},
        },
    }
    release = tclose.anonymize(table, policy, effort=0.5)
    assert sorted(list(row.values()) for row in release.data.to_pylist()) == sorted(released)
    shares: dict[str, list[Fraction]] = {"table": [], "A": [], "B": []}
    for ill in ("ulcer", "flu", "asthma"):
        shares["table"].append(Fraction(sum(row[2] == ill for row in raw), len(raw)))
        for name, first in (("A", released[0][0]), ("B", released[2][0])):
            members = [row[2] for row in released if row[0] == first]
            shares[name].append(Fraction(members.count(ill), len(members)))
    for name, *told in classes:
        off = zip(shares[name], shares["table"], strict=True)
        distance = sum(abs(p - q) for p, q in off) / 2
        assert told == [*map(str, shares[name]), str(distance)]
    assert str(release.audit.requirements[1].achieved_exact) == classes[1][-1]


@pytest.mark.slow
def test_commands_work_one_after_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    illness = ["flu", "ulcer", "asthma"]
    rows = [(f"P{n}", f"{20 + n % 25}", f"{47600 + n}", illness[n % 3]) for n in range(60)]
    lines = [("name", "age", "zip", "disease"), *rows]
    Path("patients.csv").write_text("".join(",".join(line) + "\n" for line in lines))
    for words in command_lines("tclose"):
        quick = ["--effort", "1"] if words[0] == "anonymize" else []
        result = CliRunner().invoke(app, [*words, *quick])
        broken = words[0] == "audit"
        assert result.exit_code == int(broken), (words, result.stdout, result.stderr)
    for made in ("policy.toml", "release.csv", "certificate.json", "report.html"):
        assert Path(made).is_file(), made
