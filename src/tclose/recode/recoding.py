"""From the classes of a search to released values, and how a reader would judge them.

The last word has `verify`, on the file itself. Whoever chooses between several ways of writing a
release asks the same requirements beforehand, about the same classes: rows that are released alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa

from tclose.arrays import Flags, Ints
from tclose.data.binding import BoundTable, narrow
from tclose.data.encode.cells import Cells
from tclose.data.encode.columns import Dictionary
from tclose.data.encode.labels import ANYTHING
from tclose.errors import InternalError, PolicyError
from tclose.recode.levels import recode_by_levels
from tclose.recode.number_line import find_width, widen_ends
from tclose.recode.values import Recoding, Released, merge_alike, write_values
from tclose.requirements import failing_classes, state_requirements
from tclose.search import Outcome, SearchProblem
from tclose.search.limits import keep_limits
from tclose.search.merging import merge_refused
from tclose.search.problem import number_classes
from tclose.utility.loss import Quasi, code_quasi, partition_loss, weigh_loss


def recode_outcome(bound: BoundTable, outcome: Outcome) -> Recoding:
    """The released values of an outcome's classes, and their loss."""
    quasi, release = code_quasi(bound), bound.policy.release
    how = "local" if release.covers_values else release.recoding
    if outcome.levels is not None and release.covers_values:
        return _recode_full_domain(bound, quasi, outcome.label, quasi.name_levels(outcome.levels))
    return recode_classes(bound, quasi, outcome.label, how)


def recode_classes(bound: BoundTable, quasi: Quasi, label: Ints, how: str = "local") -> Recoding:
    """What some classes are released as, each by itself."""
    loss = partition_loss(quasi.columns, quasi.codes, bound.cells.rows, label)
    recoding = Recoding(label, write_values(bound, quasi, label, recoding=how), loss, quasi)
    return _widen_borders(bound, recoding)


def _widen_borders(bound: BoundTable, recoding: Recoding) -> Recoding:
    """Widens intervals to the multiples that the policy states, and recomputes the loss."""
    steps = {name: bound.policy.columns[name].borders for name in bound.classes.quasi}
    if not any(steps.values()):
        return recoding
    released, each = [], recoding.loss.classes.copy()
    for at, (words, column) in enumerate(
        zip(recoding.released, recoding.quasi.columns, strict=True)
    ):
        step = steps[words.column]
        if step is not None:
            words = replace(words, values=tuple(widen_ends(word, step) for word in words.values))
            domain = float(column.place[-1] - column.place[0]) if len(column.place) else 0.0
            widths = [find_width(word) / (domain or 1.0) for word in words.values]
            known = np.array([word not in (None, ANYTHING) for word in words.values], bool)
            each[known, at] = np.minimum(np.array(widths)[known], 1.0)
        released.append(words)
    names = [words.column for words in released]
    loss = weigh_loss(names, each, bound.cells.rows, recoding.label)
    return replace(recoding, released=tuple(released), loss=loss)


def recode_and_repair(
    bound: BoundTable, population: Cells | None, problem: SearchProblem, outcome: Outcome
) -> tuple[Outcome, Recoding]:
    """Recodes an outcome, and merges classes until the promise holds for a reader, who sees classes
    with equal released values as one.

    Their union does so by itself, unless classes have persons in common. Then such classes become
    one before all are judged, and repaired where they fail. Every round leaves fewer classes.
    """
    recoding = recode_outcome(bound, outcome)
    while problem.overlaps and outcome.levels is None:
        label = recoding.label
        if not find_failing_cells(bound, population, label, recoding.released).any():
            break
        name = np.append(merge_alike(recoding.released)[1], -1)
        merged = number_classes(name[label])
        merged = merge_refused(problem, merged, problem.find_failing(merged))
        if np.array_equal(merged, number_classes(label)):
            break
        merged = keep_limits(problem, merged, Fraction(0)) if problem.limited else merged
        loss = problem.loss(merged).overall
        outcome = replace(outcome, label=merged, loss=loss, cuts=None)
        recoding = recode_outcome(bound, outcome)
    return outcome, recoding


def _recode_full_domain(
    bound: BoundTable, quasi: Quasi, label: Ints, levels: Mapping[str, int]
) -> Recoding:
    """By levels; rows that are left out have a class too, which is not released."""
    columns = [Released(column.name, column.kind, ()) for column in quasi.columns]
    whole = recode_by_levels(bound, columns, levels)
    kept = np.where(label >= 0, whole.label, -1)
    if not np.array_equal(number_classes(label), number_classes(kept)):
        raise InternalError("the classes of a full-domain outcome are not those of its levels")
    return _widen_borders(bound, replace(whole.with_label(kept, bound.cells.rows), quasi=quasi))


def find_failing_cells(
    bound: BoundTable, population: Cells | None, label: Ints, released: Sequence[Released]
) -> Flags:
    """Which cells lie in a class that breaks a promise once it is released (−1: it is not)."""
    kept = label >= 0
    if not kept.any():
        return kept
    try:
        table = build_released_table(bound, label, released)
    except PolicyError:
        return kept  # what is left cannot even be measured
    broken = failing_classes(state_requirements(table, population), table.classes)
    result = kept.copy()
    result[kept] = broken[table.classes.cell_class]
    return result


def build_released_table(
    bound: BoundTable, label: Ints, released: Sequence[Released]
) -> BoundTable:
    """The table of some cells as it would be released: class `label[cell]`, or −1 for left out."""
    kept = label >= 0
    sensitive = [bound.cells.codes[name] for name in bound.attributes]
    if any(len(np.unique(code[kept])) < len(np.unique(code)) for code in sensitive):
        bound = narrow(bound, kept)  # a sensitive value of the table no longer occurs
        rows = bound.cells
    else:
        rows = bound.cells.only(kept)
    dictionaries, codes = dict(rows.dictionaries), dict(rows.codes)
    for column in released:
        words = pa.chunked_array([pa.array(column.values, pa.string())])
        dictionaries[column.column], of_class = Dictionary.encode(words)
        codes[column.column] = of_class[label[kept]]
    cells = replace(rows, dictionaries=dictionaries, codes=codes)
    return bound.with_cells(cells, bound.attributes)
