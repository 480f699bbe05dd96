"""audit, verify, explain: how private a table is as it stands, and why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tclose.data.binding import open_source
from tclose.data.io.paths import AS_FOUND, Reading
from tclose.data.source import Source
from tclose.data.summary import TableSummary
from tclose.errors import UsageError
from tclose.verify.audit import Audit, audit_bound, audit_parts
from tclose.verify.explanation import Explanation, explain_class
from tclose.verify.forms import Recount, load_split_certificate, recheck_folder
from tclose.workflows.inputs import (
    OpenTable,
    PolicyLike,
    Progress,
    count_population,
    open_table,
    parse_embedded_policy,
    resolve_policy,
)


def audit(
    data: Any,
    policy: PolicyLike | None = None,
    *,
    quasi: str | Sequence[str] = (),
    sensitive: str | Sequence[str] = (),
    population: Any = None,
    reading: Reading = AS_FOUND,
    progress: Progress = lambda step: None,
) -> Audit:
    """How private is this table, which classes break the promise, and by how much?

    `data` is a path (CSV, Parquet), a frame of any kind, or the address of a table in a database.
    Give a policy, or just name the columns: then everything is measured and nothing is promised.

    >>> import pyarrow as pa
    >>> table = pa.table({"zip": ["476", "476", "479", "479"], "salary": [3, 4, 3, 4]})
    >>> result = audit(table, quasi="zip", sensitive="salary")
    >>> result.k, result.classes
    (2, 2)
    """
    reading.refuse_idle_query(data, population)
    table = open_table(data, policy, reading, quasi=quasi, sensitive=sensitive, progress=progress)
    return _audit_table(table, population, reading, measure_all=True, progress=progress)


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
    return _audit_table(table, population, reading, measure_all=False, progress=progress)


def _audit_table(
    table: OpenTable, population: Any, reading: Reading, *, measure_all: bool, progress: Progress
) -> Audit:
    """Counts a table, in one piece or in parts, and judges what its policy promises."""
    bound = table.bind_or_summarize()
    if isinstance(bound, TableSummary):
        return audit_parts(bound, table.source, measure_all=measure_all, progress=progress)
    people = count_population(bound, population, reading)
    table.source.close()
    return audit_bound(bound, population=people, measure_all=measure_all, progress=progress)


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


def explain(
    data: Any,
    policy: PolicyLike | None = None,
    *,
    number: int | None = None,
    attribute: str | None = None,
    quasi: str | Sequence[str] = (),
    sensitive: str | Sequence[str] = (),
    reading: Reading = AS_FOUND,
    progress: Progress = lambda step: None,
) -> Explanation:
    """Why is a class as far from the whole table as it is? Which mass would have to move where?

    `number` counts classes from 1; without it the farthest class is explained.

    >>> import pyarrow as pa
    >>> table = pa.table({"zip": ["a", "a", "b", "b"], "salary": [14, 88, 27, 101]})
    >>> why = explain(table, quasi="zip", sensitive="salary", number=1)
    >>> why.exact, [(move.source, move.target, str(move.mass)) for move in why.moves]
    (Fraction(1, 6), [('14', '27', '1/4'), ('88', '101', '1/4')])
    """
    reading.refuse_idle_query(data)
    table = open_table(data, policy, reading, quasi=quasi, sensitive=sensitive, progress=progress)
    bound = table.bind()
    bound.source.close()
    if not bound.attributes:
        raise UsageError(
            "no column is sensitive, so there is no distance to explain",
            where=bound.source.name,
            hint="name one with --sensitive, or in the policy",
        )
    return explain_class(bound, number, attribute)
