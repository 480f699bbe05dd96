"""Distances between distributions: pure mathematics on arrays, exact where a promise is decided.

- `numbers`     exact rational numbers from what people write (0.2 is 1/5)
- `histogram`   the sensitive values of every class, as sparse counts
- `ground`      how far apart two values are: along a tree, or as a matrix says
- `python_integers`  the same work as the compiled kernels, beyond 64 bits
- `ratios`      many exact fractions at once, compared exactly
- `measure`     what every distance answers
- `emd`         the earth mover's distance of all classes at once, as exact fractions
- `divergence`  Kullback-Leibler, Jensen-Shannon and kernel-smoothed Jensen-Shannon
- `transport`   which mass moves where: the flow behind one distance
"""

from tclose.distance.divergence import JensenShannon, KullbackLeibler, SmoothedJensenShannon
from tclose.distance.emd import EarthMover
from tclose.distance.ground import (
    MatrixMetric,
    Metric,
    TreeMetric,
    equal,
    hierarchical,
    matrix,
    numeric,
    ordered,
)
from tclose.distance.histogram import Histogram
from tclose.distance.measure import Distance, Distances, Reference
from tclose.distance.numbers import exact
from tclose.distance.ratios import Ratios
from tclose.distance.transport import Move, actions, transport

__all__ = [
    "Distance",
    "Distances",
    "EarthMover",
    "Histogram",
    "JensenShannon",
    "KullbackLeibler",
    "MatrixMetric",
    "Metric",
    "Move",
    "Ratios",
    "Reference",
    "SmoothedJensenShannon",
    "TreeMetric",
    "actions",
    "equal",
    "exact",
    "hierarchical",
    "matrix",
    "numeric",
    "ordered",
    "transport",
]
