"""The policy as typed, validated objects; what is promised about an attribute stands at it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PrivateAttr,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from tclose.distance.numbers import exact
from tclose.errors import nearest
from tclose.policy.words import Role, role_of

TREES = ("equal", "ordered", "numeric", "hierarchical")
DIVERGENCES = ("kl", "js", "smoothed-js")
DISTANCES = (*TREES, "matrix", *DIVERGENCES)
GENERALIZABLE = ("equal", "hierarchical", "kl", "js")
"""The distances in which a group of the hierarchy has a place beside its values."""

Number = Annotated[
    Fraction,
    BeforeValidator(exact),
    PlainSerializer(str, return_type=str),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number"},
                {"type": "string", "pattern": r"^\s*-?[0-9.]+(\s*/\s*[0-9.]+)?\s*$"},
            ],
            "description": "a number, read exactly as written, or a fraction such as '1/8'",
        }
    ),
]


class Part(BaseModel):
    """The base of every part of a policy: immutable, and no unknown key passes."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class HierarchySpec(Part):
    """Where a column's hierarchy comes from: a file, or a builder with its levels."""

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

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"file": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one(self) -> HierarchySpec:
        given = [kind for kind in HIERARCHIES if getattr(self, kind) is not None]
        if len(given) != 1:
            raise ValueError(f"give exactly one of {', '.join(HIERARCHIES)}")
        return self


HIERARCHIES = ("file", "prefix", "intervals", "cuts", "dates", "groups")


class DistanceSpec(Part):
    """How far apart two values of a sensitive attribute count."""

    name: str
    matrix: str | None = Field(None, description="CSV of distances; relative to the policy")
    over: Literal["equal", "ordered", "numeric", "hierarchical"] | None = Field(
        None, description="smoothed-js: the ground distance to smooth over"
    )
    bandwidth: Number = Field(Fraction(1, 2), description="smoothed-js: reach of the smoothing")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"name": value}
        if isinstance(value, dict) and "name" not in value and len(value) == 1:
            ((name, detail),) = value.items()
            if name == "matrix":
                return {"name": "matrix", "matrix": detail}
            if name == "smoothed-js" and isinstance(detail, dict) and "name" not in detail:
                return {"name": "smoothed-js", **detail}
        return value

    @model_validator(mode="after")
    def _known(self) -> DistanceSpec:
        if self.name not in DISTANCES:
            raise ValueError(f"unknown distance; {nearest(self.name, DISTANCES)}")
        if (self.name == "matrix") != (self.matrix is not None):
            raise ValueError('a matrix is given as distance = { matrix = "file.csv" }')
        if self.name != "smoothed-js" and self.model_fields_set & {"over", "bandwidth"}:
            raise ValueError("only smoothed-js takes `over` and `bandwidth`")
        if self.bandwidth <= 0:
            raise ValueError("the bandwidth must be positive")
        return self


class Recursive(Part):
    """Recursive (c, l)-diversity: the commonest value under c times the l-th and rarer ones."""

    c: Number
    l: int = Field(ge=1)

    @field_validator("c")
    @classmethod
    def _positive(cls, value: Fraction) -> Fraction:
        if value <= 0:
            raise ValueError("c must be positive")
        return value


class Diversity(Part):
    """The kinds of l-diversity that may be promised together."""

    distinct: int | None = Field(None, ge=1)
    entropy: Number | None = None
    recursive: Recursive | None = None
    probabilistic: Number | None = None

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        plain = isinstance(value, int) and not isinstance(value, bool)
        return {"distinct": value} if plain else value

    @model_validator(mode="after")
    def _some(self) -> Diversity:
        if not self.model_fields_set:
            raise ValueError("name a kind: distinct, entropy, recursive or probabilistic")
        return self

    @field_validator("entropy", "probabilistic")
    @classmethod
    def _at_least_one(cls, value: Fraction | None) -> Fraction | None:
        if value is not None and value < 1:
            raise ValueError("l must be at least 1")
        return value


class Alpha(Part):
    """(α, k)-anonymity: no value (or none of the named ones) above a share α of its class."""

    max: Number
    values: tuple[str, ...] | None = Field(None, description="protected values; all if not given")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return value if isinstance(value, dict) else {"max": value}

    @field_validator("max")
    @classmethod
    def _share(cls, value: Fraction) -> Fraction:
        if not 0 < value <= 1:
            raise ValueError("a share must lie in (0, 1]")
        return value


