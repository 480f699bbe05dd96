"""Numbers put in order in place: sorted, or parted in two with their order kept."""

from __future__ import annotations

from typing import Any

from tclose.kernels import compiling


@compiling.part
def sort(numbers: Any, count: Any) -> None:
    """Ascending order, in place (Shell's sort: little to compile, and fast on what comes here)."""
    step = 1
    while step < count // 3:
        step = 3 * step + 1
    while step > 0:
        for p in range(step, count):
            here, q = numbers[p], p
            while q >= step and numbers[q - step] > here:
                numbers[q] = numbers[q - step]
                q -= step
            numbers[q] = here
        step //= 3


@compiling.part
def divide(ids: Any, lo: Any, hi: Any, side: Any, spare: Any) -> Any:
    """Cells that go left (`side` is not 0) to the front, order kept; returns the border."""
    a, b = lo, 0
    for p in range(lo, hi):
        if side[p - lo] != 0:
            ids[a] = ids[p]
            a += 1
        else:
            spare[b] = ids[p]
            b += 1
    for p in range(b):
        ids[a + p] = spare[p]
    return a
