"""No page of the studio holds a control character of a table, whatever its names and values."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from pathlib import Path

import httpx
import pyarrow as pa
from pyarrow import parquet

from tclose.studio.server import Studio

ODD = [
    "\x1b[2J", "\x9bJ", "\x0bb", "\u202etxet", "x\u2066y", "\u2028a", "\x85b", "\u200ec", "\u206ad",
    "\ufff9e",
]  # fmt: skip
CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb]"
)


def test_no_page_holds_a_control_character(
    make: Callable[..., Studio],
    enter: Callable[..., httpx.Client],
    settle: Callable[..., str],
    tmp_path: Path,
) -> None:
    ill, town = f"ill{''.join(ODD)}", f"town{''.join(ODD)}"
    rows = {town: [odd for odd in ODD for _ in range(4)], ill: ODD * 4, "age": list(range(40))}
    table = tmp_path / "t\u202e\x1b[2J.parquet"
    parquet.write_table(pa.table(rows), table)
    tree = "".join(f'"{odd}";"group \u2066{at // 5}";*\n' for at, odd in enumerate(ODD))
    (tmp_path / "h.csv").write_text(tree, newline="")
    columns = {
        town: {"role": "quasi", "hierarchy": "h.csv"},
        ill: {"role": "sensitive", "t": 0.9},
        "age": "quasi",
    }
    (tmp_path / "p.json").write_text(json.dumps({"k": 2, "columns": columns}))
    studio = make(table=str(table), policy=tmp_path / "p.json")
    client = enter(studio)
    client.post("/search", data={"method": "mondrian", "effort": "0.1"})
    settle(client, "/search")
    assert len(studio.bench.project.runs) == 1
    assert r"\u202etxet" in settle(client, "/values", column=ill)
    asked = [
        ("/open", {}),
        ("/columns", {}),
        *(("/values", {"column": name}) for name in columns),
        ("/risk", {}),
        ("/risk/why", {"class": "1", "attribute": ill}),
        ("/search", {}),
        ("/explore", {}),
        *(("/before-after", {"run": "1", "column": name}) for name in columns),
        ("/release", {"run": "1"}),
        ("/nowhere\u202e", {}),
        ("/values", {"column": "no\x1bne\u202e"}),
        ("/risk/why", {"class": "\x1b", "attribute": "\u202ex"}),
    ]
    for path, query in asked:
        settle(client, path, **query)
        raw = client.get(path, params=query or None).text
        assert not CONTROLS.findall(raw) and not CONTROLS.findall(html.unescape(raw)), (path, query)
