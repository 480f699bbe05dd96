"""Every measure of a release beside its original."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tclose.utility.entropy import measure_entropy
from tclose.utility.generalization import measure_loss, measure_ncp
from tclose.utility.learning import measure_learning, refuse_target
from tclose.utility.pair import Pair
from tclose.utility.queries import measure_query_error
from tclose.utility.reconstruction import measure_reconstruction
from tclose.utility.result import Measure, Utility
from tclose.utility.sizes import measure_class_size, measure_discernibility
from tclose.utility.squares import measure_squares

MEASURES: dict[str, Callable[[Pair], Measure]] = {
    "loss": measure_loss,
    "ncp": measure_ncp,
    "entropy": measure_entropy,
    "squares": measure_squares,
    "reconstruction": measure_reconstruction,
    "discernibility": measure_discernibility,
    "average-class-size": measure_class_size,
}


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
    for name, measure in MEASURES.items():
        progress(f"measuring {name.replace('-', ' ')}")
        found.append(measure(pair))
    if asked.queries:
        progress("answering queries")
        found.append(
            measure_query_error(
                pair,
                number=asked.queries,
                share=asked.share,
                columns=asked.columns,
                seed=asked.seed,
            )
        )
    if asked.target is not None:
        progress("learning")
        found.append(measure_learning(pair, asked.target, seed=asked.seed))
    return Utility(
        original=pair.original.source.name,
        release=pair.release.source.name,
        rows=pair.rows,
        left_out=pair.left_out,
        classes=pair.release.classes.count,
        row_by_row=pair.linked is not None,
        measures=tuple(found),
    )
