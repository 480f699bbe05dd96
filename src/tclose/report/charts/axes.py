"""Axes: the position of values in a plot, their ticks, and the lines at them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from tclose.report.charts.colours import INK, RULE, SOFT
from tclose.report.charts.svg import line, text

LETTER = 7.3
"""The approximate width of a letter, in units of the chart."""
STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True)
class Axis:
    """Maps values to positions between the two ends of a line, linearly or logarithmically."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """Returns the position of a value.

        >>> Axis(0, 1, 10, 20).place(0.5), Axis(1, 100, 0, 1, logarithmic=True).place(10)
        (15.0, 0.5)
        """
        if not self.high > self.low:
            share = 0.5
        elif self.logarithmic:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + (self.end - self.start) * share


@dataclass(frozen=True)
class Plot:
    """The rectangle between the axes."""

    left: float
    top: float
    right: float
    floor: float

    def draw_upward(
        self, axis: Axis, ticks: Sequence[float], write: Callable[[float], str], title: str = "",
        *, ruled: bool = True,
    ) -> Iterator[str]:  # fmt: skip
        """Draws the left axis: numbers, rules at them, and the title."""
        for tick in ticks:
            y = axis.place(tick)
            if ruled:
                yield line(self.left, y, self.right, y, RULE)
            yield text(self.left - 8, y + 4, write(tick), anchor="end", fill=SOFT)
        if ruled:
            yield line(self.left, self.floor, self.right, self.floor, INK)
        if title:
            longest = max((len(write(tick)) for tick in ticks), default=0)
            x = max(self.left - 24 - LETTER * longest, 12)
            middle = (self.top + self.floor) / 2
            yield text(x, middle, title, anchor="middle", turned=-90, fill=SOFT)

    def draw_below(
        self, marks: Sequence[tuple[float, str]], title: str = "", *,
        lines: Literal["ticks", "rules", "none"] = "ticks", turned: int = 0,
    ) -> Iterator[str]:  # fmt: skip
        """Draws the lower axis: words at positions (in two rows if crowded) and the title."""
        gaps = [after - before for (before, _), (after, _) in pairwise(marks)]
        widest = LETTER * max((len(words) for _, words in marks), default=0)
        crowded = bool(gaps) and widest > min(gaps) and not turned
        for at, (x, words) in enumerate(marks):
            if lines == "rules":
                yield line(x, self.top, x, self.floor, RULE)
            elif lines == "ticks":
                yield line(x, self.floor, x, self.floor + 5, INK)
            y = self.floor + (34 if crowded and at % 2 else 19)
            anchor = "end" if turned else "middle"
            yield text(x, y, words, anchor=anchor, turned=turned, fill=SOFT)
        middle = (self.left + self.right) / 2
        if title:
            yield text(middle, self.floor + (52 if crowded else 42), title, anchor="middle")


def ticks_to(most: float, about: int = 4) -> list[float]:
    """Returns round numbers from 0 to at least `most`.

    >>> ticks_to(0.83), ticks_to(7.0)
    ([0.0, 0.25, 0.5, 0.75, 1.0], [0.0, 2.0, 4.0, 6.0, 8.0])
    """
    if not most > 0 or not math.isfinite(most):
        return [0.0, 1.0]
    step = _round_step(most / about)
    return [round(at * step, 12) for at in range(math.ceil(most / step - 1e-9) + 1)]


def ticks_between(low: float, high: float, about: int = 6) -> list[float]:
    """Returns round numbers between two numbers.

    >>> ticks_between(0.0, 0.53), ticks_between(2, 20)
    ([0.0, 0.1, 0.2, 0.3, 0.4, 0.5], [5.0, 10.0, 15.0, 20.0])
    """
    step = _round_step(((high - low) or 1.0) / about)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(step * at, 12) for at in range(first, last + 1)]


def powers_of_ten(least: float, most: float) -> list[float]:
    """Returns the powers of ten from at most `least` to at least `most`.

    >>> powers_of_ten(300.0, 20_000.0)
    [100.0, 1000.0, 10000.0, 100000.0]
    """
    first, last = math.floor(math.log10(least)), math.ceil(math.log10(most))
    return [10.0**power for power in range(first, max(last, first + 1) + 1)]


def write_share(value: float) -> str:
    """Writes a share for an axis.

    >>> write_share(0.25), write_share(0.005)
    ('25%', '0.5%')
    """
    return f"{100 * value:.3g}%"


def write_number(value: float) -> str:
    """Writes a number for an axis.

    >>> write_number(0.25), write_number(30162.0), write_number(5.517e7), write_number(3e7)
    ('0.25', '30,162', '5.52e7', '3e7')
    """
    if value >= 1e6:
        number, power = f"{value:.2e}".split("e")
        return f"{float(number):g}e{int(power)}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _round_step(rough: float) -> float:
    """Returns the smallest round number that is not below a rough one."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(part * power for part in STEPS if part * power >= rough * 0.999)
