"""Distances between distributions: mathematics on arrays, exact wherever a decision depends on it.

`ground` has the ground distances, `emd` the earth mover's distance over them, `divergence` and
`matrix` the other distances, `registry` lists all of them for policies, and `numbers` has the exact
arithmetic.
"""

from tclose.distance.divergence import JensenShannon, KullbackLeibler, SmoothedJensenShannon
from tclose.distance.emd import Distance, EarthMover, Reference
from tclose.distance.ground import (
    MatrixMetric,
    Metric,
    TreeMetric,
    equal,
    hierarchical,
    numeric,
    ordinal,
)
from tclose.distance.histogram import Histogram
from tclose.distance.matrix import matrix
from tclose.distance.numbers import Distances, Ratios
from tclose.distance.transport import Move, actions, transport
from tclose.plain import exact

__all__ = [
    "Distance", "Distances", "EarthMover", "Histogram", "JensenShannon", "KullbackLeibler",
    "MatrixMetric", "Metric", "Move", "Ratios", "Reference", "SmoothedJensenShannon",
    "TreeMetric", "actions", "equal", "exact", "hierarchical", "matrix", "numeric", "ordinal",
    "transport",
]  # fmt: skip
