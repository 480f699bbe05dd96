"""What is lost when values are told less precisely.

- `loss`   generalization loss per column and class: ranges, hierarchies, sets
- `quasi`  the quasi-identifiers of a table as coded columns with their losses
- `sizes`  what class sizes alone say: discernibility, average class size
"""

from tclose.utility.loss import ColumnLoss, LossReport, partition_loss
from tclose.utility.quasi import Quasi, coded_quasi
from tclose.utility.sizes import Sizes, class_sizes

__all__ = [
    "ColumnLoss",
    "LossReport",
    "Quasi",
    "Sizes",
    "class_sizes",
    "coded_quasi",
    "partition_loss",
]
