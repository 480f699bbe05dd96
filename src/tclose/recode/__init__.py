"""From classes to released values, and from a kept plan to the classes of new rows.

A search's classes become `values` and a `rewrite` of the rows; a `plan` is what is kept of them
without the data, `assignment` and `insertion` apply it again.
"""

from tclose.recode.insertion import insert_cells
from tclose.recode.plan import Plan, Provenance, build_plan
from tclose.recode.recoding import recode_and_repair, recode_outcome
from tclose.recode.rewrite import Pseudonyms, Rewriter
from tclose.recode.suppressed import SuppressedRows, mask_recoding, treat_suppressed
from tclose.recode.values import Recoding, write_values

__all__ = [
    "Plan",
    "Provenance",
    "Pseudonyms",
    "Recoding",
    "Rewriter",
    "SuppressedRows",
    "build_plan",
    "insert_cells",
    "mask_recoding",
    "recode_and_repair",
    "recode_outcome",
    "treat_suppressed",
    "write_values",
]
