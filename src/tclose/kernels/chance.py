"""Pseudo-random numbers with a state of their own: equal seeds give equal bytes everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tclose.kernels import compiling


def make_chance(seed: int, stream: int) -> NDArray[np.uint64]:
    """The state of one stream of numbers; never zero, from which xorshift could not move."""
    mixed = (seed * 2654435761 + stream * 40503 + 88172645463325252) % (1 << 64)
    return np.array([mixed or 1], dtype=np.uint64)


@compiling.part
def draw(chance: Any, m: Any) -> Any:
    """A whole number from 0 to m − 1 (xorshift64*)."""
    x = chance[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    chance[0] = x
    return np.int64((x * np.uint64(2685821657736338717)) >> np.uint64(33)) % m


@compiling.part
def unit(chance: Any) -> Any:
    """A number in [0, 1)."""
    return draw(chance, 1 << 30) / (1 << 30)
