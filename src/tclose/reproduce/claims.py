"""Compares every statement of section 6 with the measurements, in sentences made from numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from tclose.reproduce import paper
from tclose.reproduce.experiments import LARGEST, Experiments, PaperRun
from tclose.reproduce.paper import ANONYMITY, CLOSE, CLOSER, ENTROPY

Agreement = Literal["equal", "same shape", "differs"]
SLIGHT = 1.25
"""What the paper calls slight or minimal is taken to be at most a quarter."""
FACTOR = 2
"""Counts that differ by at most this factor have the same shape."""
TREES = "The paper does not print its hierarchies, on which the lattice of minimal tables depends."


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, the result here, and why the two may differ."""

    about: str
    stated: str
    measured: str
    verdict: Agreement
    remark: str


def check_claims(found: Experiments) -> tuple[Claim, ...]:
    """Checks all statements, in the order of the paper."""
    entropy, recursive = found.attacks
    return (
        _check_rows(found),
        *_check_attack(entropy, paper.PRINTED_ENTROPY, found),
        *_check_attack(recursive, paper.PRINTED_RECURSIVE, found),
        _check_fastest(found),
        _check_gap(found),
        _check_pruning(found),
        _check_quality(found),
        _check_order(found),
        _check_cost(found),
    )


def group_by_kind(runs: Sequence[PaperRun]) -> dict[str, list[PaperRun]]:
    """Groups runs by measure, in the paper's order."""
    kinds: dict[str, list[PaperRun]] = {}
    for run in runs:
        kinds.setdefault(run.measure.kind, []).append(run)
    return kinds


def _check_rows(found: Experiments) -> Claim:
    equal = found.rows == paper.ROWS
    return Claim(
        "records without missing values", f"{paper.ROWS:,}", f"{found.rows:,}",
        "equal" if equal else "differs",
        "" if equal else "This is another table, or another part of it.",
    )  # fmt: skip


def _check_attack(run: PaperRun, stated: paper.StatedAttack, found: Experiments) -> list[Claim]:
    title, tables = run.measure.title, len(run.tables)
    most = 2 * run.vulnerable > tables
    claims = [
        Claim(
            f"{title}: minimal tables", str(stated.tables), str(tables),
            _compare_counts(tables, stated.tables, shape=_is_near(tables, stated.tables)),
            "" if tables == stated.tables else f"{TREES} {_describe_lattices(found)}",
        ),
        Claim(
            f"{title}: of these vulnerable to the similarity attack",
            f"{stated.vulnerable} of {stated.tables}", f"{run.vulnerable} of {tables}",
            _compare_counts(run.vulnerable, stated.vulnerable, shape=most),
            "" if (run.vulnerable, tables) == (stated.vulnerable, stated.tables)
            else f"{'More' if most else 'No more'} than half of the tables are vulnerable, "
            f"{'as' if most else 'unlike'} in the paper. {_describe_groups(found)}",
        ),
    ]  # fmt: skip
    if stated.worst is not None:
        claims.append(
            Claim(
                f"{title}: most records exposed in one table", str(stated.worst), f"{run.worst:,}",
                _compare_counts(run.worst, stated.worst, shape=_is_near(run.worst, stated.worst)),
                "" if run.worst == stated.worst
                else _describe_reach(run, found),
            )
        )  # fmt: skip
    return claims


def _compare_counts(here: int, there: int, *, shape: bool) -> Agreement:
    return "equal" if here == there else "same shape" if shape else "differs"


def _is_near(here: int, there: int) -> bool:
    return there <= FACTOR * here and here <= FACTOR * there


def _describe_lattices(found: Experiments) -> str:
    quasi = found.columns[: len(paper.QUASI)]
    here = math.prod(column.height for column in quasi)
    there = math.prod(column.stated.height for column in quasi)
    if here == there:
        return f"Both lattices have {here:,} nodes, but a level need not group the same values."
    other = [column.stated.name for column in quasi if column.height != column.stated.height]
    return (
        f"With the heights of its Figure 2 the lattice has {there:,} nodes, here it has {here:,}: "
        f"{' and '.join(other)} {'has' if len(other) == 1 else 'have'} another height."
    )


def _describe_groups(found: Experiments) -> str:
    values = ", ".join(str(values) for values, _ in found.groups)
    people = ", ".join(f"{people:,}" for _, people in found.groups)
    return (
        f"Here the groups are the {len(found.groups)} {found.reading.grouped_by}, with {values} "
        f"occupations and {people} people; the paper's are {paper.GROUPS} of roughly equal size, "
        "not printed."
    )


def _describe_reach(run: PaperRun, found: Experiments) -> str:
    most = sum(values for values, _ in found.groups) // LARGEST
    words = (
        f"However the occupations are put into groups of at most {most}, no more than "
        f"{run.exposable:,} records of one of these tables are exposed"
    )
    if paper.PRINTED_ENTROPY.worst is not None and run.exposable < paper.PRINTED_ENTROPY.worst:
        return (
            f"{words}. So other groups alone cannot explain it. Its tables are others: by its "
            "hierarchies, or because rows were left out, which it does not say; here none is."
        )
    return f"{words}; the paper does not print its groups."


def _check_shape(about: str, stated: str, measured: str, reason: str, *, holds: bool) -> Claim:
    """Makes a claim about a shape; `reason` explains why it does not hold."""
    verdict: Agreement = "same shape" if holds else "differs"
    return Claim(about, stated, measured, verdict, "" if holds else reason)


