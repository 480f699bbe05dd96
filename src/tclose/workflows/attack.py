"""attack: what an attacker could learn from a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tclose.attacks.finding import AttackReport
from tclose.attacks.person import PersonBelief, believe_of_person
from tclose.attacks.suite import EFFORT, Other, attack_release
from tclose.data.alignment import align, link_people
from tclose.data.io.paths import AS_FOUND, Reading
from tclose.notebook import show_progress
from tclose.workflows.inputs import (
    PolicyLike,
    Progress,
    count_population,
    open_table,
    population_for,
    refuse_release,
    require_policy,
)


@show_progress
def attack(
    release: Any,
    policy: PolicyLike | None = None,
    *,
    original: Any = None,
    population: Any = None,
    other: Any = None,
    key: str | None = None,
    seed: int = 1,
    effort: float = EFFORT,
    reading: Reading = AS_FOUND,
    progress: Progress = lambda step: None,
) -> AttackReport:
    """Tries all known attacks on a release and returns what each of them finds.

    `release` is a path, a frame, or a `Release`, which contains its own policy. The `original`
    table, a table of the `population` and an `other` release about the same people each allow
    further attacks. Rows of two tables are linked by the column `key`. Without one, those of the
    original are linked by their order or values if these determine the link, those of an `other`
    release by their order if the policy says that it is kept (`release.rows`). `effort` limits slow
    attacks (in seconds of an ordinary core): beyond it they try a sample of the rows, drawn with
    `seed`, and their findings say how many.

    >>> import pyarrow as pa
    >>> table = pa.table({"zip": ["a", "a", "b", "b"], "illness": ["flu", "flu", "flu", "ulcer"]})
    >>> report = attack(table, {"columns": {"zip": "quasi", "illness": "sensitive"}})
    >>> [(finding.attack, finding.affected) for finding in report.of("homogeneity")]
    [('homogeneity', 2)]
    """
    reading.refuse_idle_query(release, original, population, other)
    refuse_release(original)
    policy, population = require_policy(release, policy), population_for(release, population)
    bound = open_table(release, policy, reading, progress=progress, is_clean=True).bind()
    mine = theirs = None
    if original is not None:
        mine = open_table(original, policy, reading, progress=progress).bind()
    if other is not None:
        theirs = open_table(other, policy, reading, progress=progress, is_clean=True).bind()
    report = attack_release(
        bound,
        original=None if mine is None else align(mine, bound, key),
        population=count_population(bound, population, reading),
        other=None if theirs is None else Other(theirs, link_people(bound, theirs, key)),
        seed=seed,
        effort=effort,
        progress=progress,
    )
    for table in (bound, mine, theirs):
        if table is not None:
            table.source.close()
    return report


@show_progress
def attack_person(
    release: Any,
    policy: PolicyLike | None = None,
    *,
    person: Mapping[str, Any],
    attribute: str | None = None,
    ruled_out: Sequence[Any] = (),
    prior: Mapping[str, Any] | None = None,
    reading: Reading = AS_FOUND,
    progress: Progress = lambda step: None,
) -> PersonBelief:
    """Returns the belief in a person's sensitive values: before, from the table, from the class.

    `person` contains the known quasi-identifiers, `ruled_out` the values of the sensitive attribute
    (or groups of its hierarchy) that are known to be wrong, `prior` the belief in some values
    before the release.

    >>> import pyarrow as pa
    >>> table = pa.table({"age": ["2*", "2*", "3*", "3*"], "ill": ["flu", "ulcer", "flu", "flu"]})
    >>> rules = {"columns": {"age": "quasi", "ill": "sensitive"}}
    >>> found = attack_person(table, rules, person={"age": 27}, ruled_out=["flu"])
    >>> found.values, found.group
    (('flu', 'ulcer'), (Fraction(0, 1), Fraction(1, 1)))
    """
    reading.refuse_idle_query(release)
    rules = require_policy(release, policy)
    bound = open_table(release, rules, reading, progress=progress, is_clean=True).bind()
    try:
        return believe_of_person(
            bound, person, attribute=attribute, ruled_out=ruled_out, prior=prior
        )
    finally:
        bound.source.close()
