"""A release that is about to be published, and what its certificate says of its origin."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from tclose.arrays import Flags
from tclose.data.binding import BoundTable, hash_hierarchy
from tclose.data.encode.cells import Cells
from tclose.data.io.counting import file_hash
from tclose.data.io.paths import Reading
from tclose.data.io.records import json_hash
from tclose.data.recognize import describe_exposed
from tclose.data.source import Source
from tclose.policy.model import Policy
from tclose.recode import Plan, Provenance, Pseudonyms, Recoding, Rewriter, SuppressedRows
from tclose.recode.rewrite import ReleasedRows
from tclose.search.outcome import Outcome
from tclose.utility.loss import LossReport, Quasi
from tclose.verify.certificate import (
    CleanedRecord,
    Hashes,
    LeftOutRecord,
    LossRecord,
    Origin,
    hash_promise_files,
)
from tclose.version import VERSION
from tclose.workflows.release.targets import Targets

ORDER_KEPT = (
    'rows are in the order of the table (rows = "keep"): someone who knows this order, for '
    "example of a table sorted by name, sees which row is whose"
)


@dataclass(frozen=True)
class Job:
    """The input of a release and the places where its files go."""

    data: Any
    """What the table was opened from."""
    reading: Reading
    source: Source
    policy: Policy
    targets: Targets
    command: str = ""
    people: Cells | None = None
    """The population that the promise is about, if there is one."""
    key: bytes | None = None
    """The steward's own key, if there is one."""
    begin: Callable[[str], None] = lambda phase: None
    """Told what is done after the search: "writing", then "recounting"."""
    notes: tuple[str, ...] = ()
    """What was foreseen before the search."""

    @cached_property
    def pseudonyms(self) -> Pseudonyms:
        """Pseudonyms under the steward's key, or under one that is drawn and forgotten."""
        return make_pseudonyms(self.key)


@dataclass(frozen=True)
class Draft:
    """A release before it is written, in one piece or in parts, and its future certificate."""

    rows: ReleasedRows
    n_rows: int
    loss: LossReport
    origin: Origin
    hashes: Hashes
    plan: Plan | None = None
    outcome: Outcome | None = None
    leftover: SuppressedRows | None = None
    original: BoundTable | None = None
    """The table itself, where it is in one place: reports show it beside the release."""
    notes: tuple[str, ...] = ()
    """What a steward is told of it beside what was foreseen."""


def draft_recoding(
    bound: BoundTable, recoding: Recoding, plan: Plan, pseudonyms: Pseudonyms, **how: Any
) -> Draft:
    """A recoding of a table that is in one place, ready to be published; `how` it came about."""
    gone = recoding.label < 0
    rows, parts = int(bound.cells.rows[gone].sum()), count_by_part(bound, recoding.quasi, gone)
    left_out = LeftOutRecord(rows=rows, parts=parts)
    return Draft(
        rows=Rewriter(bound, bound.source.stream(), recoding, pseudonyms),
        n_rows=bound.cells.n_rows - rows,
        loss=recoding.loss,
        origin=Origin(**how, **describe_loss(bound.classes.n_rows, recoding.loss, left_out)),
        hashes=hash_promise(bound.policy),
        plan=plan,
        original=bound,
    )


def complete_origin(job: Job, draft: Draft) -> Origin:
    """Adds the warnings, the order of rows and the cleaning of the input to a draft's origin."""
    order = job.policy.release.rows
    kept = (ORDER_KEPT,) if order == "keep" else ()
    cells = None if draft.original is None else draft.original.cells
    told = {
        "command": job.command,
        "warnings": (*kept, *describe_exposed(job.policy, job.source, cells)) or None,
        "row_order": order,
        "cleaned": list_cleaned(job.source),
    }
    return draft.origin.model_copy(update=told)


def make_pseudonyms(key: bytes | None) -> Pseudonyms:
    """Pseudonyms under a key, or under one that is drawn and forgotten."""
    return Pseudonyms() if key is None else Pseudonyms(key)


def describe_loss(input_rows: int, loss: LossReport, left_out: LeftOutRecord) -> dict[str, Any]:
    """The fields of a certificate about input rows, rows left out, losses and versions."""
    return {
        "input_rows": input_rows,
        "left_out": left_out,
        "loss": LossRecord(measure="iyengar", overall=loss.overall, columns=loss.columns),
        "versions": list_versions(),
    }


def list_cleaned(source: Source) -> dict[str, CleanedRecord] | None:
    """The columns that were cleaned before counting, and how; None if there are none."""
    found = {name: CleanedRecord(**column.describe()) for name, column in source.cleaned.items()}
    return found or None


def hash_promise(policy: Policy) -> Hashes:
    """Hashes of the policy and its files. No hash of the table, nor of anything built from its
    values, since a hash of few possible values can be guessed.
    """
    return Hashes(policy=json_hash(policy.to_json()), promise_files=hash_promise_files(policy))


def trace_inputs(bound: BoundTable) -> Provenance:
    """The hashes of everything that a release was made from, which are not passed on."""
    attributes = {name: attribute.hierarchy for name, attribute in bound.attributes.items()}
    trees = {**bound.hierarchies, **{name: tree for name, tree in attributes.items() if tree}}
    places = {name: bound.policy.base / name for name in bound.policy.files}
    return Provenance(
        input=(bound.source.original or bound.source).digest(),
        hierarchies={name: hash_hierarchy(tree) for name, tree in sorted(trees.items())},
        files={name: file_hash(place) for name, place in places.items() if place.is_file()},
    )


def list_versions() -> dict[str, str]:
    """The versions of everything that counted and wrote."""
    return {
        "tclose": VERSION,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "pyarrow": pa.__version__,
        "duckdb": duckdb.__version__,
    }


def count_by_part(bound: BoundTable, quasi: Quasi, some: Flags) -> dict[str, dict[str, int]]:
    """From which coarse parts of each quasi-identifier the rows of some cells are."""
    rows = bound.cells.rows[some].tolist()
    found = {}
    for at, column in enumerate(quasi.columns):
        counts: Counter[str] = Counter()
        code = quasi.codes[some, at]
        parts = column.coarse(np.maximum(code, 0))
        for part, is_known, number in zip(parts, code >= 0, rows, strict=True):
            counts[part if is_known else "unknown"] += number
        found[column.name] = dict(sorted(counts.items()))
    return found
