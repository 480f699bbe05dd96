"""From classes to released values.

- `values`       what each class is released as, column by column
- `levels`       full-domain recoding: every value as its group on one level
- `proposal`     what a search proposed, recoded and planned
- `recoding`     rows in classes, and what they are written as
- `plan`         the classes without the data: can be kept, read and applied again
- `borders`      the cuts behind a release, in the words of its released values
- `shapes`       what classes are released as, in the codes of a table: cover, widen, lose
- `reading`      released words read as shapes; `line` numbers and dates among them
- `nearest`      the classes nearest to each row
- `territory`    classes released as all that the cuts leave to them
- `placing`      the class of each row by a plan alone, whatever other rows there are
- `judging`      which classes would break the promise once they are released
- `insertion`    new rows put into the classes of a plan, or held back
- `leftover`     what becomes of rows that a search leaves out; `sensitive` values hidden or
                 generalized, `merging` classes that fail for it
- `identifiers`  dropping, masking or replacing what names a person
- `rewrite`      the rows of a table, recoded batch by batch; `translate` for engines that do it
                 by themselves
- `forms`        rows in groups as the tables of Anatomy, or as a sliced table
"""

from tclose.recode.identifiers import Pseudonyms
from tclose.recode.leftover import Leftover, with_leftover
from tclose.recode.plan.build import build_plan
from tclose.recode.plan.insertion import Insertion, insert_cells
from tclose.recode.plan.model import Plan
from tclose.recode.proposal import recoded, recoded_as_read
from tclose.recode.recoding import Recoding
from tclose.recode.rewrite import Rewriter
from tclose.recode.values import Released, released_values

__all__ = [
    "Insertion",
    "Leftover",
    "Plan",
    "Pseudonyms",
    "Recoding",
    "Released",
    "Rewriter",
    "build_plan",
    "insert_cells",
    "recoded",
    "recoded_as_read",
    "released_values",
    "with_leftover",
]
