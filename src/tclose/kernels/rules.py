"""Compiled promises: may a class with this histogram be released? Decided in whole numbers.

A class is a histogram over *slots* (one per value of each sensitive attribute, and one for missing
values that may be any value) and a size. Every rule is sound: what it accepts keeps the promise.
Where whole numbers decide (k, earth mover's distances that fit 64 bits, shares, counts) it is exact
as well; where logarithms or larger numbers decide, a margin far above the rounding error is kept,
so that a class within a billionth of its threshold may be refused but none beyond it is accepted.

Missing values that may be any value are judged at their worst, as `table.classes` defines it: all
z of them taken to be one and the same value, for each value in turn.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from tclose.kernels import compiling

EMD, DISTINCT, SHARE, GAIN, BAND, ENTROPY, RECURSIVE, KL, JS = range(9)
MARGIN = 1e-9
CLEAR = 1e-11
FITS = 1 << 62


KIND, BASE, WIDTH, HIDDEN, AT, FIRST, LAST, NUM, DEN, LIMIT, KNOWN, NEED, FROM, TO = range(14)
"""What `head` says about a rule: its kind; the slot of its attribute's first value; how many values
there are; the slot of missing values that may be any (−1: none); where its part of `leaf` and
`bound` begins; the first and one past the last node of its tree; the threshold num / den (earth
mover: times the diameter); the largest class that 64 bits can judge (or the l of recursive
diversity); rows whose value is known; for rules about supersets, their least size (else 0); the
slots that add up to what a share is of (none: the rows of the class)."""
PARENT, LENGTH, BELOW = range(3)
"""What `node` says about a node: its parent (−1 at a root; children come before parents), the
length of the edge to it, and how many rows of the table are below."""
LOWER, UPPER = range(2)
SLOT, LEAST, UNIT = range(3)
"""What `people` says where persons are counted: the slot that counts them (−1: rows are counted),
the least that a class must have there, and what a person adds up to there at most."""


class Rules(NamedTuple):
    """All rules as a few arrays: many would take a compiler long, since each is passed along."""

    head: Any
    """int64 [rules, 14]"""
    real: Any
    """float64 [rules]: the threshold, rounded"""
    bound: Any
    """float64 [2, values of all rules]: what a share must be above and below"""
    leaf: Any
    """int64 [values of all rules]: the node of each value"""
    node: Any
    """int64 [3, nodes]"""
    stretch: Any
    """float64 [nodes]: the length of the edge to the parent over the diameter"""
    count: Any
    """int64 [slots + 1]: rows of the table with each value; the last entry is k"""
    people: Any
    """int64 [3]"""


@compiling.part
def keeps(hist: Any, size: Any, rules: Any, scratch: Any) -> Any:
    """Whether a class keeps every rule; `scratch` has twice as many entries as there are nodes."""
    if too_few(hist, size, rules):
        return False
    for rule in range(len(rules.head)):
        if not keeps_rule(rule, hist, size, rules.node[BELOW], 0, rules, scratch):
            return False
    return True


@compiling.inlined
def too_few(hist: Any, size: Any, rules: Any) -> Any:
    """Whether a class has fewer than k rows, or may have fewer than k persons."""
    slot = rules.people[SLOT]
    return size < rules.count[-1] or (slot >= 0 and hist[slot] < rules.people[LEAST])


@compiling.inlined
def members(hist: Any, size: Any, rules: Any) -> Any:
    """The rows of a class, or how many persons it has at least."""
    slot, unit = rules.people[SLOT], rules.people[UNIT]
    return size if slot < 0 else (hist[slot] + unit - 1) // unit


@compiling.part
def whole(rule: Any, hist: Any, size: Any, rules: Any) -> Any:
    """What a share is of: the rows of a class, or what these weigh, or its persons."""
    if rules.head[rule, FROM] == rules.head[rule, TO]:
        return size
    total = 0
    for slot in range(rules.head[rule, FROM], rules.head[rule, TO]):
        total += hist[slot]
    return total


@compiling.part
def keeps_rule(
    rule: Any, hist: Any, size: Any, below: Any, n: Any, rules: Any, scratch: Any
) -> Any:
    """Whether a class keeps one rule.

    Earth mover's distances may be taken to another reference than the table: `below` are its rows
    below each node, n its rows (0: the table).
    """
    kind = rules.head[rule, KIND]
    size = whole(rule, hist, size, rules)
    if kind == EMD:
        n = n if n > 0 else rules.head[rule, KNOWN]
        return near(rule, hist, size, below, n, rules, scratch)
    if kind == DISTINCT:
        return distinct(rule, hist, rules) >= rules.head[rule, NUM]
    if kind == SHARE:
        return share(rule, hist, size, rules)
    if kind == GAIN:
        return gain(rule, hist, size, rules)
    if kind == BAND:
        return band(rule, hist, size, rules)
    if kind == ENTROPY:
        return entropy(rule, hist, size, rules)
    if kind == RECURSIVE:
        return recursive(rule, hist, rules)
    return divergence(rule, hist, size, rules)


@compiling.part
def near(rule: Any, hist: Any, size: Any, below: Any, n: Any, rules: Any, scratch: Any) -> Any:
    """EMD ≤ t: Σ len·|n·c − r·N|·den ≤ num·n·r (`docs/mathematics.md` 1.2)."""
    climb(rule, hist, rules, scratch)
    z = hist[rules.head[rule, HIDDEN]] if rules.head[rule, HIDDEN] >= 0 else 0
    if size > rules.head[rule, LIMIT]:
        return near_enough(rule, z, size, below, n, rules, scratch)
    first, last = rules.head[rule, FIRST], rules.head[rule, LAST]
    work = 0
    for node in range(first, last):
        work += rules.node[LENGTH, node] * abs(n * scratch[node] - size * below[node])
    if z > 0:
        work += detour(rule, z, size, below, n, rules, scratch)
    return work * rules.head[rule, DEN] <= rules.head[rule, NUM] * n * size


@compiling.part
def climb(rule: Any, hist: Any, rules: Any, scratch: Any) -> None:
    """Rows of the class below each node, into `scratch`."""
    first, last = rules.head[rule, FIRST], rules.head[rule, LAST]
    base, at = rules.head[rule, BASE], rules.head[rule, AT]
    for node in range(first, last):
        scratch[node] = 0
    for v in range(rules.head[rule, WIDTH]):
        scratch[rules.leaf[at + v]] += hist[base + v]
    for node in range(first, last - 1):
        scratch[rules.node[PARENT, node]] += scratch[node]


@compiling.part
def detour(rule: Any, z: Any, size: Any, below: Any, n: Any, rules: Any, scratch: Any) -> Any:
    """What z missing values add at their worst value.

    If all of them are value v, only the edges above v change; their sum is carried from the root
    down, so the worst value is found in one pass over the nodes.
    """
    first, last = rules.head[rule, FIRST], rules.head[rule, LAST]
    half = len(scratch) // 2
    scratch[half + last - 1] = 0
    for node in range(last - 2, first - 1, -1):
        excess = n * scratch[node] - size * below[node]
        more = rules.node[LENGTH, node] * (abs(excess + n * z) - abs(excess))
        scratch[half + node] = scratch[half + rules.node[PARENT, node]] + more
    worst = scratch[half + rules.leaf[rules.head[rule, AT]]]
    for v in range(1, rules.head[rule, WIDTH]):
        worst = max(worst, scratch[half + rules.leaf[rules.head[rule, AT] + v]])
    return worst


@compiling.part
def near_enough(rule: Any, z: Any, size: Any, below: Any, n: Any, rules: Any, scratch: Any) -> Any:
    """The same for classes beyond 64 bits, in floats and with a margin.

    z missing values are at most the diameter away from anything: they add at most z / r.
    """
    value = z / size
    for node in range(rules.head[rule, FIRST], rules.head[rule, LAST]):
        value += rules.stretch[node] * abs(scratch[node] / size - below[node] / n * (1 - z / size))
    return value + CLEAR <= rules.real[rule]


@compiling.part
def distance(rule: Any, hist: Any, size: Any, rules: Any, scratch: Any) -> Any:
    """The earth mover's distance as a float, missing values not counted: to rank, not to decide."""
    climb(rule, hist, rules, scratch)
    size = whole(rule, hist, size, rules)
    value = 0.0
    n = rules.head[rule, KNOWN]
    for node in range(rules.head[rule, FIRST], rules.head[rule, LAST]):
        value += rules.stretch[node] * abs(scratch[node] / size - rules.node[BELOW, node] / n)
    return value


