"""Projections: one anonymized release for every set of sensitive attributes.

Each is searched and proved by itself. Two things would tie their rows together again and are kept
from doing so: the order of the rows (each projection has its own, see `recode.forms`), and columns
that are neither quasi-identifiers nor sensitive, which only the first projection has. What is left
is that classes meet in few people and attributes go together; that is measured and told.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from tclose.attacks import Finding
from tclose.attacks.composition import Projection, compose_projections
from tclose.data import BoundTable, Reading
from tclose.data.alignment import locate_rows
from tclose.data.io.records import Layout
from tclose.errors import InternalError
from tclose.recode import Pseudonyms
from tclose.recode.forms import in_no_order
from tclose.search import Budget
from tclose.verify.certificate import ProjectionRecord
from tclose.verify.forms import part_policy
from tclose.workflows.anonymize import anonymize

Projected = tuple[dict[str, pa.Table], tuple[Finding, ...], list[ProjectionRecord]]


def project(
    bound: BoundTable,
    data: Any,
    layout: Layout,
    budget: Budget,
    method: str | None,
    reading: Reading,
    pseudonyms: Pseudonyms,
    cancelled: Callable[[], bool],
) -> Projected:
    """The tables of all projections, what they tell together, and how they were found."""
    rows = bound.source.stream()
    table = pa.Table.from_batches(list(rows.batches()), rows.schema)
    tables: dict[str, pa.Table] = {}
    placed, searched = [], []
    for at, part in enumerate(layout.parts):
        rules = part_policy(bound.policy, layout, part)
        kept = rules.release.model_copy(update={"rows": "keep"})
        rules = rules.model_copy(update={"release": kept}).at(bound.policy.base)
        release = anonymize(
            table.select([name for name in table.column_names if name in rules.columns]),
            rules,
            method=method,
            seconds=budget.seconds,
            effort=budget.effort,
            seed=budget.seed,
            suppression=0,
            key=pseudonyms.key,
            reading=reading,
            progress=budget.report,
            cancelled=cancelled,
        )
        if release.left_out:
            raise InternalError("a projection left rows out", where=part.file)
        found = release.audit.bound
        label = found.classes.cell_class[locate_rows(found)]
        placed.append(Projection(part.columns, label))
        nobody = np.zeros(len(label), dtype=np.int64)
        order = in_no_order(release.data, nobody, [budget.seed, at])
        tables[part.file] = release.data.take(pa.array(order))
        searched.append(
            ProjectionRecord(
                file=part.file,
                loss=release.loss.overall,
                classes=release.classes,
                method=release.certificate.method,
                stopped=release.certificate.stopped,
            )
        )
    findings = compose_projections(bound, locate_rows(bound), placed)
    return tables, findings, searched
