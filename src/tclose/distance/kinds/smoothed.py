"""The Jensen-Shannon divergence of distributions smoothed over a ground distance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from tclose.distance.divergence import (
    LogDistances,
    js_digits,
    make_precise,
    xlog2,
)
from tclose.distance.ground import Metric
from tclose.distance.histogram import Counts, Histogram
from tclose.distance.kinds.kind import DistanceKind, DistancePart, DistanceValues, refuse_large
from tclose.distance.measure import Distance, Reference
from tclose.distance.part import Number

CHUNK = 4096


@dataclass(frozen=True)
class SmoothedJensenShannon:
    """JS between distributions smoothed over the ground metric, so that near values count as near.

    Nadaraya-Watson smoothing with the Epanechnikov kernel K(x) = 1 − (x/B)² for x < B, row by row,
    then renormalised (row-wise smoothing does not conserve mass). It stays monotone under merging:
    smoothing is linear and renormalising linear-fractional, which pulls the convex sublevel sets
    of JS back to convex sets. A bandwidth up to the least ground distance leaves plain JS.
    """

    metric: Metric
    bandwidth: Fraction

    @property
    def name(self) -> str:
        """The word by which a policy asks for it."""
        return "smoothed-js"

    @property
    def bounded(self) -> bool:
        """It lies in [0, 1]."""
        return True

    def weights(self) -> list[list[Fraction]]:
        """The row-normalised kernel: share of value j in the smoothed value i."""
        rows = []
        for i in range(self.metric.values):
            near = [self.metric.between(i, j) / self.bandwidth for j in range(self.metric.values)]
            row = [max(Fraction(0), 1 - x * x) for x in near]
            rows.append([weight / sum(row) for weight in row])
        return rows

    def of(self, classes: Histogram, reference: Counts) -> LogDistances:
        """The divergence of every class from one reference."""
        return self.against(classes, Reference.shared(reference, classes.classes))

    def against(self, classes: Histogram, reference: Reference) -> LogDistances:
        """The divergence of every class from the reference it names."""
        weights = self.weights()
        smooth = np.array(weights, dtype=float)
        whole = reference.counts.astype(float)
        blurred = _renormalise(whole / whole.sum(axis=1, keepdims=True), smooth)
        value = np.empty(classes.classes)
        for low in range(0, classes.classes, CHUNK):
            some = np.arange(low, min(low + CHUNK, classes.classes))
            part = classes.take(some)
            p = _renormalise(np.asarray(part.dense() / part.size[:, None], dtype=float), smooth)
            q = blurred[reference.of_class[some]]
            mean = (p + q) / 2
            mean[mean == 0] = 1  # neither has it: its share is 0 and its logarithm is not taken
            value[some] = (xlog2(p, p / mean) + xlog2(q, q / mean)).sum(axis=1) / 2

        def js(p: Sequence[Fraction], q: Sequence[Fraction]) -> Decimal:
            return js_digits(_smooth(p, weights), _smooth(q, weights))

        return LogDistances(
            np.maximum(value, 0.0), make_precise(classes, reference, js, over_metric=True)
        )


class SmoothingOptions(DistancePart):
    """Over what distance a smoothing reaches, and how far."""

    over: Literal["equal", "ordered", "numeric", "hierarchical"] | None = Field(
        None, description="smoothed-js: the ground distance to smooth over"
    )
    bandwidth: Number = Field(Fraction(1, 2), description="smoothed-js: reach of the smoothing")

    @model_validator(mode="after")
    def _smooths(self) -> SmoothingOptions:
        if self.name != "smoothed-js" and self.model_fields_set & {"over", "bandwidth"}:
            raise ValueError("only smoothed-js takes `over` and `bandwidth`")
        if self.bandwidth <= 0:
            raise ValueError("the bandwidth must be positive")
        return self


def _make(values: DistanceValues, spec: DistancePart) -> tuple[Distance, tuple[str, ...]]:
    refuse_large(values, "smoothed-js")
    options = spec if isinstance(spec, SmoothingOptions) else SmoothingOptions(name=spec.name)
    over = values.ground(options.over or values.default_distance)
    return SmoothedJensenShannon(over, options.bandwidth), ()


def _read_long(detail: Any) -> dict[str, Any] | None:
    return detail if isinstance(detail, dict) and "name" not in detail else None


SMOOTHED = DistanceKind(
    "smoothed-js",
    "counted in bits",
    other=_make,
    in_bits=True,
    read_long=_read_long,
    long_schema=lambda options: {
        "type": "object",
        "properties": {key: options[key] for key in ("over", "bandwidth")},
        "additionalProperties": False,
    },
)


def _renormalise(p: NDArray[np.float64], smooth: NDArray[np.float64]) -> NDArray[np.float64]:
    blurred = p @ smooth.T
    result: NDArray[np.float64] = blurred / blurred.sum(axis=1, keepdims=True)
    return result


def _smooth(p: Sequence[Fraction], weights: list[list[Fraction]]) -> list[Fraction]:
    blurred = [sum((w * x for w, x in zip(row, p, strict=True)), Fraction(0)) for row in weights]
    return [x / sum(blurred) for x in blurred]
