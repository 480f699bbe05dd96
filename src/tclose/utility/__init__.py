"""What is lost when values are released less precisely, and what is left.

The loss of a generalization is what searches make small; every other measure looks at a release
beside its original: how much of its domain a value covers, how many bits it would take to tell the
original values again, how wrong random counts are, what a model is worth that saw only the release.
"""

from tclose.utility.loss import ColumnLoss, LossReport, class_losses, partition_loss
from tclose.utility.pair import Pair, pair_of
from tclose.utility.quasi import Quasi, code_quasi
from tclose.utility.result import Measure, Utility
from tclose.utility.sizes import Sizes, class_sizes
from tclose.utility.suite import Asked, measure_pair

__all__ = [
    "Asked",
    "ColumnLoss",
    "LossReport",
    "Measure",
    "Pair",
    "Quasi",
    "Sizes",
    "Utility",
    "class_losses",
    "class_sizes",
    "code_quasi",
    "measure_pair",
    "pair_of",
    "partition_loss",
]
