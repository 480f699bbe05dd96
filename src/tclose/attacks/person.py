"""What can be believed about one person: before, from the table, and from the class (B0, B1, B2).

The belief in a value is proportional to the number of rows with it, in the table or in the classes
that match the person, times what was believed before about this person. This is Bayes' rule if all
assignments of a class's rows to its people are equally likely and nothing is known about the others
beforehand (`docs/explanation/attacks.md`). Values that are ruled out have belief 0 throughout.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from tclose.arrays import Flags
from tclose.data.binding import BoundTable, make_hierarchy
from tclose.data.cleaning import apply_cleanings
from tclose.data.encode.columns import MISSING, Dictionary
from tclose.data.encode.coverage import read_boxes
from tclose.data.opening import open_source
from tclose.distance.registry import Attribute
from tclose.errors import TcloseError, UsageError, nearest
from tclose.hierarchy.tree import Hierarchy
from tclose.notebook import Drawable, Tabular
from tclose.plain import classes_text, exact, join_lines, rows_text, share_text

Shares = tuple[Fraction, ...]


@dataclass(frozen=True, repr=False)
class PersonBelief(Tabular, Drawable):
    """Beliefs about one person's sensitive value; the person's identity is not kept."""

    source: str
    attribute: str
    rows: int
    """The number of rows that match the person."""
    classes: tuple[int, ...]
    """The numbers of the classes with these rows."""
    values: tuple[str, ...]
    before: Shares
    """B0: the belief in each value before anything is published."""
    table: Shares
    """B1: the belief once the table's own distribution is known."""
    group: Shares | None
    """B2: the belief by the matching classes; None where no class matches what is known."""

    @property
    def headline(self) -> str:
        """How surely the value can be guessed."""
        return self.sentences[-1]

    @property
    def sentences(self) -> tuple[str, ...]:
        """The beliefs in words, without any value."""
        steps = [("before", self.before), ("from the table", self.table)]
        steps += [("from the class", self.group)] if self.group else []
        guess = ", ".join(f"{share_text(float(max(belief)))} {words}" for words, belief in steps)
        best = f"The best guess at {self.attribute} is right with {guess}."
        if not self.rows:
            return ("Nobody in the release fits this person.", best)
        fits = f"{rows_text(self.rows)} in {classes_text(len(self.classes))} fit this person."
        if self.group is None:
            disagreement = (
                "None of them agrees with what is known: the person is not in the release."
            )
            return (fits, disagreement, best)
        if max(self.group) == 1:
            return (fits, best, f"The {self.attribute} is certain.")
        old, new = max(zip(self.table, self.group, strict=True), key=lambda pair: pair[1] - pair[0])
        rise = f"from {share_text(float(old))} to {share_text(float(new))}"
        return (fits, best, f"Belief in one {self.attribute} rises {rise} by knowing the class.")

    def records(self) -> list[dict[str, Any]]:
        """Returns a record for each value, the strongest belief first."""
        group = self.group or (None,) * len(self.values)
        lines = [
            {
                "value": value,
                "before": float(before),
                "table": float(table),
                "class": None if mine is None else float(mine),
            }
            for value, before, table, mine in zip(
                self.values, self.before, self.table, group, strict=True
            )
        ]
        return sorted(lines, key=lambda line: (-(line["class"] or 0.0), -line["table"]))

    def to_json(self) -> dict[str, Any]:
        """Returns plain values, including those of the attribute."""
        subject = {"source": self.source, "attribute": self.attribute, "rows": self.rows}
        counted = {"classes": [*self.classes], "sentences": [*self.sentences]}
        return {**subject, **counted, "beliefs": self.records()}

    def __str__(self) -> str:
        return join_lines([" ".join(self.sentences)])


def believe_of_person(
    release: BoundTable,
    person: Mapping[str, Any],
    *,
    attribute: str | None = None,
    ruled_out: Sequence[Any] = (),
    prior: Mapping[str, Any] | None = None,
) -> PersonBelief:
    """Computes beliefs about a person of whom some quasi-identifiers are known.

    `prior` gives the belief in some values; the others that are not ruled out share the rest
    equally.
    """
    name = _choose_attribute(release, attribute)
    classes, about = release.classes, release.attributes[name]
    fits = _find_fitting(release, person)
    whole = classes.merge_histogram(name, np.zeros(classes.count, np.int64), 1).dense()[0]
    mine = classes.merge_histogram(name, np.where(fits, 0, -1), 1).dense()[0]
    before = _read_prior(about, len(whole), ruled_out, prior or {})
    table = _weigh(before, whole.tolist())
    if table is None:
        what = "every value in the release is ruled out"
        raise UsageError(what, where=f"column {name!r}", hint="rule out fewer values")
    return PersonBelief(
        release.source.name,
        name,
        int(classes.class_rows[fits].sum()),
        tuple((np.flatnonzero(fits) + 1).tolist()),
        (*about.labels, MISSING)[: len(whole)],
        tuple(before),
        table,
        _weigh(before, mine.tolist()),
    )


