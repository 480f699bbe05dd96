"""A commented first policy, suggested from the columns of a table.

Every role is only suggested: it is written with a question mark, and a policy with question marks
does not run until the steward has removed them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

IDENTIFIER = re.compile(
    r"(^|_)(id|name|surname|firstname|lastname|ssn|nin|nhs|email|e_mail|mail|phone|mobile|address"
    r"|street|passport|licen[cs]e|iban|account|mrn|patient_no|record_no|url|ip)(_|$)"
)
SENSITIVE = re.compile(
    r"(diagnos|disease|illness|condition|icd|drug|medic|hiv|salary|income|wage|earning|cost|bill"
    r"|charge|debt|religio|politic|orientation|crime|convict|offen[cs]e|test_result|result|score"
    r"|grade|stay|outcome)"
)
QUASI = re.compile(
    r"(age|birth|dob|sex|gender|zip|post|city|town|county|region|state|country|nation|race|ethnic"
    r"|marital|education|occupation|job|profession|employ|workclass|relation|language|height|weight"
    r"|admission|discharge|visit|date|year)"
)


@dataclass(frozen=True)
class Profile:
    """What is known of a column: its kind and its counts."""

    name: str
    kind: str
    rows: int
    distinct: int
    missing: int

    @property
    def facts(self) -> str:
        """The counts as a comment."""
        gap = f", {self.missing / self.rows:.1%} missing" if self.missing else ""
        return f"{self.kind}, {self.distinct:,} distinct{gap}"


def suggest(profile: Profile) -> tuple[str, str]:
    """A role and the reason for it.

    >>> suggest(Profile("patient_name", "text", 100, 99, 0))
    ('identifier', 'its name says that it identifies a person')
    """
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", profile.name)
    word = re.sub(r"[^a-z0-9]+", "_", parted.lower())
    share = profile.distinct / max(profile.rows - profile.missing, 1)
    if profile.kind == "nested":
        return "insensitive", "lists or structures cannot be grouped; make sure they tell nothing"
    if IDENTIFIER.search(word):
        return "identifier", "its name says that it identifies a person"
    if SENSITIVE.search(word):
        return "sensitive", "its name speaks of something people keep to themselves"
    if QUASI.search(word):
        return "quasi", "others may know it, and it narrows people down"
    if share > 0.95 and profile.rows > 20 and profile.kind in ("text", "code"):
        return "identifier", "nearly every row has a value of its own"
    if profile.distinct <= 1:
        return "insensitive", "it is the same in every row"
    return "quasi", "nothing is known about it; the cautious guess"


def draft(source: str, profiles: Sequence[Profile]) -> str:
    """The text of a policy for a table, to be read, corrected and confirmed.

    >>> print(draft("t.csv", [Profile("zip", "code", 9, 4, 0)]))  # doctest: +ELLIPSIS
    # A first policy for t.csv, drafted from its columns. Nothing is decided yet:
    ...
    """
    head = [
        f"# A first policy for {source}, drafted from its columns. Nothing is decided yet:",
        "# every role below is a suggestion that ends in a question mark. Read each, correct it,",
        "# and remove the mark (or confirm all that are left with `tclose policy confirm`).",
        "# A policy with question marks does not run.",
        "#",
        "# identifier   names a person outright; never released",
        "# quasi        could be known to others and narrows people down",
        "# sensitive    what must not be learned about a person",
        "# insensitive  neither",
        "# count, weight, subject: where a row is not just one row of one person, a column may say",
        "# for how many it stands, what it weighs, or whose it is",
        "",
        "k = 5                          # least number of rows that look alike",
        "",
        "[columns]",
    ]
    plain, tables = [], []
    for profile in profiles:
        role, reason = suggest(profile)
        if role in ("identifier", "insensitive"):
            plain.append(f'{_key(profile.name)} = "{role}?"  # {profile.facts}: {reason}')
        else:
            tables += ["", *_table(profile, role, reason)]
    return "\n".join([*head, *plain, *tables, ""])


def _table(profile: Profile, role: str, reason: str) -> list[str]:
    lines = [f"[columns.{_key(profile.name)}]  # {profile.facts}", f'role = "{role}?"  # {reason}']
    if role == "quasi":
        return lines + _hierarchy_hint(profile)
    distance, others = "equal", "ordered (needs order = [lowest, …, highest])"
    if profile.kind in ("number", "date"):
        distance, others = "ordered", "numeric, equal"
    return [
        *lines,
        f'distance = "{distance}"  # or {others}, hierarchical (needs a hierarchy)',
        "# t = 0.2  # largest distance from the whole table; yours to choose, no rule gives it",
    ]


def _hierarchy_hint(profile: Profile) -> list[str]:
    """A builder that would suit the column, as a comment."""
    if profile.kind == "date":
        return ['# hierarchy = { dates = ["month", "year", "decade"] }']
    if profile.kind == "code":
        return ["# hierarchy = { prefix = [3, 2, 0] }  # characters kept at each level"]
    if profile.kind == "number" and profile.distinct > 10:
        return ["# hierarchy = { intervals = [5, 10, 20] }  # widths, finest first"]
    return []


def _key(name: str) -> str:
    """A column name as TOML writes a key."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
