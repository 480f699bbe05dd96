"""A terminal tells one story: steps in order, nothing that goes back, words that stay whole."""

from __future__ import annotations

import io
import itertools
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.core
import typer.main
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text
from typer.testing import Result

import tclose
from tclose.cli import app
from tclose.cli.progress import RELEASING, SEARCHING, Story
from tclose.report.document import Table
from tclose.report.render.terminal import render_table
from tclose.search import Progress

REPORTS = st.lists(
    st.tuples(
        st.sampled_from(RELEASING), st.floats(0, 1.5), st.floats(0, 1), st.floats(0, 100)
    ),
    min_size=1,
    max_size=30,
)  # fmt: skip


@given(REPORTS)
def test_nothing_in_the_story_ever_goes_back(
    reports: list[tuple[str, float, float, float]],
) -> None:
    story = Story(RELEASING)
    lines = [
        story.tell(step, share=share, loss=loss, left=left)
        for step, share, loss, left in reports
    ]  # fmt: skip
    steps = [int(re.match(r"step (\d) of 4", line.words)[1]) for line in lines]  # type: ignore[index]
    assert steps == sorted(steps)
    done = [line.done for line in lines]
    assert done == sorted(done) and done[-1] <= 1
    losses = [float(line.loss.removeprefix("best loss ")) for line in lines]
    assert losses == sorted(losses, reverse=True)
    left = [int(found[1]) for line in lines if (found := re.search(r"about (\d+) s", line.left))]
    assert left == sorted(left, reverse=True)


def test_a_run_tells_its_phases_in_order() -> None:
    table = {"age": [20, 21, 30, 31] * 20, "ill": list("abab") * 20}
    import pyarrow as pa

    told: list[Progress] = []
    rules = {"k": 2, "columns": {"age": "quasi", "ill": {"role": "sensitive", "t": 0.3}}}
    tclose.anonymize(pa.table(table), rules, effort=0.1, progress=told.append)
    phases = [phase for phase, _ in itertools.groupby(step.phase for step in told)]
    assert phases == ["searching", "writing", "recounting"]


# --- a terminal, with somebody in front of it


def make_files(folder: Path, rows: int = 3000) -> None:
    """A table and a policy whose search takes as long as it may."""
    lines = [
        "age,town,ill",
        *(f"{20 + row * 7 % 60},{row % 12},{row * row % 5}" for row in range(rows)),
    ]
    (folder / "table.csv").write_text("\n".join(lines) + "\n")
    columns: dict[str, Any] = {"age": "quasi", "town": "quasi"}
    columns["ill"] = {"role": "sensitive", "t": 0.15}
    (folder / "policy.json").write_text(json.dumps({"k": 3, "columns": columns}))


def start_on_terminal(folder: Path, *arguments: str) -> tuple[subprocess.Popen[bytes], int]:
    """A command with a terminal for everything; what is shown can be read from it."""
    ours, theirs = pty.openpty()
    environment = os.environ | {
        "TERM": "xterm", "COLUMNS": "120", "PYTHONPATH": str(Path(tclose.__file__).parents[1])
    }  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-m", "tclose", *arguments], cwd=folder, env=environment,
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    return process, ours


