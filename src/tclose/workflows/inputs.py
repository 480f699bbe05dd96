"""Reads what a caller passes in: the table, its policy (or a draft), the population, the budget."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from numbers import Real
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from tclose.data.binding import BoundTable, UnknownValues, bind, bind_within_limit
from tclose.data.cleaning import apply_cleanings
from tclose.data.encode.cells import Cells, count_cells
from tclose.data.formulas import unquote_formulas
from tclose.data.io.paths import AS_FOUND, Reading, refuse_address
from tclose.data.io.records import SupersetRecord
from tclose.data.opening import open_source
from tclose.data.profile import profile_columns
from tclose.data.source import Source
from tclose.data.summary import TableSummary, summarize_table
from tclose.errors import PolicyError, Problem, UsageError, nearest
from tclose.plain import exact, rows_text
from tclose.policy.draft import PolicyDraft, draft
from tclose.policy.load import parse_policy, policy_from, read_raw
from tclose.policy.model import Policy, SearchSettings
from tclose.policy.suggest import Profile

if TYPE_CHECKING:
    from tclose.search import Budget
    from tclose.search import Progress as SearchProgress

PolicyLike = Policy | str | Path | Mapping[str, Any]
Thresholds = str | Mapping[str, Any]
THRESHOLDS = ("k", "l", "t", "alpha", "p", "beta", "delta")
"""What can be asked of columns that are only named."""
Progress = Callable[[str], None]
P = ParamSpec("P")
R = TypeVar("R")
LISTED = re.compile(r"""\s*(?:"((?:[^"]|"")*)"\s*(?=,|$)|([^,]+))""")


@dataclass(frozen=True)
class OpenTable:
    """An opened table with its policy, and the problems found in the policy's text."""

    policy: Policy | None
    problems: tuple[Problem, ...]
    source: Source

    def bind(self, *, unknown_values: UnknownValues = "refuse") -> BoundTable:
        """Counts the table and ties the policy to it; raises with all that is wrong."""
        return bind(self.policy, self.source, self.problems, unknown_values=unknown_values)

    def bind_or_summarize(self) -> BoundTable | TableSummary:
        """Binds the policy, or summarizes a table that has too many cells for one place."""
        bound = bind_within_limit(self.policy, self.source, self.problems)
        return bound or summarize_table(self.policy, self.source, self.problems)


def open_table(
    data: Any,
    policy: PolicyLike | None,
    reading: Reading,
    *,
    quasi: str | Sequence[str] = (),
    sensitive: str | Sequence[str] = (),
    thresholds: Thresholds = "",
    progress: Progress = lambda step: None,
    is_clean: bool = False,
) -> OpenTable:
    """Opens a path, a frame or a release, with a policy or with names of columns only.

    Values are cleaned as the policy says, unless they are known to be clean, as in a release.
    """
    if not (quasi or sensitive):
        policy = policy_for(data, policy)
    if policy is not None and thresholds:
        raise UsageError(
            "give a policy or thresholds to fail under, not both",
            where="arguments",
            hint="the policy says what is promised",
        )
    if is_release(data):
        data, is_clean = (data.path if data.data is None else data.data), True
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
        checked = _name_columns(source, _split(quasi), _split(sensitive), thresholds)
    if checked is not None and checked.release.formulas == "quote":
        source = unquote_formulas(source, checked)
    if checked is not None and checked.cleaned and not is_clean:
        source = apply_cleanings(source, checked)
    progress("counting the classes")
    return OpenTable(checked, tuple(problems), source)


def is_release(data: Any) -> bool:
    """Whether it is what `anonymize` or `apply` returned."""
    # Whoever has a release has imported its module, which is slow to import for anybody else.
    module = sys.modules.get("tclose.release")
    return module is not None and isinstance(data, module.Release)


def policy_for(data: Any, policy: PolicyLike | None) -> PolicyLike | None:
    """The policy that is given; of a release without one, that which it was made to keep."""
    if policy is None and is_release(data):
        kept: Policy = data.audit.bound.policy
        return kept
    return policy


def population_for(data: Any, population: Any) -> Any:
    """The population that is given; of a release without one, that which its promise is about."""
    return data.people if population is None and is_release(data) else population


def supersets_for(data: Any) -> Sequence[SupersetRecord]:
    """The supersets that a release's certificate names for (n, t)-closeness; else none."""
    return (data.certificate.supersets or ()) if is_release(data) else ()


def require_policy(data: Any, policy: PolicyLike | None) -> PolicyLike:
    """The policy that is given, or that of a release; raises UsageError if there is neither."""
    found = policy_for(data, policy)
    if found is None:
        raise UsageError(
            "no policy is given, and only a Release contains its own",
            where="policy",
            hint="give the policy's file, a Policy, or the Release that anonymize returned",
        )
    return found


def refuse_release(original: Any) -> None:
    """Raises where a release is given as the table that it was made from."""
    if is_release(original):
        raise UsageError(
            "this is a release, not the table that one was made from",
            where="original",
            hint="original is the table as it was, release is what became of it",
        )


