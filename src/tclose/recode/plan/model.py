"""The classes of a release without its data: can be kept, read, and applied to new rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tclose.errors import UsageError
from tclose.recode.plan.cuts import Step
from tclose.recode.values import Released

FORMAT = 2
READABLE = (1, 2)
"""Plans of format 1 tell the classes alone, without cuts and levels."""

Way = Literal["levels", "cuts", "classes"]


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
    cuts: tuple[Step, ...] = ()
    """The cuts that lead to the classes, where cuts do."""
    levels: Mapping[str, int] | None = None
    """Full-domain recoding: the level of its hierarchy that each column is recoded to."""
    hierarchies: Mapping[str, str] = field(default_factory=dict)
    """The hashes of the hierarchies that do not depend on the table's values."""

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.columns[0].values) if self.columns else 0

    @property
    def way(self) -> Way:
        """How new rows find their class: by levels, by cuts, or by what the classes cover."""
        if self.levels is not None:
            return "levels"
        return "cuts" if self.cuts else "classes"

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
            "cuts": [step.to_json() for step in self.cuts],
            "levels": None if self.levels is None else dict(self.levels),
            "hierarchies": dict(self.hierarchies),
        }

    @classmethod
    def from_json(cls, raw: Any) -> Plan:
        """The plan that was written; raises UsageError where it is none."""
        try:
            if raw["tclose_plan"] not in READABLE:
                raise KeyError
            levels = raw.get("levels")
            plan = cls(
                dict(raw["policy"]),
                str(raw["method"]),
                int(raw["seed"]),
                bool(raw["uses_sensitive"]),
                tuple(
                    Released(str(one["column"]), str(one["kind"]), _values(one["values"]))
                    for one in raw["columns"]
                ),
                tuple(Step.from_json(one) for one in raw.get("cuts", ())),
                None if levels is None else {str(k): int(v) for k, v in levels.items()},
                {str(k): str(v) for k, v in raw.get("hierarchies", {}).items()},
            )
        except (AttributeError, KeyError, TypeError, ValueError):
            raise UsageError("this is not a plan of tclose", where="plan") from None
        plan._check()
        return plan

    def _check(self) -> None:
        """Refuses what cannot be followed: a plan is a file that anybody may have edited."""
        names = {one.column for one in self.columns}
        if len({len(one.values) for one in self.columns}) != 1:
            raise UsageError("its columns have different numbers of classes", where="plan")
        if self.levels is not None and set(self.levels) != names:
            raise UsageError("its levels are not those of its columns", where="plan")
        for at, step in enumerate(self.cuts):
            ends = (step.left, step.right)
            if step.column is None:
                sound = 0 <= step.left < self.classes
            else:
                sound = step.column in names and all(at < one < len(self.cuts) for one in ends)
            if not sound:
                raise UsageError(f"its cut {at + 1} leads nowhere", where="plan")


def _values(raw: Any) -> tuple[str | None, ...]:
    if not isinstance(raw, list) or any(not isinstance(one, str | None) for one in raw):
        raise TypeError
    return tuple(raw)


def united(columns: Sequence[Released]) -> tuple[tuple[Released, ...], list[int]]:
    """Released values in which classes released alike are one, and the new number of each class.

    >>> united([Released("q", "set", ("a", "b", "a"))])[1]
    [0, 1, 0]
    """
    rows = list(zip(*(one.values for one in columns), strict=True))
    number = {row: at for at, row in enumerate(dict.fromkeys(rows))}
    merged = tuple(
        Released(one.column, one.kind, tuple(row[at] for row in number))
        for at, one in enumerate(columns)
    )
    return merged, [number[row] for row in rows]
