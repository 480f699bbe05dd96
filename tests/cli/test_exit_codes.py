"""Exit code 1 only ever means that a promise does not hold: whatever breaks has another code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tclose
from tclose.cli import console, main
from tclose.errors import InternalError

SOURCES = Path(tclose.__file__).parents[1]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ZeroDivisionError("SECRET-CELL"), 70),
        (InternalError("a class is nowhere"), 70),
        (tclose.UsageError("no such column", hint="name one"), 2),
        (MemoryError(), 2),
        (RuntimeError("can't start new thread"), 2),
        (ImportError("duckdb.so: failed to map segment from shared object"), 2),
        (KeyboardInterrupt(), 130),
        (console.Terminated(), 143),
    ],
    ids=lambda given: str(given) if isinstance(given, int) else type(given).__name__,
)
def test_what_breaks_is_no_verdict(
    run: Any, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(tclose, "audit", broken)
    Path("t.csv").write_text("age,zip\n1,2\n")
    result = run("audit", "t.csv", "--quasi", "age,zip")
    assert result.exit_code == code
    assert "Traceback" not in result.stderr and "SECRET" not in result.stderr
    assert ("bug in tclose" in result.stderr) is (code == 70)


@pytest.mark.parametrize("ending", [SystemExit(1), RuntimeError("SECRET-CELL")])
def test_what_breaks_outside_of_a_command_is_no_verdict(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ending: BaseException
) -> None:
    """Such as the library of the command line, which ends with 1 where a prompt is left."""

    def broken(**_: object) -> None:
        raise ending

    monkeypatch.setattr("tclose.cli.app", broken)
    monkeypatch.setattr(sys, "argv", ["tclose"])
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    console.SETTINGS.judged = False
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    with pytest.raises(SystemExit) as ended:
        main()
    for number, handler in before.items():
        signal.signal(number, handler)
    assert ended.value.code == 70
    assert "SECRET" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["audit", "mysql://u:SECRET@host/db#t", "--quasi", "age"],
        ["verify", "jdbc:postgresql://host/db?password=SECRET#t", "--policy", "p.toml"],
        ["anonymize", "t.csv", "--policy", "p.toml", "--output", "http://u:SECRET@host/t.csv"],
    ],
    ids=lambda words: words[0],
)
def test_an_argument_that_is_refused_is_no_crash(words: list[str]) -> None:
    result = start(f"import sys, tclose.__main__ as m; sys.argv[1:] = {words!r}; m.main()")
    assert result.returncode == 2
    assert "this is an address" in result.stderr and "SECRET" not in result.stderr


def test_what_an_engine_makes_of_the_end_is_the_end(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("Query interrupted")

    monkeypatch.setattr(tclose, "audit", broken)
    monkeypatch.setattr(console.SETTINGS, "terminated", True)
    Path("t.csv").write_text("age,zip\n1,2\n")
    result = run("audit", "t.csv", "--quasi", "age,zip")
    assert result.exit_code == 143 and "stopped" in result.stderr


def test_a_verdict_is_one(run: Any) -> None:
    Path("t.csv").write_text("age,zip\n1,2\n")
    Path("p.toml").write_text('k = 2\ncolumns = { age = "quasi", zip = "quasi" }\n')
    assert run("audit", "t.csv", "-p", "p.toml").exit_code == 1
    assert console.SETTINGS.judged


def start(code: str, **how: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False, **how)


def test_what_cannot_be_imported_is_no_verdict() -> None:
    broken = "import sys; sys.modules['typer'] = None; import tclose.__main__ as m; m.main()"
    result = start(broken)
    assert result.returncode == 70
    assert "Traceback" not in result.stderr and "cannot start" in result.stderr


def test_an_error_that_cannot_be_reported_is_no_verdict() -> None:
    """As where memory is so short that the module which prints errors cannot be imported."""
    broken = (
        "import sys, tclose.__main__ as m\n"
        "class Broken:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.startswith('rich'):\n"
        "            raise SystemError('error return without exception set')\n"
        "sys.meta_path.insert(0, Broken())\n"
        "sys.argv[1:] = ['audit', 'none.csv', '--quasi', 'age']\n"
        "m.main()"
    )
    result = start(broken)
    assert result.returncode == 70 and "(SystemError)" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
def test_ctrl_c_while_importing_is_told_in_a_line() -> None:
    early = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Stop:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'typer':\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Stop())\n"
        "import tclose.__main__ as m; m.main()"
    )
    result = start(early)
    assert result.returncode == 130
    assert result.stderr == "stopped; nothing was written\n"


def nobody() -> dict[str, Any]:
    """How a process is started as a user without rights; nothing where that cannot be done."""
    user = {"user": 65534, "group": 65534, "extra_groups": []}
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return {}
    try:
        subprocess.run([sys.executable, "-c", ""], check=True, cwd="/", **user)  # type: ignore[call-overload]
    except (OSError, subprocess.SubprocessError):
        return {}
    return user


@pytest.mark.slow
def test_a_user_without_a_home_works_where_nothing_can_be_cached(tmp_path: Path) -> None:
    """As in a container that does not run as root."""
    Path("t.csv").write_text("age,zip,ill\n" + "1,2,flu\n1,2,gout\n" * 4)
    Path("p.toml").write_text(
        'k = 2\ncolumns = { age = "quasi", zip = "quasi", ill = { role = "sensitive", t = 0.5 } }\n'
    )
    for folder in (tmp_path, *tmp_path.parents):
        if "pytest" in str(folder):
            folder.chmod(0o777)
    environment = {
        "PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCES), "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": "/nowhere", "XDG_CACHE_HOME": "/nowhere",
    }  # fmt: skip
    user = nobody()
    for words, code in {
        ("--version",): 0,
        ("audit", "t.csv", "-p", "p.toml"): 0,
        ("anonymize", "t.csv", "-p", "p.toml", "-o", "r.parquet", "--effort", "0.1"): 0,
        ("audit", "t.csv", "-p", "none.toml"): 2,
    }.items():
        result = subprocess.run(
            [sys.executable, "-m", "tclose", *words], env=environment, cwd=tmp_path,
            capture_output=True, text=True, check=False, **user,
        )  # fmt: skip
        assert result.returncode == code, (words, result.stderr)
        assert "Traceback" not in result.stderr
