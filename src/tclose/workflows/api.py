"""audit · verify · explain · measure · attack: wires the rooms together, computes nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tclose.attacks import AttackReport, Other, attack_release
from tclose.data import AS_FOUND, BoundTable, Cells, Reading, Source, bind, count_cells, open_source
from tclose.data.alignment import beside, linked_rows
from tclose.data.binding import UnknownValues
from tclose.data.summary import TableSummary, summarize_table
from tclose.errors import PolicyError, Problem, TooManyCells, UsageError, nearest
from tclose.policy.load import parse_policy, policy_from, read_raw
from tclose.policy.model import Policy
from tclose.release import Release
from tclose.utility import Asked, Utility, measure_pair, pair_of
from tclose.verify import Audit, Explanation, audit_bound, explain_class
from tclose.verify.parts import audit_parts

PolicyLike = Policy | str | Path | Mapping[str, Any]
Progress = Callable[[str], None]
LISTED = re.compile(r"""\s*(?:"((?:[^"]|"")*)"\s*(?=,|$)|([^,]+))""")


def audit(
    data: Any,
    policy: PolicyLike | None = None,
    *,
    quasi: str | Sequence[str] = (),
    sensitive: str | Sequence[str] = (),
    population: Any = None,
    reading: Reading = AS_FOUND,
    progress: Progress = lambda step: None,
) -> Audit:
    """How private is this table, which classes break the promise, and by how much?

    `data` is a path (CSV, Parquet), a frame of any kind, or the address of a table in a database.
    Give a policy, or just name the columns: then everything is measured and nothing is promised.

    >>> import pyarrow as pa
    >>> table = pa.table({"zip": ["476", "476", "479", "479"], "salary": [3, 4, 3, 4]})
    >>> result = audit(table, quasi="zip", sensitive="salary")
    >>> result.k, result.classes
    (2, 2)
    """
    reading.refuse_idle_query(data, population)
    rules, problems, source = _opened(data, policy, quasi, sensitive, reading, progress)
    try:
        bound = bind(rules, source, problems)
    except TooManyCells:
        return audit_parts(summarize_table(rules, source, problems), source, progress=progress)
    people = population_cells(bound, population, reading)
    source.close()
    return audit_bound(bound, population=people, progress=progress)


def verify(
    data: Any,
    policy: PolicyLike,
    *,
    population: Any = None,
    reading: Reading = AS_FOUND,
    progress: Progress = lambda step: None,
) -> Audit:
    """Recounts a table from scratch and judges what the policy promises, nothing else.

    >>> import pyarrow as pa
    >>> table = pa.table({"zip": ["476", "476"], "illness": ["flu", "flu"]})
    >>> rules = {"k": 2, "columns": {"zip": "quasi", "illness": {"role": "sensitive", "t": 0}}}
    >>> verify(table, rules).holds
    True
    """
    reading.refuse_idle_query(data, population)
    rules, problems, source = _opened(data, policy, (), (), reading, progress)
    if rules is not None and not problems and not rules.promises_something:
        raise UsageError(
            "the policy promises nothing, so there is nothing to verify",
            where="policy",
            hint="state k, or t at a sensitive column",
        )
    try:
        bound = bind(rules, source, problems)
    except TooManyCells:
        whole = summarize_table(rules, source, problems)
        return audit_parts(whole, source, measure_all=False, progress=progress)
    people = population_cells(bound, population, reading)
    source.close()
    return audit_bound(bound, population=people, measure_all=False, progress=progress)


def explain(
    data: Any,
    policy: PolicyLike | None = None,
    *,
    number: int | None = None,
    attribute: str | None = None,
    quasi: str | Sequence[str] = (),
    sensitive: str | Sequence[str] = (),
    reading: Reading = AS_FOUND,
    progress: Progress = lambda step: None,
) -> Explanation:
    """Why is a class as far from the whole table as it is? Which mass would have to move where?

    `number` counts classes from 1; without it the farthest class is explained.

    >>> import pyarrow as pa
    >>> table = pa.table({"zip": ["a", "a", "b", "b"], "salary": [14, 88, 27, 101]})
    >>> why = explain(table, quasi="zip", sensitive="salary", number=1)
    >>> why.exact, [(move.source, move.target, str(move.mass)) for move in why.moves]
    (Fraction(1, 6), [('14', '27', '1/4'), ('88', '101', '1/4')])
    """
    reading.refuse_idle_query(data)
    bound = _bind(data, policy, quasi, sensitive, reading, progress)
    bound.source.close()
    if not bound.attributes:
        raise UsageError(
            "no column is sensitive, so there is no distance to explain",
            where=bound.source.name,
            hint="name one with --sensitive, or in the policy",
        )
    return explain_class(bound, number, attribute)


def measure(
    original: Any,
    release: Any,
    policy: PolicyLike,
    *,
    queries: int = 1000,
    columns: int = 3,
    share: float = 0.1,
    target: str | None = None,
    key: str | None = None,
    seed: int = 1,
    reading: Reading = AS_FOUND,
    progress: Progress = lambda step: None,
) -> Utility:
    """What is a release still good for? Every measure of utility, ours or anybody's release.

    `release` is a path, a frame, or what `anonymize` returned. Rows are linked by their order, or
    by the column `key`; without either, measures that need the link give what is to be expected.
    `queries` random counts about `columns` quasi-identifiers and a sensitive range are asked, each
    meant to select a `share` of the rows; `target` is a column that models learn to tell.

    >>> import pyarrow as pa
    >>> table = pa.table({"age": [20, 30, 40, 60], "ill": ["a", "b", "a", "b"]})
    >>> coarse = pa.table({"age": ["[20, 30]"] * 2 + ["[40, 60]"] * 2, "ill": list("abab")})
    >>> measure(table, coarse, {"columns": {"age": "quasi", "ill": "sensitive"}})["loss"].overall
    0.375
    """
    reading.refuse_idle_query(original, release)
    mine = _bind(_data_of(original), policy, (), (), reading, progress)
    theirs = _bind(_data_of(release), policy, (), (), reading, progress)
    progress("comparing the tables")
    pair = pair_of(mine, theirs, key=key)
    asked = Asked(queries, columns, share, target, seed)
    found = measure_pair(pair, asked, progress)
    for bound in (mine, theirs):
        bound.source.close()
    return found


