"""The Jensen-Shannon divergence of a class from the table, in bits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tclose.distance.divergence import (
    LogDistances,
    js_digits,
    make_precise,
    shares,
    sum_terms,
    xlog2,
)
from tclose.distance.histogram import Counts, Histogram
from tclose.distance.kinds.kind import DistanceKind
from tclose.distance.measure import Reference


@dataclass(frozen=True)
class JensenShannon:
    """JS = ½ KL(P ‖ A) + ½ KL(Q ‖ A) with A the mean of P and Q; lies in [0, 1] bits.

    >>> from fractions import Fraction
    >>> d = JensenShannon().of(Histogram.from_dense([[1, 0]]), np.array([0, 1]))
    >>> d.value.tolist(), d.within(Fraction(1)).tolist()
    ([1.0], [True])
    """

    @property
    def name(self) -> str:
        """The word by which a policy asks for it."""
        return "js"

    @property
    def bounded(self) -> bool:
        """It lies in [0, 1]."""
        return True

    def of(self, classes: Histogram, reference: Counts) -> LogDistances:
        """The divergence of every class from one reference."""
        return self.against(classes, Reference.shared(reference, classes.classes))

    def against(self, classes: Histogram, reference: Reference) -> LogDistances:
        """The divergence of every class from the reference it names."""
        p, q = shares(classes, reference)
        seen = p * np.log2(2 * p / (p + q)) + xlog2(q, 2 * q / (p + q)) - q
        value = (sum_terms(seen, classes) + 1.0) / 2
        return LogDistances(np.maximum(value, 0.0), make_precise(classes, reference, js_digits))


JENSEN_SHANNON = DistanceKind(
    "js",
    "counted in bits",
    other=lambda values, spec: (JensenShannon(), ()),
    in_bits=True,
    knows_groups=True,
)