def name_arguments(example: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Has a function refuse arguments without a name, with an example of how to name them."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            if args:
                raise UsageError(
                    "these tables must be passed by name, as they could be swapped",
                    where="arguments",
                    hint=example,
                )
            return function(*args, **kwargs)

        return run

    return decorate


def draft_policy(data: Any, *, reading: Reading = AS_FOUND) -> PolicyDraft:
    """Returns a commented draft of a policy for a table, as `tclose init` writes it.

    Every role in the draft is only suggested. Read the draft, then `confirm` it, or save it,
    correct it and load it as a `Policy`.

    >>> import pyarrow as pa
    >>> suggested = draft_policy(pa.table({"zip": ["47677", "47602"], "disease": ["flu", "ulcer"]}))
    >>> suggested.confirm(t=0.2).sensitive
    ('disease',)
    """
    reading.refuse_idle_query(data)
    source = open_source(data, reading)
    profiles = tuple(profile_columns(source))
    notes = (*source.notes, *_suspect_blank_rows(profiles))
    found = PolicyDraft(draft(source.name, profiles), notes, source.name, profiles)
    source.close()
    return found


def _suspect_blank_rows(profiles: Sequence[Profile]) -> Iterator[str]:
    """A note where every column lacks values: blank lines of a spreadsheet became rows."""
    fewest = min((profile.missing for profile in profiles), default=0)
    if fewest and len(profiles) > 1:
        yield (
            f"every column lacks a value in {rows_text(fewest)} or more: delete blank rows, which "
            "count as people"
        )


def check(
    data: Any,
    policy: PolicyLike,
    *,
    reading: Reading = AS_FOUND,
    unknown_values: UnknownValues = "refuse",
) -> BoundTable:
    """Binds a policy to a table and returns both, counted; raises PolicyError if they do not fit.

    All problems are reported at once. Quasi-identifiers whose values are not in their hierarchy do
    not fit, unless `unknown_values` is "keep".

    >>> import pyarrow as pa
    >>> table = pa.table({"zip": ["476", "476", "479"], "illness": ["flu", "ulcer", "flu"]})
    >>> bound = check(table, {"columns": {"zip": "quasi", "illness": "sensitive"}})
    >>> bound.classes.size.tolist(), list(bound.attributes)
    ([2, 1], ['illness'])
    """
    reading.refuse_idle_query(data)
    return open_table(data, policy, reading).bind(unknown_values=unknown_values)


def assess(
    data: Any, policy: PolicyLike, *, population: Any = None, reading: Reading = AS_FOUND
) -> tuple[str, ...]:
    """Checks whether a release can keep the policy, and returns notes on the sizes of classes.

    Raises PolicyError if the policy does not fit the table, or contains a promise that no release
    of the table can keep.

    >>> import pyarrow as pa
    >>> table = pa.table({"age": [20, 30, 40, 50], "ill": ["a", "b", "a", "b"]})
    >>> assess(table, {"columns": {"age": "quasi", "ill": {"role": "sensitive", "t": 0}}})
    ('closeness of ill: t = 0 needs classes of at least 2 rows, whatever rows they have; so there \
can be at most 2 classes',)
    """
    from tclose.search.feasibility import assess_feasibility  # an audit starts without it
    from tclose.search.problem import problem_of

    bound = check(data, policy, reading=reading)
    try:
        problem = problem_of(bound, count_population(bound, population, reading))
    except PolicyError:
        if bound.policy.limited:
            raise
        return ()  # a table that is generalized already, to be audited
    found = assess_feasibility(problem, bound.policy.search.suppression)
    if found.problems:
        raise PolicyError(found.problems)
    return found.notes


def _parse(policy: PolicyLike) -> tuple[Policy | None, list[Problem]]:
    checked: Policy | None
    problems: list[Problem]
    if isinstance(policy, Policy):
        checked, problems = policy, []
    elif isinstance(policy, Mapping):
        checked, problems = parse_policy(policy)
    else:
        checked, problems = parse_policy(read_raw(policy))
        checked = checked.at(Path(policy).parent) if checked is not None else None
    if checked is not None:
        _refuse_addresses(checked)
    return checked, problems


def _refuse_addresses(policy: Policy) -> None:
    """Raises where a policy names an address in place of a file: it may hold a password."""
    for name in policy.files:
        refuse_address(name)


def _split(names: str | Sequence[str]) -> list[str]:
    """Names from a list, or from text with commas between; a name with a comma stands in quotes."""
    if not isinstance(names, str):
        return list(names)
    given = [
        (match[1] or match[2] or "").replace('""', '"').strip() for match in LISTED.finditer(names)
    ]
    return [name for name in given if name]


def _name_columns(
    source: Source, quasi: list[str], sensitive: list[str], thresholds: Thresholds
) -> Policy:
    """A policy for the named columns, with no promise but thresholds; others do not count."""
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
        raise PolicyError(problems, f"the columns that were named do not fit {source.name}")
    roles: dict[str, Any] = {name: "insensitive" for name in source.columns}
    of_table, of_columns = _read_thresholds(thresholds, sensitive)
    roles |= {name: "quasi" for name in quasi}
    roles |= {name: {"role": "sensitive", **of_columns} for name in sensitive}
    return resolve_policy({**of_table, "columns": roles})


def _read_thresholds(
    thresholds: Thresholds, sensitive: list[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Reads thresholds such as "k=5,t=0.2" as those of the table and of sensitive columns."""
    texts = (
        [thresholds] if isinstance(thresholds, str) else [f"{n}={v}" for n, v in thresholds.items()]
    )
    pairs = [pair.partition("=")[::2] for text in texts for pair in _split(text)]
    given = {name.strip(): value.strip() for name, value in pairs}
    wrong = [name for name in given if name not in THRESHOLDS]
    if wrong or len(given) < len(pairs) or "" in given.values():
        raise UsageError(
            f"thresholds are written as k=5,t=0.2, each of {', '.join(THRESHOLDS)} at most once",
            where="fail_under",
            hint=nearest(wrong[0], THRESHOLDS) if wrong else "",
        )
    values = {name: int(text) if text.isdecimal() else text for name, text in given.items()}
    of_table = {"k": values.pop("k")} if "k" in values else {}
    if values and not sensitive:
        raise UsageError(
            f"{next(iter(values))} is about sensitive attributes, and none is named",
            where="fail_under",
            hint="--sensitive disease",
        )
    return of_table, values


def resolve_policy(policy: PolicyLike) -> Policy:
    """A policy from a file, from plain values, or as it is; raises PolicyError where it is wrong.

    >>> resolve_policy({"k": 3, "columns": {"age": "quasi"}}).k
    3
    """
    checked, problems = _parse(policy)
    if checked is None or problems:
        raise PolicyError(problems)
    return checked


def parse_embedded_policy(raw: Mapping[str, Any], *bases: str | Path, keeper: str) -> Policy:
    """The policy inside a plan or a certificate, whose relative paths start from that one's folder,
    or from the first of several that has all its files.

    Raises where the files that it names did not come along.
    """
    policies = [policy_from(raw, base) for base in bases]
    _refuse_addresses(policies[0])
    lacking = [
        [str(place) for place in _list_places(each) if not place.exists()] for each in policies
    ]
    missing, policy = min(zip(lacking, policies, strict=True), key=lambda pair: len(pair[0]))
    if missing:
        raise UsageError(
            f"the {keeper}'s own policy needs a file that is not there",
            where=", ".join(missing),
            hint=f"keep the {keeper} where its policy is, or name the policy (--policy POLICY), "
            "whose paths start from its own folder",
        )
    return policy


def _list_places(policy: Policy) -> list[Path]:
    """The files that a policy cannot be read without."""
    return [policy.base / name for name in policy.files if name != policy.population]


def count_population(bound: BoundTable, population: Any, reading: Reading) -> Cells | None:
    """The people that a policy's k-map or presence is about, if there are any."""
    if isinstance(population, Cells):
        return population
    policy = bound.policy
    if population is None and policy.population is not None:
        population = policy.base / policy.population
    if population is None:
        return None
    source = apply_cleanings(open_source(population, reading), policy)
    lacking = [name for name in policy.quasi if name not in source.columns]
    if lacking:
        what = f"the population table has no column {lacking[0]!r}"
        raise UsageError(what, where=source.name, hint="it must have every quasi-identifier")
    return count_cells(source, policy.quasi)


def budget_of(
    search: SearchSettings,
    seconds: float | None,
    effort: float | None,
    seed: int | None,
    suppression: float | str | None,
    polish: bool | None = None,
    *,
    cancelled: Callable[[], bool],
    progress: Callable[[SearchProgress], None],
) -> Budget:
    """The budget of a search. If the caller sets any limit, those of the policy are ignored."""
    from tclose.search import Budget  # an audit starts without it

    for name, limit in (("seconds", seconds), ("effort", effort)):
        if limit is not None and not (isinstance(limit, Real) and 0 <= limit < inf):
            raise UsageError("a search is limited by a finite number, 0 or more", where=name)
    try:
        start = search.seed if seed is None else index(seed)
    except TypeError:
        start = -1
    if start < 0:
        raise UsageError("a seed is a whole number, 0 or more", where="seed")
    if seconds is None and effort is None:
        seconds = None if search.seconds is None else float(search.seconds)
        effort = None if search.effort is None else float(search.effort)
    share = search.suppression
    if suppression is not None:
        try:
            share = exact(suppression)
        except ValueError:
            share = Fraction(-1)
        if not 0 <= share <= 1:
            raise UsageError("suppression is a share of the rows, in [0, 1]", hint="such as 0.05")
    return Budget(
        seconds=seconds,
        effort=effort,
        seed=start,
        suppression=share,
        polish=search.polish if polish is None else polish,
        cancelled=cancelled,
        report=progress,
    )
