"""What a caller asks of a search, or the policy where nothing is asked."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import inf

from tclose.distance.numbers import exact
from tclose.errors import UsageError
from tclose.policy.model import SearchSettings
from tclose.search import Budget, Progress


def budget_of(
    search: SearchSettings,
    seconds: float | None,
    effort: float | None,
    seed: int | None,
    suppression: float | str | None,
    *,
    cancelled: Callable[[], bool],
    progress: Callable[[Progress], None],
) -> Budget:
    """What a search may spend. Where any limit is asked for, the policy's limits do not count."""
    for name, limit in (("seconds", seconds), ("effort", effort)):
        if limit is not None and not 0 <= limit < inf:
            raise UsageError("a search is limited by a finite number, 0 or more", where=name)
    if seconds is None and effort is None:
        seconds = None if search.seconds is None else float(search.seconds)
        effort = None if search.effort is None else float(search.effort)
    share = share_of(suppression)
    return Budget(
        seconds=seconds,
        effort=effort,
        seed=search.seed if seed is None else seed,
        suppression=search.suppression if share is None else share,
        cancelled=cancelled,
        report=progress,
    )


def share_of(suppression: float | str | None) -> Fraction | None:
    """A share of the rows; raises UsageError where it is none."""
    if suppression is None:
        return None
    try:
        share = exact(suppression)
    except ValueError:
        share = Fraction(-1)
    if not 0 <= share <= 1:
        raise UsageError("suppression is a share of the rows, in [0, 1]", hint="such as 0.05")
    return share
