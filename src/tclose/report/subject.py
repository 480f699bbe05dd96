"""What a report is about: a counted table and, if there is one, the table it was made from."""

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
    """A counted table and, if attacks are reported, their findings."""

    audit: Audit
    attacks: AttackReport = NOTHING_TRIED


@dataclass(frozen=True)
class Subject:
    """Everything that a report contains, and its edition."""

    kind: Kind
    now: CountedTable
    edition: Edition = "external"
    before: CountedTable | None = None
    """The table that a release was made from."""
    certificate: Certificate | None = None
    """The certificate of a release, which says how it was made."""
    checks: tuple[Check, ...] = ()
    """The result of comparing a certificate with a fresh count."""
    hashes: Mapping[str, str] = field(default_factory=dict)
    """Hashes of what was counted, if no certificate has them."""
    alignment: Alignment | None = None
    """The release aligned with the table before."""

    @property
    def internal(self) -> bool:
        """Whether values of single classes may be shown."""
        return self.edition == "internal"

    @property
    def thing(self) -> str:
        """The word for the counted table: table or release."""
        return "table" if self.kind == "audit" else "release"

    @property
    def quasi(self) -> tuple[str, ...]:
        """The names of the quasi-identifiers."""
        return self.now.audit.bound.classes.quasi

    def show(self, name: str) -> str:
        """Returns the label of a column, or of each column of a joint requirement."""
        policy = self.now.audit.bound.policy
        names = [name] if name in policy.columns else name.split(" × ")
        return " × ".join(policy.display(each) for each in names)

    def relabel(self, words: str, name: str | None) -> str:
        """Replaces a column's name in a sentence by its label."""
        if name is None or (shown := self.show(name)) == name:
            return words
        return re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", lambda _: shown, words)

    @property
    def lost(self) -> dict[str, float]:
        """The loss of each column by the certificate, which may be foreign: limited to [0, 1]."""
        if self.certificate is None or self.certificate.loss is None:
            return {}
        columns = self.certificate.loss.columns
        return {name: min(max(loss, 0.0), 1.0) for name, loss in columns.items()}

    @property
    def left_out(self) -> int:
        """The number of rows that are not in the release, by the certificate."""
        gone = None if self.certificate is None else self.certificate.left_out
        return 0 if gone is None else gone.rows

    def was(self, verdict: Verdict) -> Verdict | None:
        """Returns the same requirement on the table before, if there is one."""
        earlier = () if self.before is None else self.before.audit.requirements
        return next((was for was in earlier if was.title == verdict.title), None)
