"""The classes of a release without its data: can be kept, read, and applied to new rows.

A search cuts codes; a plan tells values. Where a cut runs is told by what both halves show
(release.md, "What the cuts disclose").
"""

from __future__ import annotations

import zlib
from base64 import b64decode, b64encode
from hashlib import sha256
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from tclose.arrays import Ints
from tclose.data.binding import BoundTable, hash_hierarchy, is_fixed
from tclose.data.io.records import JsonObject, Record, SupersetRecord, VersionedRecord
from tclose.errors import UsageError
from tclose.recode.values import LabelWriter, Recoding, Released, number_released
from tclose.search import Cuts, Outcome
from tclose.search.supersets import find_extents
from tclose.utility.loss import ColumnLoss, Quasi, ends

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


class OwnRows(Record):
    """Which class each of the rows has that the plan was made from; it takes these to read it."""

    fingerprint: str = Field(description="a hash by which the rows are known again")
    classes: str = Field(
        description="class numbers (−1: left out) of the distinct rows, in an order that only the "
        "rows tell: 32-bit integers, packed by zlib and written in base 64"
    )
    most: int | None = Field(
        None, ge=1, description="how many rows with equal values have one class at most; all of "
        "them, if not stated",
    )  # fmt: skip

    @classmethod
    def remember(cls, bound: BoundTable, label: Ints) -> OwnRows:
        """Keeps the class of every cell of a table."""
        digest, order = _fingerprint(bound)
        packed = zlib.compress(label[order].astype("<i4").tobytes(), 9)
        return cls(
            fingerprint=_hash(digest, "plan"),
            classes=b64encode(packed).decode("ascii"),
            most=None if bound.further is None else bound.further.most,
        )

    def recall(self, bound: BoundTable) -> Ints | None:
        """The class of every cell, if the rows are those that the plan was made with."""
        digest, order = _fingerprint(bound)
        if self.fingerprint != _hash(digest, "plan"):
            return None
        label = np.full(len(order), -1, dtype=np.int64)
        try:
            kept = np.frombuffer(zlib.decompress(b64decode(self.classes)), "<i4")
        except (ValueError, zlib.error):
            return None
        if len(kept) != len(order):
            return None
        label[order] = kept
        return label


def _hash(digest: bytes, purpose: str) -> str:
    return sha256(digest + purpose.encode()).hexdigest()


def _fingerprint(bound: BoundTable) -> tuple[bytes, Ints]:
    """A hash of the cells of a table, and an order of them that follows from it."""
    cells, names = bound.cells, sorted(bound.cell_columns)
    natural = np.lexsort([cells.codes[name] for name in names])
    known = sha256()
    for name in names:
        known.update("\0".join([name, *cells.dictionaries[name].labels]).encode())
        known.update(cells.codes[name][natural].astype("<i8").tobytes())
    known.update(cells.rows[natural].astype("<i8").tobytes())
    digest = known.digest()
    # The same numbers on every machine and with every version of numpy (splitmix64).
    seed = np.frombuffer(sha256(digest + b"order").digest()[:8], "<u8")
    mixed = seed + np.arange(1, len(natural) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return digest, natural[np.argsort(mixed ^ (mixed >> np.uint64(31)), kind="stable")]


class Provenance(Record):
    """What ties a release to what it was made from; hashes that let values be guessed.

    A hash of few values tells whoever tries all of them, so this stays with the steward, and a
    certificate holds none of it.
    """

    input: str = Field(description="the SHA-256 of the table")
    hierarchies: dict[str, str] = Field(description="of each column's hierarchy")
    files: dict[str, str] = Field(description="of the files that the policy names")
    output: str | None = Field(None, description="of the release, as its certificate says")


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
    own_rows: OwnRows | None = Field(
        None,
        description="the classes of the rows that the plan was made from, where neither cuts nor "
        "levels lead to them",
    )
    supersets: tuple[SupersetRecord, ...] | None = Field(
        None, description="(n, t)-closeness: what each class, counted from 0, is close to"
    )
    hierarchies: dict[str, str] = Field(
        {}, description="hashes of the hierarchies that do not depend on the table's values"
    )
    provenance: Provenance | None = Field(
        None, description="hashes of the table, its hierarchies and files, and of the release"
    )

    def refuse_other_columns(self, bound: BoundTable) -> None:
        """Raises where a table has other quasi-identifiers than this recodes."""
        mine = {released.column for released in self.columns}
        if set(bound.classes.quasi) != mine:
            what = "the quasi-identifiers of the plan are not those of the table"
            raise UsageError(what, where="plan", hint=f"it recodes {', '.join(sorted(mine))}")

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.columns[0].values) if self.columns else 0

    @property
    def most_equal(self) -> int | None:
        """How many rows with equal values have one class at most; None: all of them have it."""
        return None if self.own_rows is None else self.own_rows.most

    @property
    def way(self) -> Way:
        """How new rows find their class: by levels, by cuts, or by what classes cover."""
        if self.levels is not None:
            return "levels"
        return "cuts" if self.cuts else "classes"

    def tie_to(self, output: str | None, before: str | None = None) -> Plan:
        """The plan with the hash of its release in place of `before`; of another one as it is."""
        if self.provenance is None or self.provenance.output != before:
            return self
        made = self.provenance.model_copy(update={"output": output})
        return self.model_copy(update={"provenance": made})

    @property
    def border_labels(self) -> dict[str, list[str]]:
        """The values and labels that borders name, by column."""
        named: dict[str, list[str]] = {}
        for node in self.cuts:
            if isinstance(node, PlanCut):
                labels = (label for label in node.border if label is not None)
                named.setdefault(node.column, []).extend(labels)
        return named

    @model_validator(mode="after")
    def _refuse_unsound(self) -> Plan:
        """Refuses a plan that cannot be followed: it is a file that anyone may have edited."""
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


