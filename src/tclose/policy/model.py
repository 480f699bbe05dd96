"""The policy as one typed, validated object; requirements on an attribute are at its column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, JsonValue, PrivateAttr

from tclose.distance.numbers import Misuse, MisuseError, Number, Part, must
from tclose.distance.registry import DISTANCES
from tclose.notebook import Displayable
from tclose.policy.columns import COUNTING, ROLES, VALUE_OR_STAR, Column, Declared, HierarchySpec
from tclose.requirements.registry import PolicyRequirements

Amount = Annotated[
    Number,
    must("limits and costs of a search must be numbers, 0 or more", lambda amount: amount >= 0),
]
Share = Annotated[
    Number, must("suppression is a share of the rows, in [0, 1]", lambda share: 0 <= share <= 1)
]
Weights = Annotated[
    dict[str, Number],
    must(
        "weights must not be negative, nor all 0",
        lambda weights: not weights or (min(weights.values()) >= 0 and any(weights.values())),
    ),
]
Levels = Annotated[
    dict[str, tuple[int, int]],
    must(
        "levels must be given as [lowest, highest], from 0",
        lambda levels: all(0 <= least <= most for least, most in levels.values()),
    ),
]


class SearchSettings(Part):
    """How to search for a release; used by the commands that anonymize."""

    method: str = "auto"
    seconds: Amount | None = Field(
        None, description="time limit of the search; results then depend on the machine"
    )
    effort: Amount | None = Field(
        None,
        description="amount of work, in seconds of an ordinary core; equal seeds give equal bytes",
    )
    seed: int = Field(1, ge=0, description="seed of all random numbers")
    suppression: Share = Fraction(0)
    polish: bool = Field(
        True,
        description="false: only the steps in the method's paper, nothing that improves on them",
    )
    masking: Literal["none", "generalize", "hide"] = Field(
        "none",
        description="whether a class may be divided further by releasing some sensitive values one "
        "or more levels up, or not at all",
    )
    masking_cost: Amount = Field(
        Fraction(1),
        description="cost of hiding a sensitive value, in rows whose quasi-identifiers are all "
        "hidden; a group costs its share of that",
    )
    masking_share: Share = Field(
        Fraction(1, 20), description="largest share of the rows with a masked sensitive value"
    )
    fallback: bool = Field(
        False,
        description="if no release is proved, search again for closeness to the whole table "
        "instead of (n, t)-closeness, with no row left out; the result says so first",
    )
    loss: Literal["iyengar", "precision", "entropy", "discernibility", "class-size"] | None = Field(
        None, description="loss that a full-domain search minimizes; iyengar if not given"
    )
    weights: Weights | None = Field(
        None, description="weight of each quasi-identifier in the loss; 1 if not named"
    )
    target: Annotated[str, Field(min_length=1)] | None = Field(
        None,
        description="a column that will be learned from the release: a quasi-identifier counts in "
        "the loss by what it says about this column, times its weight",
    )
    levels: Levels | None = Field(
        None, description="full-domain searches: lowest and highest level of a quasi-identifier"
    )
    megabytes: int = Field(
        256, ge=1, description="full-domain searches: largest memory for stored groupings"
    )


class ReleaseSettings(Part):
    """How to write a release; used by the commands that anonymize."""

    rows: Literal["keep", "shuffle"] = Field(
        "shuffle",
        description="order of the rows: shuffle, by the released values alone, which reveals no "
        "more; or keep, as in the table, so that people who know it see whose row is whose",
    )
    identifiers: Literal["drop", "mask", "pseudonym"] = "drop"
    formulas: Literal["keep", "quote"] = Field(
        "keep",
        description="CSV: texts that a spreadsheet program reads as formulas (=, +, -, @ first) "
        "stay as they are, or get an apostrophe before them",
    )
    recoding: Literal["local", "suppress-cells", "mean", "median", "mode"] = Field(
        "local",
        description="local: intervals, ancestors, sets; suppress-cells: * in the single cells in "
        "which a class differs, all others as they are; otherwise a central value of the class",
    )
    leftover: Literal["drop", "root", "hide", "generalize"] = Field(
        "drop",
        description="rows that a search leaves out: dropped; released with all quasi-identifiers "
        "at the root; or released with sensitive values hidden, or generalized",
    )
    add: tuple[Literal["low", "high", "midpoint"], ...] = Field(
        (),
        description="further columns for each quasi-identifier that is released as ranges of "
        "numbers or dates: age_low, age_high, age_midpoint",
    )

    @property
    def covers_values(self) -> bool:
        """Whether the released value of a class covers all of its values."""
        return self.recoding in ("local", "suppress-cells")

    @property
    def suppresses_cells(self) -> bool:
        """Whether every cell is released either as it is or as a star."""
        return self.recoding == "suppress-cells"

    def find_misuses(self) -> Iterator[Misuse]:
        """Rows that come back into classes without ranges."""
        if self.leftover != "drop" and self.recoding != "local":
            yield 'leftover other than "drop" needs recoding = "local"', ""


Words = Annotated[str, Field(min_length=1)]


class ReleaseContext(Part):
    """Who gets a release, for what purpose, under which controls, and who accepted the risk."""

    recipient: Words | None = Field(None, description="who gets the release")
    purpose: Words | None = Field(None, description="what it is for")
    controls: tuple[Words, ...] = Field(
        (), description="further protection: contracts, secure rooms, training"
    )
    threshold: Words | None = Field(None, description="the accepted risk, in words")
    justification: Words | None = Field(None, description="why that risk is acceptable here")
    expert: Words | None = Field(None, description="who determined it, with their qualification")
    review_date: date | None = Field(None, description="when this must be reviewed")

    def find_misuses(self) -> Iterator[Misuse]:
        """A risk that is accepted without a reason."""
        if self.threshold is not None and self.justification is None:
            hint = "state in `justification` why that risk is acceptable here"
            yield "a threshold needs its justification", hint


def _refuse_no_quasi(columns: dict[str, Column]) -> dict[str, Column]:
    if not any(column.role == "quasi" for column in columns.values()):
        what = "no column is a quasi-identifier, so there are no classes"
        raise MisuseError(what, 'give the columns that others may know the role "quasi"')
    return columns


class Policy(Displayable, Declared, PolicyRequirements):
    """Everything the steward declares about a table.

    >>> policy = Policy.model_validate(
    ...     {"k": 3, "columns": {"age": "quasi", "disease": {"role": "sensitive", "t": 0.2}}})
    >>> policy.quasi, policy.sensitive, policy.columns["disease"].t
    (('age',), ('disease',), Fraction(1, 5))
    """

    columns: Annotated[dict[str, Column], AfterValidator(_refuse_no_quasi)] = Field(
        description="every column of the table and its role"
    )
    population: str | None = Field(None, description="population table; relative to the policy")
    population_size: int | None = Field(
        None, ge=1, description="how many people the table was drawn from, for estimates"
    )
    household: str | None = Field(
        None, description="the identifier of households, for estimates of risk"
    )
    context: ReleaseContext | None = Field(
        None, description="for the certificate and the report: recipient, purpose, controls"
    )
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

    @classmethod
    def build(cls, columns: Mapping[str, Column | str | Mapping[str, Any]], **keys: Any) -> Policy:
        """Makes a policy from Python values; raises PolicyError with every problem in it.

        Columns are made by `Column.quasi` and its siblings, or written as in a file; keys are those
        of a file: `k`, `joint`, `k_map`, `presence`, `readings`, `population`, `search`, `release`.

        >>> columns = {"zip": "quasi", "disease": Column.sensitive(t=0.2)}
        >>> print(Policy.build(columns, k=5).to_toml(), end="")
        k = 5
        <BLANKLINE>
        [columns]
        zip = "quasi"
        disease = {role = "sensitive", t = "1/5"}
        """
        from tclose.policy.load import policy_from

        return policy_from({**keys, "columns": columns}, ".")

    def at(self, base: str | Path) -> Policy:
        """Returns the policy with relative paths that start from another folder."""
        moved = self.model_copy()
        moved._base = Path(base)
        return moved

    def to_json(self) -> dict[str, JsonValue]:
        """Returns plain values that read back as the same policy."""
        return self.model_dump(mode="json", exclude_unset=True)

    @property
    def headline(self) -> str:
        """The number of columns by role, and the requirements."""
        roles = [f"{len(self.with_role(role))} {role}" for role in ROLES if self.with_role(role)]
        promised = [] if self.k is None else [f"k = {self.k}"]
        stated = [name for name in self.sensitive if self.columns[name].stated]
        promised += [f"promises of {', '.join(stated)}"] if stated else []
        return "; ".join([", ".join(roles), *promised])

    def to_toml(self) -> str:
        """Returns the text of a policy file that reads back as the same policy."""
        from tclose.policy.load import write_toml

        return write_toml(self.to_json())

    @property
    def identifiers(self) -> tuple[str, ...]:
        """The columns that identify a person directly."""
        return self.with_role("identifier")

    @property
    def wildcards(self) -> tuple[str, ...]:
        """The quasi-identifiers whose missing values may be any value."""
        return tuple(name for name in self.quasi if self.columns[name].missing == "any")

    @property
    def cleaned(self) -> tuple[str, ...]:
        """The columns whose values are cleaned before they are counted."""
        return tuple(name for name, column in self.columns.items() if column.cleaning_keys)

    @property
    def counting(self) -> tuple[str, str] | None:
        """Role and name of the column that says what a row counts for; None if each counts 1."""
        return next(((role, name) for role in COUNTING for name in self.with_role(role)), None)

    @property
    def subject(self) -> str | None:
        """The column that names the person of each row, if there is one."""
        return next(iter(self.with_role("subject")), None)

    def display(self, name: str) -> str:
        """Returns the name of a column for people: its label, if it has one."""
        column = self.columns.get(name)
        return name if column is None or column.label is None else column.label

    def hierarchy_of(self, name: str) -> HierarchySpec | None:
        """Returns the hierarchy of a column; only value and root if single cells are suppressed."""
        column = self.columns[name]
        if self.release.suppresses_cells and column.role == "quasi":
            return VALUE_OR_STAR
        return column.hierarchy

    def name_level(self, name: str, level: int, top: int | None = None) -> str:
        """Names a level of a column's generalization; `top` is the root's level, if known.

        >>> rules = {"columns": {"zip": {"role": "quasi", "hierarchy": {"prefix": [3]}}}}
        >>> [Policy.model_validate(rules).name_level("zip", level) for level in range(3)]
        ['zip exact', '3-character zip', 'zip hidden']
        """
        shown = self.display(name)
        spec = self.hierarchy_of(name) if name in self.columns else None
        words = () if spec is None else spec.level_words
        if level == 0:
            return f"{shown} exact"
        if words is not None and top in (None, len(words) + 1):
            return words[level - 1].format(shown) if level <= len(words) else f"{shown} hidden"
        if level == top:
            return f"{shown} hidden"
        return f"{shown} at level {level}" + ("" if top is None else f" of {top}")

    @property
    def files(self) -> tuple[str, ...]:
        """The files that the policy names, relative to its base."""
        trees = [
            self.columns[name].hierarchy for name in self.columns if name not in self.sensitive
        ]
        named = [self.population, *(tree.file for tree in trees if tree), *self.promise_files]
        return tuple(name for name in named if name is not None)

    @property
    def promise_files(self) -> tuple[str, ...]:
        """The files about sensitive columns; others may list values that the release hides."""
        columns = [self.columns[name] for name in self.sensitive]
        named = [each.hierarchy.file for each in columns if each.hierarchy]
        named += [each.distance.matrix for each in columns if each.distance]
        named += [each.reference.file for each in columns if each.reference]
        return tuple(dict.fromkeys(name for name in named if name is not None))

    @property
    def added_columns(self) -> dict[str, tuple[str, Literal["low", "high", "midpoint"]]]:
        """The additional columns of a release: the column of each, and which end of it."""
        return {f"{name}_{end}": (name, end) for name in self.quasi for end in self.release.add}

    @property
    def promises_something(self) -> bool:
        """Whether there is anything to verify."""
        return bool(self.stated) or any(column.stated for column in self.columns.values())

    @property
    def unprotected(self) -> tuple[str, ...]:
        """The sensitive columns without a requirement and without a reason for that (`accept`)."""
        joint = {name for joint in self.joint for name in joint.columns}
        return tuple(
            name
            for name in self.sensitive
            if not (self.columns[name].stated or self.columns[name].accept or name in joint)
        )

    @property
    def limited(self) -> tuple[str, ...]:
        """The quasi-identifiers with a limit on generalization."""
        return tuple(name for name in self.quasi if self.columns[name].limits)

    def find_misuses(self) -> Iterator[Misuse]:
        """Parts of the policy that do not go together."""
        yield from super().find_misuses()
        seen = [(frozenset(joint.columns), joint.distance) for joint in self.joint]
        for at, joint in enumerate(self.joint):
            if seen.count(seen[at]) > 1:
                columns = ", ".join(joint.columns)
                what = f"joint: two requirements are about {columns}, by the same distance"
                yield what, "keep the one with the smaller t, which implies the other"
        spread = [name for name in self.sensitive if self.columns[name].masked == "spread"]
        yield from self._find_misuses_of_masks(spread)
        if self.household is not None and self.household not in self.identifiers:
            what = f"household: {self.household!r} is not an identifier"
            yield what, 'give the column that names households the role "identifier"'
        for name in self.added_columns:
            if name in self.columns:
                yield f"release.add: there is a column {name!r} already", ""
        shown = [self.display(name) for name in self.columns]
        for label in shown:
            if shown.count(label) > 1:
                yield f"two columns are called {label!r}: give them different labels", ""
        counts = [(role, name) for role in COUNTING for name in self.with_role(role)]
        if len(counts) > 1:
            columns = ", ".join(f"{name!r} ({role})" for role, name in counts)
            what = f"only one column may say what a row counts, and these do: {columns}"
            yield what, 'make the others "insensitive" or "identifier"'
        yield from self._find_misuses_of_gaps()
        yield from self._find_misuses_of_search()
        yield from self._find_misuses_of_release()

    def _find_misuses_of_masks(self, spread: list[str]) -> Iterator[Misuse]:
        joint = {name for each in self.joint for name in each.columns}
        if spread and (self.subject or joint & {*spread} or "knows_others" in self.adversaries):
            what = f'masked = "spread" of {spread[0]!r} counts rows, each attribute by itself'
            yield what, "leave out the subject, joint requirements and cross readings"
        if self.search.masking == "none":
            return
        if not spread:
            what = "search.masking: no column says how masked values count"
            yield what, 'say masked = "spread" at a sensitive column that has t'
        for name in spread if self.search.masking == "generalize" else ():
            if self.columns[name].hierarchy is None:
                what = f"search.masking: {name!r} has no hierarchy to generalize its values by"
                yield what, 'give it one, or use masking = "hide"'
        if self.release.leftover not in ("drop", "root"):
            yield "release.leftover: values are masked by the search already", ""

    def _find_misuses_of_gaps(self) -> Iterator[Misuse]:
        for name, column in self.columns.items():
            if column.missing != "any":
                continue
            if self.subject is not None and name in self.sensitive:
                by = f"where rows are counted by person ({self.subject!r})"
                what = f"a missing value of {name!r} may not be any value {by}"
                yield what, 'say missing = "value" or "forbid" there'
            if "knows_others" in self.adversaries:
                where = f"where missing {name!r} may be any value"
                yield f'readings: "cross" is not defined {where}', ""

    def _find_misuses_of_search(self) -> Iterator[Misuse]:
        for key in ("weights", "levels"):
            for name in getattr(self.search, key) or {}:
                if name not in self.quasi:
                    yield f"search.{key}: {name!r} is not a quasi-identifier", ""
        target = self.search.target
        if target is not None and target not in self.columns:
            yield f"search.target: the policy has no column {target!r}", ""
        role = "" if target is None else self.columns[target].role
        if role not in ("", "sensitive", "insensitive"):
            what = f"search.target: the release does not keep the {role} column {target!r} as it is"
            yield what, "choose a sensitive or an insensitive column as target"

    def _find_misuses_of_release(self) -> Iterator[Misuse]:
        release = self.release
        if release.suppresses_cells and any(each.n for each in self.columns.values()):
            what = "release.recoding: no superset can be named for stars, which may be any value"
            yield what, 'leave out `n`, or use recoding = "local"'
        for name in self.limited if release.suppresses_cells else ():
            if not self.columns[name].exact:
                what = f"release.recoding: a cell of {name!r} is released as it is or not at all"
                yield what, f"use exact, or leave {self.columns[name].limits[0]} out"
        if self.limited and release.leftover == "root":
            beyond = f'"root" generalizes {self.limited[0]!r} further than the policy allows'
            yield f"release.leftover: {beyond}", ""
        for name in self.sensitive if release.leftover in ("hide", "generalize") else ():
            column = self.columns[name]
            if release.leftover == "hide":
                if column.missing == "forbid":
                    yield f'release.leftover: "hide", but {name!r} forbids missing values', ""
                continue
            judged = column.stated or any(name in joint.columns for joint in self.joint)
            if judged and (column.hierarchy is None or column.order is not None):
                yield f'release.leftover: "generalize" needs a hierarchy of {name!r}', ""
            groups = [kind.name for kind in DISTANCES.values() if kind.knows_groups]
            if column.distance and column.distance.name not in groups:
                needed = f"a distance of {name!r} that knows groups: {', '.join(groups)}"
                yield f'release.leftover: "generalize" needs {needed}', ""
