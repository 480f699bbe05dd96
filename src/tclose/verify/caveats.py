"""Notes on a table beside its requirements, and columns that its policy does not allow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tclose.data.binding import BoundTable, count_unplaced
from tclose.data.encode.columns import Dictionary
from tclose.data.encode.labels import MASK, PSEUDONYM
from tclose.data.encode.limits import GeneralizationLimit
from tclose.data.encode.ranges import count_differing, read_ranges
from tclose.data.source import ROWS, Source, write_out
from tclose.plain import rows_text
from tclose.policy.model import Policy
from tclose.requirements import Measurement
from tclose.verify.verdict import SizeSummary, Verdict


def find_caveats(bound: BoundTable) -> Iterator[str]:
    """What to know about prefixes, about rows that are counted by person, or have weights."""
    yield from find_caveats_of_values(bound)
    yield from find_caveats_of_counting(bound)


def find_caveats_of_values(bound: BoundTable) -> Iterator[str]:
    """What to know about values that have no place in their order or hierarchy; of a raw table."""
    classes = bound.classes
    for name in classes.quasi:
        spec = bound.policy.columns[name].hierarchy
        lengths = {
            len(value) for value in bound.cells.dictionaries[name].labels if "*" not in value
        }
        if spec is not None and spec.prefix is not None and len(lengths) > 1:
            yield (
                f"values of {name!r} have different lengths: what is cut off is written as one "
                "star, whatever its length"
            )
        lost = 0 if spec is None else count_unplaced(spec, bound.cells.dictionaries[name].labels)
        if spec is not None and lost:
            yield (
                f"{lost:,} distinct values of {name!r} are not in the built-in hierarchy "
                f"{spec.builtin!r}: they can only be generalized to everything"
            )
    for attribute in bound.attributes.values():
        if attribute.repeats and attribute.specified is None:
            distance = attribute.default_distance
            yield (
                f"some values of {attribute.name!r} are one number or date, written in several "
                f"ways: they count as different, without an order (the distance is {distance}); "
                "clean = { round = … } writes numbers in one way"
            )


def find_caveats_of_counting(bound: BoundTable) -> Iterator[str]:
    """What the way of counting leaves open in these classes; of a release, its own ones."""
    classes, counting = bound.classes, bound.policy.counting
    if classes.persons is not None and counting is not None and classes.everyone < classes.n_rows:
        yield (
            f"sizes and distributions count persons ({classes.everyone:,} in column "
            f"{counting[1]!r}), not rows; the rows of one person are linked, so someone who "
            "knows several of them can look for a person who is in all their classes"
        )
    if counting is not None and counting[0] == "weight":
        table = bound.source.group([*classes.quasi, counting[1]])
        alone = int(np.count_nonzero(table.column(ROWS).to_numpy() == 1))
        if 2 * alone >= classes.n_rows:
            yield (
                f"the weight (column {counting[1]!r}) is released unchanged, and {alone:,} of "
                f"{rows_text(classes.n_rows)} have one that no other row of their class has: "
                "someone who knows a person's weight can find the row"
            )


def judge_identifiers(policy: Policy, source: Source, rows: int, classes: int) -> Iterator[Verdict]:
    """A broken promise for every identifier that is not released in the stated form."""
    how = policy.release.identifiers
    named = dict.fromkeys(policy.identifiers, how)
    if policy.subject is not None:
        named[policy.subject] = "pseudonym"
    for name, form in named.items():
        wrong = 0
        if name in source.columns:
            raw = source.count_distinct(name) if form == "drop" else None
            wrong = _count_raw(source, name, form) if raw is None else raw
        if wrong:
            note = "the column identifies people and is still in the table; attained: its values"
            required = {"drop": "absent", "mask": f"masked ({MASK})", "pseudonym": "pseudonyms"}
            counts = SizeSummary(classes, rows, 0, 0, 0)
            yield _break(name, "identifiers-removed", required[form], wrong, note, counts)


def _count_raw(source: Source, name: str, form: str) -> int:
    """How many values (or rows, where too many) are neither masked nor pseudonyms."""
    table = source.group_within_limit([name])
    found = source.stream().batches() if table is None else table.to_batches()
    wrong = 0
    for batch in found:
        texts = write_out(batch.column(name))
        if texts.type != pa.large_string():
            wrong += len(texts) - (texts.null_count if form == "pseudonym" else 0)
            continue
        if form == "mask":
            right = pc.fill_null(pc.equal(texts, MASK), fill_value=False)
        else:  # what is missing has no pseudonym
            right = pc.fill_null(pc.match_substring_regex(texts, PSEUDONYM), fill_value=True)
        wrong += len(right) - right.true_count
    return wrong


def judge_added(policy: Policy, source: Source, counts: SizeSummary) -> Iterator[Verdict]:
    """A broken promise for every added column that reveals more than its own column does."""
    for name, (of, end) in policy.added_columns.items():
        if name not in source.columns or of not in source.columns:
            continue
        seen = source.group([of, name])
        dictionary, codes = Dictionary.encode(seen.column(of))
        labels = [dictionary.labels[at] if at < dictionary.known else None for at in codes.tolist()]
        wrong = count_differing(read_ranges(labels), end, seen.column(name))
        if wrong:
            note = f"is not the {end} of the released {of!r}; attained: values that are not"
            yield _break(name, "added-columns-told", "0", wrong, note, counts)


def judge_limits(bound: BoundTable, counts: SizeSummary) -> Iterator[Verdict]:
    """A broken promise for every column of a release that is generalized further than allowed."""
    for name in bound.policy.limited:
        tree, column = bound.hierarchies.get(name), bound.policy.columns[name]
        limit = GeneralizationLimit.of(column, tree)
        assert limit is not None
        labels = bound.cells.dictionaries[name].labels
        beyond = np.array([not limit.allows(label) for label in labels] + [False])
        if beyond.any():
            rows = int(bound.cells.rows[beyond[bound.cells.codes[name]]].sum())
            note = "generalized further than the policy allows; attained: values that are"
            found = replace(counts, rows=rows) if bound.cells.n_rows == counts.rows else counts
            yield _break(name, "limit", limit.words, int(beyond.sum()), note, found)


def _break(
    name: str, requirement: str, required: str, values: int, note: str, counts: SizeSummary
) -> Verdict:
    """The verdict on a column with so many values that it should not have."""
    measured = Measurement(
        value=np.full(counts.classes, float(values)),
        fails=np.ones(counts.classes, dtype=bool),
        achieved=float(values),
        exact=Fraction(values),
        worst=0,
        margin=np.full(counts.classes, -1.0),
    )
    return Verdict(
        requirement=requirement,
        attribute=name,
        distance=None,
        reading="separate",
        required=required,
        achieved=measured.achieved,
        achieved_exact=measured.exact,
        holds=False,
        worst_class=1,
        failing_classes=counts.classes,
        failing_rows=counts.rows,
        note=note,
        measurement=measured,
    )