def build_plan(bound: BoundTable, outcome: Outcome, recoding: Recoding, seed: int) -> Plan:
    """The plan by which a release can be repeated on other rows."""
    columns, numbers = number_released(recoding)
    local = bound.policy.release.covers_values
    cuts: tuple[PlanNode, ...] = ()
    levels: dict[str, int] | None = None
    if local and outcome.levels is not None:
        levels = recoding.quasi.name_levels(outcome.levels)
    elif local and outcome.cuts is not None:
        cuts = _name_borders(outcome.cuts, bound, recoding.quasi, recoding.label, numbers)
    own_rows = None
    if local and not recoding.sensitive and ((recoding.label < 0).any() or not (cuts or levels)):
        own_rows = OwnRows.remember(bound, numbers[recoding.label])
    return Plan(
        policy=bound.policy.to_json(), method=outcome.method, seed=seed,
        uses_sensitive=outcome.uses_sensitive, columns=columns, cuts=cuts, levels=levels,
        own_rows=own_rows, supersets=_describe_supersets(outcome, recoding, numbers),
        hierarchies=_hash_fixed_hierarchies(bound),
    )  # fmt: skip


def _describe_supersets(
    outcome: Outcome, recoding: Recoding, numbers: Ints
) -> tuple[SupersetRecord, ...] | None:
    """The supersets that a search names, in the numbers of the plan's classes."""
    label, kept = recoding.label, recoding.label >= 0
    if outcome.supersets is None or not np.array_equal(kept, outcome.label >= 0):
        return None
    plan_class = np.full(outcome.classes, -1, dtype=np.int64)
    plan_class[outcome.label[kept]] = numbers[label[kept]]
    if not np.array_equal(plan_class[outcome.label[kept]], numbers[label[kept]]):
        return None
    extents = find_extents(recoding.quasi.columns, recoding.quasi.codes, outcome.label)
    return tuple(
        SupersetRecord(
            attribute=attribute,
            spans=_list_numbers(plan_class[extents.choose_spans(members)]),
            classes=_list_numbers(plan_class[named.of_class == at]),
        )
        for attribute, named in outcome.supersets.items()
        for at, members in enumerate(named.members)
        if members is not None
    )


def _list_numbers(numbers: Ints) -> tuple[int, ...]:
    return tuple(np.unique(numbers).tolist())


def _hash_fixed_hierarchies(bound: BoundTable) -> dict[str, str]:
    """Hashes of the quasi-identifiers' hierarchies that do not depend on the table's values."""
    trees, spec_of = sorted(bound.hierarchies.items()), bound.policy.hierarchy_of
    return {name: hash_hierarchy(tree) for name, tree in trees if is_fixed(spec_of(name))}


def find_changed_hierarchies(plan: Plan, bound: BoundTable) -> tuple[str, ...]:
    """The columns whose hierarchy is not the one that a plan was made with."""
    now = _hash_fixed_hierarchies(bound)
    return tuple(name for name, was in plan.hierarchies.items() if now.get(name) != was)


def _name_borders(
    cuts: Cuts, bound: BoundTable, quasi: Quasi, label: Ints, numbers: Ints
) -> tuple[PlanNode, ...]:
    """The cuts of a search in words; class c of the search is class `numbers[c]` of the plan."""
    sides = [
        _Side(column, quasi.codes[:, at], label, bound) for at, column in enumerate(quasi.columns)
    ]
    nodes: list[PlanNode] = []
    below: dict[int, Ints] = {}  # the classes below each node
    for at in reversed(range(len(cuts.column))):  # a node's number is lower than its halves'
        cut, left, right = cuts.column[at], cuts.left[at], cuts.right[at]
        if cut < 0:
            below[at] = np.array([left], dtype=np.int64)
            nodes.append(PlanClass(number=int(numbers[left])))
        else:
            below[at] = np.concatenate([below[left], below[right]])
            border = sides[cut].border(cuts.code[at], below[left], below[right])
            name = quasi.columns[cut].name
            nodes.append(PlanCut(column=name, border=border, left=left, right=right))
    return tuple(reversed(nodes))


class _Side:
    """The released values of the classes in one column."""

    def __init__(self, column: ColumnLoss, codes: Ints, label: Ints, bound: BoundTable) -> None:
        self.column = column
        self.writer = LabelWriter(column, bound.cells.dictionaries[column.name])
        classes = int(label.max()) + 1
        self.low, self.high = ends(codes, label, classes, column.values)
        if column.kind == "set":
            self.occurs = np.zeros((classes, column.values), bool)
            self.occurs[label, codes] = True

    def border(self, code: int, left: Ints, right: Ints) -> tuple[str | None, ...]:
        known = self.writer.known
        if self.column.kind == "set":
            inside = np.flatnonzero(self.occurs[left].any(axis=0))
            return tuple(sorted(self.writer.texts[int(code)] for code in inside if code < known))
        lowest = int(self.low[right].min())
        if self.column.hierarchy is not None:
            return (self._group(code, lowest),)
        if lowest >= known:
            return ()
        hidden = bool(((self.high >= known) & (self.low < known))[right].any())
        return (self.writer.last[code], None if hidden else self.writer.texts[lowest])

    def _group(self, code: int, lowest: int) -> str:
        """The highest node that holds the left half's last value and nothing of the right half."""
        tree = self.column.hierarchy
        assert tree is not None
        way = tree.ancestors[int(self.column.place[code])]
        if lowest < self.writer.known:
            way = way[way != tree.ancestors[int(self.column.place[lowest])]]
        return tree.labels[int(way[-1])]
