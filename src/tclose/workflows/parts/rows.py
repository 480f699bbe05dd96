"""A fragmented table becomes a release: its rows gathered, written, counted again part by part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.data import Reading
from tclose.data.engines.frames.release import framed
from tclose.data.source import Rows, Source
from tclose.data.summary import TableSummary, summarize_table
from tclose.data.translation import Translation
from tclose.describe import policy_json, tree_hash, versions
from tclose.errors import UnprovenError, UsageError
from tclose.recode import Pseudonyms
from tclose.release import Release, save_json, sizes_of
from tclose.search import Budget
from tclose.verify import Audit, Certificate, certify
from tclose.verify.certificate import json_hash
from tclose.verify.parts import audit_parts
from tclose.workflows.inputs import OpenTable, PolicyLike
from tclose.workflows.parts.search import Fragmented, fragmented
from tclose.workflows.release.delivery import Delivery
from tclose.workflows.release.targets import Targets


def anonymize_parts(
    opened: OpenTable,
    data: Any,
    policy: PolicyLike,
    targets: Targets,
    method: str,
    budget: Budget,
    pseudonyms: Pseudonyms,
    reading: Reading,
    command: str,
) -> Release:
    """The release of a table whose cells are too many for one place."""
    if targets.plan is not None:
        raise UsageError(
            "a table that is too large for one place is released without a plan",
            where="plan",
            hint="leave the plan out, or allow more cells in one place (--cells)",
        )
    source = opened.source
    table = summarize_table(opened.policy, source, opened.problems)
    rows = source.stream()
    targets.refuse(table.example(), rows, (data, policy))
    found = fragmented(table, source, method, budget, pseudonyms)
    hashes = _hashes(table, source)
    described = {
        "method": f"{found.method}, in fragments",
        "fragments": found.fragments,
        "cells": found.cells,
        "seed": budget.seed,
        "seconds": budget.seconds,
        "effort": budget.effort,
        "command": command,
        "input_rows": table.n_rows,
        "left_out": {"rows": 0, "from": {}},
        "loss": {
            "measure": "iyengar", "overall": found.loss.overall, "columns": found.loss.columns,
        },
        "versions": versions(),
    }  # fmt: skip

    def certified(audit: Audit, output_hash: str) -> Certificate:
        sizes = vars(sizes_of(audit, table.n_rows))
        told = described | {"hashes": hashes | {"output": output_hash}, "sizes": sizes}
        paper = certify(audit, policy_json(table.policy), told)
        save_json(targets.certificate, paper.to_json())
        return paper

    shuffle = table.policy.release.rows == "shuffle"
    delivery = Delivery(
        data, source, reading, targets.output, shuffle,
        lambda written: recounted_parts(written, table), certified, budget.cancelled,
    )  # fmt: skip
    data, audit, paper = delivery.put(_Gathered(source, rows, found))
    return Release(
        data=data,
        path=targets.output,
        certificate=paper,
        audit=audit,
        loss=found.loss,
        sizes=sizes_of(audit, table.n_rows),
        plan=None,
        outcome=None,
        left_out=0,
    )


def recounted_parts(source: Source, table: TableSummary) -> Audit:
    """A fresh count of a release, part by part; raises where the promise does not hold on it."""
    audit = audit_parts(summarize_table(table.policy, source), source, measure_all=False)
    if not audit.holds:
        broken = ", ".join(v.title for v in audit.requirements if not v.holds)
        raise UnprovenError(f"the written release does not keep its promise ({broken})")
    if audit.rows != table.n_rows:
        raise UnprovenError("the written release has not as many rows as the table")
    return audit


@dataclass(frozen=True)
class _Gathered:
    """The rows of all fragments, as whoever writes them needs them."""

    source: Source
    rows: Rows
    found: Fragmented

    def schema(self) -> pa.Schema:
        """The columns of the release: text where values are recoded, the table's own elsewhere."""
        return pa.schema(
            [
                self.rows.schema.field(change.name)
                if change.kind == "same"
                else pa.field(change.name, pa.string())
                for change in self.found.how.changes
            ]
        )

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The released rows, in the table's order."""
        schema = self.schema()
        for batch in self.source.join(self.found.how):
            yield batch.cast(schema)

    def translation(self) -> Translation:
        """The lines of all fragments."""
        return self.found.how

    def framed(self, data: Any) -> Any:
        """The release in the caller's own kind of frame."""
        table = pa.Table.from_batches(list(self.batches()), self.schema())
        texts = [change.name for change in self.found.how.changes if change.kind != "same"]
        shuffle = self.found.how.shuffle
        return framed(data, table, lambda: _all(table), texts, (), shuffle=shuffle)


def _all(table: pa.Table) -> NDArray[np.int64]:
    return np.arange(table.num_rows, dtype=np.int64)


def _hashes(table: TableSummary, source: Source) -> dict[str, Any]:
    trees = {
        **table.hierarchies,
        **{name: one.hierarchy for name, one in table.attributes.items() if one.hierarchy},
    }
    return {
        "input": source.digest(),
        "policy": json_hash(policy_json(table.policy)),
        "hierarchies": {name: tree_hash(tree) for name, tree in sorted(trees.items())},
    }
