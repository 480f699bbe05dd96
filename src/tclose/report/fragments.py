"""The matrix of two sensitive attributes with its fragments, as a summary and as a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tclose.arrays import Ints
from tclose.plain import rows_text, share_text
from tclose.report.charts.colours import INK, RULE, SOFT, TABLE
from tclose.report.charts.svg import box, element, picture, shorten, text
from tclose.report.document import Paragraph, Part, Picture, Table
from tclose.search.by_construction.matrix import FragmentMatrix, Run

MOST_ELEMENTS = 90
"""The most elements along one side of the picture; more values are merged with neighbours."""
MOST_FRAGMENTS = 30
LEFT, TOP, WIDE, TALL = 96, 116, 620, 380
HEADING = 26
"""Where the title stands."""
LARGEST = 40
MOST_MARKS = 9
LONGEST = 12


def summarize_matrix(found: FragmentMatrix) -> list[Part]:
    """Summarizes bounds, class sizes and fragments."""
    lines = describe_bounds(found)
    return [Paragraph(lines[0], "strong"), *map(Paragraph, lines[1:]), tabulate_fragments(found)]


def describe_bounds(found: FragmentMatrix) -> list[str]:
    """Describes what follows from the fragments, one sentence each."""
    first, second = found.names
    corrected = [f"{float(bound):.4f}" for bound in found.bounds.corrected]
    published = [f"{float(bound):.4f}" for bound in found.bounds.published]
    lines = [
        f"{first} × {second}: {rows_text(found.rows)} in {len(found.fragments):,} fragments for "
        f"t = {float(found.t[0]):g} and {float(found.t[1]):g}",
        f"Classes in proportion to the fragments are at most {corrected[0]} ({first}) and "
        f"{corrected[1]} ({second}) from the table. By the published scale, each fragment's own "
        f"width, X̂ = {published[0]} and Ŷ = {published[1]}.",
        f"In exact proportion: q = {found.q:,} classes of r = {found.r:,} rows. Assigned in turn, "
        f"any rows: {found.assigned:,} classes of about {found.rows / found.assigned:.1f}.",
    ]
    if found.published_fragments is not None:
        lines.append(
            f"By the published bounds the same t takes {found.published_fragments:,} fragments."
        )
    return lines


def tabulate_fragments(found: FragmentMatrix) -> Table:
    """Tabulates the fragments with the most rows."""
    ranked = sorted(found.records(), key=lambda record: -record["rows"])
    rows = [
        (*(str(record[name]) for name in found.names), f"{record['rows']:,}",
         share_text(record["rows"] / max(found.rows, 1)))
        for record in ranked[:MOST_FRAGMENTS]
    ]  # fmt: skip
    if len(ranked) > MOST_FRAGMENTS:
        rest = sum(record["rows"] for record in ranked[MOST_FRAGMENTS:])
        more = f"… {len(ranked) - MOST_FRAGMENTS:,} smaller ones"
        rows.append((more, "", f"{rest:,}", share_text(rest / found.rows)))
    return Table("Fragments", (*found.names, "rows", "share"), tuple(rows), (2, 3))


def draw_matrix(
    found: FragmentMatrix, *, captions: Sequence[str] = (), inline: bool = False
) -> str:
    """Draws shaded elements and outlined fragments, the longer side horizontal."""
    turned = found.counts.shape[0] > found.counts.shape[1]
    counts = found.counts.T if turned else found.counts
    names = found.names[::-1] if turned else found.names
    labels = found.labels[::-1] if turned else found.labels
    shrunk, steps = _shrink(counts)
    wide, tall = (
        min(LARGEST, room / number)
        for room, number in zip((WIDE, TALL), shrunk.shape[::-1], strict=True)
    )
    tall = max(tall, 4.0) if shrunk.shape[0] > 1 else min(tall, LARGEST)
    lines = enumerate(captions or _list_captions(found))
    parts = [text(12, 48 + 18 * at, line) for at, line in lines]
    parts += _draw_elements(shrunk, wide, tall)
    for each in found.fragments:
        runs = (each.across, each.along) if turned else (each.along, each.across)
        words = f"fragment of {rows_text(each.rows)}"
        parts.append(_outline(runs, steps[::-1], wide, tall, words))
    right, floor = LEFT + wide * shrunk.shape[1], TOP + tall * shrunk.shape[0]
    parts += _mark_values(labels[1], steps[1], wide, floor)
    parts += _mark_values(labels[0], steps[0], tall)
    parts.append(text((LEFT + right) / 2, floor + 40, names[1], anchor="middle", weight="600"))
    parts.append(text(12, TOP - 8, names[0], weight="600"))
    described = (
        f"{len(found.fragments):,} fragments of {counts.shape[0]:,} by {counts.shape[1]:,} values, "
        f"q = {found.q:,}, r = {found.r:,}"
    )
    title = f"{' × '.join(found.names)}: rows and fragments"
    return _draw_below(title, described, (max(right + 24, 720), floor + 56), parts, inline=inline)


def _draw_below(
    title: str, described: str, size: tuple[float, float], parts: Sequence[str], *, inline: bool
) -> str:
    """The picture with its title above; in a page, which has titles of its own, moved up."""
    if inline:
        moved = element("g", *parts, transform=f"translate(0,{-HEADING})")
        return picture(title, described, (size[0], size[1] - HEADING), [moved], inline=True)
    heading = text(12, HEADING, title, size=16, weight="bold")
    return picture(title, described, size, [heading, *parts])


def make_picture(found: FragmentMatrix) -> Picture:
    """Makes the picture with its numbers."""
    title = f"{' × '.join(found.names)}: fragments"
    return Picture(title, draw_matrix(found, inline=True), tabulate_fragments(found))


def _list_captions(found: FragmentMatrix) -> Iterator[str]:
    one, other = found.bounds.corrected
    first, second = found.bounds.published
    yield (
        f"bounds {float(one):.4f} and {float(other):.4f} (published scale: X̂ {float(first):.4f}, "
        f"Ŷ {float(second):.4f})"
    )
    yield (
        f"q = {found.q:,} classes of r = {found.r:,} in exact proportion; assigned in turn: "
        f"{found.assigned:,} "
        "classes"
    )


def _shrink(counts: Ints) -> tuple[Ints, tuple[int, int]]:
    """Merges neighbours where there are too many to draw; also returns how many make one."""
    down, across = (max(1, -(-number // MOST_ELEMENTS)) for number in counts.shape)
    rows = np.add.reduceat(counts, np.arange(0, counts.shape[0], down), axis=0)
    both: Ints = np.add.reduceat(rows, np.arange(0, counts.shape[1], across), axis=1)
    return both, (down, across)


def _draw_elements(counts: Ints, wide: float, tall: float) -> Iterator[str]:
    most = float(np.sqrt(counts.max(initial=1)))
    frame = {"fill": "none", "stroke": RULE}
    yield element(
        "rect", x=LEFT, y=TOP, width=wide * counts.shape[1], height=tall * counts.shape[0], **frame
    )
    for down, across in zip(*np.nonzero(counts), strict=True):
        rows = int(counts[down, across])
        shade = 0.12 + 0.88 * float(np.sqrt(rows)) / most
        yield element(
            "rect", x=LEFT + wide * int(across), y=TOP + tall * int(down), width=wide, height=tall,
            fill=TABLE, fill_opacity=f"{shade:.2f}", words=rows_text(rows),
        )  # fmt: skip


def _outline(
    runs: tuple[Run, Run], steps: tuple[int, int], wide: float, tall: float, words: str
) -> str:
    (left, right), (up, down) = runs
    x, y = LEFT + wide * left / steps[0], TOP + tall * up / steps[1]
    return element(
        "rect", x=x, y=y, width=wide * (right + 1 - left) / steps[0],
        height=tall * (down + 1 - up) / steps[1], fill="none", stroke=INK, stroke_width=1.5,
        words=words,
    )  # fmt: skip


def _mark_values(
    labels: Sequence[str], step: int, size: float, floor: float | None = None
) -> Iterator[str]:
    """Draws some of the values, below the matrix or, without a floor, on its left."""
    every = max(1, -(-len(labels) // MOST_MARKS))
    for at in range(0, len(labels), every):
        middle = size * (at / step + 0.5)
        words = shorten(labels[at], LONGEST)
        if floor is None:
            yield text(LEFT - 6, TOP + middle + 4, words, anchor="end", fill=SOFT)
        else:
            yield text(LEFT + middle, floor + 18, words, anchor="middle", fill=SOFT)


def draw_blocks(shares: Sequence[int], title: str, described: str, *, inline: bool = False) -> str:
    """Draws fragments of which only the rows are known, as blocks as wide as their share.

    >>> draw_blocks([1, 3], "Two", "one and three").count("<rect")
    3
    """
    total, x, parts = sum(shares), 12.0, [text(12, 48, described)]
    for at, rows in enumerate(shares):
        wide = WIDE * rows / total
        parts.append(box(x, 64, wide - 3, 60, TABLE, rows_text(rows)))
        parts.append(text(x + wide / 2, 98, f"{rows:,}", anchor="middle", halo=True))
        parts.append(text(x + wide / 2, 142, f"F{at + 1}", anchor="middle", fill=SOFT))
        x += wide
    return _draw_below(title, described, (WIDE + 24, 156), parts, inline=inline)
