"""Distances between distributions: pure mathematics on arrays, exact where a promise is decided.

`ground` has the shapes of ground distances, `emd` and `divergence` what distances have in common,
`kinds` every distance in a file of its own, and `registry` lists them for policies.
"""

from tclose.distance.emd import EarthMover
from tclose.distance.ground import MatrixMetric, Metric, TreeMetric
from tclose.distance.histogram import Histogram
from tclose.distance.kinds.equal import equal
from tclose.distance.kinds.hierarchical import hierarchical
from tclose.distance.kinds.jensen_shannon import JensenShannon
from tclose.distance.kinds.kullback_leibler import KullbackLeibler
from tclose.distance.kinds.matrix import matrix
from tclose.distance.kinds.numeric import numeric
from tclose.distance.kinds.ordered import ordered
from tclose.distance.kinds.smoothed import SmoothedJensenShannon
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
