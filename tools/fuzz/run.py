"""Feeds damaged files to tclose: whatever they hold, it answers, or refuses with a message.

    python tools/fuzz/run.py --seconds 600 [--seed 1] [--only certificates]

Tables, policies, hierarchies, plans, certificates and ARX projects are made, damaged and read;
labels of released values are written and parsed back; the studio gets odd requests. Anything but an
answer or a `TcloseError` is a crash: its seed is printed, its files are kept in `fuzz-crashes`, and
it should become a test. The work is done by a child process, so that a crash of the process itself
is seen, too.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

KEPT = Path("fuzz-crashes")
SECONDS_EACH = 60
"""A child that says nothing for so long hangs."""
ODD = [
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b'"', b"'", b"\r", b"\n", b",", b";", b"\t", b"\x1b[2J",
    b"=1+1", b"1e999", b"9" * 400,
    b"NaN", b"-", b"[", b"]", b"{", b"}", b"\xe2\x80\xae", b"*", b"2\xc2\xb2",
    b"10000-13-45", b"__tclose_rows__", b"null", b"true", b"..", b"/dev/zero", b"\x80", b"[[",
]  # fmt: skip
POLICY = """
k = 2
[columns]
name = "identifier"
age = { role = "quasi", hierarchy = { intervals = [5, 10] } }
zip = { role = "quasi", hierarchy = { prefix = [3, 1] } }
illness = { role = "sensitive", t = 0.5, l = { entropy = 1.5 }, distance = "equal" }
cost = { role = "sensitive", t = "1/2", distance = "numeric" }
[search]
seed = 3
[release]
identifiers = "drop"
"""
RULES = {
    "k": 2,
    "columns": {
        "name": "identifier",
        "age": "quasi",
        "zip": "quasi",
        "illness": {"role": "sensitive", "t": 1},
        "cost": "insensitive",
    },
}


def make_rows() -> Any:
    """A small table."""
    import pyarrow as pa

    return pa.table(
        {
            "name": [f"P{at}" for at in range(12)],
            "age": [20 + at * 7 % 30 for at in range(12)],
            "zip": [f"4{at % 3}67{at % 4}" for at in range(12)],
            "illness": ["flu", "ulcer", "cough"] * 4,
            "cost": [10.5 * at for at in range(12)],
        }
    )


def damage(content: bytes, chance: random.Random) -> bytes:
    """The same with some bytes changed, removed, doubled, or odd ones put in."""
    made = bytearray(content)
    for _ in range(chance.choice([1, 1, 2, 3, 8])):
        at = chance.randrange(len(made) + 1)
        end = min(len(made), at + chance.choice([1, 1, 4, 40]))
        match chance.randrange(6):
            case 0:
                made[at:end] = b""
            case 1:
                made[at:at] = chance.choice(ODD)
            case 2:
                made[at:end] = bytes(chance.randrange(256) for _ in range(end - at))
            case 3:
                made[at:at] = made[at:end] * chance.choice([1, 2, 50])
            case 4:
                made[at:end] = chance.choice(ODD)
            case 5:
                del made[at:]
    return bytes(made)


def damage_archive(content: bytes, chance: random.Random) -> bytes:
    """An archive with one of its parts damaged before it was packed."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(made, "w") as new:
        wrong = chance.choice(old.namelist())
        for name in old.namelist():
            new.writestr(name, damage(old.read(name), chance) if name == wrong else old.read(name))
    return made.getvalue()


def damage_json(value: Any, chance: random.Random) -> Any:
    """Plain values with one of them replaced by something else."""
    places: list[tuple[Any, Any]] = []

    def walk(inner: Any) -> None:
        for key in inner if isinstance(inner, dict) else range(len(inner)):
            places.append((inner, key))
            if isinstance(inner[key], dict | list):
                walk(inner[key])

    walk(value)
    for _ in range(chance.choice([1, 1, 2])):
        inner, key = chance.choice(places)
        odd = [
            None,
            [],
            {},
            "",
            -1,
            0,
            10**30,
            10**4000,
            1e308,
            float("nan"),
            "1/0",
            "∞",
            True,
            [[]],
            {"a": {}},
            "\x1b[2J",
            "é" * 300,
        ]
        match chance.randrange(3):
            case 0:
                inner[key] = chance.choice(odd)
            case 1 if isinstance(inner, dict):
                inner[str(chance.choice(odd))] = inner.pop(key, None)
                return value
            case _:
                inner[key] = chance.choice(places)[0]
                try:
                    json.dumps(value)
                except ValueError:  # it holds itself
                    inner[key] = 0
    return value


# --- what is tried: each gets chance and an empty folder


