"""Sentences that explain t with the table's own numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tclose.hierarchy.tree import Hierarchy
from tclose.plain import exact
from tclose.studio.project import Raw
from tclose.studio.table import ColumnCounts, show_value

NO_T = "t says how far a group of people who look alike may be from the whole table. You choose it."


def read_t(column: Raw) -> float | None:
    """Returns the t of a column as a number; None if it has none."""
    try:
        return float(exact(str(column["t"])))
    except (KeyError, ValueError):
        return None


def explain_distance(column: Raw, tree: Hierarchy | None) -> str:
    """Explains how far apart two values are by the distance of a column."""
    distance = column.get("distance", "equal")
    if distance == "ordered":
        return "Neighbours in the order are one place apart; the first and the last are 1 apart."
    if distance == "numeric":
        return "Two numbers are as far apart as they differ; the smallest and largest are 1 apart."
    if distance == "hierarchical" and tree is not None:
        top = tree.levels - 1
        steps = [f"of level {level} {Fraction(level, top)} apart" for level in range(1, top)]
        within = f"Values of one group {', '.join(steps)}; " if steps else ""
        return f"{within}values that share no group 1 apart."
    if distance == "equal":
        return "Any two different values are 1 apart."
    return ""


def explain_t(
    counts: ColumnCounts, column: Raw, tree: Hierarchy | None, *, counts_rows: bool = True
) -> str:
    """Explains what the t of a column allows in any class.

    Numbers of the table are only given where they bound those of a class: not where rows do not
    count as one (`counts_rows`), and not where missing values may be any or belong to no mean.
    """
    try:
        t = exact(str(column["t"]))
    except (KeyError, ValueError):
        return NO_T
    distance = column.get("distance", "equal")
    rows, gaps = counts.rows[:-1], counts.rows[-1]
    if not rows.sum():
        return NO_T
    is_plain = counts_rows and not (gaps and column.get("missing") == "any")
    if distance == "numeric" and counts.dictionary.line and is_plain and not gaps:
        return _explain_numbers(counts, t)
    if distance == "ordered":
        return _explain_order(counts, column, t)
    nodes = np.zeros(0) if tree is None else tree.find(counts.labels)
    known = nodes >= 0
    if distance == "hierarchical" and tree is not None and is_plain and known.any():
        top = tree.ancestors[nodes[known], max(tree.levels - 2, 0)]
        shares = np.bincount(top, weights=rows[known])
        at = int(shares.argmax())
        return _explain_share(tree.labels[at], shares[at] / counts.rows.sum(), t, "the group ")
    if distance == "equal" and is_plain:
        at = int(rows.argmax())
        return _explain_share(counts.labels[at], rows[at] / counts.rows.sum(), t, "")
    return (
        f"No group of rows that look alike may be farther than {float(t):g} from the whole table, "
        f"by the distance “{_name(distance)}”."
    )


def _name(distance: object) -> str:
    return str(next(iter(distance), "") if isinstance(distance, dict) else distance)


def _explain_share(label: str, share: float, t: Fraction, kind: str) -> str:
    """Explains t where moving a person costs 1: equal distance, or the top groups of a tree."""
    low, high = max(share - float(t), 0), min(share + float(t), 1)
    return (
        f"{share:.1%} of all rows have {kind}“{show_value(label)}”, the most frequent; in every "
        f"group of rows that look alike it may be anything from {low:.1%} to {high:.1%}."
    )


def _explain_order(counts: ColumnCounts, column: Raw, t: Fraction) -> str:
    """Explains t as the mean number of places that people move, relative to all places."""
    order = column.get("order")
    steps = max(len(order if isinstance(order, list) else counts.labels) - 1, 1)
    return (
        f"There are {steps + 1:,} values in order. To make a group of rows that look alike like "
        f"the whole table, its people would have to move by no more than {float(t) * steps:.1f} "
        f"places each, on average."
    )


def _explain_numbers(counts: ColumnCounts, t: Fraction) -> str:
    """Explains t by means: they differ by no more than the mean move, relative to the range."""
    line = np.array([float(number) for number in counts.dictionary.line or ()])
    rows = counts.rows[: len(line)]
    mean, far = float(rows @ line / rows.sum()), float(t) * float(line[-1] - line[0])
    return (
        f"The mean of all rows is {mean:,.2f}; that of every group of rows that look alike must "
        f"lie between {mean - far:,.2f} and {mean + far:,.2f}."
    )
