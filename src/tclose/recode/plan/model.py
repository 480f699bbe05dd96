"""The classes of a release without its data: can be kept, read, and applied to new rows."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from tclose.data.io.records import JsonObject, Record, VersionedRecord
from tclose.recode.values import Released

Way = Literal["levels", "cuts", "classes"]


class PlanCut(Record):
    """A cut of a column: rows up to its border go to the cut or class `left`, others to `right`."""

    column: str
    border: tuple[str | None, ...] = Field(
        description="numbers and dates: the ends on both sides; hierarchies: the group on which "
        "the left side ends; other categories: the values on the left side"
    )
    left: int = Field(description="the number of a later cut or class in the list")
    right: int


class PlanClass(Record):
    """Where the cuts lead to: a class, counted from 0."""

    number: int = Field(alias="class")


PlanNode = PlanCut | PlanClass


class Plan(VersionedRecord):
    """What every class is released as, and the policy under which that was decided."""

    kind: ClassVar[str] = "plan"
    format: ClassVar[int] = 2

    tclose_plan: Literal[2] = 2
    policy: JsonObject = Field(description="the policy itself: see `tclose schema policy`")
    method: str
    seed: int
    uses_sensitive: bool = Field(
        description="whether rows with equal quasi-identifiers may be in different classes, "
        "because the sensitive values decided: applying the plan has to choose among them"
    )
    columns: tuple[Released, ...] = Field(
        description="what every class is released as, column by column"
    )
    cuts: tuple[PlanNode, ...] = Field(
        (), description="the cuts that lead to the classes, where cuts do; the first one is first"
    )
    levels: dict[str, int] | None = Field(
        None, description="full-domain recoding: the level of its hierarchy for each column"
    )
    hierarchies: dict[str, str] = Field(
        {}, description="hashes of the hierarchies that do not depend on the table's values"
    )

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

    @model_validator(mode="after")
    def _refuse_unsound(self) -> Plan:
        """Refuses what cannot be followed: a plan is a file that anybody may have edited."""
        names = {released.column for released in self.columns}
        if len({len(released.values) for released in self.columns}) != 1:
            raise ValueError("its columns have different numbers of classes")
        if self.levels is not None and set(self.levels) != names:
            raise ValueError("its levels are not those of its columns")
        for at, node in enumerate(self.cuts):
            if isinstance(node, PlanClass):
                sound = 0 <= node.number < self.classes
            else:
                ends = (node.left, node.right)
                sound = node.column in names and all(at < end < len(self.cuts) for end in ends)
            if not sound:
                raise ValueError(f"its cut {at + 1} leads nowhere")
        return self
