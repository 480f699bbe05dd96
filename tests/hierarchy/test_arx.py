"""Hierarchy files: what is read, what is refused, and that writing gives back the same tree."""

from __future__ import annotations

import io
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tclose.errors import HierarchyError
from tclose.hierarchy.arx import read, write
from tclose.hierarchy.tree import Hierarchy

LABELS = st.text(st.sampled_from(list("ab;,\"'\n\r \t*é∞\ufeff")), min_size=1, max_size=4).filter(
    lambda text: text.strip()
)


def text_of(rows: str) -> Hierarchy:
    return read(io.StringIO(rows), "kind")


@settings(deadline=None)  # a disk may be slow
@given(st.lists(LABELS, min_size=3, max_size=12, unique=True), st.sampled_from(";,\t"), st.data())
def test_what_is_written_is_read_back(
    labels: list[str], delimiter: str, data: st.DataObject
) -> None:
    root, group, *leaves = labels
    grouped = data.draw(st.lists(st.booleans(), min_size=len(leaves), max_size=len(leaves)))
    rows = [[v, group, root] if g else [v, root] for v, g in zip(leaves, grouped, strict=True)]
    tree = Hierarchy.from_chains(rows, "kind")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kind.csv")
        write(tree, path, delimiter)
        assert read(path, "kind", delimiter) == tree
        if delimiter != "\t":
            assert read(path, "kind") == tree


@settings(deadline=None)  # a disk may be slow
@given(LABELS, st.sampled_from(";,"))
def test_a_tree_of_one_label_is_read_back(label: str, delimiter: str) -> None:
    tree = Hierarchy.from_chains([[label]], "kind")
    with tempfile.TemporaryDirectory() as folder:
        write(tree, Path(folder, "kind.csv"), delimiter)
        assert read(Path(folder, "kind.csv"), "kind") == tree


SAME = {
    "semicolons": "cat;animal;*\noak;oak;*\n",
    "commas": "cat,animal,*\noak,oak,*\n",
    "no last line end": "cat;animal;*\noak;oak;*",
    "Windows line ends": "cat;animal;*\r\noak;oak;*\r\n",
    "old line ends": "cat;animal;*\roak;oak;*\r",
    "a byte order mark": "\ufeffcat;animal;*\noak;oak;*\n",
    "trailing delimiters": "cat;animal;*;\noak;oak;*;;\n",
    "ragged rows": "cat;animal;*\noak;*\n",
    "blank lines": "\n\ncat;animal;*\n  \n;;\noak;*\n\n",
    "quotes": '"cat";"animal";"*"\n"oak";oak;*\n',
}


@pytest.mark.parametrize("case", SAME)
def test_variants_of_a_file_give_the_same_tree(case: str, tmp_path: Path) -> None:
    expected = Hierarchy.from_chains([["cat", "animal", "*"], ["oak", "*"]], "kind")
    assert text_of(SAME[case]) == expected
    path = tmp_path / "kind.csv"
    path.write_bytes(SAME[case].encode("utf-8"))
    assert read(path, "kind") == expected
    assert read(str(path), "kind") == expected


def test_commas_within_labels_do_not_make_a_comma_file() -> None:
    assert text_of("21;[20, 25);*\n26;[25, 30);*\n").leaves == ("21", "26")


def test_quoted_cells_may_hold_the_delimiter() -> None:
    assert text_of('21,"[20, 25)",*\n"a;b",x,*\n').leaves == ("21", "a;b")


def test_a_broken_quote_in_a_comma_file_is_named_as_such() -> None:
    with pytest.raises(HierarchyError, match="line 3: the quotes of the row do not close"):
        text_of('a,g,*\nb,"g",*\nc,"g,*\n')


def test_a_given_delimiter_is_obeyed() -> None:
    assert read(io.StringIO("a;b\tx\t*\n"), "kind", delimiter="\t").leaves == ("a;b",)


def test_a_written_file_is_rectangular() -> None:
    tree = Hierarchy.from_chains([["cat", "pet", "animal", "*"], ["cow", "animal", "*"]], "kind")
    with tempfile.TemporaryDirectory() as folder:
        write(tree, Path(folder, "k.csv"))
        assert Path(folder, "k.csv").read_bytes() == b"cat;pet;animal;*\ncow;cow;animal;*\n"


