"""Every command on tables in a real PostgreSQL, and no word of its password whatever goes wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tclose
from tclose import TcloseError
from tclose.cli import main
from tclose.data.io.paths import Address
from tclose.data.opening import open_source
from tclose.errors import UsageError
from tclose.sample import write_hospital
from tclose.sample.hospital import HOSPITAL_SCHEMA, hospital_blocks


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a policy, in which commands run."""
    write_hospital(tmp_path, rows=10)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(
    database: Any, home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Any:
    """Runs a command as it would be typed; whatever comes out, a password is not in it."""

    def typed(*words: str, exit_code: int = 0) -> tuple[str, str]:
        monkeypatch.setattr(sys, "argv", ["tclose", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capfd.readouterr()
        assert (ended.value.code or 0) == exit_code, out + err
        written = [path.read_bytes().decode(errors="replace") for path in files(home)]
        for secret in database.secrets:
            assert all(secret not in text for text in (out, err, *written, *sys.argv))
        return out, err

    return typed


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def put_hospital(database: Any, rows: int = 300) -> str:
    table = pa.Table.from_batches(hospital_blocks(rows, 1), HOSPITAL_SCHEMA)
    url: str = database.put("hospital", table)
    return url


def test_every_command_takes_addresses(database: Any, run: Any, home: Path) -> None:
    url, new = put_hospital(database), database.url("released")
    shown = database.url("hospital", password=None)
    out, err = run("init", url, "-o", "draft.toml")
    assert f"tclose audit {shown}" in err or shown in err
    assert f"table hospital in {database.name}" in (home / "draft.toml").read_text()
    out, _ = run("audit", url, "-p", "policy.toml", "--report", "audit.html", exit_code=1)
    assert f"table hospital in {database.name}: 300 rows" in out
    out, _ = run(
        "anonymize", url, "-p", "policy.toml", "-o", new, "--certificate", "c.json", "--plan",
        "plan.json", "--method", "mondrian", "--report", "r.html", "--json",
    )  # fmt: skip
    told = json.loads(out)
    assert told["output"] == database.url("released", password=None) and told["holds"]
    command = json.loads((home / "c.json").read_text())["command"]
    assert shown in command and "--method mondrian" in command
    out, _ = run("verify", new, "--certificate", "c.json", "--report", "v.json")
    assert "refuted" not in out
    run("apply", "plan.json", url, "-o", database.url("applied"), "--certificate", "a.json")
    run("apply", "plan.json", url, f"--output={home / 'applied.parquet'}")
    run("explain", url, "-p", "policy.toml", "--svg", "flow.svg")
    run("measure", new, "--original", url, "-p", "policy.toml", "--queries", "20")
    run("attack", new, "-p", "policy.toml", "--original", url, "--other", database.url("applied"))
    run("frontier", url, "-p", "policy.toml", "--t", "0.3,0.5", "--effort", "0.2")
    run("policy", "check", "policy.toml", url)
    run("hierarchy", "preview", url, "--column", "postcode", "--prefix", "4,3,0")
    run("split", url, "-p", "policy.toml", "--form", "anatomy", "-o", "folder")
    run("verify", "folder", "-p", "policy.toml")
    assert database.tables() == ["applied", "hospital", "released"]


def test_a_query_and_its_values(database: Any, run: Any, home: Path) -> None:
    put_hospital(database)
    query = "SELECT * FROM hospital WHERE sex <> 'Secret'' value' AND name <> $$hush$$"
    run(
        "anonymize", database.url(), "--query", query, "-p", "policy.toml",
        "-o", database.url("released"), "--certificate", "c.json", "--method", "mondrian",
    )  # fmt: skip
    certificate = (home / "c.json").read_text()
    assert "Secret" not in certificate and "hush" not in certificate and "--query" in certificate
    _, err = run("audit", "policy.toml", "--query", query, "-p", "policy.toml", exit_code=2)
    assert "no database to ask" in err
    _, err = run("audit", database.url(), "-p", "policy.toml", exit_code=2)
    assert "the address names no table" in err


def test_a_lattice_of_a_table_in_a_database(database: Any, run: Any, home: Path) -> None:
    table = pa.table({"sex": list("ffmm") * 3, "ill": list("abab") * 3})
    rules = 'k = 2\n[columns]\nsex = "quasi"\nill = { role = "sensitive", t = 0.5 }\n'
    (home / "p.toml").write_text(rules)
    out, _ = run("lattice", database.put("people", table), "-p", "p.toml")
    assert "lattice" in out.lower() or (home / "lattice.svg").exists()


def wrong_ways(database: Any) -> dict[str, tuple[str, str]]:
    """Addresses that lead nowhere, and what is said of each."""
    url = database.url("hospital")
    secret = database.secrets[1]
    return {
        "port": (url.replace(str(database.port), "1"), "no server answers"),
        "host": (url.replace("127.0.0.1", "nowhere.invalid"), "no such host"),
        "password": (database.url("hospital", password=f"{secret}x"), "password is wrong"),
        "no password": (database.url("hospital", password=None), "wants a password"),
        "user": (database.url("hospital", user="nobody-there"), "password is wrong"),
        "database": (url.replace(database.name, "nowhere"), "no such database"),
        "table": (database.url("hospitl"), "did you mean 'hospital'"),
        "schema": (database.url("other.hospital"), "no such table"),
        "permission": (database.url("hospital", user="stranger"), "permission denied for table"),
        "at sign": (f"postgresql://ann:{secret}@x@host/db#t", "cannot be understood"),
        "slash": (f"postgresql://ann:{secret}/x@host/db#t", "cannot be understood"),
        "no host": (f"postgresql://ann:{secret}/db#t", "cannot be understood"),
        "no end": (f"postgresql://ann@host/db#{secret}@host", "cannot be understood"),
        "option": (f"{database.url()}?passwrd={secret}#t", "cannot connect"),
        "twice": (f"postgresql://127.0.0.1:1/db?password={secret}&user=ann#t", "no server answers"),
    }


def test_no_wrong_way_shows_the_password(database: Any, run: Any) -> None:
    put_hospital(database)
    database.run(f"CREATE ROLE stranger LOGIN PASSWORD '{database.password}'")
    try:
        for name, (url, why) in wrong_ways(database).items():
            told = [
                run("audit", url, "-p", "policy.toml", exit_code=2),
                run("audit", url, "-p", "policy.toml", "--json", exit_code=2),
                run("init", url, exit_code=2),
            ]
            assert all(why in err.replace("\n", " ") for _, err in told), (name, told)
            with pytest.raises(TcloseError) as refused:
                assert open_source(url).n_rows
            shown = "".join(traceback.format_exception(refused.value))
            shown += repr(refused.value) + repr(refused.value.__context__) + repr(Address(url))
            assert not any(secret in shown for secret in database.secrets), name
    finally:
        database.run("DROP ROLE stranger")


def test_no_mistake_of_typing_shows_the_password(database: Any, run: Any, home: Path) -> None:
    url = put_hospital(database)
    policy = ["-p", "policy.toml"]
    run("audit", url, url, *policy, exit_code=2)
    run("audit", "--polcy", url, url, exit_code=2)
    run("anonymize", url, *policy, f"--outputt={url}", exit_code=2)
    run("anonymize", url, *policy, "-o", "x.csv", "--seconds", url, exit_code=2)
    run("anonymize", url, *policy, f"-o{url}", exit_code=2)
    run("anonymize", url, *policy, "-o", database.url(), exit_code=2)
    run("anonymize", url, "-p", url, "-o", "x.csv", exit_code=2)
    run("audit", url, *policy, "--report", url, exit_code=2)
    run("audit", url, *policy, "--query", "SELECT nonsense", exit_code=2)
    run("audit", database.url(), *policy, "--query", "SELECT nonsense", exit_code=2)
    run("audit", database.url(), *policy, "--query", "SELECT 1/0 AS a", exit_code=2)
    run("audit", url, "--quasi", "nothing", "--sensitive", "sex", exit_code=2)
    run("policy", "check", url, url, exit_code=2)
    run("explain", url, *policy, "--svg", url, exit_code=2)
    run("anonymize", url, *policy, "-o", "x.csv", "--certificate", url, exit_code=2)
    run("split", url, *policy, "--form", "anatomy", "-o", url, exit_code=2)
    assert not any("postgresql" in path.name for path in home.iterdir())
    with pytest.raises(UsageError, match="no path") as refused:
        tclose.audit(Path(url), quasi="sex", sensitive="diagnosis")
    assert not any(secret in str(refused.value) for secret in database.secrets)


def test_a_connection_that_is_cut_is_told_without_the_password(database: Any) -> None:
    source = open_source(put_hospital(database))
    assert source.n_rows == 300
    database.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    with pytest.raises(TcloseError, match="connection was lost") as refused:
        source.group(["sex"])
    shown = "".join(traceback.format_exception(refused.value)) + repr(source)
    assert not any(secret in shown for secret in database.secrets)
    assert open_source(database.url("hospital")).n_rows == 300


def test_a_password_may_stay_out_of_the_address(
    database: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_hospital(database)
    bare = database.url("hospital", password=None)
    monkeypatch.setenv("PGPASSWORD", database.password)
    assert open_source(bare).n_rows == 300
    monkeypatch.delenv("PGPASSWORD")
    file = home / "passwords"
    told = database.password.replace("\\", "\\\\").replace(":", "\\:")
    file.write_text(f"*:*:*:*:{told}\n")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    assert open_source(bare).n_rows == 300
    file.unlink()
    services = home / "services"
    services.write_text(
        f"[clinic]\nhost=127.0.0.1\nport={database.port}\ndbname={database.name}\n"
        f"user=postgres\npassword={database.password}\n"
    )
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    source = open_source("postgresql:///?service=clinic#hospital")
    assert source.n_rows == 300 and source.name == f"table hospital in {database.name}"


def test_a_program_of_its_own_shows_no_password(database: Any, home: Path) -> None:
    put_hospital(database)
    words = ["audit", database.url("hospital"), "extra", "-p", "policy.toml"]
    done = subprocess.run(
        [sys.executable, "-m", "tclose", *words],
        capture_output=True, text=True, check=False, env={**os.environ, "TCLOSE_DEBUG": "1"},
    )  # fmt: skip
    assert done.returncode == 2
    assert not any(secret in done.stdout + done.stderr for secret in database.secrets)
