"""k-anonymity: every class has at least k rows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from tclose.data.encode.classes import Classes
from tclose.requirements.requirement import Capabilities, Measurement, settle, shown


@dataclass(frozen=True)
class KAnonymity:
    """No one can be narrowed down to fewer than k rows by the quasi-identifiers."""

    k: int | None = None
    name: str = "k-anonymity"
    attribute: str | None = None
    distance: str | None = None
    capabilities: ClassVar[Capabilities] = Capabilities(monotone=True, overlapping=True)

    @property
    def required(self) -> str | None:
        """The least size."""
        return shown(self.k)

    def measure(self, classes: Classes) -> Measurement:
        """The size of the smallest class."""
        size = classes.view_size
        worst = int(np.argmin(size))
        fails = np.asarray(size < (self.k or 0), dtype=bool)
        return settle(
            classes, None, size.astype(float), fails, worst,
            limit=self.k, exact=Fraction(int(size[worst])), small_is_bad=True,
        )  # fmt: skip