@compiling.part
def slack(hist: Any, size: Any, rules: Any, scratch: Any) -> Any:
    """The smallest 1 − EMD/t: how much room a class has left; to rank candidates only."""
    least = 1.0
    for rule in range(len(rules.head)):
        if rules.head[rule, KIND] == EMD:
            used = distance(rule, hist, size, rules, scratch) / max(rules.real[rule], 1e-12)
            least = min(least, 1.0 - used)
    return least


@compiling.part
def distinct(rule: Any, hist: Any, rules: Any) -> Any:
    """Different values; missing ones may all be a value that is there already."""
    base, found = rules.head[rule, BASE], 0
    for slot in range(base, base + rules.head[rule, WIDTH]):
        found += 1 if hist[slot] > 0 else 0
    return max(found, 1)


@compiling.part
def share(rule: Any, hist: Any, size: Any, rules: Any) -> Any:
    """No protected value (`upper` > 0) above num / den of the class."""
    base, at = rules.head[rule, BASE], rules.head[rule, AT]
    z = hist[rules.head[rule, HIDDEN]] if rules.head[rule, HIDDEN] >= 0 else 0
    top = 0
    for v in range(rules.head[rule, WIDTH]):
        if rules.bound[UPPER, at + v] > 0.0:
            top = max(top, hist[base + v] + z)
    if size > rules.head[rule, LIMIT]:
        return top <= size * rules.real[rule] * (1.0 - CLEAR)
    return top * rules.head[rule, DEN] <= rules.head[rule, NUM] * size


