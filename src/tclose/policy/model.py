"""The policy as one typed, validated object; what is promised about an attribute stands at it."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, JsonValue, PrivateAttr, field_validator, model_validator

from tclose.distance.registry import DISTANCES, DistanceSpec
from tclose.policy.column import Column
from tclose.policy.settings import Release, Search
from tclose.policy.values import HierarchySpec
from tclose.policy.words import COUNTING
from tclose.requirements.closeness.joint import Joint
from tclose.requirements.fields import PolicyPart
from tclose.requirements.identity.delta_presence import Presence
from tclose.requirements.registry import PolicyRequirements

__all__ = [
    "DISTANCES",
    "Column",
    "DistanceSpec",
    "HierarchySpec",
    "Joint",
    "Policy",
    "Presence",
    "Release",
    "Search",
]


class Policy(PolicyRequirements):
    """Everything the steward declares about a table.

    >>> policy = Policy.model_validate(
    ...     {"k": 3, "columns": {"age": "quasi", "disease": {"role": "sensitive", "t": 0.2}}})
    >>> policy.quasi, policy.sensitive, policy.columns["disease"].t
    (('age',), ('disease',), Fraction(1, 5))
    """

    columns: dict[str, Column] = Field(description="every column of the table and its role")
    population: str | None = Field(None, description="population table; relative to the policy")
    search: Search = Search()
    release: Release = Release()

    _base: Path = PrivateAttr(default_factory=Path)

    @property
    def base(self) -> Path:
        """The folder that relative paths start from."""
        return self._base

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """Reads a TOML or JSON file; raises PolicyError with every problem in it."""
        from tclose.policy.load import load_policy

        return load_policy(path)

    def at(self, base: str | Path) -> Policy:
        """The same policy with relative paths starting from another folder."""
        moved = self.model_copy()
        moved._base = Path(base)
        return moved

    def to_json(self) -> dict[str, JsonValue]:
        """Plain values that read back as the same policy."""
        return self.model_dump(mode="json", exclude_unset=True)

    @property
    def identifiers(self) -> tuple[str, ...]:
        """The columns that identify a person outright."""
        return self.with_role("identifier")

    @property
    def counting(self) -> tuple[str, str] | None:
        """The column that says what a row counts, as its role and its name; None: a row is one."""
        found = ((role, name) for role in COUNTING for name in self.with_role(role))
        return next(found, None)

    @property
    def subject(self) -> str | None:
        """The column that names the person of each row, if there is one."""
        return next(iter(self.with_role("subject")), None)

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the policy names, relative to its base."""
        named = [self.population]
        for column in self.columns.values():
            named.append(column.hierarchy.file if column.hierarchy else None)
            named.append(column.distance.matrix if column.distance else None)
        return tuple(name for name in named if name is not None)

    @property
    def promises_something(self) -> bool:
        """Whether there is anything to verify."""
        keys = PolicyRequirements.model_fields.keys() - PolicyPart.model_fields.keys()
        return any(getattr(self, key) for key in keys) or any(
            column.states_something for column in self.columns.values()
        )

    @field_validator("columns")
    @classmethod
    def _some(cls, value: dict[str, Column]) -> dict[str, Column]:
        if not any(column.role == "quasi" for column in value.values()):
            raise ValueError("no column is a quasi-identifier; nobody could be looked up")
        return value

    @model_validator(mode="after")
    def _counted_one_way(self) -> Policy:
        found = [(role, name) for role in COUNTING for name in self.with_role(role)]
        if len(found) > 1:
            told = ", ".join(f"{name!r} ({role})" for role, name in found)
            raise ValueError(f"only one column may say what a row counts, and these do: {told}")
        return self

    @model_validator(mode="after")
    def _persons_defined(self) -> Policy:
        wild = [name for name in self.sensitive if self.columns[name].missing == "any"]
        if self.subject is not None and wild:
            raise ValueError(
                f"a missing value of {wild[0]!r} may not be any value where rows are counted by "
                f"person ({self.subject!r})"
            )
        return self

    @model_validator(mode="after")
    def _cross_defined(self) -> Policy:
        wild = [name for name, column in self.columns.items() if column.missing == "any"]
        if "cross" in self.readings and wild:
            raise ValueError(
                f'readings: "cross" is not defined where a missing value of {wild[0]!r} may be any'
            )
        return self

    @model_validator(mode="after")
    def _search_quasi(self) -> Policy:
        for key in ("weights", "levels"):
            wrong = [name for name in getattr(self.search, key) or {} if name not in self.quasi]
            if wrong:
                raise ValueError(f"search.{key}: {wrong[0]!r} is not a quasi-identifier")
        return self

    @model_validator(mode="after")
    def _leftover_possible(self) -> Policy:
        for name in self.sensitive if self.release.leftover in ("hide", "generalize") else ():
            column = self.columns[name]
            if self.release.leftover == "hide":
                if column.missing == "forbid":
                    raise ValueError(f'release.leftover: "hide", but {name!r} forbids gaps')
                continue
            judged = column.states_something
            judged |= any(name in joint.columns for joint in self.joint)
            if judged and (column.hierarchy is None or column.order is not None):
                raise ValueError(f'release.leftover: "generalize" needs a hierarchy of {name!r}')
            groups = [kind.name for kind in DISTANCES.values() if kind.knows_groups]
            if column.distance and column.distance.name not in groups:
                raise ValueError(
                    f'release.leftover: "generalize" needs a distance of {name!r} that knows '
                    f"groups: {', '.join(groups)}"
                )
        return self
