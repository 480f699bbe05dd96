"""A column as the policy declares it: role, hierarchy, and limits of generalization."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, WithJsonSchema

from tclose.distance.numbers import Misuse, MisuseError, Number, Part, must
from tclose.errors import nearest
from tclose.hierarchy.builtin import AS_BUILDER, list_builtins
from tclose.plain import exact, number_text
from tclose.policy.cleaning import ColumnCleaning, Digits, write_values
from tclose.requirements.registry import ColumnRequirements

Role = Literal["identifier", "quasi", "sensitive", "insensitive", "count", "weight", "subject"]
ROLES: tuple[str, ...] = get_args(Role)
COUNTING: tuple[str, ...] = ("count", "weight", "subject")
"""The roles that say what a row counts for; a policy has at most one such column."""

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
    """Returns the policy's word for a role, given that word or a synonym.

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


LONGEST_PREFIX = 10_000
HIERARCHIES = ("file", "prefix", "intervals", "cuts", "dates", "groups", "builtin")


Period = Literal["day", "month", "quarter", "year", "5 years", "decade", "20 years"]


def _refuse_unknown_builtin(name: str) -> str:
    if name not in list_builtins():
        raise MisuseError("unknown built-in hierarchy", nearest(name, list_builtins()))
    return name


class HierarchySpec(Part):
    """Where a column's hierarchy comes from: a file, or a builder with its levels."""

    short_key: ClassVar[str] = "file"

    file: str | None = Field(None, description="CSV, leaf first, root last; relative to the policy")
    prefix: tuple[Annotated[int, Field(le=LONGEST_PREFIX)], ...] | None = Field(
        None, description="characters kept at each level"
    )
    intervals: tuple[Number, ...] | None = Field(None, description="interval widths, finest first")
    origin: Number = Field(Fraction(0), description="a number at which an interval starts")
    top: Number | None = Field(
        None, description="with intervals: values from this on form one interval on every level"
    )
    bottom: Number | None = Field(
        None, description="with intervals: values below this form one interval on every level"
    )
    cuts: tuple[tuple[Number, ...], ...] | None = Field(None, description="cut points per level")
    dates: tuple[Period, ...] | None = Field(None, description="calendar levels, finest first")
    groups: dict[str, Any] | None = Field(None, description="group = [values] or nested groups")
    builtin: Annotated[str, AfterValidator(_refuse_unknown_builtin)] | None = Field(
        None, description="a hierarchy of the package; see `tclose hierarchy builtin`"
    )

    @property
    def kind(self) -> str:
        """The key of the source that is given; a built-in one may stand for a builder's."""
        spec = self.resolve()
        return next(kind for kind in HIERARCHIES if getattr(spec, kind) is not None)

    def resolve(self) -> HierarchySpec:
        """Returns the builder that a built-in hierarchy stands for, if it is one; else itself."""
        if self.builtin not in AS_BUILDER:
            return self
        return HierarchySpec.model_validate(AS_BUILDER[str(self.builtin)])

    @property
    def has_open_ends(self) -> bool:
        """Whether the lowest or highest values form one open interval."""
        return not (self.bottom is None and self.top is None)

    @property
    def level_words(self) -> tuple[str, ...] | None:
        """Templates that name each level between value and root, for a column `{}`.

        None if the names are not known.

        >>> HierarchySpec.model_validate({"prefix": [3, 0]}).level_words
        ('3-character {}',)
        """
        spec = self.resolve()
        if spec.prefix is not None:
            return tuple(f"{kept}-character {{}}" for kept in spec.prefix if kept)
        if spec.intervals is not None:
            return tuple(f"{{}} in steps of {number_text(float(step))}" for step in spec.intervals)
        if spec.cuts is not None:
            return tuple(f"{{}} in {len(points) + 1} ranges" for points in spec.cuts)
        if spec.dates is not None:
            return tuple(f"{period} of {{}}" for period in spec.dates)
        return None

    def find_misuses(self) -> Iterator[Misuse]:
        """No source or several, and ends that are no intervals'."""
        if sum(getattr(self, kind) is not None for kind in HIERARCHIES) != 1:
            yield f"give exactly one of {', '.join(HIERARCHIES)}", ""
        if self.has_open_ends and self.intervals is None:
            yield "bottom and top are for intervals only", ""
        if self.bottom is not None and self.top is not None and self.bottom >= self.top:
            yield "`bottom` is not below `top`, so nothing is between", "swap them"