REFUSED = {
    "an empty file": ("", "the hierarchy is empty"),
    "blank lines only": ("\n \n;;\n", "the hierarchy is empty"),
    "an empty cell in the middle": ("a;*\n\nsecret;;*\n", "line 3, level 1: the cell is empty"),
    "an empty first cell": ("a;*\n;*\n", "line 2, level 0: the cell is empty"),
    "an open quote": ('a;*\n"secret;*\n', "line 2: the quotes of the row do not close"),
    "text after a quote": ('a;*\n"secret"x;*\n', "line 2: the quotes of the row do not close"),
    "UTF-16 without a mark": ("s\0e\0", "not plain text"),
    "a doubled value": ('"x\ny";*\n\nsecret;*\nsecret;*\n', "line 5, level 0: the value has a row"),
    "two roots": ("a;g\nsecret;h\n", "line 2, level 1: there is more than one root"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_files_that_make_no_tree_are_refused_by_line(case: str) -> None:
    text, what = REFUSED[case]
    with pytest.raises(HierarchyError) as refusal:
        text_of(text)
    assert what in str(refusal.value)
    assert "'kind'" in str(refusal.value)
    assert "secret" not in str(refusal.value)


def test_files_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "kind.csv"
    for content in ("caf\xe9;*\n".encode("latin-1"), "a;*\n".encode("utf-16")):
        path.write_bytes(content)
        with pytest.raises(HierarchyError, match="not UTF-8") as refusal:
            read(path, "kind")
        assert refusal.value.__suppress_context__
        with path.open(encoding="utf-8") as stream, pytest.raises(HierarchyError, match="UTF-8"):
            read(stream, "kind")


def test_streams_that_give_bytes_or_are_closed_are_refused() -> None:
    with pytest.raises(HierarchyError, match="not plain text"):
        read(io.BytesIO(b"a;*\n"), "kind")  # type: ignore[arg-type]
    closed = io.StringIO("a;*\n")
    closed.close()
    with pytest.raises(HierarchyError, match="cannot be read"):
        read(closed, "kind")


def test_files_that_cannot_be_opened_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.csv", tmp_path, Path("nul\0byte")):
        with pytest.raises(HierarchyError, match="the file cannot be read"):
            read(path, "kind")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read every file")
def test_files_that_may_not_be_read_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "kind.csv"
    path.write_text("a;*\n", encoding="utf-8")
    path.chmod(0)
    with pytest.raises(HierarchyError, match="the file cannot be read"):
        read(path, "kind")


@pytest.mark.parametrize("delimiter", ["", ";;", '"', "\n"])
def test_impossible_delimiters_are_refused(delimiter: str, tmp_path: Path) -> None:
    with pytest.raises(HierarchyError, match="one character"):
        read(io.StringIO("a;*\n"), "kind", delimiter)
    with pytest.raises(HierarchyError, match="one character"):
        write(Hierarchy.from_chains([["a", "*"]], "kind"), tmp_path / "k.csv", delimiter)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "kind.csv"
    path.write_text("old", encoding="utf-8")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(HierarchyError, match="cannot be written: No space left"):
        write(Hierarchy.from_chains([["a", "*"]], "kind"), path)
    assert [(file.name, file.read_text(encoding="utf-8")) for file in tmp_path.iterdir()] == [
        ("kind.csv", "old")
    ]


def test_impossible_targets_are_refused(tmp_path: Path) -> None:
    tree = Hierarchy.from_chains([["a", "*"]], "kind")
    (tmp_path / "folder").mkdir()
    for target in (tmp_path / "folder", tmp_path / "no" / "k.csv", Path("/")):
        with pytest.raises(HierarchyError, match="the file cannot be written"):
            write(tree, target)
    assert [file.name for file in tmp_path.iterdir()] == ["folder"]


def test_labels_that_utf8_cannot_hold_are_refused(tmp_path: Path) -> None:
    with pytest.raises(HierarchyError, match="cannot be written as UTF-8"):
        write(Hierarchy.from_chains([["\ud800", "*"]], "kind"), tmp_path / "k.csv")
    assert list(tmp_path.iterdir()) == []
