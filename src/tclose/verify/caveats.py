"""What is to be said about a table besides its requirements: identifiers, persons, weights."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from tclose.data.binding import BoundTable
from tclose.data.source import ROWS, Source
from tclose.policy.model import Policy
from tclose.requirements import Measurement
from tclose.verify.verdict import Verdict
from tclose.verify.wording import rows_text


def find_caveats(bound: BoundTable) -> Iterator[str]:
    """What to know about a release whose rows are counted by person, or have weights."""
    classes, counting = bound.classes, bound.policy.counting
    if classes.persons is not None and counting is not None and classes.everyone < classes.n_rows:
        yield (
            f"sizes and distributions count persons ({classes.everyone:,} in column "
            f"{counting[1]!r}), not rows; rows of one person can be told to belong together, so "
            "whoever knows several of a person's rows can look for who is in all their classes"
        )
    if counting is not None and counting[0] == "weight":
        table = bound.source.group([*classes.quasi, counting[1]])
        alone = int(np.count_nonzero(table.column(ROWS).to_numpy() == 1))
        if 2 * alone >= classes.n_rows:
            yield (
                f"the weight (column {counting[1]!r}) is released as it is, and {alone:,} of "
                f"{rows_text(classes.n_rows)} have one that no other row of their class has: "
                "whoever knows a person's weight finds the row"
            )


def describe_identifiers(policy: Policy, source: Source) -> list[str]:
    """What is to be said about identifiers that a table still has."""
    return [
        f"column {name!r} identifies people and is still in the table"
        for name in policy.identifiers
        if name in source.columns
    ]


def judge_identifiers(policy: Policy, source: Source, rows: int, classes: int) -> Iterator[Verdict]:
    """A broken promise for every identifier of a release that still tells its rows apart."""
    everyone = np.ones(classes, dtype=bool)
    for name in policy.identifiers:
        if name not in source.columns:
            continue
        different = source.count_distinct(name)
        if different > 1:
            measured = Measurement(
                value=np.full(classes, float(different)),
                fails=everyone,
                achieved=float(different),
                exact=Fraction(different),
                worst=0,
                margin=np.full(classes, -1.0),
            )
            yield Verdict(
                requirement="identifiers-removed",
                attribute=name,
                distance=None,
                reading="separate",
                required="absent",
                achieved=measured.achieved,
                achieved_exact=measured.exact,
                holds=False,
                worst_class=1,
                failing_classes=classes,
                failing_rows=rows,
                note="the column identifies people and is still in the table; attained: its values",
                measurement=measured,
            )
