"""What a caller gives: a table, its policy, the population, and what a search may spend."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tclose.data.binding import BoundTable, UnknownValues, bind, bind_within_limit, open_source
from tclose.data.encode.cells import Cells, count_cells
from tclose.data.io.paths import AS_FOUND, Reading
from tclose.data.source import Source
from tclose.data.summary import TableSummary, summarize_table
from tclose.distance.numbers import exact
from tclose.errors import PolicyError, Problem, UsageError, nearest
from tclose.policy.load import parse_policy, policy_from, read_raw
from tclose.policy.model import Policy, SearchSettings

if TYPE_CHECKING:
    from tclose.search import Budget
    from tclose.search import Progress as SearchProgress

PolicyLike = Policy | str | Path | Mapping[str, Any]
Progress = Callable[[str], None]
LISTED = re.compile(r"""\s*(?:"((?:[^"]|"")*)"\s*(?=,|$)|([^,]+))""")


@dataclass(frozen=True)
class OpenTable:
    """A table that was opened, its policy, and what is wrong with the policy's text."""

    policy: Policy | None
    problems: tuple[Problem, ...]
    source: Source

    def bind(self, *, unknown_values: UnknownValues = "refuse") -> BoundTable:
        """Counts the table and ties the policy to it; raises with all that is wrong."""
        return bind(self.policy, self.source, self.problems, unknown_values=unknown_values)

    def bind_or_summarize(self) -> BoundTable | TableSummary:
        """The same; a table with too many cells for one place is counted column by column."""
        bound = bind_within_limit(self.policy, self.source, self.problems)
        return bound or summarize_table(self.policy, self.source, self.problems)


def open_table(
    data: Any,
    policy: PolicyLike | None,
    reading: Reading,
    *,
    quasi: str | Sequence[str] = (),
    sensitive: str | Sequence[str] = (),
    progress: Progress = lambda step: None,
) -> OpenTable:
    """Opens a path, a frame or a release, with a policy or with names of columns only."""
    # Whoever has a release has imported its module, which is slow to import for anybody else.
    module = sys.modules.get("tclose.release")
    if module is not None and isinstance(data, module.Release):
        data = data.path if data.data is None else data.data
    if policy is not None and (quasi or sensitive):
        raise UsageError(
            "give a policy or name the columns, not both",
            where="arguments",
            hint="the policy says which columns are quasi and sensitive",
        )
    checked, problems = (None, []) if policy is None else _parse(policy)
    progress("opening the table")
    named = [*_split(quasi), *_split(sensitive)]
    declared = named if policy is None else None if checked is None else checked.columns
    source = open_source(data, reading, declared)
    if policy is None:
        checked = _name_columns(source, _split(quasi), _split(sensitive))
    progress("counting the classes")
    return OpenTable(checked, tuple(problems), source)


def check(
    data: Any,
    policy: PolicyLike,
    *,
    reading: Reading = AS_FOUND,
    unknown_values: UnknownValues = "refuse",
) -> BoundTable:
    """Ties a policy to a table; raises PolicyError with everything that does not fit.

    Quasi-identifiers that their hierarchy does not know (`unknown_values`) do not fit, unless kept.

    >>> import pyarrow as pa
    >>> table = pa.table({"zip": ["476", "476", "479"], "illness": ["flu", "ulcer", "flu"]})
    >>> bound = check(table, {"columns": {"zip": "quasi", "illness": "sensitive"}})
    >>> bound.classes.size.tolist(), list(bound.attributes)
    ([2, 1], ['illness'])
    """
    reading.refuse_idle_query(data)
    return open_table(data, policy, reading).bind(unknown_values=unknown_values)


def _parse(policy: PolicyLike) -> tuple[Policy | None, list[Problem]]:
    if isinstance(policy, Policy):
        return policy, []
    if isinstance(policy, Mapping):
        return parse_policy(policy)
    checked, problems = parse_policy(read_raw(policy))
    return (checked.at(Path(policy).parent) if checked is not None else None), problems


