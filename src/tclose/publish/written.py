"""A recoding becomes a release: written (or framed), counted again, certified."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tclose.api import Reading
from tclose.describe import hashes_of, policy_json, rows_from, versions
from tclose.errors import UsageError
from tclose.publish.reported import Original, release_report
from tclose.publish.targets import Targets
from tclose.recode import Plan, Pseudonyms, Recoding, Rewriter
from tclose.release import Release, recounted, save_json
from tclose.report.document import Document
from tclose.search import Outcome
from tclose.search.frontier import Frontier
from tclose.table import Bound, Cells, Source, open_source, write_table
from tclose.table.frames import is_frame, reframed
from tclose.table.source import Rows
from tclose.table.stream import shuffled
from tclose.table.write import delimiter_for
from tclose.utility import Sizes, class_sizes
from tclose.verify import Audit, Certificate, certify

Counted = tuple[Audit, Certificate, Sizes]


@dataclass(frozen=True)
class Work:
    """What a release is made from and where it goes."""

    data: Any
    reading: Reading
    bound: Bound
    rows: Rows
    targets: Targets
    people: Cells | None
    pseudonyms: Pseudonyms

    def publish(
        self,
        recoding: Recoding,
        plan: Plan,
        details: dict[str, Any],
        *,
        outcome: Outcome | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Release:
        """Writes (or frames) the release, counts it again, and certifies what was counted."""
        bound, loss = self.bound, recoding.loss
        described = {
            **details,
            "input_rows": bound.classes.rows,
            "left_out": rows_from(bound, recoding.quasi, recoding.label < 0),
            "loss": {"measure": "iyengar", "overall": loss.overall, "columns": loss.columns},
            "versions": versions(),
        }
        hashes = hashes_of(bound, plan)

        def certified(audit: Audit, output_hash: str) -> Counted:
            sizes = class_sizes(audit.bound.classes.size, bound.classes.rows)
            told = described | {"hashes": hashes | {"output": output_hash}, "sizes": vars(sizes)}
            paper = certify(audit, policy_json(bound.policy), told)
            save_json(self.targets.certificate, paper.to_json())
            save_json(self.targets.plan, plan.to_json())
            return audit, paper, sizes

        rewriter = Rewriter(bound, self.rows, recoding, self.pseudonyms)
        released, output = None, self.targets.output
        if output is None:
            released = self._framed(rewriter)
            audit, paper, sizes = self._counted(open_source(released), certified)
        elif bound.source.stores(output):
            audit, paper, sizes = self._stored(rewriter, output, certified)
        else:
            audit, paper, sizes = self._written(rewriter, output, certified, stopped)
        return Release(
            data=released,
            path=self.targets.output,
            certificate=paper,
            audit=audit,
            loss=loss,
            sizes=sizes,
            plan=plan,
            outcome=outcome,
            left_out=loss.left_out,
            people=self.people,
            reporter=self._report,
        )

    def _report(
        self, release: Release, path: str | Path | None, edition: str, frontier: Frontier | None
    ) -> Document:
        original = Original(self.reading, self.bound)
        return release_report(release, original, path, edition=edition, frontier=frontier)

    def _counted(
        self,
        source: Source,
        certified: Callable[[Audit, str], Counted],
        stopped: Callable[[], bool] = lambda: False,
    ) -> Counted:
        """Counts what was made from scratch, and certifies that."""
        audit = recounted(source, self.bound.policy, self.people)
        if stopped():
            raise dropped()
        return certified(audit, source.digest())

    def _framed(self, rewriter: Rewriter) -> Any:
        """The release as the caller's own kind of table."""
        if rewriter.bound.source.rewrites:
            return rewriter.bound.source.recoded(rewriter.translation())
        return _framed(self.data, rewriter)

    def _stored(
        self, rewriter: Rewriter, output: str | Path, certified: Callable[[Audit, str], Counted]
    ) -> Counted:
        """Has the engine write the release where it is at home, counted before it appears."""
        found: list[Counted] = []
        how = rewriter.translation()
        rewriter.bound.source.store(
            how, output, lambda source: found.append(self._counted(source, certified))
        )
        return found[0]

    def _written(
        self,
        rewriter: Rewriter,
        output: Path,
        certified: Callable[[Audit, str], Counted],
        stopped: Callable[[], bool],
    ) -> Counted:
        """Writes the release beside its target, counts and certifies that, then moves it there."""
        found: list[Counted] = []
        delimiter = delimiter_for(output, self.bound.source.delimiter)

        def recount(part: Path) -> None:
            fresh = Reading(delimiter=delimiter, memory=self.reading.memory).open(part)
            found.append(self._counted(fresh, certified, stopped))

        def watched() -> Iterator[pa.RecordBatch]:
            for batch in rewriter.batches():
                if stopped():
                    raise dropped()
                yield batch

        rows = watched()
        if self.bound.policy.release.rows == "shuffle":
            rows = shuffled(rows, rewriter.schema())
        write_table(output, rewriter.schema(), rows, delimiter=delimiter, check=recount)
        return found[0]


def _framed(data: Any, rewriter: Rewriter) -> Any:
    """The release in the caller's own kind of frame; an Arrow table where a file was read."""
    recoded = pa.Table.from_batches(list(rewriter.batches()), rewriter.schema())
    order = np.arange(recoded.num_rows)
    if rewriter.bound.policy.release.rows == "shuffle":
        order = np.random.default_rng().permutation(len(order))
        recoded = recoded.take(pa.array(order))
    if not is_frame(data):
        return recoded
    texts = {
        name: recoded.column(name).to_pylist()
        for name in rewriter.written()
        if name in recoded.column_names
    }
    hidden = {
        name: recoded.column(name).is_null().to_numpy()
        for name in rewriter.recoding.sensitive
        if name not in texts
    }
    return reframed(data, rewriter.kept_rows()[order], texts, rewriter.columns(), hidden)


def dropped() -> UsageError:
    """What is raised where a user stopped and wants nothing."""
    return UsageError("stopped; nothing was written", hint="or keep the best found so far")


def pseudonyms_of(key: bytes | None) -> Pseudonyms:
    """Pseudonyms under a key, or under one that is drawn and forgotten."""
    return Pseudonyms() if key is None else Pseudonyms(key)