def read_all(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            read = os.read(terminal, 4096)
        except OSError:
            return
        if not read:
            return
        yield read


COMMAND = ("anonymize", "table.csv", "-p", "policy.json", "-o", "out.csv")


def test_ctrl_c_stops_the_display_before_it_asks_and_names_the_option(tmp_path: Path) -> None:
    make_files(tmp_path)
    process, terminal = start_on_terminal(tmp_path, *COMMAND, "--effort", "600")
    shown, interrupted, asked_at = b"", False, 0
    for read in read_all(terminal):
        shown += read
        if not interrupted and b"best loss" in shown:
            process.send_signal(signal.SIGINT)
            interrupted = True
        if not asked_at and b"[y/N]" in shown:
            asked_at = len(shown)
            time.sleep(0.5)  # a display that still ran would write over the question by now
            os.write(terminal, b"y\n")
    process.wait()
    text = shown.decode()
    question = text[text.index("Stopped.") : text.index("[y/N]")]
    assert "--on-interrupt keep" in question and "--on-interrupt drop" in question
    after = shown[asked_at:].decode()
    answered = after[: after.index("\n") + 1]
    assert "step" not in answered and "\x1b[2K" not in answered
    assert process.returncode == 0 and (tmp_path / "out.csv").exists()


@pytest.mark.slow
def test_the_bar_names_the_step_of_how_many(tmp_path: Path) -> None:
    make_files(tmp_path)
    extra = ("--effort", "1", "--report", "report.html")
    process, terminal = start_on_terminal(tmp_path, *COMMAND, *extra)
    shown = b"".join(read_all(terminal)).decode()
    process.wait()
    steps = [int(found) for found in re.findall(r"step (\d) of 6", shown)]
    assert steps == sorted(steps) and set(steps) == {1, 2, 3, 4, 5, 6}
    losses = [float(found) for found in re.findall(r"best loss (\d\.\d+)", shown)]
    assert losses and losses == sorted(losses, reverse=True)
    left = [int(found) for found in re.findall(r"about (\d+) s of work left", shown)]
    assert left == sorted(left, reverse=True)


# --- narrow terminals


def print_at(width: int, part: Table) -> str:
    page = io.StringIO()
    Console(file=page, width=width, highlight=False).print(render_table(part))
    return page.getvalue()


TABLE = Table(
    "Requirements",
    ("", "requirement", "attained", "worst class"),
    (("holds", "t-closeness of primary_diagnosis", "0.1234", "17"),),
)


def test_a_narrow_terminal_stacks_rows_and_breaks_no_word() -> None:
    wide, narrow = print_at(120, TABLE), print_at(36, TABLE)
    assert "┃" in wide and "┃" not in narrow
    for word in ("primary_diagnosis", "t-closeness", "requirement:", "attained: 0.1234"):
        assert word in narrow
    assert max(map(len, narrow.splitlines())) <= 36


@pytest.mark.parametrize("width", [30, 50, 80, 120])
def test_words_are_whole_at_any_width(width: int) -> None:
    words = {word for row in TABLE.rows for cell in row for word in cell.split()}
    shown = print_at(width, TABLE)
    assert all(word in shown for word in words)


# --- what an audit shows, and what is said at all


@pytest.fixture
def asked(tmp_path: Path, run: Callable[..., Result]) -> Callable[..., Result]:
    make_files(tmp_path, 200)
    folder = tmp_path

    def invoke(*more: str) -> Result:
        return run("audit", folder / "table.csv", "-p", folder / "policy.json", *more)

    return invoke


def test_an_audit_shows_what_was_asked_and_the_rest_on_request(
    asked: Callable[..., Result],
) -> None:
    short, long = asked().stdout, asked("--all").stdout
    assert "Requirements" in short and "Further measures" not in short
    assert "further measures are not shown; --all shows them" in short
    assert "Further measures" in long and "--all shows" not in long
    assert long.index("Requirements") < long.index("Further measures")
    assert asked("--json").stdout == asked("--json", "--all").stdout


def test_quiet_says_nothing_but_errors_and_what_was_asked_for(
    asked: Callable[..., Result], run: Callable[..., Result], tmp_path: Path
) -> None:
    loud, quiet = asked(), asked("--quiet")
    assert quiet.output == "" and quiet.exit_code == loud.exit_code
    assert json.loads(asked("--quiet", "--json").stdout)["rows"] == 200
    assert "How private is this table?" in asked("--quiet", "--report", "-").stdout
    refused = run("audit", tmp_path / "nowhere.csv", "--quasi", "age", "-q")
    assert refused.exit_code == 2 and "Error:" in refused.output
    assert run("audit", tmp_path / "table.csv", "--quasi", "age").output  # the next one speaks


@pytest.mark.slow
def test_values_of_classes_are_shown_on_a_terminal_and_not_in_a_pipe(
    tmp_path: Path, run: Callable[..., Result]
) -> None:
    """What a pipeline prints is often kept, and read by others."""
    towns = [f"Zq7Town{row}" for row in range(40)]
    lines = ["town,ill", *(f"{town},{row % 2}" for row, town in enumerate(towns))]
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    columns = {"town": "quasi", "ill": {"role": "sensitive", "t": 0.1}}
    (tmp_path / "policy.json").write_text(json.dumps({"k": 3, "columns": columns}))
    for verb in ("audit", "verify"):
        piped = run(verb, tmp_path / "table.csv", "-p", tmp_path / "policy.json")
        assert piped.exit_code == 1 and "Worst classes" in piped.output
        assert "Zq7Town" not in piped.output and "shown on a terminal only" in piped.output
        process, terminal = start_on_terminal(tmp_path, verb, "table.csv", "-p", "policy.json")
        shown = b"".join(read_all(terminal)).decode()
        assert process.wait() == 1 and "Zq7Town" in shown


def test_no_color_prints_no_colours(tmp_path: Path) -> None:
    make_files(tmp_path, 200)
    shown = {}
    for option in ("--all", "--no-color"):
        command = ("audit", "table.csv", "-p", "policy.json", option)
        process, terminal = start_on_terminal(tmp_path, *command)
        shown[option] = b"".join(read_all(terminal)).decode()
        process.wait()
    colour = re.compile(r"\x1b\[[\d;]*3[1-7]m")
    assert colour.search(shown["--all"]) and not colour.search(shown["--no-color"])


# --- help and completion


def list_helps(run: Callable[..., Result]) -> Iterator[tuple[str, str]]:
    """The help of every command."""

    def walk(command: Any, words: list[str]) -> Iterator[list[str]]:
        yield words
        for name, further in getattr(command, "commands", {}).items():
            yield from walk(further, [*words, name])

    for words in walk(typer.main.get_command(app), []):
        yield " ".join(words), run(*words, "--help").stdout


@pytest.mark.skipif(
    not hasattr(typer.core.TyperArgument, "display_type"),
    reason="this version of typer names the types of arguments whatever it is told",
)
def test_no_help_names_a_type_of_python(run: Callable[..., Result]) -> None:
    helps = dict(list_helps(run))
    assert len(helps) > 20
    for words, text in helps.items():
        assert not re.search(r"<\w+( \w+)*>", text.replace("<column>", "")), words
        assert not re.search(r"\b(INTEGER|FLOAT|BOOLEAN|PATH)\b", text), words
        assert "VALUE" not in text, words
        assert "--quiet" in text or words in ("", "hierarchy", "policy", "reproduce"), words


def test_brackets_in_help_are_not_read_as_markup(run: Callable[..., Result]) -> None:
    """Such as those of the extra to install."""

    def list_texts(command: Any) -> Iterator[str]:
        yield command.help or ""
        for param in command.params:
            yield getattr(param, "help", None) or ""
        for further in getattr(command, "commands", {}).values():
            yield from list_texts(further)

    for text in list_texts(typer.main.get_command(app)):
        assert not Text.from_markup(text).spans, text
    assert "tclose[sign]" in run("sign", "--help").stdout


def test_shells_complete_commands_and_options(tmp_path: Path) -> None:
    environment = os.environ | {
        "PYTHONPATH": str(Path(tclose.__file__).parents[1]),
        "_TCLOSE_COMPLETE": "complete_bash", "COMP_WORDS": "tclose ano", "COMP_CWORD": "1",
    }  # fmt: skip
    command = [sys.executable, "-m", "tclose"]
    done = subprocess.run(
        command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["anonymize"]


def test_completion_can_be_shown_and_installed(run: Callable[..., Result]) -> None:
    text = run("--help").stdout
    assert "--install-completion" in text and "--show-completion" in text


def test_searching_is_the_step_that_counts_most() -> None:
    story = Story(RELEASING)
    assert story.tell(SEARCHING, share=1.0).done > 0.75
