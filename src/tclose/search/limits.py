"""Limits of generalization: reports before a search which cannot be kept, and checks them after it.

Rows that no class may have together are in different *blocks* (`SearchProblem.blocks`). Whatever
keeps the limits divides the blocks; so, where merging classes keeps the promise, a block that
breaks it proves that its rows cannot be released. Kernels charge more than any loss for a class
that is too wide, and cut its columns first.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tclose.arrays import Flags, Ints
from tclose.errors import UsageError
from tclose.plain import rows_text
from tclose.search.problem import SearchProblem, number_classes

HINT = "allow wider classes there, promise less, or allow rows to be left out (search.suppression)"


def choose_within_limits(problem: SearchProblem, suppression: Fraction) -> Ints:
    """The cells whose blocks keep the promise; raises where the others are more than that share.

    Rows that are left out change what classes are compared with, so blocks are judged again.
    """
    kept, room = np.arange(problem.n_cells), int(suppression * problem.n_rows)
    if not problem.monotone:
        return kept  # a block that fails proves nothing
    label = _leave_out(problem, problem.blocks, room)
    if label is None:
        fails = problem.find_failing(problem.blocks)
        raise _cannot_keep(problem, fails[problem.blocks])
    return np.flatnonzero(label >= 0)


def keep_limits(problem: SearchProblem, label: Ints, suppression: Fraction) -> Ints:
    """Class labels that keep the promise and the limits: unchanged if they do, else without the
    rows of classes that are too wide (if rows may be left out), else the blocks; raises if none of
    these does.
    """
    wide = problem.find_too_wide(label)
    if not wide.any():
        return label
    inside = np.append(wide.any(axis=1), False)[label]
    left = _leave_out(problem, np.where(inside, -1, label), int(suppression * problem.n_rows))
    if left is not None:
        return left
    blocks = problem.blocks
    if not problem.find_too_wide(blocks).any() and not problem.find_failing(blocks).any():
        return blocks
    name = problem.columns[int(np.argmax(wide.sum(axis=0)))].name
    lost = int(problem.rows[inside].sum())
    raise UsageError(
        f"no release was found that keeps the limits of generalization: {rows_text(lost)} of "
        f"{problem.n_rows:,} are in classes that are too wide",
        where=f"columns.{name}",
        hint=f"{HINT}: about a share of {lost / problem.n_rows:.4f}",
    )


def _leave_out(problem: SearchProblem, label: Ints, room: int) -> Ints | None:
    """The labelling less the classes that fail, again and again; None where that is too much."""
    while True:
        label = number_classes(label)
        if int(problem.rows[label < 0].sum()) > room or not (label >= 0).any():
            return None
        fails = problem.find_failing(label)
        if not fails.any():
            return label
        label = np.where(np.append(fails, False)[label], -1, label)


def _cannot_keep(problem: SearchProblem, gone: Flags) -> UsageError:
    """Which columns keep rows apart that break the promise by themselves, and how many."""
    lost = int(problem.rows[gone].sum())
    names = ", ".join(repr(problem.columns[at].name) for at in problem.limited)
    limited = [(problem.columns[at], problem.codes[gone, at]) for at in problem.limited]
    gaps = any((codes >= len(column.place)).any() for column, codes in limited)
    return UsageError(
        f"no release can keep the limits of generalization: by {names}, {rows_text(lost)} of "
        f"{problem.n_rows:,} are in groups that may not be merged and break the promise"
        + (" (rows without a value are such a group)" if gaps else ""),
        where=f"columns.{problem.columns[problem.limited[0]].name}",
        hint=f"{HINT}: at least a share of {lost / problem.n_rows:.4f}" if not gone.all() else HINT,
    )
