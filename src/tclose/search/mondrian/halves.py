"""Whether a class, and both halves that a cut would leave, may be released.

Closeness may be to any large enough superset instead ((n, t)): those are the nodes above the class,
which `enter` keeps at hand.
"""

from __future__ import annotations

from typing import Any

from tclose.kernels import compiling
from tclose.kernels.rules import (
    AT,
    BASE,
    BELOW,
    FIRST,
    LAST,
    NEED,
    PARENT,
    WIDTH,
    keeps_rule,
    members,
    too_few,
)
from tclose.kernels.tables import adds
from tclose.search.mondrian.sweep import HEFT, NEAR, ORDER, REST, WHOLE


@compiling.part
def weigh(ids: Any, lo: Any, hi: Any, tab: Any, hist: Any) -> Any:
    """The weight of some cells, and their histogram into `hist`."""
    hist[:] = 0
    size = 0
    for p in range(lo, hi):
        cell = ids[p]
        size += tab.weight[cell]
        for a in range(tab.slot.shape[1]):
            hist[tab.slot[cell, a]] += adds(cell, a, tab)
    return size


@compiling.part
def kept(hist: Any, size: Any, depth: Any, tab: Any, work: Any) -> Any:
    """Whether a class may be released, its supersets included."""
    rules = tab.rules
    if too_few(hist, size, rules):
        return False
    nodes = rules.node.shape[1]
    for rule in range(len(rules.head)):
        need = rules.head[rule, NEED]
        if need == 0:
            if not keeps_rule(rule, hist, size, rules.node[BELOW], 0, rules, work.scratch):
                return False
            continue
        found = members(hist, size, rules) >= need
        level = 0
        while not found and level <= depth and level < len(work.above):
            above = work.above[level]
            if above[-1] < need:
                break
            n = above[nodes + rule]
            found = keeps_rule(rule, hist, size, above, n, rules, work.scratch)
            level += 1
        if not found:
            return False
    return True


@compiling.part
def both_kept(below: Any, size: Any, depth: Any, tab: Any, work: Any) -> Any:
    """Whether both halves may be released; the left one (NEAR) has `below` rows.

    One call in a loop, not two: what is called is compiled once per call.
    """
    for s in range(work.hist.shape[1]):
        work.hist[REST, s] = work.hist[WHOLE, s] - work.hist[NEAR, s]
    for half in (NEAR, REST):
        rows = below if half == NEAR else size - below
        if not kept(work.hist[half], rows, depth, tab, work):
            return False
    return True


@compiling.part
def enter(size: Any, depth: Any, tab: Any, work: Any) -> None:
    """Makes the node a superset of what is cut from it."""
    if len(work.above) == 1 or depth >= len(work.above):
        return
    above, rules, nodes = work.above[depth], tab.rules, tab.rules.node.shape[1]
    above[:] = 0
    above[-1] = members(work.hist[WHOLE], size, rules)
    for rule in range(len(rules.head)):
        base, at = rules.head[rule, BASE], rules.head[rule, AT]
        if rules.head[rule, NEED] == 0:
            continue
        for v in range(rules.head[rule, WIDTH]):
            above[rules.leaf[at + v]] += work.hist[WHOLE, base + v]
            above[nodes + rule] += work.hist[WHOLE, base + v]
        for node in range(rules.head[rule, FIRST], rules.head[rule, LAST] - 1):
            above[rules.node[PARENT, node]] += above[node]


@compiling.part
def add_up_to(j: Any, v: Any, ids: Any, lo: Any, count: Any, tab: Any, work: Any) -> Any:
    """Makes the cells up to rank v of column j the left half; returns their weight."""
    work.hist[NEAR] = 0
    line, added = work.local[j], 0
    for p in range(count):
        if line[p] <= v:
            cell = ids[lo + p]
            added += work.pos[HEFT, p]
            for a in range(tab.slot.shape[1]):
                work.hist[NEAR, tab.slot[cell, a]] += adds(cell, a, tab)
    return added


@compiling.part
def add_cells(first: Any, end: Any, ids: Any, lo: Any, tab: Any, work: Any) -> Any:
    """Adds some cells along the column to the left half; returns their weight."""
    added = 0
    for q in range(first, end):
        cell = ids[lo + work.pos[ORDER, q]]
        added += tab.weight[cell]
        for a in range(tab.slot.shape[1]):
            work.hist[NEAR, tab.slot[cell, a]] += adds(cell, a, tab)
    return added
