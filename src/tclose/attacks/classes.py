"""Attacks on the classes of a release alone: the values they reveal, and who is in them.

`docs/explanation/attacks.md` describes each attack and its source. What the table as a whole
reveals does not count against a class: if the table has only two values, excluding one gives the
other away in every class. Nor does an attack count what the class reveals without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tclose.arrays import Flags, Floats, Ints
from tclose.attacks.finding import Finding, Number, rank_worst, report_classes
from tclose.data.binding import BoundTable
from tclose.data.encode.cells import Cells
from tclose.distance.histogram import Histogram
from tclose.distance.registry import Attribute
from tclose.plain import classes_text, rows_text
from tclose.requirements.classes import Classes, Tally, find_largest

MOST_EXCLUDED = 4
RATIO = 2
"""How many times more likely a value must become to count as skewed."""
DIFFERENCE = 10
"""One over the least increase of belief that counts: a tenth."""
MOST_VALUES = 20
PART = 4
"""One over the part of the range within which the values of a class count as similar."""
USUAL_K = 5


SHARE_BEFORE = "least share in the table"
"""A number of homogeneity: how sure of a value the whole table makes an attacker, at least."""


def attack_attribute(release: BoundTable, attribute: str) -> Iterator[Finding]:
    """Yields the findings of all attacks on one sensitive attribute that need only the release."""
    classes, alpha = release.classes, release.policy.columns[attribute].alpha
    tally, protected = classes.tally(attribute), (alpha.values if alpha else None) or ()
    yield _find_homogeneity(classes, tally, attribute)
    yield _find_background_knowledge(classes, tally, attribute)
    yield _find_skewness(classes, tally, attribute, protected)
    yield from _find_similarity(classes, tally, attribute)
    if len(classes.attributes) > 1:
        yield _find_background_join(classes, attribute)


def _find_homogeneity(classes: Classes, tally: Tally, attribute: str) -> Finding:
    shown = int(np.count_nonzero(tally.table))
    single = (np.diff(tally.histogram.start) == 1) & (shown > 1)
    affected_classes = classes.find_largest(tally.view, single) > 0
    count = int(affected_classes.sum())
    values = tally.histogram.code[tally.histogram.start[:-1][single]]
    shares = tally.table[values].astype(np.float64) / tally.total
    low, high = (float(shares.min()), float(shares.max())) if len(shares) else (0.0, 0.0)
    sure = f"{low:.1%}" if low == high else f"{low:.1%} to {high:.1%}"
    quiet = f"No class has only one value of {attribute}."
    if shown < 2:
        quiet = f"The whole table has only one value of {attribute}: no class reveals more."
    return report_classes(
        "homogeneity", attribute, classes, affected_classes,
        lambda rows: f"In {classes_text(count)} all people have the same {attribute}: anyone who "
        f"knows that a person is among these {rows} knows the value for certain. Someone who knows "
        f"only the whole table is {sure} sure of it.",
        quiet,
        {"classes": count, "values in the table": shown, SHARE_BEFORE: low},
    )  # fmt: skip


def _find_background_knowledge(classes: Classes, tally: Tally, attribute: str) -> Finding:
    """Counts how few values somebody who knows a person has to exclude to be certain."""
    needed = np.diff(tally.histogram.start) - 1
    usual = int(np.count_nonzero(tally.table)) - 1
    fewest = -classes.find_largest(tally.view, -needed.astype(np.float64))
    open_to_doubt = needed[needed > 0]
    if not len(open_to_doubt):
        quiet = f"Every class has only one value of {attribute}, so none has to be ruled out."
    else:
        at_first = "" if needed.all() else " in the classes that have several values"
        quiet = (
            f"To be certain of a person's {attribute}{at_first}, an attacker has to rule out at "
            f"least {int(open_to_doubt.min()):,} values; in the whole table, {usual:,}."
        )
    surest = float(guess_without_runner_up(tally.histogram).max())
    numbers: dict[str, Number] = {
        "fewest values to exclude": int(fewest.min()),
        "in the whole table": usual,
        "surest guess when one value is excluded": surest,
    }
    for count in range(1, min(MOST_EXCLUDED, usual) + 1):
        certain = int(classes.class_rows[fewest <= count].sum())
        numbers[f"rows certain when {count} are excluded"] = certain
    return report_classes(
        "background knowledge", attribute, classes,
        classes.find_largest(tally.view, (needed == 1) & (needed < usual)) > 0,
        lambda rows: f"For {rows} it is enough to rule out one value to be certain of the "
        f"{attribute}; in the whole table that takes {usual:,}.",
        quiet,
        numbers,
    )  # fmt: skip


def guess_without_runner_up(histogram: Histogram) -> Floats:
    """Returns the chance of the best guess in each class, once the runner-up is excluded.

    >>> guess_without_runner_up(Histogram.from_dense([[6, 3, 1], [2, 0, 0]])).round(3).tolist()
    [0.857, 1.0]
    """
    order = np.lexsort((-histogram.count, histogram.owner()))
    count = np.append(histogram.count[order], 0)
    first = count[histogram.start[:-1]]
    second = np.where(np.diff(histogram.start) > 1, count[histogram.start[:-1] + 1], 0)
    return _divide(first, histogram.size - second)


def _find_skewness(
    classes: Classes, tally: Tally, attribute: str, protected: tuple[str, ...]
) -> Finding:
    """Finds rows where belief in a value at least doubles and rises by a tenth or more."""
    histogram, rows = tally.histogram, tally.total
    wide = rows >= 2**29
    count = histogram.count.astype(object) if wide else histogram.count
    size = tally.size[histogram.owner()]
    in_table = tally.table[histogram.code]
    gain = count * rows - size * in_table
    large = (count * rows >= RATIO * size * in_table) & (DIFFERENCE * gain >= size * rows)
    large = large.astype(bool)
    flagged = np.zeros(histogram.classes, dtype=bool)
    flagged[histogram.owner()[large]] = True
    share, usual = _divide(histogram.count, size), _divide(in_table, np.array(rows))
    ratio, rise = share / np.where(usual > 0, usual, np.nan), share - usual
    rises = np.nan_to_num(rise, nan=1.0)
    by_row = find_largest(histogram.owner(), rises, histogram.classes)
    ratios = np.nan_to_num(ratio, nan=np.inf)
    # The sentence gives the largest rise that counts; if none counts, the largest of all.
    sharpest = int(np.argmax(np.where(large, rise, -np.inf) if large.any() else rise))
    about = classes.attributes[attribute]
    rise_words = f"from {usual[sharpest]:.1%} to {share[sharpest]:.1%}"
    return report_classes(
        "skewness", attribute, classes, classes.find_largest(tally.view, flagged) > 0,
        lambda rows: f"For {rows} belief in some {attribute} at least doubles, and rises by a "
        f"tenth or more; at worst it rises {rise_words}.",
        f"In no class does belief in a {attribute} both double and rise by a tenth; the sharpest "
        f"rise is {rise_words}.",
        {"largest ratio": float(ratios.max()), "largest difference": float(rise.max())},
        harm=classes.find_largest(tally.view, by_row),
        details=_list_values(about, protected, histogram.code, ratios, rise),
    )  # fmt: skip


def _list_values(
    about: Attribute, protected: tuple[str, ...], code: Ints, ratio: Floats, rise: Floats
) -> tuple[dict[str, Number], ...]:
    """Lists values by their place in the order, from 1: protected ones, then the largest rises."""
    largest, highest_rise = np.zeros(about.values), np.full(about.values, -1.0)
    np.maximum.at(largest, code, ratio)
    np.maximum.at(highest_rise, code, rise)
    marked = {at for at, label in enumerate(about.labels) if label in protected}
    order = np.argsort(-highest_rise, kind="stable").tolist()
    chosen = [at for at in order if at in marked]
    chosen += [at for at in order if at not in marked and highest_rise[at] > -1.0]
    return tuple(
        {
            "value": at + 1,
            "largest ratio": float(largest[at]),
            "largest difference": float(highest_rise[at]),
            "protected": at in marked,
        }
        for at in chosen[:MOST_VALUES]
    )


def _find_similarity(classes: Classes, tally: Tally, attribute: str) -> Iterator[Finding]:
    """Yields a finding for every level of the hierarchy below the root, or for the order."""
    several = np.diff(tally.histogram.start) > 1
    for near, kind, number in _list_similar(classes.attributes[attribute], tally):
        affected_classes = classes.find_largest(tally.view, several & near) > 0
        count = int(affected_classes.sum())
        yield report_classes(
            "similarity", attribute, classes, affected_classes,
            partial(
                "In {} values of {} differ but all lie in {}: for {} this much is certain, "
                "although the value is not.".format, classes_text(count), attribute, kind,
            ),
            f"No class has different values of {attribute} that all lie in {kind}.",
            {**number, "classes": count},
        )  # fmt: skip


def _list_similar(about: Attribute, tally: Tally) -> Iterator[tuple[Flags, str, dict[str, Number]]]:
    """Yields which distributions lie in one group or range, with words and a number for it."""
    if (tree := about.hierarchy) is not None:
        known = about.labels[: about.values - about.with_missing]
        node = tree.indices(known).astype(np.int64)
        for level in range(1, tree.levels - 1):
            group = tree.ancestors[tree.first_below[node], level]
            # A released value above this level is a group by itself.
            group = np.where(tree.height[node] > tree.height[group], node, group)
            group = np.append(group, [-1] * about.with_missing).astype(np.int64)
            if len(np.unique(group[tally.table > 0])) > 1:
                low, high = _find_ends(tally, group)
                yield low == high, f"one group of level {level}", {"level": level}
    elif about.has_order and np.count_nonzero(tally.table) > PART:
        low, high = _find_ends(tally, np.arange(about.values))
        near = PART * (high - low) <= about.values - 1
        yield near, "a narrow range", {"part of the range": 1 / PART}


def _find_ends(tally: Tally, group: Ints) -> tuple[Ints, Ints]:
    """Returns the lowest and the highest group of each distribution."""
    mine = group[tally.histogram.code]
    first = tally.histogram.start[:-1]
    return np.minimum.reduceat(mine, first), np.maximum.reduceat(mine, first)


def _find_background_join(classes: Classes, attribute: str) -> Finding:
    """Finds rows whose value becomes certain to somebody who knows the other sensitive values."""
    others = [name for name in classes.attributes if name != attribute]
    seen = classes.regroup(others)
    single = np.diff(seen.histogram(attribute).start) == 1
    before = np.diff(classes.histogram(attribute).start) == 1
    fresh = single & ~before[seen.origin]
    rows = np.bincount(seen.origin[fresh], seen.class_rows[fresh], classes.count)
    affected, alone = int(rows.sum()), int(seen.class_rows[seen.size == 1].sum())
    known = " and ".join(others)
    sentence = f"Knowing {known} as well makes the {attribute} of no row certain."
    if affected:
        sentence = (
            f"Someone who also knows {known} of a person can be certain of the {attribute} of "
            f"{rows_text(affected)} whose class alone does not reveal it."
        )
    numbers = {"rows that stand alone": alone, "share alone": alone / classes.n_rows}
    return Finding(
        "background join", attribute, sentence, affected, classes.n_rows,
        rank_worst(rows > 0, rows), numbers,
    )  # fmt: skip


def find_threshold(bound: BoundTable) -> int:
    """Returns the class size below which a risk counts as high."""
    return bound.policy.k if bound.policy.k is not None else USUAL_K


def find_reidentification(bound: BoundTable, population: Cells | None) -> Iterator[Finding]:
    """Yields the risks that a row is recognized; above 1/k they count as high.

    The attacker knows that a person is in the table (prosecutor), or only that the person belongs
    to a population (journalist), or matches all rows at once (marketer).
    """
    size = bound.classes.size.astype(np.int64)
    yield _find_high_risk(bound, "prosecutor", size, "in the release")
    seen = size
    if population is not None:
        match = bound.match_population(population)
        seen = np.maximum(match, size)
        nobody = int(np.count_nonzero(match < size))
        extra = {"classes that fewer people fit than are in them": nobody}
        yield _find_high_risk(bound, "journalist", seen, "in the population", extra)
    expected, rows = float((bound.classes.class_rows / seen).sum()), bound.classes.n_rows
    share, k = expected / rows, find_threshold(bound)
    sentence = (
        f"An attacker who assigns all rows to people gets about {expected:,.0f} of {rows:,} right "
        f"({share:.1%})."
    )
    numbers = {"share": share, "expected matches": expected, "threshold": 1 / k}
    affected = round(expected) if share > 1 / k else 0
    yield Finding("marketer", None, sentence, affected, rows, (), numbers)


def _find_high_risk(
    bound: BoundTable, attack: str, among: Ints, where: str, extra: dict[str, int] | None = None
) -> Finding:
    k, least = find_threshold(bound), int(among.min())
    return report_classes(
        attack, None, bound.classes, among < k,
        lambda rows: f"{rows} {'fits' if rows == rows_text(1) else 'fit'} fewer than {k:,} people "
        f"{where}; the highest probability of "
        f"identifying a person is {1 / least:.1%}.",
        f"Every row fits at least {least:,} people {where}: the probability of identifying a "
        f"person is at most {1 / least:.1%}.",
        {"highest risk": 1 / least, "threshold": 1 / k, **(extra or {})},
        harm=-among,
    )  # fmt: skip


def _divide(part: NDArray[np.number], whole: NDArray[np.number]) -> Floats:
    return np.asarray(part, dtype=np.float64) / np.asarray(whole, dtype=np.float64)
