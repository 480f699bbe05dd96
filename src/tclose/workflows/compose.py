"""compose: judges a release together with earlier ones about the same people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from tclose.arrays import Ints
from tclose.data.alignment import find_classes_of_rows, link_people, locate_rows
from tclose.data.binding import BoundTable
from tclose.data.encode.cells import Cells, form_classes
from tclose.data.encode.columns import Dictionary
from tclose.data.io.paths import AS_FOUND, Reading
from tclose.distance.histogram import group_codes
from tclose.errors import UsageError
from tclose.notebook import show_progress
from tclose.policy.columns import Column
from tclose.verify.audit import Audit, audit_bound
from tclose.workflows.inputs import PolicyLike, Progress, open_table, require_policy


@show_progress
def compose(
    release: Any,
    earlier: Any,
    policy: PolicyLike | None = None,
    *,
    key: str | None = None,
    reading: Reading = AS_FOUND,
    progress: Progress = lambda step: None,
) -> Audit:
    """Judges the promise for people who share their classes in several releases.

    Someone who finds a person's class in each release knows that the person is in all of these
    classes. The people in the same combination of classes form a group, and the groups are judged
    like the classes of an audit. `earlier` is one table or a list; rows are linked by the column
    `key`; by their order only if the policy says that it is kept (`release.rows`), or if the
    releases are the same. People who are missing from an earlier release form a group there.

    >>> import pyarrow as pa
    >>> ill = ["flu", "ulcer", "flu", "ulcer"]
    >>> may = pa.table({"zip": list("aabb"), "age": list("****"), "ill": ill})
    >>> june = pa.table({"zip": list("****"), "age": list("1221"), "ill": ill})
    >>> rules = {"k": 2, "columns": {"zip": "quasi", "age": "quasi", "ill": "sensitive"}}
    >>> rules["release"] = {"rows": "keep"}
    >>> compose(june, may, rules).k, compose(june, june, rules).k
    (1, 2)
    """
    tables = list(earlier) if isinstance(earlier, list | tuple) else [earlier]
    if not tables:
        hint = "give an earlier release, or a list of them"
        raise UsageError("there is no earlier release to compose with", where="earlier", hint=hint)
    reading.refuse_idle_query(release, *tables)
    rules = require_policy(release, policy)
    bound = open_table(release, rules, reading, progress=progress, is_clean=True).bind()
    refuse_counting(bound)
    labels = []
    for table in tables:
        other = open_table(table, rules, reading, progress=progress, is_clean=True).bind()
        labels.append(_find_labels(bound, other, key))
        other.source.close()
    joined = join_classes(bound, labels)
    bound.source.close()
    result = audit_bound(joined, measure_all=True, progress=progress)
    together = f"classes are those of people who are together in {len(tables) + 1} releases"
    return replace(result, notes=(together, *result.notes))


def _find_labels(bound: BoundTable, other: BoundTable, key: str | None) -> Ints:
    """The class of the other release that each row's person is in; −1 where in none."""
    # By a key the same person is known again, whatever has become of their values since.
    link_people(bound, other, key, may_differ=key is not None)
    found = find_classes_of_rows(bound, other, key)
    assert found is not None
    return found


def refuse_counting(bound: BoundTable) -> None:
    """Raises where a row does not count for one person: releases are composed row by row."""
    if bound.policy.counting is not None:
        raise UsageError(
            "releases are composed row by row: no column may say what a row counts",
            where=f"columns.{bound.policy.counting[1]}",
            hint="give it another role for this",
        )


def join_classes(bound: BoundTable, labels: Sequence[Ints]) -> BoundTable:
    """The table in classes of rows that are in one class here and have equal labels."""
    label, first = group_codes([locate_rows(bound), *labels])
    cell = locate_rows(bound)[first]
    codes = {name: code[cell] for name, code in bound.cells.codes.items()}
    dictionaries, columns = dict(bound.cells.dictionaries), dict(bound.policy.columns)
    names = []
    for at, given in enumerate(labels, 1):
        name = f"class in earlier release {at}"
        # −1 is a missing value: the person is not in it.
        values = pa.array([None if number < 0 else number for number in given[first].tolist()])
        dictionaries[name], codes[name] = Dictionary.encode(pa.chunked_array([values]), name)
        columns[name] = Column.quasi()
        names.append(name)
    cells = Cells(dictionaries, codes, np.bincount(label, minlength=len(first)))
    policy = bound.policy.model_copy(update={"columns": columns})
    quasi = (*bound.classes.quasi, *names)
    classes = form_classes(cells, quasi, bound.classes.attributes, policy.wildcards)
    return replace(bound, policy=policy, cells=cells, classes=classes)
