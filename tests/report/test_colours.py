"""Colours of charts as eyes of every kind see them, and as a grey print shows them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from tclose.report.charts.colours import AFTER, BEFORE, CLASS, CURVES, DARK, DASHES, LIGHT, TABLE

# Linear red, green and blue as seen without one kind of cone (Machado et al. 2009).
EYES = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
    "a grey print": [[0.2126, 0.7152, 0.0722]] * 3,
}
XYZ = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
       [0.0193339, 0.1191920, 0.9503041]]  # fmt: skip
WHITE = [0.95047, 1.0, 1.08883]


def seen(colour: str, eye: str) -> NDArray[np.float64]:
    """A colour in CIELAB, where distances are those that people see."""
    part = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    left = np.array(XYZ) @ np.clip(np.array(EYES[eye]) @ linear, 0, 1) / np.array(WHITE)
    x, y, z = np.where(left > 216 / 24389, np.cbrt(left), (24389 / 27 * left + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def nearest(colours: tuple[str, ...], eye: str) -> float:
    return min(
        float(np.linalg.norm(seen(one, eye) - seen(other, eye)))
        for one, other in combinations(colours, 2)
    )


PAIRS = {"before and after": (BEFORE, AFTER), "class and table": (CLASS, TABLE)}
"""Each meaning has a pair of its own."""


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
@pytest.mark.parametrize("eye", EYES)
def test_two_colours_of_a_chart_stay_far_apart(pair: tuple[str, ...], eye: str) -> None:
    assert nearest(pair, eye) > (20 if eye == "a grey print" else 70)


@pytest.mark.parametrize("pair", [("before", "after"), ("class", "table")])
@pytest.mark.parametrize("eye", list(EYES)[:3])
def test_the_same_pairs_stay_apart_on_a_dark_screen(pair: tuple[str, ...], eye: str) -> None:
    assert nearest(tuple(DARK[name] for name in pair), eye) > 70


def test_no_pair_has_two_meanings() -> None:
    both = [colour for pair in PAIRS.values() for colour in pair]
    assert len(set(both)) == len(both) and LIGHT.keys() == DARK.keys()


@pytest.mark.parametrize("eye", list(EYES)[:3])
def test_curves_are_told_apart_by_colour_and_not_by_colour_alone(eye: str) -> None:
    assert nearest(CURVES, eye) > 15
    assert len(set(DASHES)) == len(CURVES)


def test_red_and_green_would_be_noticed() -> None:
    assert nearest(("#c00000", "#607000"), "deuteranopia") < 15