def _check_fastest(found: Experiments) -> Claim:
    cases: dict[tuple[int, int], list[PaperRun]] = {}
    for run in dict.fromkeys((*found.by_size, *found.by_parameter)):
        cases.setdefault((run.size, run.parameter), []).append(run)
    fastest = [min(runs, key=lambda run: run.seconds) for runs in cases.values()]
    won = sum(run.measure.kind == ENTROPY for run in fastest)
    return _check_shape(
        "entropy l-diversity runs faster than the other four (Figure 3)", "always",
        f"fastest in {won} of {len(cases)} cases", _name_fastest(found), holds=won == len(cases),
    )  # fmt: skip


def _name_fastest(found: Experiments) -> str:
    here = [run for run in found.by_parameter if run.parameter == found.plan.fixed]
    here = here or list(found.by_parameter)
    least, most = (end(here, key=lambda run: run.judged) for end in (min, max))
    longest = max(run.seconds for run in found.runs)
    step = 10.0 ** math.floor(math.log10(longest))
    return (
        f"With these hierarchies {least.measure.title} prunes earliest ({least.judged} nodes "
        f"judged) and {most.measure.title} latest ({most.judged}). No search takes more than "
        f"{math.ceil(longest / step + 1e-9) * step:g} s, where small things decide."
    )


def _check_gap(found: Experiments) -> Claim:
    kinds = group_by_kind(found.by_parameter)
    plain, entropy = kinds[ANONYMITY], kinds[ENTROPY]
    first, last = (plain[at].seconds / entropy[at].seconds for at in (0, -1))
    low, high = entropy[0].parameter, entropy[-1].parameter
    return _check_shape(
        "its lead gets larger when l increases (Figure 3(b))", "larger",
        f"k-anonymity takes {first:.2f} times its seconds at {low}, {last:.2f} times at {high}",
        "Seconds of a busy machine can mislead; look at the nodes judged.", holds=last > first,
    )  # fmt: skip


def _check_pruning(found: Experiments) -> Claim:
    judged = [run.judged for run in group_by_kind(found.by_parameter)[ENTROPY]]
    low, high = found.plan.parameters[0], found.plan.parameters[-1]
    return _check_shape(
        "with large l, entropy l-diversity prunes the lattice earlier", "earlier",
        f"{judged[0]} nodes judged at l = {low}, {judged[-1]} at l = {high}",
        "The nodes judged do not fall with every step of l.",
        holds=all(after <= before for before, after in itertools.pairwise(judged)),
    )  # fmt: skip


def _check_quality(found: Experiments) -> Claim:
    cases, kinds = len(found.plan.parameters), group_by_kind(found.by_parameter)
    worst = {
        "discernibility": _count_worst(kinds, lambda run: run.discernibility),
        "group size": _count_worst(kinds, lambda run: run.group_size),
    }
    over = [
        str(run.parameter)
        for run, other in zip(kinds[ENTROPY], kinds[CLOSER], strict=True)
        if other.discernibility > run.discernibility
    ]
    reason = "Another measure loses more; see the table."
    if over:
        reason = (
            f"With t = 0.15 more is lost for k = l = {', '.join(over)}: with these hierarchies it "
            "is the stricter demand there."
        )
    return _check_shape(
        "entropy l-diversity has worse data quality than the others (Figure 4)", "always",
        ", ".join(f"worst {name} in {won} of {cases}" for name, won in worst.items()),
        reason, holds=all(won == cases for won in worst.values()),
    )  # fmt: skip


def _count_worst(kinds: dict[str, list[PaperRun]], value: Callable[[PaperRun], float]) -> int:
    """Counts the parameters where nothing is worse than entropy l-diversity; no table is worst."""
    cost = {
        kind: [value(run) if run.tables else math.inf for run in runs]
        for kind, runs in kinds.items()
    }
    worst = map(max, zip(*cost.values(), strict=True))
    return sum(own == most for own, most in zip(cost[ENTROPY], worst, strict=True))


def _check_order(found: Experiments) -> Claim:
    kinds = group_by_kind(found.by_parameter)
    ordered = all(
        a.discernibility <= b.discernibility <= c.discernibility
        and a.group_size <= b.group_size <= c.group_size
        for a, b, c in zip(kinds[ANONYMITY], kinds[CLOSE], kinds[CLOSER], strict=True)
    )
    return Claim(
        "k-anonymous tables without closeness have better quality than with it (Figure 4)",
        "slightly better",
        "k alone ≤ t = 0.2 ≤ t = 0.15 in both metrics, at every k" if ordered else "not at every k",
        "same shape" if ordered else "differs",
        "The order is the paper’s, the size of the differences is compared below." if ordered
        else "For some k there is no table at all.",
    )  # fmt: skip


def _check_cost(found: Experiments) -> Claim:
    kinds = group_by_kind(found.by_parameter)
    plain, *close = ([run.discernibility for run in kinds[k]] for k in (ANONYMITY, CLOSE, CLOSER))
    ratios, stricter = ([a / b for a, b in zip(runs, plain, strict=True)] for runs in close)
    return _check_shape(
        "with t = 0.2 the loss of data quality is minimal (Figure 4)", "minimal",
        f"discernibility {min(ratios):.3g} to {max(ratios):.3g} times that of k-anonymity alone "
        f"(t = 0.15: {min(stricter):.3g} to {max(stricter):.3g})",
        "With these hierarchies 0.2 is a strict limit that only tables of few, large classes keep. "
        "How strict it is depends on the groups of occupations, whose distances count, and on how "
        "the other columns are generalized; neither is printed.",
        holds=max(ratios) <= SLIGHT,
    )  # fmt: skip
