"""The command as a process of its own: exit codes, streams, pipes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

TABLE = "age,zip,disease\n1,2,flu\n1,2,ulcer\n3,4,flu\n3,4,ulcer\n"
POLICY = 'k = {k}\ncolumns = {{ age = "quasi", zip = "quasi", disease = "sa" }}\n'


def started(*arguments: str, **streams: object) -> subprocess.CompletedProcess[str]:
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams}
    command = [sys.executable, "-W", "error", "-m", "tclose", *arguments]
    return subprocess.run(command, text=True, check=False, **streams)  # type: ignore[call-overload,no-any-return]


@pytest.fixture(autouse=True)
def files(elsewhere: None) -> None:
    Path("t.csv").write_text(TABLE)
    Path("two.toml").write_text(POLICY.format(k=2))
    Path("three.toml").write_text(POLICY.format(k=3))


@pytest.mark.parametrize(("policy", "code"), [("two.toml", 0), ("none.toml", 2)])
def test_the_exit_code_is_the_verdict(policy: str, code: int) -> None:
    result = started("audit", "t.csv", "--policy", policy, "--json")
    assert result.returncode == code, result.stderr
    found = json.loads(result.stdout)
    if code == 2:
        assert "no such file" in found["error"] and result.stderr.startswith("Error: ")
    else:
        assert found["holds"] is True
        assert result.stderr == ""


def test_a_pipe_gets_no_colours_even_where_the_terminal_has_many() -> None:
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    environment.pop("FORCE_COLOR", None)
    result = started("audit", "t.csv", "--policy", "three.toml", env=environment)
    assert result.returncode == 1
    assert "FAILS" in result.stdout
    assert "\x1b" not in result.stdout + result.stderr


def test_without_arguments_it_helps() -> None:
    result = started()
    assert "Usage: tclose" in result.stdout + result.stderr
    assert "Exit codes" in result.stdout + result.stderr


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="there is no full device")
def test_an_output_that_cannot_be_written_is_no_verdict() -> None:
    with open("/dev/full", "w") as full:
        result = started("audit", "t.csv", "--policy", "two.toml", "--json", stdout=full)
    assert result.returncode == 2
    assert "No space left" in result.stderr
    assert "Traceback" not in result.stderr and "bug" not in result.stderr


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="there is no full device")
@pytest.mark.parametrize("arguments", [("audit", "none.csv", "--quasi", "age"), ("no-command",)])
def test_an_error_that_cannot_be_written_is_no_verdict(arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:
        assert started(*arguments, stderr=full).returncode in (2, 70)


@pytest.mark.parametrize(("policy", "code"), [("two.toml", 0), ("three.toml", 1), ("none", 2)])
def test_without_any_stream_the_exit_code_is_the_verdict(policy: str, code: int) -> None:
    def close_all() -> None:
        for number in range(3):
            os.close(number)

    arguments = ("audit", "t.csv", "--policy", policy, "--report", "report.html")
    none = dict.fromkeys(("stdin", "stdout", "stderr"))
    assert started(*arguments, preexec_fn=close_all, **none).returncode == code
    if code != 2:
        assert Path("report.html").read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    "arguments",
    [
        ("policy", "schema"),
        ("audit", "t.csv", "--policy", "two.toml"),
        ("methods",),
        ("--help",),
        ("audit", "--help"),
    ],
)
def test_a_reader_that_goes_away_is_no_verdict_and_no_crash(arguments: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    result = started(*arguments, stdout=writing)
    os.close(writing)
    assert result.returncode == 128 + 13
    assert "Traceback" not in result.stderr


def test_the_demo_ends_with_a_command_that_can_be_typed_as_it_stands(tmp_path: Path) -> None:
    """Whether or not PATH finds the program, and by whichever way this one was started."""
    folder = tmp_path / "tools"
    folder.mkdir()
    launcher = folder / "tclose"
    launcher.write_text(f"#!{sys.executable}\nfrom tclose.cli import main\nmain()\n")
    launcher.chmod(0o755)
    plain = os.environ["PATH"].split(os.pathsep)
    bare = os.pathsep.join(one for one in plain if not (Path(one) / "tclose").exists())
    for start, path, typed in (
        ("tools/tclose", bare, "tools/tclose"),
        ("tools/tclose", f"{folder}{os.pathsep}{bare}", "tclose"),
        (f"{sys.executable} -m tclose", "/nowhere", f"{sys.executable} -m tclose"),
    ):
        demo = f"{start} demo --force -o 'a demo' --rows 100 --effort 0.1"
        environment = {**os.environ, "PATH": path}
        made = _shell(demo, environment)
        assert made.returncode == 0, made.stderr
        command = made.stdout.split("Check it yourself: ")[1].strip()
        assert command.startswith(f"{typed} verify 'a demo/release.csv' ")
        checked = _shell(command, environment)
        assert checked.returncode == 0, checked.stderr


def _shell(line: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = ["/bin/sh", "-c", line]
    return subprocess.run(command, env=environment, text=True, check=False, capture_output=True)


def test_help_is_the_same_where_python_drops_docstrings() -> None:
    command = [sys.executable, "-m", "tclose", "audit", "--help"]
    plain, without = (
        subprocess.run([*command[:1], *how, *command[1:]], capture_output=True, check=True).stdout
        for how in ((), ("-OO",))
    )
    assert b"--fail-under" in plain and without == plain


@pytest.mark.parametrize("verb", ["audit", "anonymize"])
def test_an_address_of_a_database_is_taken_as_one(tmp_path: Path, verb: str) -> None:
    """Some versions of typer made a path of everything that was to be one."""
    (tmp_path / "t.csv").write_text("age,ill\n1,a\n1,a\n")
    (tmp_path / "p.toml").write_text('k = 1\n[columns]\nage = "quasi"\nill = "insensitive"\n')
    nowhere, policy = "postgresql://127.0.0.1:1/clinic#patients", str(tmp_path / "p.toml")
    words = {
        "audit": ["audit", nowhere, "-p", policy],
        "anonymize": ["anonymize", str(tmp_path / "t.csv"), "-p", policy, "-o", nowhere],
    }
    done = started(*words[verb], "--json" if verb == "audit" else "--method=mondrian")
    assert done.returncode == 2, done.stderr
    assert "no server answers there" in done.stderr
