"""The errors of tclose: what happened, where, and what to do about it.

No error carries a raw cell value. Column names, class numbers, line numbers and
counts say enough; a value is personal data.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tclose.plain import escape_controls, join_lines


class TcloseError(Exception):
    """The root of every error that `tclose` raises on purpose.

    >>> print(TcloseError("nothing to count", where="table", hint="give it a row"))
    table: nothing to count
      Hint: give it a row
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        return escape_controls(self.describe())

    def describe(self) -> str:
        """The whole message."""
        # The name of a file or a column may hold lines that look like a message of ours.
        head = f"{self.where}: {self.what}" if self.where else self.what
        return join_lines([head, *([f"  Hint: {self.hint}"] if self.hint else [])])


class UsageError(TcloseError):
    """The request cannot be carried out as stated."""


class DataError(UsageError):
    """The table cannot be read, or does not hold what the request needs."""


class TooManyCells(DataError):  # noqa: N818
    """A table has more distinct tuples than are taken into one place.

    >>> TooManyCells(5, "Spark frame").most
    5
    """

    def __init__(self, most: int, where: str) -> None:
        super().__init__(
            f"more than {most:,} distinct combinations of values, or more than the driver takes",
            where=where,
            hint="allow more with --cells (and --memory, or Spark's driver memory), or declare "
            "fewer columns; audit, verify and anonymize by mondrian go on part by part",
        )
        self.most = most


class HierarchyError(UsageError):
    """A generalization hierarchy contradicts itself or does not fit its column."""


class InternalError(TcloseError):
    """An invariant is broken: a bug, never the caller's fault."""

    def describe(self) -> str:
        """The whole message, and where to report it."""
        return (
            f"{super().describe()}\n  This is a bug in tclose; please report the command you ran."
        )


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a policy, and the nearest way out."""

    where: str
    what: str
    hint: str = ""

    def __str__(self) -> str:
        head = f"{self.where}: {self.what}"
        return join_lines([head, *([f"  Hint: {self.hint}"] if self.hint else [])])


class PolicyError(UsageError):
    """Everything that is wrong with a policy, reported at once."""

    def __init__(self, problems: Sequence[Problem], what: str = "") -> None:
        self.problems = tuple(problems)
        count = len(self.problems)
        super().__init__(what or f"the policy has {count} problem{'s' if count != 1 else ''}")

    def describe(self) -> str:
        """Every problem, each once with all its places."""
        places: dict[tuple[str, str], list[str]] = {}
        for problem in self.problems:
            places.setdefault((problem.what, problem.hint), []).append(problem.where)
        listed = [Problem(", ".join(where), *said) for said, where in places.items()]
        return "\n".join([join_lines([f"{self.what}:"]), *(f"- {problem}" for problem in listed)])


def nearest(name: str, known: Iterable[str]) -> str:
    """A hint that names the known word closest to a mistyped one, or lists what is known.

    >>> nearest("diseese", ["disease", "zip"])
    "did you mean 'disease'?"
    """
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    shown = ", ".join(repr(candidate) for candidate in names[:12])
    return f"known here: {shown}{', …' if len(names) > 12 else ''}" if names else ""
