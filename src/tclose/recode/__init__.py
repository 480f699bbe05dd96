"""From classes to released values.

- `values`       what each class is released as, column by column
- `plan`         the classes without the data: can be kept, read and applied again
- `identifiers`  dropping, masking or replacing what names a person
- `rewrite`      the rows of a table, recoded batch by batch
- `insertion`    new rows put into the classes of a plan, or held back
"""

from tclose.recode.identifiers import Pseudonyms
from tclose.recode.insertion import Insertion, insert_cells
from tclose.recode.plan import Plan, make_plan
from tclose.recode.rewrite import Rewriter
from tclose.recode.values import Released, released_values

__all__ = [
    "Insertion",
    "Plan",
    "Pseudonyms",
    "Released",
    "Rewriter",
    "insert_cells",
    "make_plan",
    "released_values",
]
