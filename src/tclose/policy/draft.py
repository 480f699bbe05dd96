"""Writes a commented first policy, suggested from the columns of a table.

Every role is a suggestion with its reason, written with a question mark; a policy with question
marks does not run until the steward has removed them. Where the table does not say enough there is
a `Question`, which `tclose init` asks on a terminal; elsewhere it is a comment at its column.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tclose.errors import PolicyError, UsageError
from tclose.plain import Written, escape_controls, exact
from tclose.policy.columns import ROLES
from tclose.policy.load import parse_policy, parse_toml, write_key, write_value
from tclose.policy.model import Policy
from tclose.policy.suggest import (
    CROWDED,
    FEW,
    MANY,
    MONEY,
    SUBJECT,
    SURVEY_WEIGHT,
    Profile,
    choose_widths,
    suggest,
    suggest_hierarchy,
)

SUGGESTED = re.compile(rf"""(["'])({"|".join(ROLES)})\?\1""")
DRAFTED_T = re.compile(r"^# t = [0-9.]+", flags=re.MULTILINE)


@dataclass(frozen=True)
class Question:
    """A question that the values of a column do not settle, and the possible answers."""

    column: str
    topic: str
    """One of role, dates, unreadable, decimal, nulls."""
    text: str
    answers: tuple[str, ...]


Answers = Mapping[tuple[str, str], str]
"""The answers by column and topic."""


def list_questions(profiles: Sequence[Profile]) -> list[Question]:
    """Lists the questions about the columns, in their order.

    >>> dates = Profile("seen", "date", 9, 9, 0, date_formats=(("%m/%d/%Y",), ("%d/%m/%Y",)))
    >>> [(question.topic, question.answers) for question in list_questions([dates])]
    [('dates', ('month', 'day'))]
    """
    questions = []
    for profile in profiles:
        suggestion = suggest(profile)
        if suggestion.doubt:
            text = f"{suggestion.reason} (suggested: {suggestion.role}); {suggestion.doubt}"
            roles: tuple[str, ...] = ("identifier", "quasi", "sensitive", "insensitive")
            if SUBJECT in suggestion.doubt:
                roles = (*roles, "subject")
            if suggestion.role == "weight" or SURVEY_WEIGHT in suggestion.doubt:
                roles = (*roles, "weight")
            questions.append(Question(profile.name, "role", text, roles))
        if suggestion.role not in ("quasi", "sensitive") and not suggestion.doubt:
            continue
        if len(profile.date_formats) > 1:
            text = "its dates do not show whether the month or the day comes first"
            questions.append(Question(profile.name, "dates", text, ("month", "day")))
        if profile.unread:
            text = f"{describe_unread(profile)}: do they count as missing?"
            questions.append(Question(profile.name, "unreadable", text, YES_NO))
        if len(profile.decimals) > 1:
            text = "its amounts do not show which mark separates decimals: which one?"
            questions.append(Question(profile.name, "decimal", text, tuple(DECIMAL_WORDS)))
        if profile.nulls:
            marks = ", ".join(map(repr, profile.nulls))
            do = "does" if len(profile.nulls) == 1 else "do"
            questions.append(Question(profile.name, "nulls", f"{do} {marks} mean missing?", YES_NO))
    return questions


YES_NO = ("yes", "no")
DECIMAL_WORDS = {"comma": ",", "point": "."}


def draft(source: str, profiles: Sequence[Profile], answers: Answers | None = None) -> str:
    """Writes a policy for a table, to be read, corrected and confirmed.

    >>> print(draft("t.csv", [Profile("zip", "code", 9, 4, 0)]))  # doctest: +ELLIPSIS
    # Draft of a policy for t.csv, made from its columns. Nothing is decided yet:
    ...
    """
    given = answers or {}
    name = escape_controls(source, lines=False)
    head = [
        f"# Draft of a policy for {name}, made from its columns. Nothing is decided yet:",
        "# every role is a suggestion that ends in a question mark. Check and correct each role",
        "# and remove the mark, or confirm all remaining ones with `tclose policy confirm`.",
        "# A policy with question marks cannot be used.",
        "#",
        "# identifier   identifies a person directly; not released",
        "# quasi        could be known to others and helps to identify a person",
        "# sensitive    what must not be learned about a person",
        "# insensitive  neither",
        "# count, weight, subject: how many rows a row represents, its survey weight, or which",
        "# person it belongs to",
        "#",
        "# Hierarchies of quasi columns are suggested as comments. Without one each class is",
        "# released as its own interval or set, which loses less. Full-domain methods and (n, t)-",
        "# closeness need hierarchies; they also give round intervals.",
        "",
        "k = 5                          # smallest number of rows that look alike",
        "",
        "[columns]",
    ]
    plain, tables, quasi = [], [], 0
    for profile in profiles:
        suggestion = suggest(profile)
        role, mark = suggestion.role, "?"
        reason = suggestion.reason
        if (profile.name, "role") in given:
            role, mark, reason = given[profile.name, "role"], "", "your answer"
        elif suggestion.doubt:
            reason = f"{reason}. DOUBTFUL: {suggestion.doubt}"
        quasi += role == "quasi"
        if role == "weight" and profile.decimals:
            tables += ["", *_head(profile, f"{role}{mark}", reason)]
            tables += _decimal_line(profile, given.get((profile.name, "decimal"), ""))
        elif role not in ("quasi", "sensitive"):
            plain.append(f'{write_key(profile.name)} = "{role}{mark}"  # {profile.facts}: {reason}')
        else:
            lines = _table(profile, f"{role}{mark}", reason, given)
            tables += ["", *lines]
    if quasi > CROWDED:
        head[-4:-4] = [
            "#",
            f"# {quasi} columns are suggested as quasi, and the more there are, the wider is every",
            "# released value: make those that the recipients do not need identifiers.",
        ]
    return "\n".join([*head, *plain, *tables, ""])


def _head(profile: Profile, role: str, reason: str) -> list[str]:
    return [
        f"[columns.{write_key(profile.name)}]  # {profile.facts}",
        f'role = "{role}"  # {reason}',
    ]


def _table(profile: Profile, role: str, reason: str, answers: Answers) -> list[str]:
    lines = [
        *_head(profile, role, reason),
        *_nulls_line(profile, answers.get((profile.name, "nulls"), "")),
        *_dates_line(profile, answers.get((profile.name, "dates"), "")),
        *_unread_line(profile, answers),
        *_decimal_line(profile, answers.get((profile.name, "decimal"), "")),
    ]
    if profile.no_numbers:
        lines += [
            f"# DOUBTFUL: {describe_no_numbers(profile)}: correct these, or add their texts",
            '# to nulls = ["…"]; the column is a text until then, and has no intervals',
        ]
    if profile.folded:
        case = ', case = "lower"' if profile.folds_case else ""
        spellings = f"{profile.distinct:,} spellings become {profile.folded:,}"
        lines.append(f"# clean = {{ trim = true{case} }}  # {spellings}")
    if role.startswith("quasi"):
        return lines + suggest_hierarchy(profile)
    distance, others = "equal", "ordered (needs order = [lowest, …, highest])"
    has_order = profile.kind in ("number", "date") and {*dict(profile.looks)} <= {MONEY}
    has_order &= profile.is_finite
    if has_order and not _is_undecided(profile, answers):
        distance, others = "ordered", "numeric, equal"
    if "ICD-10 codes" in dict(profile.looks):
        lines.append('# hierarchy = { builtin = "icd10" }  # for distance = "hierarchical"')
    if (
        distance == "equal"
        and profile.distinct > MANY
        and profile.distinct > FEW * profile.rows / 5
    ):
        lines.append(
            "# with so many unordered values only very large classes are close: group them"
            " (hierarchy),"
        )
        lines.append("# shorten them first, or leave the column out (identifier)")
    if profile.kind == "number" and profile.is_nearly_unique:
        unit = choose_widths(profile)[0]
        lines.append(f"# clean = {{ round = {unit} }}  # almost every value is unique")
    return [
        *lines,
        f'distance = "{distance}"  # or {others}, hierarchical (needs a hierarchy)',
        "# t = 0.2  # largest distance from the whole table; choose it yourself",
    ]


def _nulls_line(profile: Profile, answer: str) -> list[str]:
    """Returns the line with the marks of missing values."""
    if not profile.nulls or answer == "no":
        return []
    why = "your answer" if answer else "DOUBTFUL: do these mean missing? remove the line if not"
    return [f"nulls = {write_value(profile.nulls)}  # {why}"]


def _is_undecided(profile: Profile, answers: Answers) -> bool:
    topic = "decimal" if len(profile.decimals) > 1 else "dates"
    ways = max(len(profile.date_formats), len(profile.decimals))
    return ways > 1 and (profile.name, topic) not in answers


def _decimal_line(profile: Profile, answer: str) -> list[str]:
    """Returns the lines about the decimal mark of amounts that are not plain numbers."""
    if len(profile.decimals) == 1:
        return [f'decimal = "{profile.decimals[0]}"  # its amounts are read as numbers']
    if not profile.decimals:
        return []
    if answer:
        return [f'decimal = "{DECIMAL_WORDS[answer]}"  # your answer']
    return [
        "# DOUBTFUL: its amounts do not show which mark separates decimals; choose one:",
        *(f'# decimal = "{mark}"' for mark in profile.decimals),
    ]


def _dates_line(profile: Profile, answer: str) -> list[str]:
    """Returns the lines about the format of dates, unless it is ISO."""
    formats = [
        json.dumps(order[0] if len(order) == 1 else list(order)) for order in profile.date_formats
    ]
    if not formats:
        return []
    if len(formats) == 1:
        why = "no other order of day and month fits" if not profile.unread else "fits most values"
        return [f"date_format = {formats[0]}  # {why}"]
    if answer:
        return [f"date_format = {formats[answer == 'day']}  # the {answer} first, your answer"]
    return [
        "# DOUBTFUL: its dates do not show whether month or day comes first; choose one:",
        *(f"# date_format = {form}" for form in formats),
    ]


def describe_unread(profile: Profile) -> str:
    """Says how many rows have no date in the forms of the others."""
    rows = "1 row has" if profile.unread == 1 else f"{profile.unread:,} rows have"
    is_one = len(profile.date_formats[0]) == 1
    return f"{rows} no date in {'this form' if is_one else 'these forms'}"


def describe_no_numbers(profile: Profile) -> str:
    """Says how many rows have another text where nearly all have a number."""
    rows = "1 row has" if profile.no_numbers == 1 else f"{profile.no_numbers:,} rows have"
    return f"{rows} no number, and all others do"


def _unread_line(profile: Profile, answers: Answers) -> list[str]:
    """Returns the line about values that are not dates; commented out while the format is open."""
    answer = answers.get((profile.name, "unreadable"), "")
    if not profile.unread or answer == "no":
        return []
    why = "your answer" if answer else "correct them instead if they matter"
    mark = "# " if _is_undecided(profile, answers) else ""
    return [f'{mark}unreadable = "missing"  # {describe_unread(profile)}; {why}']


def confirm_roles(text: str, t: Written | None = None) -> tuple[str, int]:
    """Removes the question marks from the text of a policy; also returns how many there were.

    If `t` is given, every sensitive column that was drafted without a t gets it.

    >>> confirm_roles('zip = "quasi?"')
    ('zip = "quasi"', 1)
    """
    text, count = SUGGESTED.subn(r"\1\2\1", text)
    if t is None:
        return text, count
    try:
        is_threshold = 0 <= exact(t) <= 1
    except ValueError:
        is_threshold = False
    if not is_threshold:
        raise UsageError("t must be a number in [0, 1]", where="t", hint="such as 0.2 or 1/5")
    text, drafted = DRAFTED_T.subn(f't = "{t}"', text)
    if not drafted:
        raise UsageError(
            "no sensitive column was drafted without a t, so this t would change nothing",
            where="policy",
            hint='give the columns to protect the role "sensitive", with a t at each',
        )
    return text, count


def list_doubtful(text: str) -> list[str]:
    """Lists the columns of a draft that are marked as doubtful, as they are written there.

    >>> list_doubtful('a = "identifier?"  # text: x. DOUBTFUL: y')
    ['a']
    """
    found, column = [], ""
    for line in text.splitlines():
        if header := re.match(r"\[columns\.(.+)\]  #", line):
            column = header[1]
        if "DOUBTFUL" in line:
            named = re.match(rf"""("[^"]*"|[\w-]+) = ["']({"|".join(ROLES)})\b""", line)
            is_key = named is None or (column and named[1] == "role")  # of the column's own table
            found.append(column if named is None or is_key else named[1])
    return list(dict.fromkeys(found))


@dataclass(frozen=True, repr=False)
class PolicyDraft:
    """A suggested policy, which cannot be used before it is confirmed."""

    text: str
    """The text that `tclose init` would write: TOML with comments and question marks at roles."""
    notes: tuple[str, ...] = field(default=())
    """What was noticed while reading the table."""
    table: str = ""
    profiles: tuple[Profile, ...] = ()
    """What is known of each column; it contains no values except marks of missing ones."""

    @property
    def questions(self) -> tuple[Question, ...]:
        """The open questions; pass the answers to `answer`."""
        return tuple(list_questions(self.profiles))

    def answer(self, answers: Answers) -> PolicyDraft:
        """Returns the draft with some questions answered, by column and topic."""
        questions = {(question.column, question.topic): question for question in self.questions}
        for key, word in answers.items():
            if key not in questions or word not in questions[key].answers:
                hint = "column, topic and answers are those of `questions`"
                raise UsageError(
                    "this is not an answer to a question of the draft", where=str(key), hint=hint
                )
        return replace(self, text=draft(self.table, self.profiles, answers))

    def confirm(self, *, t: Written | None = None) -> Policy:
        """Returns the policy with every suggestion confirmed, and this t where none is written."""
        policy, problems = parse_policy(parse_toml(confirm_roles(self.text, t)[0]))
        if problems or policy is None:
            raise PolicyError(problems)
        return policy

    def save(self, path: str | Path) -> Path:
        """Writes the draft to a new file; an existing file is never overwritten."""
        place = Path(path)
        try:
            with place.open("x", encoding="utf-8") as file:
                file.write(self.text)
        except FileExistsError:
            raise UsageError("the file exists already", where=str(place)) from None
        return place

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<PolicyDraft: {len(SUGGESTED.findall(self.text))} suggested roles; print it>"