@compiling.part
def gain(rule: Any, hist: Any, size: Any, rules: Any) -> Any:
    """p/q ≤ num / den for every value: c·n·den ≤ num·r·N (basic β-likeness)."""
    base, n = rules.head[rule, BASE], rules.head[rule, KNOWN]
    z = hist[rules.head[rule, HIDDEN]] if rules.head[rule, HIDDEN] >= 0 else 0
    for slot in range(base, base + rules.head[rule, WIDTH]):
        c = hist[slot] + z
        if c == 0:
            continue
        if size > rules.head[rule, LIMIT]:
            if c / size > rules.count[slot] / n * rules.real[rule] * (1.0 - CLEAR):
                return False
        elif c * n * rules.head[rule, DEN] > rules.head[rule, NUM] * size * rules.count[slot]:
            return False
    return True


@compiling.part
def band(rule: Any, hist: Any, size: Any, rules: Any) -> Any:
    """Every share within its bounds, which are logarithms of the table's and kept at a margin.

    A value that the class lacks is judged too, unless num says that absent values are ignored; it
    is then judged only with the missing values that might be it.
    """
    base, at = rules.head[rule, BASE], rules.head[rule, AT]
    z = hist[rules.head[rule, HIDDEN]] if rules.head[rule, HIDDEN] >= 0 else 0
    for v in range(rules.head[rule, WIDTH]):
        c = hist[base + v]
        if c + z > 0 and (c + z) / size >= rules.bound[UPPER, at + v]:
            return False
        floor = z if c == 0 and rules.head[rule, NUM] == 1 else c
        if (floor > 0 or rules.head[rule, NUM] == 0) and floor / size <= rules.bound[LOWER, at + v]:
            return False
    return True


@compiling.part
def entropy(rule: Any, hist: Any, size: Any, rules: Any) -> Any:
    """H ≥ log l; missing values lower it most where they are the commonest value.

    Equal counts are decided exactly: H is then the logarithm of their number.
    """
    base, last = rules.head[rule, BASE], rules.head[rule, BASE] + rules.head[rule, WIDTH]
    z = hist[rules.head[rule, HIDDEN]] if rules.head[rule, HIDDEN] >= 0 else 0
    top, least, found = 0, 0, 0
    for slot in range(base, last):
        c = hist[slot]
        if c > 0:
            top = max(top, c)
            least = c if found == 0 else min(least, c)
            found += 1
    if found == 0 or (top == least and z == 0):
        return max(found, 1) * rules.head[rule, DEN] >= rules.head[rule, NUM]
    spread = 0.0
    for slot in range(base, last):
        c = hist[slot]
        if c > 0:
            spread += c * math.log(c)
    if z > 0:
        spread += (top + z) * math.log(top + z) - top * math.log(top)
    return math.log(size) - spread / size >= rules.real[rule] + MARGIN


@compiling.part
def recursive(rule: Any, hist: Any, rules: Any) -> Any:
    """r₁ < c·(r_l + … + r_m); missing values hurt most where they are the commonest value."""
    base, m, l = rules.head[rule, BASE], rules.head[rule, WIDTH], rules.head[rule, LIMIT]
    z = hist[rules.head[rule, HIDDEN]] if rules.head[rule, HIDDEN] >= 0 else 0
    total, top = 0, 0
    for slot in range(base, base + m):
        total += hist[slot]
        top = max(top, hist[slot])
    tail = total + (z if l == 1 else 0)
    bound, taken = top + 1, 0
    while taken < l - 1:
        following, times = 0, 0
        for slot in range(base, base + m):
            if following < hist[slot] < bound:
                following, times = hist[slot], 1
            elif hist[slot] == following:
                times += 1
        if following == 0:
            break
        times = min(times, l - 1 - taken)
        tail -= times * following
        taken += times
        bound = following
    return (top + z) * rules.head[rule, DEN] < rules.head[rule, NUM] * tail


@compiling.part
def term(rule: Any, p: Any, q: Any, rules: Any) -> Any:
    """What one value adds to a divergence in bits, where its shares are p and q."""
    if rules.head[rule, KIND] == KL:
        if p == 0.0:
            return 0.0
        return p * math.log2(p / q) if q > 0.0 else math.inf
    value = p * math.log2(2 * p / (p + q)) if p > 0.0 else 0.0
    value += q * math.log2(2 * q / (p + q)) if q > 0.0 else 0.0
    return value / 2


@compiling.part
def divergence(rule: Any, hist: Any, size: Any, rules: Any) -> Any:
    """Kullback-Leibler or Jensen-Shannon divergence ≤ t, with the missing values at their worst."""
    base, n = rules.head[rule, BASE], rules.head[rule, KNOWN]
    z = hist[rules.head[rule, HIDDEN]] if rules.head[rule, HIDDEN] >= 0 else 0
    value, more = 0.0, -math.inf
    for slot in range(base, base + rules.head[rule, WIDTH]):
        here = term(rule, hist[slot] / size, rules.count[slot] / n, rules)
        value += here
        if z > 0:
            there = term(rule, (hist[slot] + z) / size, rules.count[slot] / n, rules)
            more = max(more, there - here)
    if z > 0:
        value += more
    return value + MARGIN <= rules.real[rule]