Order = Annotated[
    tuple[str, ...],
    BeforeValidator(write_values),
    must("a value is in the order twice", lambda order: len(set(order)) == len(order)),
]


WIDTH = re.compile(r"([0-9./]+)(?:\s+(day|week|month|year)s?)?")
YEAR = Fraction(1461, 4)
DAYS = {"day": Fraction(1), "week": Fraction(7), "month": YEAR / 12, "year": YEAR}


def read_width(text: str) -> tuple[Fraction, bool]:
    """Parses a width in the column's unit (dates: days), and whether it names a unit of time.

    >>> read_width("10"), read_width("10 years")
    ((Fraction(10, 1), False), (Fraction(7305, 2), True))
    """
    found = WIDTH.fullmatch(text)
    if found is None:
        raise MisuseError("a width is a number", 'such as 10, or of dates "10 years" or "6 months"')
    return exact(found[1]) * DAYS.get(found[2] or "", Fraction(1)), found[2] is not None


def _check_width(width: Any) -> Any:
    if isinstance(width, bool) or not isinstance(width, int | float | str | Decimal):
        return width
    text = " ".join(str(width).split())
    try:
        read_width(text)
    except ValueError:
        read_width("")
    return text


Width = Annotated[
    str,
    BeforeValidator(_check_width),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"type": "string", "pattern": WIDTH.pattern}]}),
]


VALUE_OR_STAR = HierarchySpec(prefix=(0,))
"""A hierarchy with nothing between a value and the root `*`."""


class Declared(Part):
    """A part that users make themselves: problems are told as those of a policy file are."""

    def __init__(self, **keys: Any) -> None:
        try:
            super().__init__(**keys)
        except ValidationError as error:
            from tclose.policy.load import explain_problems

            raise explain_problems(error, type(self)) from None

    # Pydantic's own mark: without it, parts that are read from files would be made here, too.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]