def _weigh(before: Sequence[Fraction], rows: Sequence[int]) -> Shares | None:
    """Returns the belief in each value; None if all are 0."""
    weight = [belief * int(count) for belief, count in zip(before, rows, strict=True)]
    total = sum(weight, Fraction(0))
    return tuple(part / total for part in weight) if total else None


def _choose_attribute(release: BoundTable, name: str | None) -> str:
    names = list(release.attributes)
    if not names:
        hint = "declare in the policy which column is sensitive"
        raise UsageError("no column is sensitive, so there is nothing to learn", hint=hint)
    if name is None:
        return names[0]
    if name not in names:
        hint = nearest(name, names) or f"one of {', '.join(names)}"
        raise UsageError("no such sensitive attribute", where="attribute", hint=hint)
    return name


def _find_fitting(release: BoundTable, person: Mapping[str, Any]) -> Flags:
    """Flags the classes whose released values cover what is known of a person."""
    quasi, policy = release.classes.quasi, release.policy
    for name in person:
        if name not in quasi:
            hint = nearest(name, quasi) or f"one of {', '.join(quasi)}"
            raise UsageError(
                "a name is not a quasi-identifier of the release", where="person", hint=hint
            )
    if not person:
        hint = f"such as {quasi[0]}=…"
        raise UsageError("nothing is known of the person", where="person", hint=hint)
    texts = {name: [None if value in (None, "") else value] for name, value in person.items()}
    source = apply_cleanings(open_source(pa.table(texts)), policy)
    rows = source.stream()
    known = pa.Table.from_batches(list(rows.batches()), rows.schema)
    fits = np.ones(release.classes.count, dtype=bool)
    for name in person:
        dictionary, code = Dictionary.encode(known.column(name))
        labels: list[str | None] = [*release.classes.dictionaries[name].labels, None]
        boxes = read_boxes(name, labels, dictionary, _find_tree(release, name, dictionary))
        key = release.classes.key[:, quasi.index(name)]
        fits &= boxes.covers(key, np.full(len(key), boxes.rank[code[0]]))
    return fits


def _find_tree(release: BoundTable, name: str, known: Dictionary) -> Hierarchy | None:
    """Returns the column's hierarchy with the person's value, else with the released values."""
    spec = release.policy.columns[name].hierarchy
    if spec is not None and known.labels:
        with suppress(TcloseError):
            return make_hierarchy(spec, name, known.labels, release.policy.base)
    return release.hierarchies.get(name)


def _read_prior(
    about: Attribute, values: int, ruled_out: Sequence[Any], prior: Mapping[str, Any]
) -> list[Fraction]:
    """Returns the prior belief in every value, from `ruled_out` and what `prior` gives."""
    where = f"column {about.name!r}, prior"
    belief: list[Fraction | None] = [None] * values
    for at, value in enumerate(ruled_out, 1):
        for code in _find_codes(about, str(value), f"ruled-out value {at}"):
            belief[code] = Fraction(0)
    if all(share is not None for share in belief):
        hint = "rule out fewer values"
        raise UsageError("every value is ruled out", where=f"column {about.name!r}", hint=hint)
    for at, (value, stated) in enumerate(prior.items(), 1):
        codes = _find_codes(about, str(value), f"value {at} of the prior")
        try:
            share = exact(stated)
        except (ValueError, TypeError):
            share = Fraction(-1)
        if not 0 <= share <= 1:
            raise UsageError("a belief must lie in [0, 1]", where=where, hint="such as flu=0.3")
        for code in codes:
            if belief[code] is not None:
                what = f"value {at} is given twice, or also ruled out"
                raise UsageError(what, where=where, hint="give its belief once")
            belief[code] = share / len(codes)
    rest = 1 - sum((share for share in belief if share is not None), Fraction(0))
    others = sum(share is None for share in belief)
    if rest < 0 or (rest > 0 and not others):
        what = f"beliefs must add up to 1, and add up to {'more' if rest < 0 else 'less'}"
        raise UsageError(what, where=where, hint="values that are not named share the rest")
    return [rest / others if share is None else share for share in belief]


def _find_codes(about: Attribute, value: str, what: str) -> list[int]:
    """Returns the codes that a name stands for: its own, or all below a group of the hierarchy."""
    if value in about.labels:
        return [about.labels.index(value)]
    tree = about.hierarchy
    if tree is not None and tree.contains(value):
        below = {tree.labels[int(leaf)] for leaf in tree.leaves_below(tree.index(value))}
        if codes := [at for at, label in enumerate(about.labels) if label in below]:
            return codes
    hint = "write it as the release does; `tclose explain` shows its values"
    raise UsageError(f"{what} does not occur", where=f"column {about.name!r}", hint=hint)
