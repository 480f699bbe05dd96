"""Every colour of charts and pages.

Blue and orange stay apart for colour-blind eyes and in grey print. Every colour that carries text
has a contrast of at least 4.5 against the page.
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

AREAS = (BLUE, ORANGE, "#009e73", "#cc79a7", "#56b4e9", "#000000")
"""Of bars, in the order of Okabe and Ito's palette for all kinds of colour vision, blue first."""
CURVES = (BLUE, "#d55e00", "#009e73", "#cc79a7", "#000000")
"""Of lines, which need darker colours than areas; they differ by their dashes as well."""
DASHES = ("", "8 4", "2 3", "10 3 2 3", "14 4")
LOSSES = ((0, 32, 76), (65, 77, 107), (124, 123, 120), (187, 174, 108), (255, 234, 70))
"""Dark blue to yellow in even steps of lightness: a scale that any eye and grey print keep in
order."""


def mix_losses(share: float) -> str:
    """The colour of a share of the scale of losses.

    >>> mix_losses(0.0), mix_losses(1.0)
    ('#00204c', '#ffea46')
    """
    at = min(max(share, 0.0), 1.0) * (len(LOSSES) - 1)
    low = min(int(at), len(LOSSES) - 2)
    mixed = (
        round(a + (b - a) * (at - low)) for a, b in zip(LOSSES[low], LOSSES[low + 1], strict=True)
    )
    return "#" + "".join(f"{part:02x}" for part in mixed)
