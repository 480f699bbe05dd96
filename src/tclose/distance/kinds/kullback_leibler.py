"""The Kullback-Leibler divergence of a class from the table, in bits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tclose.distance.divergence import (
    LogDistances,
    kl_digits,
    make_precise,
    shares,
    sum_terms,
)
from tclose.distance.histogram import Counts, Histogram
from tclose.distance.kinds.kind import DistanceKind
from tclose.distance.measure import Reference


@dataclass(frozen=True)
class KullbackLeibler:
    """KL(class ‖ table) = Σ p log₂(p/q); finite where a class lies inside its table.

    A value of the class that the reference lacks altogether makes it infinite.

    >>> from fractions import Fraction
    >>> d = KullbackLeibler().of(Histogram.from_dense([[1, 0]]), np.array([1, 1]))
    >>> d.value.tolist(), d.within(Fraction(1)).tolist()
    ([1.0], [True])
    """

    @property
    def name(self) -> str:
        """The word by which a policy asks for it."""
        return "kl"

    @property
    def bounded(self) -> bool:
        """It can exceed 1: a class that is certain of a rare value."""
        return False

    def of(self, classes: Histogram, reference: Counts) -> LogDistances:
        """The divergence of every class from one reference."""
        return self.against(classes, Reference.shared(reference, classes.classes))

    def against(self, classes: Histogram, reference: Reference) -> LogDistances:
        """The divergence of every class from the reference it names."""
        p, q = shares(classes, reference)
        gain = np.full(len(p), np.inf)
        np.divide(p, q, out=gain, where=q > 0)
        value = np.maximum(sum_terms(p * np.log2(gain), classes), 0.0)
        return LogDistances(value, make_precise(classes, reference, kl_digits))


KULLBACK_LEIBLER = DistanceKind(
    "kl",
    "counted in bits",
    other=lambda values, spec: (KullbackLeibler(), ()),
    bounded=False,
    in_bits=True,
    knows_groups=True,
)
