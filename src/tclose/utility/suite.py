"""Every measure of a release beside its original."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tclose.utility.entropy import entropy
from tclose.utility.generalization import loss, ncp
from tclose.utility.grouping import average_class_size, discernibility
from tclose.utility.learning import learning, refuse_target
from tclose.utility.pair import Pair
from tclose.utility.queries import query_error
from tclose.utility.reconstruction import reconstruction
from tclose.utility.result import Measure, Utility
from tclose.utility.squares import squares

MEASURES: tuple[Callable[[Pair], Measure], ...] = (
    loss, ncp, entropy, squares, reconstruction, discernibility, average_class_size,
)  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """What is asked of a release: random queries, and a column to learn."""

    queries: int = 1000
    """How many; 0 for none."""
    columns: int = 3
    """How many quasi-identifiers each of them asks about."""
    share: float = 0.1
    """The share of the rows that each would select if columns were independent."""
    target: str | None = None
    seed: int = 1


def measure_pair(
    pair: Pair,
    asked: Asked,
    progress: Callable[[str], None] = lambda step: None,
) -> Utility:
    """Measures a release."""
    if asked.target is not None:
        refuse_target(pair, asked.target)
    found = []
    for measure in MEASURES:
        progress(f"measuring {measure.__name__.replace('_', ' ')}")
        found.append(measure(pair))
    if asked.queries:
        progress("answering queries")
        found.append(
            query_error(
                pair,
                number=asked.queries,
                share=asked.share,
                columns=asked.columns,
                seed=asked.seed,
            )
        )
    if asked.target is not None:
        progress("learning")
        found.append(learning(pair, asked.target, seed=asked.seed))
    return Utility(
        original=pair.original.source.name,
        release=pair.release.source.name,
        rows=pair.rows,
        left_out=pair.left_out,
        classes=pair.release.classes.count,
        row_by_row=pair.linked is not None,
        measures=tuple(found),
    )
