"""Every colour of charts and pages.

A pair of colours has the same meaning on every page: orange and blue are before and after, green
and purple the table and a class, green and red words good and bad news. The two colours of a pair
can be told apart by colour-blind readers and in grey print. Every colour of text has a contrast of
at least 4.5 against the page, on a light screen and on a dark one.
"""

from __future__ import annotations

PAPER = "#ffffff"
INK = "#1f2328"
SOFT = "#57606a"
BLUE = "#0072b2"
ORANGE = "#e69f00"
RULE = "#d0d7de"
GROUND = "#f6f8fa"
GOOD = "#0b6b43"
GOOD_GROUND = "#e9f6ef"
BAD = "#a11d00"
BAD_GROUND = "#fdf0ec"
NOTE = "#7a4b00"
NOTE_GROUND = "#fff6e0"

GREEN = "#009e73"
PINK = "#cc79a7"
SKY = "#56b4e9"
VERMILION = "#d55e00"
BLACK = "#000000"
BEFORE, AFTER = ORANGE, BLUE
CLASS, TABLE = "#8e24aa", "#3fb65f"

LIGHT = {name.lower().replace("_", "-"): value for name, value in globals().items()
         if name.isupper() and isinstance(value, str)}  # fmt: skip
"""All colours for light screens, by their names in pages."""
DARK = LIGHT | {
    "paper": "#12161c", "ink": "#e6e9ee", "soft": "#a3adba", "rule": "#39424e", "ground": "#1c222b",
    "good": "#5fd39a", "good-ground": "#12291f", "bad": "#ff9a85", "bad-ground": "#35170f",
    "note": "#f0be5a", "note-ground": "#2f2510", "blue": "#6aa9ff", "orange": "#ffb84d",
    "before": "#ffb84d", "after": "#6aa9ff", "class": "#b04fe0", "table": "#62d26f",
    "vermilion": "#ff8a4c", "green": "#35c99b", "black": "#ffffff",
}  # fmt: skip
"""All colours for dark screens."""
AREAS = (AFTER, BEFORE, GREEN, PINK, SKY, BLACK)
"""Colours of bars, from Okabe and Ito's palette for all kinds of colour vision, blue first."""
CURVES = (BLUE, VERMILION, GREEN, PINK, BLACK)
"""Colours of lines, which must be darker than areas; lines also differ by their dashes."""
DASHES = ("", "8 4", "2 3", "10 3 2 3", "14 4")
LOSSES = ((0, 32, 76), (65, 77, 107), (124, 123, 120), (187, 174, 108), (255, 234, 70))
"""Dark blue to yellow in even steps of lightness, for all kinds of colour vision and grey print."""


def mix_losses(share: float) -> str:
    """Returns the colour at a share of the scale of losses.

    >>> mix_losses(0.0), mix_losses(1.0)
    ('#00204c', '#ffea46')
    """
    at = min(max(share, 0.0), 1.0) * (len(LOSSES) - 1)
    low = min(int(at), len(LOSSES) - 2)
    mixed = (
        round(a + (b - a) * (at - low)) for a, b in zip(LOSSES[low], LOSSES[low + 1], strict=True)
    )
    return "#" + "".join(f"{part:02x}" for part in mixed)