class Column(Declared, ColumnRequirements, ColumnCleaning):
    """A column of the policy: its role, what its values mean, and the requirements on it."""

    short_key: ClassVar[str] = "role"

    role: Annotated[Role, BeforeValidator(role_of)]
    hierarchy: HierarchySpec | None = None
    order: Order | None = Field(None, description="values from lowest to highest")
    domain: Literal["observed", "declared"] = Field(
        "observed", description="count only values that occur, or all of `order` or the hierarchy"
    )
    exact: bool = Field(False, description="quasi-identifiers: never generalized")
    max_width: Width | None = Field(
        None,
        description="quasi-identifiers of numbers or dates: the widest interval, as a number "
        '(dates: days) or with a unit of time, such as "10 years"',
    )
    max_level: int | str | None = Field(
        None,
        description="quasi-identifiers with a hierarchy: the highest level, as a number (0 is the "
        'value itself) or, for dates, by its name, such as "decade"',
    )
    masked: Literal["apart", "spread"] = Field(
        "apart",
        description="sensitive, with t: how a missing value or a group of the hierarchy counts: as "
        "a value of its own, or as the values that it may be, in their shares of the table",
    )
    borders: Annotated[Number, Digits, must("above 0", lambda step: step > 0)] | None = Field(
        None,
        description="quasi-identifiers of numbers without a hierarchy: the ends of intervals are "
        "widened to multiples of this, so that they are nobody's value",
    )
    accept: str | None = Field(
        None,
        min_length=1,
        description="why the column may be released although no requirement protects it",
    )
    label: str | None = Field(
        None, min_length=1, description="what the column is called in reports and pictures"
    )

    @classmethod
    def identifier(cls) -> Column:
        """Declares a column that identifies a person directly; it is never released as it is."""
        return cls._build("identifier", {})

    @classmethod
    def quasi(cls, **keys: Any) -> Column:
        """Declares a column that others may know and that narrows people down.

        The keys are those of a policy: `hierarchy`, `order`, `domain`, `missing`, `exact`,
        `max_width`, `max_level`.

        >>> Column.quasi(hierarchy={"prefix": [3, 1]}).hierarchy.prefix
        (3, 1)
        """
        return cls._build("quasi", keys)

    @classmethod
    def sensitive(cls, **keys: Any) -> Column:
        """Declares a column whose value must not be learned about a person, with its requirements.

        The keys are those of a policy: `t`, `n`, `l`, `alpha`, `p`, `beta`, `delta`, `distance`,
        `hierarchy`, `order`, `missing`, or `accept`, which says why nothing is required.

        >>> Column.sensitive(t="1/5", distance="ordered").t
        Fraction(1, 5)
        """
        return cls._build("sensitive", keys)

    @classmethod
    def insensitive(cls, **keys: Any) -> Column:
        """Declares a column that says nothing about a person; `accept` says why."""
        return cls._build("insensitive", keys)

    @classmethod
    def _build(cls, role: str, keys: dict[str, Any]) -> Column:
        from tclose.policy.load import build_part

        return build_part(cls, {"role": role, **keys})

    def find_misuses(self) -> Iterator[Misuse]:
        """Keys that need another, another role, or no other."""
        yield from super().find_misuses()
        if self.clean is not None and self.role not in ("quasi", "sensitive"):
            what = "only quasi-identifiers and sensitive columns are cleaned"
            yield what, "leave `clean` out, or give the column such a role"
        if self.age_on is not None and (self.decimal or self._has_dates):
            what = "an age is a number" if self._has_dates else "an amount has no age"
            yield what, "use intervals instead of dates, or leave out age_on"
        if self.distance and self.distance.name == "hierarchical" and self.hierarchy is None:
            hint = 'add hierarchy = "file.csv", or a builder'
            yield "the hierarchical distance needs a hierarchy", hint
        if self.domain == "declared" and self.order is None and self.hierarchy is None:
            yield "a declared domain needs an order or a hierarchy", ""
        if self.masked == "spread":
            yield from self._find_misuses_of_masks()
        if self.borders is not None and (self.role != "quasi" or self.hierarchy or self.limits):
            what = "only quasi-identifiers without a hierarchy or a limit have borders to widen"
            yield what, "leave out `borders`, or the hierarchy and limits"
        if self.limits:
            yield from self._find_misuses_of_limits(self.hierarchy)

    def _find_misuses_of_masks(self) -> Iterator[Misuse]:
        others = [kind.key for kind in self.stated if kind.key != "t"]
        if self.role != "sensitive" or self.t is None or others or self.declares_reference:
            what = 'masked = "spread" is about t-closeness to the table, and nothing else'
            yield what, "give the column t, and no other requirement or reference"
        if self.missing == "any":
            both = 'missing = "any" and masked = "spread"'
            yield f"{both} contradict each other about missing values", "leave one of them out"

    @property
    def _has_dates(self) -> bool:
        return self.hierarchy is not None and self.hierarchy.resolve().dates is not None

    @property
    def limits(self) -> tuple[str, ...]:
        """The keys that limit how far the column may be generalized."""
        keys = ("exact", "max_width", "max_level")
        unset = (None, False)
        return tuple(key for key in keys if not any(getattr(self, key) is no for no in unset))

    def _find_misuses_of_limits(self, spec: HierarchySpec | None) -> Iterator[Misuse]:
        if self.role != "quasi":
            yield f"{self.limits[0]} is for quasi-identifiers only", ""
        if len(self.limits) > 1:
            yield f"give only one of {', '.join(self.limits)}", ""
        if self.max_width is not None and spec is not None and spec.intervals is None:
            hint = "use max_level, or leave out the hierarchy"
            yield "only intervals have a width, and the column has a hierarchy", hint
        if self.max_width is not None and spec is not None and spec.has_open_ends:
            hint = "use max_level, or leave out bottom and top"
            yield "what is below `bottom` or from `top` on has no width", hint
        if self.max_level is not None and spec is None:
            yield "a level needs a hierarchy", "add one, or use exact or max_width"
        if isinstance(self.max_level, str):
            periods = (spec.resolve().dates if spec else None) or ()
            if self.max_level not in periods:
                hint = f"one of {', '.join(periods)}" if periods else "give its number, from 0"
                yield "the hierarchy has no level with that name", hint
