"""The rows of a table that was searched in parts, proposed as a release."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.data.engines.frames.release import make_frame
from tclose.data.source import Rows, Source
from tclose.data.summary import TableSummary
from tclose.data.translation import Translation
from tclose.errors import UsageError
from tclose.recode import Pseudonyms
from tclose.search import Budget
from tclose.workflows.parts.search import PartsFound, search_parts
from tclose.workflows.release.origin import describe_parts, hash_inputs
from tclose.workflows.release.publish import Proposal
from tclose.workflows.release.targets import Targets


def propose_in_parts(
    summary: TableSummary,
    source: Source,
    targets: Targets,
    method: str,
    budget: Budget,
    pseudonyms: Pseudonyms,
) -> Proposal:
    """What is to be released of a table whose cells are too many for one place."""
    if targets.plan is not None:
        raise UsageError(
            "a table that is too large for one place is released without a plan",
            where="plan",
            hint="leave the plan out, or allow more cells in one place (--cells)",
        )
    found = search_parts(summary, source, method, budget, pseudonyms)
    origin = describe_parts(
        summary,
        budget,
        found.loss,
        method=found.method,
        fragments=found.fragments,
        cells=found.cells,
    )
    return Proposal(
        rows=PartRows(source, source.stream(), found),
        released_rows=summary.n_rows,
        loss=found.loss,
        origin=origin,
        hashes=hash_inputs(summary, source),
    )


@dataclass(frozen=True)
class PartRows:
    """The rows of all fragments, as whoever writes them needs them."""

    source: Source
    rows: Rows
    found: PartsFound

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
        return make_frame(data, table, lambda: _all(table), texts, (), shuffle=shuffle)


def _all(table: pa.Table) -> NDArray[np.int64]:
    return np.arange(table.num_rows, dtype=np.int64)