class Beta(Part):
    """β-likeness: belief in a value may grow by a factor of at most 1 + β."""

    basic: Number | None = None
    enhanced: Number | None = None

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return value if isinstance(value, dict) else {"basic": value}

    @model_validator(mode="after")
    def _some(self) -> Beta:
        if not self.model_fields_set:
            raise ValueError("name a kind: basic or enhanced")
        return self

    @field_validator("basic", "enhanced")
    @classmethod
    def _positive(cls, value: Fraction | None) -> Fraction | None:
        if value is not None and value <= 0:
            raise ValueError("β must be positive")
        return value


class Delta(Part):
    """δ-disclosure: |log(p/q)| < δ for every value of the table."""

    max: Number
    base: Literal["2", "e"] = "e"
    absent: Literal["violate", "ignore"] = "violate"

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return value if isinstance(value, dict) else {"max": value}

    @field_validator("max")
    @classmethod
    def _positive(cls, value: Fraction) -> Fraction:
        if value <= 0:
            raise ValueError("δ must be positive")
        return value


PROMISES = ("t", "l", "alpha", "p", "beta", "delta")


class Column(Part):
    """One column: its role, what its values mean, and what is promised about it."""

    role: Annotated[Role, BeforeValidator(role_of)]
    hierarchy: HierarchySpec | None = None
    missing: Literal["value", "forbid", "any"] = "value"
    distance: DistanceSpec | None = None
    order: tuple[str, ...] | None = Field(None, description="values from lowest to highest")
    domain: Literal["observed", "declared"] = Field(
        "observed", description="count only values that occur, or all of `order` or the hierarchy"
    )
    t: Number | None = Field(None, description="t-closeness: largest distance from the table")
    n: int | None = Field(None, ge=1, description="with t: (n, t)-closeness")
    l: Diversity | None = None
    alpha: Alpha | None = None
    p: int | None = Field(None, ge=1, description="p-sensitive k-anonymity")
    beta: Beta | None = None
    delta: Delta | None = None

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"role": value} if isinstance(value, str) else value

    @field_validator("order", mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return value
        return [str(item).lower() if isinstance(item, bool) else str(item) for item in value]

    @field_validator("order")
    @classmethod
    def _distinct(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if value is not None and len(set(value)) < len(value):
            raise ValueError("a value stands twice in the order")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Column:
        promised = [key for key in (*PROMISES, "n", "distance") if getattr(self, key) is not None]
        if promised and self.role != "sensitive":
            raise ValueError(f"{', '.join(promised)}: only a sensitive column takes a promise")
        if self.n is not None and self.t is None:
            raise ValueError("n needs t: (n, t)-closeness is t-closeness to a group of n rows")
        name = self.distance.name if self.distance else None
        if name == "hierarchical" and self.hierarchy is None:
            raise ValueError("the hierarchical distance needs a hierarchy")
        if self.t is not None and (self.t < 0 or (self.t > 1 and name != "kl")):
            raise ValueError("t must lie in [0, 1]")
        if self.missing == "any" and self.delta is not None and self.delta.absent == "ignore":
            raise ValueError('delta with absent = "ignore" is not defined where missing = "any"')
        if self.domain == "declared" and self.order is None and self.hierarchy is None:
            raise ValueError("a declared domain needs an order or a hierarchy")
        return self


class Joint(Part):
    """Closeness of several sensitive attributes taken together."""

    columns: tuple[str, ...] = Field(min_length=2)
    t: Number
    distance: Literal["equal", "mean", "max"] = Field(
        "equal", description="equal: any difference counts 1; else the columns' distances combined"
    )

    @field_validator("t")
    @classmethod
    def _in_range(cls, value: Fraction) -> Fraction:
        if not 0 <= value <= 1:
            raise ValueError("t must lie in [0, 1]")
        return value

    @field_validator("columns")
    @classmethod
    def _distinct(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(value)) < len(value):
            raise ValueError("a column stands twice")
        return value


class Presence(Part):
    """δ-presence: how sure anyone may be that a person of the population is in the table."""

    min: Number = Fraction(0)
    max: Number = Fraction(1)

    @model_validator(mode="after")
    def _ordered(self) -> Presence:
        if not 0 <= self.min <= self.max <= 1:
            raise ValueError("needs 0 ≤ min ≤ max ≤ 1")
        return self


class Search(Part):
    """How a release is searched for; read by the anonymizing commands."""

    method: str = "auto"
    seconds: Number | None = Field(None, description="the clock as the limit of the search")
    effort: Number | None = Field(
        None, description="amount of work: seconds of an ordinary core; equal seeds, equal bytes"
    )
    seed: int = Field(1, ge=0, description="where chance begins")
    suppression: Number = Fraction(0)
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

    @field_validator("seconds", "effort")
    @classmethod
    def _amount(cls, value: Fraction | None) -> Fraction | None:
        if value is not None and value < 0:
            raise ValueError("a search is limited by a number, 0 or more")
        return value

    @field_validator("weights")
    @classmethod
    def _not_negative(cls, value: dict[str, Fraction] | None) -> dict[str, Fraction] | None:
        if value and (min(value.values()) < 0 or not any(value.values())):
            raise ValueError("weights are not negative, and not all 0")
        return value

    @field_validator("levels")
    @classmethod
    def _ordered(cls, value: dict[str, tuple[int, int]] | None) -> Any:
        if any(not 0 <= least <= most for least, most in (value or {}).values()):
            raise ValueError("levels are given as [lowest, highest], from 0")
        return value

    @field_validator("suppression")
    @classmethod
    def _share(cls, value: Fraction) -> Fraction:
        if not 0 <= value <= 1:
            raise ValueError("suppression is a share of the rows, in [0, 1]")
        return value


class Release(Part):
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
    def _leftover_local(self) -> Release:
        if self.leftover != "drop" and self.recoding != "local":
            raise ValueError('leftover other than "drop" needs recoding = "local"')
        return self


class Policy(Part):
    """Everything the steward declares about a table.

    >>> policy = Policy.model_validate(
    ...     {"k": 3, "columns": {"age": "quasi", "disease": {"role": "sensitive", "t": 0.2}}})
    >>> policy.quasi, policy.sensitive, policy.columns["disease"].t
    (('age',), ('disease',), Fraction(1, 5))
    """

    k: int | None = Field(None, ge=1, description="k-anonymity: least size of a class")
    columns: dict[str, Column] = Field(description="every column of the table and its role")
    readings: tuple[Literal["separate", "cross"], ...] = Field(
        ("separate",),
        min_length=1,
        description="cross: the other sensitive attributes are known to the attacker",
    )
    joint: tuple[Joint, ...] = ()
    k_map: int | None = Field(None, ge=1, description="k-map: least matches in the population")
    presence: Presence | None = None
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

    def with_role(self, role: str) -> tuple[str, ...]:
        """The columns of one role, in the policy's order."""
        return tuple(name for name, column in self.columns.items() if column.role == role)

    @property
    def quasi(self) -> tuple[str, ...]:
        """The quasi-identifiers."""
        return self.with_role("quasi")

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive attributes."""
        return self.with_role("sensitive")

    @property
    def identifiers(self) -> tuple[str, ...]:
        """The columns that identify a person outright."""
        return self.with_role("identifier")

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
        stated = (self.k, self.k_map, self.presence, *self.joint)
        return any(promise is not None for promise in stated) or any(
            getattr(column, key) is not None for column in self.columns.values() for key in PROMISES
        )

    @field_validator("columns")
    @classmethod
    def _some(cls, value: dict[str, Column]) -> dict[str, Column]:
        if not any(column.role == "quasi" for column in value.values()):
            raise ValueError("no column is a quasi-identifier; nobody could be looked up")
        return value

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
            judged = any(getattr(column, key) is not None for key in PROMISES)
            judged |= any(name in joint.columns for joint in self.joint)
            if judged and (column.hierarchy is None or column.order is not None):
                raise ValueError(f'release.leftover: "generalize" needs a hierarchy of {name!r}')
            if column.distance and column.distance.name not in GENERALIZABLE:
                raise ValueError(
                    f'release.leftover: "generalize" needs a distance of {name!r} that knows '
                    f"groups: {', '.join(GENERALIZABLE)}"
                )
        return self

    @model_validator(mode="after")
    def _joint_sensitive(self) -> Policy:
        for joint in self.joint:
            wrong = [name for name in joint.columns if name not in self.sensitive]
            if wrong:
                raise ValueError(f"joint: {wrong[0]!r} is not a sensitive column of this policy")
        return self