def _split(names: str | Sequence[str]) -> list[str]:
    """Names from a list, or from text with commas between; a name with a comma stands in quotes."""
    if not isinstance(names, str):
        return list(names)
    given = [
        (match[1] or match[2] or "").replace('""', '"').strip() for match in LISTED.finditer(names)
    ]
    return [name for name in given if name]


def _name_columns(source: Source, quasi: list[str], sensitive: list[str]) -> Policy:
    """A policy that promises nothing, for the columns that were named; the others do not count."""
    problems = [
        Problem(name, "the table has no such column", nearest(name, source.columns))
        for name in (*quasi, *sensitive)
        if name not in source.columns
    ]
    problems += [
        Problem(name, "named both as quasi and as sensitive", "choose one")
        for name in quasi
        if name in sensitive
    ]
    if not quasi:
        problems.append(Problem("quasi", "no quasi-identifier is named", "--quasi age,zip"))
    if problems:
        listed = "\n".join(f"- {problem}" for problem in problems)
        raise UsageError(f"the columns that were named do not fit {source.name}:\n{listed}")
    roles: dict[str, Any] = {name: "insensitive" for name in source.columns}
    roles |= {name: "quasi" for name in quasi} | {name: "sensitive" for name in sensitive}
    return Policy.model_validate({"columns": roles})


def resolve_policy(policy: PolicyLike) -> Policy:
    """A policy from a file, from plain values, or as it is; raises PolicyError where it is wrong.

    >>> resolve_policy({"k": 3, "columns": {"age": "quasi"}}).k
    3
    """
    checked, problems = _parse(policy)
    if checked is None or problems:
        raise PolicyError(problems)
    return checked


def parse_embedded_policy(raw: Mapping[str, Any], base: str | Path, keeper: str) -> Policy:
    """The policy inside a plan or a certificate, whose relative paths start from that one's folder.

    Raises where the files that it names did not come along.
    """
    policy = policy_from(raw, base)
    places = [policy.base / name for name in policy.files if name != policy.population]
    missing = [str(place) for place in places if not place.exists()]
    if missing:
        raise UsageError(
            f"the {keeper}'s own policy needs a file that is not there",
            where=", ".join(missing),
            hint=f"keep the {keeper} where its policy is, or name the policy (--policy POLICY), "
            "whose paths start from its own folder",
        )
    return policy


def count_population(bound: BoundTable, population: Any, reading: Reading) -> Cells | None:
    """The people that a policy's k-map or presence is about, if there are any."""
    policy = bound.policy
    wanted = population if population is not None else policy.population
    if wanted is None:
        return None
    if isinstance(wanted, str | Path):
        wanted = wanted if population is not None else policy.base / wanted
    source = open_source(wanted, reading)
    lacking = [name for name in policy.quasi if name not in source.columns]
    if lacking:
        raise UsageError(
            f"the population table has no column {lacking[0]!r}",
            where=source.name,
            hint="it must have every quasi-identifier",
        )
    return count_cells(source, policy.quasi)


def budget_of(
    search: SearchSettings,
    seconds: float | None,
    effort: float | None,
    seed: int | None,
    suppression: float | str | None,
    *,
    cancelled: Callable[[], bool],
    progress: Callable[[SearchProgress], None],
) -> Budget:
    """What a search may spend. Where any limit is asked for, the policy's limits do not count."""
    from tclose.search import Budget  # an audit starts without it

    for name, limit in (("seconds", seconds), ("effort", effort)):
        if limit is not None and not 0 <= limit < inf:
            raise UsageError("a search is limited by a finite number, 0 or more", where=name)
    if seconds is None and effort is None:
        seconds = None if search.seconds is None else float(search.seconds)
        effort = None if search.effort is None else float(search.effort)
    share = _parse_share(suppression)
    return Budget(
        seconds=seconds,
        effort=effort,
        seed=search.seed if seed is None else seed,
        suppression=search.suppression if share is None else share,
        cancelled=cancelled,
        report=progress,
    )


def _parse_share(suppression: float | str | None) -> Fraction | None:
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