def attack(
    release: Any,
    policy: PolicyLike,
    *,
    original: Any = None,
    population: Any = None,
    other: Any = None,
    key: str | None = None,
    seed: int = 1,
    reading: Reading = AS_FOUND,
    progress: Progress = lambda step: None,
) -> AttackReport:
    """What could somebody who means ill learn from a release? Every known attack, as findings.

    The original's quasi-identifiers, a population table and another release about the same people
    each allow further attacks. Rows of two tables are linked by the column `key`, or by their order
    where both have equally many.

    >>> import pyarrow as pa
    >>> table = pa.table({"zip": ["a", "a", "b", "b"], "illness": ["flu", "flu", "flu", "ulcer"]})
    >>> report = attack(table, {"columns": {"zip": "quasi", "illness": "sensitive"}})
    >>> [(finding.attack, finding.affected) for finding in report.of("homogeneity")]
    [('homogeneity', 2)]
    """
    reading.refuse_idle_query(release, original, population, other)
    bound = _bind(_data_of(release), policy, (), (), reading, progress)
    opened = [bound]
    held = None
    if original is not None:
        source = _bind(_data_of(original), policy, (), (), reading, progress)
        opened.append(source)
        held = beside(source, bound, key)
    second = None
    if other is not None:
        next_one = _bind(_data_of(other), policy, (), (), reading, progress)
        opened.append(next_one)
        second = Other(next_one, linked_rows(bound, next_one, key))
    people = population_cells(bound, population, reading)
    report = attack_release(
        bound, original=held, population=people, other=second, seed=seed, progress=progress
    )
    for one in opened:
        one.source.close()
    return report


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
    return _bind(data, policy, (), (), reading, lambda step: None, unknown_values)


def _data_of(table: Any) -> Any:
    """A path or frame, also out of what `anonymize` returned."""
    if isinstance(table, Release):
        return table.path if table.data is None else table.data
    return table


def _bind(
    data: Any,
    policy: PolicyLike | None,
    quasi: str | Sequence[str],
    sensitive: str | Sequence[str],
    reading: Reading,
    progress: Progress,
    unknown_values: UnknownValues = "refuse",
) -> BoundTable:
    rules, problems, source = _opened(data, policy, quasi, sensitive, reading, progress)
    return bind(rules, source, problems, unknown_values=unknown_values)


def outline(
    data: Any, policy: PolicyLike, *, reading: Reading = AS_FOUND
) -> tuple[TableSummary, Source]:
    """Ties a policy to the columns of a table whose cells are too many for one place.

    >>> import pyarrow as pa
    >>> table = pa.table({"zip": ["476", "476", "479"], "illness": ["flu", "ulcer", "flu"]})
    >>> whole, source = outline(table, {"columns": {"zip": "quasi", "illness": "sensitive"}})
    >>> whole.rows, whole.whole["illness"].tolist()
    (3, [2, 1])
    """
    rules, problems, source = _opened(data, policy, (), (), reading, lambda step: None)
    return summarize_table(rules, source, problems), source


def _opened(
    data: Any,
    policy: PolicyLike | None,
    quasi: str | Sequence[str],
    sensitive: str | Sequence[str],
    reading: Reading,
    progress: Progress,
) -> tuple[Policy | None, list[Problem], Source]:
    """The policy (or one that names columns only), what is wrong with it, and the table."""
    checked: Policy | None
    problems: list[Problem] = []
    if policy is None:
        progress("opening the table")
        source = open_source(data, reading)
        checked = _named_columns(source, _listed(quasi), _listed(sensitive))
    else:
        if quasi or sensitive:
            raise UsageError(
                "give a policy or name the columns, not both",
                where="arguments",
                hint="the policy says which columns are quasi and sensitive",
            )
        checked, problems = _policy(policy)
        progress("opening the table")
        source = open_source(data, reading)
    progress("counting the classes")
    return checked, problems, source


def _policy(policy: PolicyLike) -> tuple[Policy | None, list[Problem]]:
    if isinstance(policy, Policy):
        return policy, []
    if isinstance(policy, Mapping):
        return parse_policy(policy)
    checked, problems = parse_policy(read_raw(policy))
    return (checked.at(Path(policy).parent) if checked is not None else None), problems


def _listed(names: str | Sequence[str]) -> list[str]:
    """Names from a list, or from text with commas between; a name with a comma stands in quotes."""
    if not isinstance(names, str):
        return list(names)
    given = [
        (match[1] or match[2] or "").replace('""', '"').strip() for match in LISTED.finditer(names)
    ]
    return [name for name in given if name]


def _named_columns(source: Source, quasi: list[str], sensitive: list[str]) -> Policy:
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


def policy_of(policy: PolicyLike) -> Policy:
    """A policy from a file, from plain values, or as it is; raises PolicyError where it is wrong.

    >>> policy_of({"k": 3, "columns": {"age": "quasi"}}).k
    3
    """
    checked, problems = _policy(policy)
    if checked is None or problems:
        raise PolicyError(problems)
    return checked


def kept_policy(raw: Mapping[str, Any], base: str | Path, keeper: str) -> Policy:
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


def population_cells(bound: BoundTable, population: Any, reading: Reading) -> Cells | None:
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
