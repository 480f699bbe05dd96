"""What lines of CSV tell before Spark reads them: do rows run across them, are quotes right?

A line leads from a state, outside or inside a quoted field, to another. Workers compose what their
lines do from either state, and the driver follows every file from its first line to its last.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

OUTSIDE, INSIDE, WRONG = 0, 1, 2
LOOK = "file string, start long, after array<int>, inside array<boolean>, bad long, blank long"
States = NDArray[np.int64]


class LineLook(NamedTuple):
    """What a run of lines does from each state, and whether it is ever inside a quoted field."""

    after: States
    inside: NDArray[np.bool_]

    def then(self, other: LineLook) -> LineLook:
        """This run of lines and another that follows it."""
        return LineLook(other.after[self.after], self.inside | other.inside[self.after])


class CsvLines:
    """How the lines of a file with this delimiter are understood."""

    def __init__(self, delimiter: str) -> None:
        mark = re.escape(delimiter)
        text = '(?:[^"]|"")*'
        # A space before a quote: for some readers it belongs to the field, for others it does not.
        plain = rf'[^"{mark}\s][^{mark}]*|[^\S{mark}]+(?:[^"{mark}\s][^{mark}]*)?'
        field = rf'(?:"{text}"\s*|{plain}|)'
        rest = rf"(?:{mark}{field})*"
        self.closed = rf"^(?s:{field}{rest})$"
        self.opened = rf'^(?s:(?:{field}{mark})*"{text})$'
        self.within = rf"^(?s:{text})$"
        self.closes = rf'^(?s:{text}"\s*{rest})$'
        self.reopens = rf'^(?s:{text}"\s*{rest}{mark}"{text})$'

    def look(self, lines: pa.Array) -> LineLook:
        """What a run of lines does.

        >>> CsvLines(",").look(pa.array(['a,"b', 'c",d'])).after.tolist()
        [0, 2, 2]
        """
        step = np.full((len(lines), 3), WRONG)
        for state, after, pattern in (
            (OUTSIDE, INSIDE, self.opened),
            (OUTSIDE, OUTSIDE, self.closed),
            (INSIDE, INSIDE, self.reopens),
            (INSIDE, OUTSIDE, self.closes),
            (INSIDE, INSIDE, self.within),
        ):
            step[np.asarray(pc.match_substring_regex(lines, pattern)), state] = after
        width = 1
        while width < len(step):
            step[width:] = np.take_along_axis(step[width:], step[:-width], axis=1)
            width *= 2
        return LineLook(step[-1], (step == INSIDE).any(axis=0))


def look_at_lines(
    delimiter: str,
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """How a worker looks at lines: it is given their file, their block's start, text, validity."""

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        lines = CsvLines(delimiter)
        found: dict[tuple[str, int], tuple[LineLook, int, int]] = {}
        for batch in batches:
            for file, start, text, valid in _runs(batch):
                bad = len(valid) - (pc.sum(valid).as_py() or 0)
                blank = pc.sum(pc.equal(text, "")).as_py() or 0
                look = lines.look(pc.if_else(valid, text, ""))
                if (file, start) in found:
                    before, some, more = found[file, start]
                    look, bad, blank = before.then(look), bad + some, blank + more
                found[file, start] = look, bad, blank
        for (file, start), (look, bad, blank) in found.items():
            yield pa.record_batch(
                {
                    "file": [file],
                    "start": [start],
                    "after": pa.array([look.after.tolist()], pa.list_(pa.int32())),
                    "inside": [look.inside.tolist()],
                    "bad": [bad],
                    "blank": [blank],
                }
            )

    return work


def _runs(batch: pa.RecordBatch) -> Iterator[tuple[str, int, pa.Array, pa.Array]]:
    """The lines of a batch, block by block."""
    file, start, text, valid = batch.columns
    names, starts = file.dictionary_encode().indices.to_numpy(), start.to_numpy()
    new = np.append(True, (names[1:] != names[:-1]) | (starts[1:] != starts[:-1]))
    ends = np.append(np.flatnonzero(new), len(new))
    for at, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        size = end - at
        yield file[at].as_py(), int(starts[at]), text.slice(at, size), valid.slice(at, size)


def follow_looks(looks: Sequence[Any]) -> tuple[bool, int]:
    """Whether rows run across lines, and the state after the last line of the worst file."""
    across, worst = False, OUTSIDE
    file, state = None, OUTSIDE
    for seen in sorted(looks, key=lambda look: (look.file, look.start)):
        if seen.file != file:
            worst, state, file = max(worst, state), OUTSIDE, seen.file
        across = across or seen.inside[state]
        state = seen.after[state]
    return across, max(worst, state)
