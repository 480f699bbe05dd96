"""The classes of a release without its data: can be kept, read, and applied to new rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tclose.errors import UsageError
from tclose.recode.values import Released

FORMAT = 1


@dataclass(frozen=True)
class Plan:
    """What every class is released as, and the policy under which that was decided.

    `uses_sensitive` says that rows with equal quasi-identifiers may belong to different classes,
    because the sensitive values decided: applying such a plan has to choose among them.
    """

    policy: dict[str, Any]
    method: str
    seed: int
    uses_sensitive: bool
    columns: tuple[Released, ...]

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.columns[0].values) if self.columns else 0

    def to_json(self) -> dict[str, Any]:
        """The plan as plain values."""
        return {
            "tclose_plan": FORMAT,
            "policy": self.policy,
            "method": self.method,
            "seed": self.seed,
            "uses_sensitive": self.uses_sensitive,
            "columns": [
                {"column": one.column, "kind": one.kind, "values": list(one.values)}
                for one in self.columns
            ],
        }

    @classmethod
    def from_json(cls, raw: Any) -> Plan:
        """The plan that was written; raises UsageError where it is none."""
        try:
            if raw["tclose_plan"] != FORMAT:
                raise KeyError
            columns = tuple(
                Released(str(one["column"]), str(one["kind"]), _values(one["values"]))
                for one in raw["columns"]
            )
            plan = cls(
                dict(raw["policy"]),
                str(raw["method"]),
                int(raw["seed"]),
                bool(raw["uses_sensitive"]),
                columns,
            )
        except (KeyError, TypeError, ValueError):
            raise UsageError("this is not a plan of tclose", where="plan") from None
        if len({len(one.values) for one in plan.columns}) != 1:
            raise UsageError("its columns have different numbers of classes", where="plan")
        return plan


def _values(raw: Any) -> tuple[str | None, ...]:
    if not isinstance(raw, list) or any(not isinstance(one, str | None) for one in raw):
        raise TypeError
    return tuple(raw)


def make_plan(
    policy: dict[str, Any],
    method: str,
    seed: int,
    uses_sensitive: bool,
    columns: Sequence[Released],
) -> Plan:
    """A plan of released values; classes that are released alike become one."""
    rows = list(dict.fromkeys(zip(*(one.values for one in columns), strict=True)))
    merged = tuple(
        Released(one.column, one.kind, tuple(row[at] for row in rows))
        for at, one in enumerate(columns)
    )
    return Plan(policy, method, seed, uses_sensitive, merged)
