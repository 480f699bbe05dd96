"""verify: whether a table, or a folder of tables, keeps what its policy promises."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tclose.data.binding import open_source
from tclose.data.io.paths import AS_FOUND, Reading
from tclose.data.source import Source
from tclose.errors import UsageError
from tclose.verify.audit import Audit
from tclose.verify.forms import Recount, load_split_certificate, recheck_folder
from tclose.workflows.audit import audit_table
from tclose.workflows.inputs import (
    PolicyLike,
    Progress,
    open_table,
    parse_embedded_policy,
    resolve_policy,
)


def verify(
    data: Any,
    policy: PolicyLike,
    *,
    population: Any = None,
    reading: Reading = AS_FOUND,
    progress: Progress = lambda step: None,
) -> Audit:
    """Recounts a table from scratch and judges what the policy promises, nothing else.

    >>> import pyarrow as pa
    >>> table = pa.table({"zip": ["476", "476"], "illness": ["flu", "flu"]})
    >>> rules = {"k": 2, "columns": {"zip": "quasi", "illness": {"role": "sensitive", "t": 0}}}
    >>> verify(table, rules).holds
    True
    """
    reading.refuse_idle_query(data, population)
    table = open_table(data, policy, reading, progress=progress)
    if table.policy is not None and not table.problems and not table.policy.promises_something:
        raise UsageError(
            "the policy promises nothing, so there is nothing to verify",
            where="policy",
            hint="state k, or t at a sensitive column",
        )
    return audit_table(table, population, reading, measure_all=False, progress=progress)


def verify_split(
    folder: str | Path, policy: PolicyLike | None = None, *, memory: str | None = None
) -> Recount:
    """Counts a folder that `split` wrote from scratch; judges its own policy, or the one given.

    Every line of its certificate is confirmed or refuted, and nothing in it is believed but which
    file holds what.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> from tclose import split
    >>> table = pa.table({"age": [21, 22, 23, 44], "ill": ["a", "b", "a", "b"]})
    >>> rules = {"k": 2, "columns": {"age": "quasi", "ill": {"role": "sensitive", "l": 2}}}
    >>> made = split(table, rules, form="anatomy", output=Path(tempfile.mkdtemp()) / "release")
    >>> verify_split(made.path).holds, verify_split(made.path, {**rules, "k": 3}).holds
    (True, False)
    """
    place = Path(folder)
    certificate, layout = load_split_certificate(place)
    rules = (
        parse_embedded_policy(certificate.policy, place, "certificate")
        if policy is None
        else resolve_policy(policy)
    )
    files = [part.file for part in layout.parts if (place / part.file).is_file()]
    sources = {file: open_split_table(place / file, memory) for file in files}
    return recheck_folder(place, certificate, layout, rules, sources)


def open_split_table(path: Path, memory: str | None = None) -> Source:
    """A table of a split release; its CSV files are UTF-8, with commas."""
    mark = "," if path.suffix == ".csv" else None
    encoding = "utf-8" if mark else None
    return open_source(path, Reading(delimiter=mark, encoding=encoding, memory=memory))
