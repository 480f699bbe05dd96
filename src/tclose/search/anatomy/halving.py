"""Compiled parts of dealing: groups judged, and halved along two orders at once."""

from __future__ import annotations

from typing import Any

from tclose.kernels import compiling
from tclose.kernels.chance import draw
from tclose.kernels.rules import keeps


@compiling.part
def weigh(lo: Any, hi: Any, member: Any, tab: Any, hist: Any) -> None:
    """The histogram of the rows member[lo … hi − 1]."""
    for s in range(len(hist)):
        hist[s] = 0
    for at in range(lo, hi):
        for a in range(tab.slot.shape[1]):
            hist[tab.slot[member[at], a]] += 1


@compiling.entry
def judge_groups(first: Any, member: Any, tab: Any, hist: Any, scratch: Any, fails: Any) -> None:
    """Sets which groups break a rule; group g has the rows member[first[g] … first[g + 1] − 1]."""
    for g in range(len(first) - 1):
        weigh(first[g], first[g + 1], member, tab, hist[0])
        fails[g] = not keeps(hist[0], first[g + 1] - first[g], tab.rules, scratch)


@compiling.part
def pair(lo: Any, hi: Any, shift: Any, along: Any, mate: Any) -> None:
    """Neighbours along an order become mates; −1 for a row that has none."""
    for at in range(lo, hi):
        mate[along[at]] = -1
    for at in range(lo + shift, hi - 1, 2):
        mate[along[at]] = along[at + 1]
        mate[along[at + 1]] = along[at]


@compiling.part
def walk(row: Any, side: Any, shade: Any, mate: Any, colour: Any) -> None:
    """Colours a path or a cycle from a row on, first towards its mate of one side."""
    while row >= 0 and colour[row] < 0:
        colour[row] = shade
        row = mate[side, row]
        shade, side = 1 - shade, 1 - side


@compiling.part
def part_in_two(
    lo: Any, hi: Any, first: Any, second: Any, along: Any, mate: Any, colour: Any, chance: Any
) -> None:
    """Colours the rows of a group such that no two mates of either order have the same colour."""
    pair(lo, hi, 0, along[first], mate[0])
    pair(lo, hi, 1 if first == second else 0, along[second], mate[1])
    for at in range(lo, hi):
        colour[along[first, at]] = -1
    for at in range(lo, hi):
        row = along[first, at]
        if colour[row] < 0 and mate[1, row] < 0:
            walk(row, 0, draw(chance, 2), mate, colour)
        elif colour[row] < 0 and mate[0, row] < 0:
            walk(row, 1, draw(chance, 2), mate, colour)
    for at in range(lo, hi):
        if colour[along[first, at]] < 0:
            walk(along[first, at], 0, draw(chance, 2), mate, colour)


@compiling.part
def both_keep(lo: Any, hi: Any, member: Any, colour: Any, tab: Any, hist: Any, scratch: Any) -> Any:
    """Whether both halves keep every rule; where so, the size of the first, else 0."""
    for half in range(2):
        for s in range(hist.shape[1]):
            hist[half, s] = 0
    left = 0
    for at in range(lo, hi):
        row = member[at]
        left += 1 - colour[row]
        for a in range(tab.slot.shape[1]):
            hist[colour[row], tab.slot[row, a]] += 1
    if left == 0 or left == hi - lo:
        return 0
    if not keeps(hist[0], left, tab.rules, scratch):
        return 0
    return left if keeps(hist[1], hi - lo - left, tab.rules, scratch) else 0


@compiling.part
def divide(lo: Any, hi: Any, left: Any, member: Any, colour: Any, spare: Any) -> None:
    """The rows of the first half before those of the second, both in their order."""
    low, high = lo, lo + left
    for at in range(lo, hi):
        row = member[at]
        if colour[row] == 0:
            spare[low] = row
            low += 1
        else:
            spare[high] = row
            high += 1
    for at in range(lo, hi):
        member[at] = spare[at]


@compiling.entry
def halve_groups(
    groups: Any, stack: Any, along: Any, mate: Any, colour: Any, spare: Any, chance: Any,
    tab: Any, hist: Any, scratch: Any, result: Any,
) -> Any:  # fmt: skip
    """Halves the groups on the stack while both halves keep the promise; returns its work.

    Every pair of orders is tried, and each order with itself (which is dealing to two).
    """
    top, made, looks, orders = groups, 0, 0, len(along)
    while top > 0:
        top -= 1
        lo, hi, left = stack[top, 0], stack[top, 1], 0
        if hi - lo >= 2 * tab.rules.count[-1]:
            for turn in range(orders * orders):
                first, second = turn // orders, turn % orders
                if second < first:
                    continue
                part_in_two(lo, hi, first, second, along, mate, colour, chance)
                left = both_keep(lo, hi, along[0], colour, tab, hist, scratch)
                looks += 3 * (hi - lo) + hist.shape[1]
                if left > 0:
                    break
        if left == 0:
            for at in range(lo, hi):
                result[along[0, at]] = made
            made += 1
            continue
        for order in range(orders):
            divide(lo, hi, left, along[order], colour, spare)
        stack[top, 0], stack[top, 1] = lo, lo + left
        stack[top + 1, 0], stack[top + 1, 1] = lo + left, hi
        top += 2
    return looks
