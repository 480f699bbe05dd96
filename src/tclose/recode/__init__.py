"""From classes to released values, and from a kept plan to the classes of new rows.

- `values`      what each class is released as, column by column
- `recoding`    what a search proposed, recoded, and how that would be judged; `levels` for
                full-domain recoding
- `suppressed`  what becomes of rows that a search leaves out
- `rewrite`     the rows of a table, recoded; `forms` for the tables of Anatomy and slicing
- `plan`        the classes without the data: can be kept, read and applied again
- `shapes`      released words held against the values of a table; `nearest` classes to a row
- `assignment`  the class of each row by a plan alone; `regions` releases all that the cuts leave
- `insertion`   new rows put into the classes of a plan, or held back
"""

from tclose.recode.insertion import Insertion, insert_cells
from tclose.recode.plan import Plan, build_plan
from tclose.recode.recoding import recode_and_repair, recode_outcome
from tclose.recode.rewrite import Pseudonyms, Rewriter
from tclose.recode.suppressed import SuppressedRows, treat_suppressed
from tclose.recode.values import Recoding, Released, write_values

__all__ = [
    "Insertion",
    "Plan",
    "Pseudonyms",
    "Recoding",
    "Released",
    "Rewriter",
    "SuppressedRows",
    "build_plan",
    "insert_cells",
    "recode_and_repair",
    "recode_outcome",
    "treat_suppressed",
    "write_values",
]
