"""What is lost when values are told less precisely, and what is left.

- `loss`            generalization loss per column and class: ranges, hierarchies, sets
- `quasi`           the quasi-identifiers of a table as coded columns with their losses
- `sizes`           what class sizes alone say: discernibility, average class size
- `result`, `pair`  what a measure answers; a release beside its original
- `generalization`, `entropy`, `squares`, `reconstruction`, `grouping`   one measure (or two) each
- `queries`         the error of random counts
- `features`, `learning`   models that saw only the release
- `suite`           all of them
"""

from tclose.utility.loss import ColumnLoss, LossReport, class_losses, partition_loss
from tclose.utility.pair import Pair, pair_of
from tclose.utility.quasi import Quasi, coded_quasi
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
    "coded_quasi",
    "measure_pair",
    "pair_of",
    "partition_loss",
]
