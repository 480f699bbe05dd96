"""What a report is about: one counted table and, where there is one, the table it was made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tclose.attacks import AttackReport
from tclose.report.document import Edition
from tclose.verify.audit import Audit
from tclose.verify.certificate import Check
from tclose.verify.verdict import Verdict

Kind = Literal["audit", "release", "verify"]


@dataclass(frozen=True)
class CountedTable:
    """A table as it was counted and attacked."""

    audit: Audit
    attacks: AttackReport


@dataclass(frozen=True)
class Subject:
    """Everything that a report tells, and to whom."""

    kind: Kind
    now: CountedTable
    edition: Edition = "external"
    before: CountedTable | None = None
    """The table that a release was made from."""
    certificate: Mapping[str, Any] = field(default_factory=dict)
    """How a release came about: the content of its certificate."""
    checks: tuple[Check, ...] = ()
    """A certificate held against a fresh count."""
    hashes: Mapping[str, str] = field(default_factory=dict)
    """What was counted, where no certificate says so."""

    @property
    def internal(self) -> bool:
        """Whether values of single classes may be shown."""
        return self.edition == "internal"

    @property
    def thing(self) -> str:
        """What the table at hand is called."""
        return "table" if self.kind == "audit" else "release"

    @property
    def quasi(self) -> tuple[str, ...]:
        """The quasi-identifiers."""
        return self.now.audit.bound.classes.quasi

    @property
    def lost(self) -> dict[str, float]:
        """What each column lost, as the certificate says; one that is not ours may say anything."""
        loss = self.certificate.get("loss")
        columns = loss.get("columns") if isinstance(loss, dict) else None
        entries = columns.items() if isinstance(columns, dict) else ()
        return {
            str(name): min(max(float(loss), 0.0), 1.0)
            for name, loss in entries
            if isinstance(loss, int | float)
        }

    @property
    def left_out(self) -> int:
        """How many rows the certificate says are not in the release."""
        gone = self.certificate.get("left_out")
        rows = gone.get("rows") if isinstance(gone, dict) else None
        return rows if isinstance(rows, int) else 0

    def was(self, verdict: Verdict) -> Verdict | None:
        """The same requirement on the table before, if there was one."""
        if self.before is None:
            return None
        found = [v for v in self.before.audit.requirements if v.title == verdict.title]
        return found[0] if found else None
