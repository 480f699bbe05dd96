"""Rows in classes, and what they are written as: all that a release needs to know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tclose.recode.values import Released
from tclose.utility.loss import LossReport, Quasi

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Sensitive:
    """A sensitive column that is not released as it is.

    `texts` are the values that may be written, `code[cell]` is the one of each cell (−1: missing);
    without `texts` the column keeps its values, and those of the cells with code −1 are missing.
    """

    code: Ints
    texts: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Recoding:
    """The class of each cell (−1: not released) and what every class is released as."""

    label: Ints
    released: tuple[Released, ...]
    loss: LossReport
    """Of the released values, not of the narrowest ones that would do."""
    quasi: Quasi
    """Where each cell lies (code −1: nowhere), so that it can be told roughly who is left out."""
    sensitive: Mapping[str, Sensitive] = field(default_factory=dict)
    groups: Ints | None = None
    """Full-domain: the class of each cell, whether it is released or not."""
