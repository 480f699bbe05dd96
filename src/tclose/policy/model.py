"""The policy as one typed, validated object; what is promised about an attribute stands at it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import (
    BeforeValidator,
    Field,
    JsonValue,
    PrivateAttr,
    field_validator,
    model_validator,
)

from tclose.distance.numbers import MisuseError, Number, Part, must
from tclose.distance.registry import DISTANCES
from tclose.errors import nearest
from tclose.requirements.registry import ColumnRequirements, PolicyRequirements

Role = Literal["identifier", "quasi", "sensitive", "insensitive", "count", "weight", "subject"]
ROLES: tuple[str, ...] = get_args(Role)
COUNTING: tuple[str, ...] = ("count", "weight", "subject")
"""The roles that say what a row counts; a policy has at most one such column."""

SYNONYMS = {
    word: role
    for role, words in {
        "identifier": "direct identifier, direct-identifier, identifying, id",
        "quasi": (
            "quasi-identifier, quasi identifier, quasi-identifying, quasi-id, qi, qid, key, key "
            "variable"
        ),
        "sensitive": "confidential, confidential attribute, sensitive attribute, sa",
        "insensitive": "non-sensitive, nonsensitive, non-confidential",
        "count": "counts, frequency, frequencies, frequency weight, number of rows, rows",
        "weight": "weights, survey weight, sample weight, sampling weight, design weight",
        "subject": (
            "subject id, data subject, person, person id, individual, individual id, patient, "
            "patient id, respondent, respondent id, participant, participant id, unit of "
            "analysis"
        ),
    }.items()
    for word in words.split(", ")
}


def role_of(word: str) -> str:
    """The house's word for a role, whatever the field calls it.

    >>> role_of("Key variable"), role_of("sensitive")
    ('quasi', 'sensitive')
    """
    if not isinstance(word, str):
        raise ValueError(f"a role is a word: {', '.join(ROLES)}")
    plain = word.strip().lower().replace("_", " ")
    if plain.endswith("?"):
        hint = "confirm it by removing the question mark (or all of them with"
        raise MisuseError("the role is only suggested", f"{hint} `tclose policy confirm`)")
    role = SYNONYMS.get(plain, plain)
    if role not in ROLES:
        raise MisuseError("unknown role", nearest(plain, ROLES))
    return role


HIERARCHIES = ("file", "prefix", "intervals", "cuts", "dates", "groups")


class HierarchySpec(Part):
    """Where a column's hierarchy comes from: a file, or a builder with its levels."""

    short_key: ClassVar[str] = "file"

    file: str | None = Field(None, description="CSV, leaf first, root last; relative to the policy")
    prefix: tuple[int, ...] | None = Field(None, description="characters kept at each level")
    intervals: tuple[Number, ...] | None = Field(None, description="interval widths, finest first")
    origin: Number = Field(Fraction(0), description="where intervals start counting")
    cuts: tuple[tuple[Number, ...], ...] | None = Field(None, description="cut points per level")
    dates: tuple[Literal["day", "month", "quarter", "year", "decade"], ...] | None = Field(
        None, description="calendar levels, finest first"
    )
    groups: dict[str, Any] | None = Field(None, description="group = [values] or nested groups")

    @property
    def kind(self) -> str:
        """The one source that is given."""
        return next(kind for kind in HIERARCHIES if getattr(self, kind) is not None)

    @model_validator(mode="after")
    def _refuse_several(self) -> HierarchySpec:
        given = [kind for kind in HIERARCHIES if getattr(self, kind) is not None]
        if len(given) != 1:
            raise ValueError(f"give exactly one of {', '.join(HIERARCHIES)}")
        return self