def try_readers(chance: random.Random, folder: Path) -> None:
    """A damaged table is audited, and a policy drafted for it."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow import csv

    import tclose

    kinds = ["csv", "csv", "csv.gz", "parquet", "arrow", "xlsx"]
    if find_spec("pyreadstat") is not None:
        kinds += ["sav", "zsav", "dta"]
    kind = chance.choice(kinds)
    place, rows, raw = folder / f"t.{kind}", make_rows(), io.BytesIO()
    if kind.startswith("csv"):
        csv.write_csv(rows, raw)
        content = damage(raw.getvalue(), chance)
        if kind == "csv.gz":
            import gzip

            content = (
                gzip.compress(content)
                if chance.random() < 0.5
                else damage(gzip.compress(content), chance)
            )
    elif kind == "parquet":
        pq.write_table(rows, raw)
        content = damage(raw.getvalue(), chance)
    elif kind == "arrow":
        with pa.ipc.new_file(raw, rows.schema) as writer:
            writer.write_table(rows)
        content = damage(raw.getvalue(), chance)
    else:
        whole = folder / f"whole.{kind}"
        tclose.anonymize(rows, {**RULES, "k": 1}, effort=0, output=whole)
        if kind == "xlsx" and chance.random() < 0.5:
            content = damage_archive(whole.read_bytes(), chance)
        else:
            content = damage(whole.read_bytes(), chance)
    place.write_bytes(content)
    tclose.audit(place, RULES)
    tclose.draft_policy(place)


def try_policies(chance: random.Random, folder: Path) -> None:
    """A damaged policy is held against a table."""
    import tclose

    place = folder / chance.choice(["p.toml", "p.json"])
    if place.suffix == ".toml":
        place.write_bytes(damage(POLICY.encode(), chance))
    else:
        import tomllib

        place.write_text(json.dumps(damage_json(tomllib.loads(POLICY), chance)))
    tclose.audit(make_rows(), place)


def try_hierarchies(chance: random.Random, folder: Path) -> None:
    """A damaged hierarchy is used."""
    import tclose

    lines = [f"4{a}67{b};4{a}67*;4{a}***;*" for a in range(3) for b in range(4)]
    (folder / "h.csv").write_bytes(damage("\n".join(lines).encode(), chance))
    zips = {"role": "quasi", "hierarchy": str(folder / "h.csv")}
    tclose.audit(make_rows(), {**RULES, "columns": {**RULES["columns"], "zip": zips}})


def try_plans(chance: random.Random, folder: Path) -> None:
    """A damaged plan is applied."""
    import tclose

    rows = make_rows()
    plan = tclose.anonymize(
        rows, RULES, effort=0, method=chance.choice(["mondrian", "hybrid"])
    ).plan
    assert plan is not None
    (folder / "plan.json").write_text(json.dumps(damage_json(plan.to_json(), chance)))
    tclose.apply(tclose.Plan.load(folder / "plan.json"), rows)


def try_certificates(chance: random.Random, folder: Path) -> None:
    """A damaged certificate is rechecked."""
    import tclose
    from tclose.verify.certificate import Certificate
    from tclose.verify.recheck import recheck

    release = tclose.anonymize(make_rows(), RULES, effort=0, method="mondrian")
    raw = damage_json(release.certificate.to_json(), chance)
    text = json.dumps(raw).encode()
    place = folder / "c.json"
    place.write_bytes(damage(text, chance) if chance.random() < 0.3 else text)
    stated = Certificate.load(place)
    audit = tclose.verify(release.data, stated.policy)
    recheck(stated, audit, release.certificate.hashes.output)


PROJECT = {
    "project.xml": "<project><separator>;</separator></project>",
    "data/input.csv": "age;illness\n20;flu\n21;ulcer\n",
    "input/definition.xml": "<definition><assigment><name>age</name>"
    "<type>QUASI_IDENTIFYING_ATTRIBUTE</type><ref>hierarchies/age.csv</ref><min>0</min><max>1</max>"
    "</assigment><assigment><name>illness</name><type>SENSITIVE_ATTRIBUTE</type></assigment>"
    "</definition>",
    "input/config.xml": "<config><relativeMaxOutliers>0.1</relativeMaxOutliers><criteria>"
    "<criterion>5-anonymity</criterion><criterion>0.2-closeness with equal ground-distance for "
    "attribute 'illness'</criterion></criteria></config>",
    "input/hierarchies/age.csv": "20;*\n21;*\n",
}


def try_projects(chance: random.Random, folder: Path) -> None:
    """A damaged project of ARX becomes a policy that can be read, or is refused."""
    import tomllib

    from tclose.policy.arx_project import read_arx_project

    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        for name, text in PROJECT.items():
            archive.writestr(name, text)
    inside = chance.random() < 0.8
    content = (damage_archive if inside else damage)(raw.getvalue(), chance)
    (folder / "p.deid").write_bytes(content)
    project = read_arx_project(folder / "p.deid", table=chance.random() < 0.5)
    text = project.to_toml()
    assert tomllib.loads(text).keys() <= {"k", "columns", "search"}, "a key was added"
    assert all(Path(name).name == name for name in project.hierarchies), "leads elsewhere"


def try_labels(chance: random.Random, folder: Path) -> None:
    """What a class is released as covers every value of the class, whatever these look like."""
    import pyarrow as pa

    import tclose
    from tclose.data.encode.labels import cover_test

    pieces = [
        "a",
        "1",
        ",",
        '"',
        "{",
        "}",
        "[",
        "]",
        "*",
        "-",
        " ",
        "≥",
        "é",
        "\\",
        "(missing)",
        "\t",
        "'",
        "0.5",
    ]
    words = ["".join(chance.choices(pieces, k=chance.randint(1, 4))) for _ in range(8)]
    table = pa.table({"q": words, "s": ["x", "y"] * 4})
    columns = {"q": "quasi", "s": {"role": "sensitive", "t": 1}}
    rules = {"k": chance.choice([2, 3, 8]), "columns": columns, "release": {"rows": "keep"}}
    released = (
        tclose.anonymize(table, rules, effort=0, method="mondrian").data.column("q").to_pylist()
    )
    for word, label in zip(words, released, strict=True):
        # A mark at its end is no part of a word to a reader of sets.
        assert cover_test(label)(word) or word.strip() != word, "a label does not cover its value"


PAGES = {
    "open": ("path", "address", "file", "delimiter", "encoding", "nulls", "sheet", "query", "what"),
    "columns": ("what", "column", "role", "revision", "filter", "keep"),
    "values": ("column", "what", "t", "k", "distance", "kind", "levels", "order", "group", "file",
               "revision"),
    "values/preview": ("column", "what", "kind", "levels", "order", "group", "t", "distance"),
    "risk": ("attribute", "class", "k", "t"),
    "risk/why": ("attribute", "class"),
    "search": ("what", "method", "effort", "seconds", "seed", "suppression", "rows", "keep"),
    "explore": ("what", "run", "k", "t", "levels", "first", "second", "revision"),
    "before-after": ("run", "column", "first", "second"),
    "release": ("run", "what"),
    "release/sign": ("run", "what", "file", "keep"),
    "release/report": ("run", "edition", "what"),
    "runs/1/release.csv": (),
    "runs/../project.json": (),
    "jobs/x": (),
    "jobs/x/stop": ("what", "keep"),
}  # fmt: skip
"""The paths of the studio, and the fields that their forms have."""
ENTERED = [
    "", "1", "0", "-1", "age", "zip", "illness", "cost", "name", "quasi", "sensitive", "identifier",
    "insensitive", "0.5", "1/3", "1/0", "∞", "1e999", "9" * 400, "equal", "ordered", "numeric",
    "intervals", "prefix", "groups", "cuts", "dates", "5, 10", "3\n1", "[[", "a = b", "on", "take",
    "undo", "save", "start", "keep", "shuffle", "external", "internal", "mondrian", "hybrid",
    "é" * 300, "\x00", "\x1b[2J", "../../etc/passwd", "/dev/zero", "<script>", "{{ 1 }}", "null",
    "utf-16", "\t",
]  # fmt: skip


def try_studio(chance: random.Random, folder: Path) -> None:
    """Odd requests to a studio: it answers, lets nobody in without its cookie, and never fails."""
    import asyncio

    from pyarrow import csv

    from tclose.studio.server import ServerSettings, Studio

    csv.write_csv(make_rows(), folder / "t.csv")
    (folder / "p.toml").write_text(POLICY)
    settings = ServerSettings(folder / "project", str(folder / "t.csv"), folder / "p.toml")
    studio = Studio(settings)
    try:
        for _ in range(12):
            path = chance.choice(list(PAGES))
            fields = [
                (name, chance.choice(ENTERED)) for name in PAGES[path] if chance.random() < 0.6
            ]
            if path == "search":  # a search may take as long as it was told to
                fields = [(name, text) for name, text in fields if name != "seconds"]
                fields.append(("effort", "0.05"))
            is_known = chance.random() < 0.85
            cookie = studio.guard.secret if is_known else chance.choice(["", "x", "é"])
            headers = {
                "host": studio.base.removeprefix("http://"),
                "cookie": f"{studio.guard.cookie}={cookie}",
                "sec-fetch-site": "same-origin",
            }
            method, body = chance.choice(["GET", "POST", "POST"]), urlencode(fields).encode()
            if chance.random() < 0.2:
                body = damage(body, chance)
            if chance.random() < 0.1:
                name = chance.choice(list(headers))
                headers[name] = chance.choice(["", "evil.example", "cross-site", "\xff", "a=b;;"])
                is_known = is_known and name == "sec-fetch-site" and method == "GET"
            status, page = asyncio.run(request(studio.guard, method, path, headers, body))
            assert status < 500, f"{method} /{path} ends with {status}"
            assert "wrong inside tclose" not in page, f"{method} /{path}: a job crashed"
            assert is_known or status in (303, 403, 404, 405, 413, 421) or path == "", "let in"
    finally:
        studio.close()


async def request(
    app: Any, method: str, path: str, headers: dict[str, str], body: bytes
) -> tuple[int, str]:
    """What an application answers to one request."""
    lines = [(name.encode(), value.encode("utf-8")) for name, value in headers.items()]
    if method == "POST":
        lines.append((b"content-type", b"application/x-www-form-urlencoded"))
        lines.append((b"content-length", str(len(body)).encode()))
    query = body if method == "GET" else b""
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method,
        "path": f"/{path}", "raw_path": path.encode(), "query_string": query, "headers": lines,
        "scheme": "http", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "root_path": "",
    }  # fmt: skip
    found: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body if method == "POST" else b""}

    async def send(message: dict[str, Any]) -> None:
        found.append(message)

    await app(scope, receive, send)
    page = b"".join(message.get("body", b"") for message in found)
    return found[0]["status"], page.decode("utf-8", "replace")


TARGETS: dict[str, Callable[[random.Random, Path], None]] = {
    "readers": try_readers,
    "policies": try_policies,
    "hierarchies": try_hierarchies,
    "plans": try_plans,
    "certificates": try_certificates,
    "projects": try_projects,
    "labels": try_labels,
    "studio": try_studio,
}


def attempt(target: str, seed: int) -> str | None:
    """Runs one attempt in a folder of its own; what was raised, if that is a crash."""
    import warnings

    import tclose

    folder = Path(tempfile.mkdtemp(prefix="tclose-fuzz-"))
    crash = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            TARGETS[target](random.Random(f"{target} {seed}"), folder)
    except tclose.TcloseError as error:
        if "bug in tclose" in str(error):
            crash = traceback.format_exc()
    except Exception:
        crash = traceback.format_exc()
    if crash is not None:
        shutil.copytree(folder, KEPT / f"{target}-{seed}", dirs_exist_ok=True)
        (KEPT / f"{target}-{seed}" / "traceback.txt").write_text(crash)
    shutil.rmtree(folder, ignore_errors=True)
    return crash


def work(targets: list[str], seed: int, until: float) -> None:
    """A child: attempt after attempt, telling each before it begins."""
    while time.time() < until:
        for target in targets:
            print("try", target, seed, flush=True)
            crash = attempt(target, seed)
            if crash is not None:
                print("crash", target, seed, crash.strip().splitlines()[-1], flush=True)
        seed += 1


def main() -> int:
    """Runs children until the time is over; 1 where anything crashed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=list(TARGETS))
    parser.add_argument("--until", type=float, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    targets = [asked.only] if asked.only else list(TARGETS)
    if asked.until:
        work(targets, asked.seed, asked.until)
        return 0
    until, seed, tried, crashes = time.time() + asked.seconds, asked.seed, 0, 0
    while time.time() < until:
        only = ["--only", asked.only] if asked.only else []
        command = [sys.executable, __file__, "--seed", str(seed), "--until", str(until), *only]
        limit = until - time.time() + SECONDS_EACH
        try:
            ended = subprocess.run(
                command, stdout=subprocess.PIPE, text=True, timeout=limit, check=False
            )
            told, code = ended.stdout, ended.returncode
        except subprocess.TimeoutExpired as hung:
            told = (hung.stdout or b"").decode()
            code = -1
        lines = [line.split(" ", 3) for line in told.splitlines()]
        tried += sum(line[0] == "try" for line in lines)
        for line in lines:
            if line[0] == "crash":
                crashes += 1
                print(f"{line[1]} {line[2]}: {line[3]}")
        if code != 0 and lines:
            crashes += 1
            print(f"{lines[-1][1]} {lines[-1][2]}: the process ended or hung (exit code {code})")
        if not lines:
            print("the child did not start")
            return 1
        seed = int(lines[-1][2]) + 1
    print(f"{tried:,} attempts, {crashes:,} crashes" + (f"; see {KEPT}/" if crashes else ""))
    return 1 if crashes else 0


if __name__ == "__main__":
    sys.exit(main())
