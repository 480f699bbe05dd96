"""What is lost when values are released less precisely, and what is left.

The loss of a generalization is what searches make small; every other measure looks at a release
beside its original: how much of its domain a value covers, how many bits it would take to tell the
original values again, how wrong random counts are, what a model is worth that saw only the release.
"""

from tclose.utility.loss import (
    ColumnLoss,
    LossReport,
    Quasi,
    class_losses,
    code_quasi,
    partition_loss,
)
from tclose.utility.measures import Sizes, class_sizes, measure_pair
from tclose.utility.pair import Measure, Pair, Utility, pair_of

__all__ = [
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