class Column(ColumnRequirements):
    """One column: its role, what its values mean, and what is promised about it."""

    short_key: ClassVar[str] = "role"

    role: Annotated[Role, BeforeValidator(role_of)]
    hierarchy: HierarchySpec | None = None
    order: tuple[str, ...] | None = Field(None, description="values from lowest to highest")
    domain: Literal["observed", "declared"] = Field(
        "observed", description="count only values that occur, or all of `order` or the hierarchy"
    )
    accept: str | None = Field(
        None, min_length=1, description="why the column may be released though nothing protects it"
    )

    @field_validator("order", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return value
        return [str(item).lower() if isinstance(item, bool) else str(item) for item in value]

    @field_validator("order")
    @classmethod
    def _refuse_repeated(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if value is not None and len(set(value)) < len(value):
            raise ValueError("a value stands twice in the order")
        return value

    @model_validator(mode="after")
    def _refuse_undefined(self) -> Column:
        name = self.distance.name if self.distance else None
        if name == "hierarchical" and self.hierarchy is None:
            hint = 'add hierarchy = "file.csv", or a builder'
            raise MisuseError("the hierarchical distance needs a hierarchy", hint)
        if self.domain == "declared" and self.order is None and self.hierarchy is None:
            raise ValueError("a declared domain needs an order or a hierarchy")
        return self


Amount = Annotated[
    Number, must("a search is limited by a number, 0 or more", lambda amount: amount >= 0)
]


class SearchSettings(Part):
    """How a release is searched for; read by the anonymizing commands."""

    method: str = "auto"
    seconds: Amount | None = Field(None, description="the clock as the limit of the search")
    effort: Amount | None = Field(
        None, description="amount of work: seconds of an ordinary core; equal seeds, equal bytes"
    )
    seed: int = Field(1, ge=0, description="where chance begins")
    suppression: Annotated[
        Number, must("suppression is a share of the rows, in [0, 1]", lambda share: 0 <= share <= 1)
    ] = Fraction(0)
    loss: Literal["iyengar", "precision", "entropy", "discernibility", "class-size"] | None = Field(
        None, description="what a full-domain search makes least; iyengar if not given"
    )
    weights: dict[str, Number] | None = Field(
        None, description="full-domain searches: what a quasi-identifier counts; 1 if not named"
    )
    levels: dict[str, tuple[int, int]] | None = Field(
        None, description="full-domain searches: lowest and highest level of a quasi-identifier"
    )
    megabytes: int = Field(
        256, ge=1, description="full-domain searches: most memory for groupings that are kept"
    )

    @field_validator("weights")
    @classmethod
    def _refuse_negative(cls, value: dict[str, Fraction] | None) -> dict[str, Fraction] | None:
        if value and (min(value.values()) < 0 or not any(value.values())):
            raise ValueError("weights are not negative, and not all 0")
        return value

    @field_validator("levels")
    @classmethod
    def _refuse_reversed(cls, value: dict[str, tuple[int, int]] | None) -> Any:
        if any(not 0 <= least <= most for least, most in (value or {}).values()):
            raise ValueError("levels are given as [lowest, highest], from 0")
        return value


class ReleaseSettings(Part):
    """How a release is written; read by the anonymizing commands."""

    rows: Literal["keep", "shuffle"] = "keep"
    identifiers: Literal["drop", "mask", "pseudonym"] = "drop"
    recoding: Literal["local", "mean", "median", "mode"] = Field(
        "local", description="local: intervals, ancestors, sets; else a class's central value"
    )
    leftover: Literal["drop", "root", "hide", "generalize"] = Field(
        "drop",
        description="rows that a search leaves out: dropped; released with quasi-identifiers at "
        "the root; or released with sensitive values hidden, or generalized",
    )

    @model_validator(mode="after")
    def _refuse_leftover(self) -> ReleaseSettings:
        if self.leftover != "drop" and self.recoding != "local":
            raise ValueError('leftover other than "drop" needs recoding = "local"')
        return self


class Policy(PolicyRequirements):
    """Everything the steward declares about a table.

    >>> policy = Policy.model_validate(
    ...     {"k": 3, "columns": {"age": "quasi", "disease": {"role": "sensitive", "t": 0.2}}})
    >>> policy.quasi, policy.sensitive, policy.columns["disease"].t
    (('age',), ('disease',), Fraction(1, 5))
    """

    columns: dict[str, Column] = Field(description="every column of the table and its role")
    population: str | None = Field(None, description="population table; relative to the policy")
    search: SearchSettings = SearchSettings()
    release: ReleaseSettings = ReleaseSettings()

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
        return bool(self.stated) or any(column.stated for column in self.columns.values())

    @property
    def unprotected(self) -> tuple[str, ...]:
        """The sensitive columns of which nothing is promised, and nobody said that it is meant."""
        joint = {name for joint in self.joint for name in joint.columns}
        return tuple(
            name
            for name in self.sensitive
            if not (self.columns[name].stated or self.columns[name].accept or name in joint)
        )

    @field_validator("columns")
    @classmethod
    def _refuse_no_quasi(cls, value: dict[str, Column]) -> dict[str, Column]:
        if not any(column.role == "quasi" for column in value.values()):
            raise MisuseError(
                "no column is a quasi-identifier; nobody could be looked up",
                'give the columns that others may know the role "quasi"',
            )
        return value

    @model_validator(mode="after")
    def _refuse_two_counts(self) -> Policy:
        found = [(role, name) for role in COUNTING for name in self.with_role(role)]
        if len(found) > 1:
            columns = ", ".join(f"{name!r} ({role})" for role, name in found)
            raise MisuseError(
                f"only one column may say what a row counts, and these do: {columns}",
                'make the others "insensitive" or "identifier"',
            )
        return self

    @model_validator(mode="after")
    def _refuse_unknown_values(self) -> Policy:
        wild = [name for name, column in self.columns.items() if column.missing == "any"]
        sensitive = [name for name in wild if name in self.sensitive]
        if self.subject is not None and sensitive:
            raise MisuseError(
                f"a missing value of {sensitive[0]!r} may not be any value where rows are counted "
                f"by person ({self.subject!r})",
                'say missing = "value" or "forbid" there',
            )
        if "knows_others" in self.adversaries and wild:
            raise ValueError(
                f'readings: "cross" is not defined where a missing value of {wild[0]!r} may be any'
            )
        return self

    @model_validator(mode="after")
    def _refuse_searching_others(self) -> Policy:
        for key in ("weights", "levels"):
            wrong = [name for name in getattr(self.search, key) or {} if name not in self.quasi]
            if wrong:
                raise ValueError(f"search.{key}: {wrong[0]!r} is not a quasi-identifier")
        return self

    @model_validator(mode="after")
    def _refuse_leftover(self) -> Policy:
        for name in self.sensitive if self.release.leftover in ("hide", "generalize") else ():
            column = self.columns[name]
            if self.release.leftover == "hide":
                if column.missing == "forbid":
                    raise ValueError(f'release.leftover: "hide", but {name!r} forbids gaps')
                continue
            judged = column.stated or any(name in joint.columns for joint in self.joint)
            if judged and (column.hierarchy is None or column.order is not None):
                raise ValueError(f'release.leftover: "generalize" needs a hierarchy of {name!r}')
            groups = [kind.name for kind in DISTANCES.values() if kind.knows_groups]
            if column.distance and column.distance.name not in groups:
                raise ValueError(
                    f'release.leftover: "generalize" needs a distance of {name!r} that knows '
                    f"groups: {', '.join(groups)}"
                )
        return self
