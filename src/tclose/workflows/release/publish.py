"""A recoding becomes a release: written (or framed), counted again, certified."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tclose.data import BoundTable, Cells, Reading, Source
from tclose.data.source import Rows
from tclose.describe import hashes_of, policy_json, rows_from, versions
from tclose.errors import UnprovenError
from tclose.recode import Plan, Pseudonyms, Recoding, Rewriter
from tclose.release import Release, recounted, save_json, sizes_of
from tclose.report.document import Document
from tclose.search import Outcome
from tclose.search.frontier.curves import Frontier
from tclose.verify import Audit, Certificate, certify
from tclose.workflows.release.delivery import Delivery
from tclose.workflows.release.targets import Targets
from tclose.workflows.report import Original, release_report


@dataclass(frozen=True)
class Work:
    """What a release is made from and where it goes."""

    data: Any
    reading: Reading
    bound: BoundTable
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
        bound, loss, targets = self.bound, recoding.loss, self.targets
        input_rows = bound.classes.n_rows
        described = {
            **details,
            "input_rows": input_rows,
            "left_out": rows_from(bound, recoding.quasi, recoding.label < 0),
            "loss": {"measure": "iyengar", "overall": loss.overall, "columns": loss.columns},
            "versions": versions(),
        }
        hashes = hashes_of(bound, plan)

        def certified(audit: Audit, output_hash: str) -> Certificate:
            sizes = sizes_of(audit, input_rows)
            told = described | {"hashes": hashes | {"output": output_hash}, "sizes": vars(sizes)}
            paper = certify(audit, policy_json(bound.policy), told)
            save_json(targets.certificate, paper.to_json())
            save_json(targets.plan, plan.to_json())
            return paper

        def counted(source: Source) -> Audit:
            audit = recounted(source, bound.policy, self.people)
            if audit.bound.cells.n_rows != int(bound.cells.rows[recoding.label >= 0].sum()):
                raise UnprovenError("the written release has not the rows that were released")
            return audit

        delivery = Delivery(
            self.data,
            bound.source,
            self.reading,
            targets.output,
            bound.policy.release.rows == "shuffle",
            counted,
            certified,
            stopped,
        )
        data, audit, paper = delivery.put(Rewriter(bound, self.rows, recoding, self.pseudonyms))
        return Release(
            data=data,
            path=targets.output,
            certificate=paper,
            audit=audit,
            loss=loss,
            sizes=sizes_of(audit, input_rows),
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


def pseudonyms_of(key: bytes | None) -> Pseudonyms:
    """Pseudonyms under a key, or under one that is drawn and forgotten."""
    return Pseudonyms() if key is None else Pseudonyms(key)
