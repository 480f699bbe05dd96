"""What a report is about: one counted table and, where there is one, the table it was made from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tclose.attacks.finding import AttackReport
from tclose.data.alignment import Alignment
from tclose.report.document import Edition
from tclose.verify.audit import Audit
from tclose.verify.certificate import Certificate
from tclose.verify.recheck import Check
from tclose.verify.verdict import Verdict

Kind = Literal["audit", "release", "verify"]
NOTHING_TRIED = AttackReport("", 0, 0, (), (), ())


@dataclass(frozen=True)
class CountedTable:
    """A table as it was counted and, where attacks are told of, attacked."""

    audit: Audit
    attacks: AttackReport = NOTHING_TRIED


@dataclass(frozen=True)
class Subject:
    """Everything that a report tells, and to whom."""

    kind: Kind
    now: CountedTable
    edition: Edition = "external"
    before: CountedTable | None = None
    """The table that a release was made from."""
    certificate: Certificate | None = None
    """How a release came about."""
    checks: tuple[Check, ...] = ()
    """A certificate held against a fresh count."""
    hashes: Mapping[str, str] = field(default_factory=dict)
    """What was counted, where no certificate says so."""
    alignment: Alignment | None = None
    """The release held against the table before."""

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

    def show(self, name: str) -> str:
        """What a column is called for people, or each of the several of a joint promise."""
        policy = self.now.audit.bound.policy
        names = [name] if name in policy.columns else name.split(" × ")
        return " × ".join(policy.display(each) for each in names)

    def relabel(self, words: str, name: str | None) -> str:
        """The same sentence about a column, with what people call it."""
        if name is None or (shown := self.show(name)) == name:
            return words
        return re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", lambda _: shown, words)

    @property
    def lost(self) -> dict[str, float]:
        """What each column lost, as the certificate says; one that is not ours may say anything."""
        if self.certificate is None or self.certificate.loss is None:
            return {}
        columns = self.certificate.loss.columns
        return {name: min(max(loss, 0.0), 1.0) for name, loss in columns.items()}

    @property
    def left_out(self) -> int:
        """How many rows the certificate says are not in the release."""
        gone = None if self.certificate is None else self.certificate.left_out
        return 0 if gone is None else gone.rows

    def was(self, verdict: Verdict) -> Verdict | None:
        """The same requirement on the table before, if there was one."""
        earlier = () if self.before is None else self.before.audit.requirements
        return next((was for was in earlier if was.title == verdict.title), None)
