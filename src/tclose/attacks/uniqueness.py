"""Uniqueness: in the population, by estimates, and in the table, by a few columns already."""

from __future__ import annotations

from collections.abc import Iterator

from tclose.attacks.finding import Finding, Number, rank_worst, report_classes
from tclose.data.binding import BoundTable
from tclose.plain import rows_text
from tclose.verify.special_uniques import find_table_uniques
from tclose.verify.uniqueness import estimate_table

MOST_LOOKS = 100_000_000
"""The largest number of classes × sets of columns to look at for special uniques."""


def find_uniqueness(release: BoundTable) -> Iterator[Finding]:
    """Yields rows that are estimated to be unique in the population, and special uniques."""
    classes = release.classes
    estimated = estimate_table(release)
    if estimated is not None:
        numbers: dict[str, Number] = {
            "sample uniques": estimated.sample_uniques,
            "population": estimated.population_size,
            "estimated uniques of the population": estimated.estimate,
            "by Zayatz": estimated.zayatz,
            "by Pitman": estimated.pitman,
            "by the slide negative binomial": estimated.slide_negative_binomial,
        }
        alone = rank_worst(classes.size == 1, classes.size)
        affected = round(estimated.rows_at_risk)
        sentence = f"{estimated.sentence}."
        yield Finding(
            "population uniqueness", None, sentence, affected, classes.n_rows, alone, numbers
        )
    found = find_table_uniques(release, MOST_LOOKS)
    if found is not None:
        most, counts = found.most, found.count()
        by_size = {
            f"rows unique by {size} column{'' if size == 1 else 's'}": rows
            for size, rows in enumerate(counts.rows, start=1)
        }
        few = "1 column" if most == 1 else f"{most} columns or fewer"
        known = "this column" if most == 1 else "these columns"
        yield report_classes(
            "special uniques", None, classes, found.fewest > 0,
            lambda rows: f"{rows} {'is' if rows == rows_text(1) else 'are'} already unique in "
            f"{few}: someone who knows {known} can find them.",
            f"No row is unique in {few}.",
            {**by_size, "highest score": counts.highest_score},
            harm=found.score,
        )  # fmt: skip
