"""tclose: publish tables about people without giving the people away.

    >>> import pyarrow as pa
    >>> import tclose
    >>> table = pa.table({"zip": ["476", "476", "479", "479"], "illness": list("abab")})
    >>> tclose.audit(table, quasi=["zip"], sensitive="illness").k
    2

The rooms, from the top: `cli` (commands) and `learn` (a scikit-learn transformer, imported by its
own name) call `publish` (makes a `release`), `reproduce` (published experiments) and `api`
(audits), which wire `report` (what people read), `sample` (made-up data), `verify` (counts and
judges from scratch), `recode` (writes classes), `search` (proposes them), `privacy`
(requirements), `utility` (what is lost), `table` (files and frames become integers), `hierarchy`
(generalization trees), `policy` (what the steward declares), `distance` (mathematics on arrays)
and `errors`. Imports only go downwards.
"""

from tclose.attacks import AttackReport, Finding
from tclose.data import Reading
from tclose.errors import (
    DataError,
    HierarchyError,
    InternalError,
    PolicyError,
    Problem,
    TcloseError,
    UsageError,
)
from tclose.hierarchy import Hierarchy
from tclose.policy import Policy
from tclose.recode import Plan
from tclose.release import Release
from tclose.search.frontier.curves import Frontier
from tclose.search.full_domain.survey import Survey
from tclose.utility import Measure, Utility
from tclose.verify import Audit, Explanation, Verdict
from tclose.version import VERSION
from tclose.workflows import anonymize, apply, audit_report, frontier, lattice, split, verify_split
from tclose.workflows.api import attack, audit, check, explain, measure, verify
from tclose.workflows.split import Split

__version__ = VERSION

__all__ = [
    "AttackReport",
    "Audit",
    "DataError",
    "Explanation",
    "Finding",
    "Frontier",
    "Hierarchy",
    "HierarchyError",
    "InternalError",
    "Measure",
    "Plan",
    "Policy",
    "PolicyError",
    "Problem",
    "Reading",
    "Release",
    "Split",
    "Survey",
    "TcloseError",
    "UsageError",
    "Utility",
    "Verdict",
    "__version__",
    "anonymize",
    "apply",
    "attack",
    "audit",
    "audit_report",
    "check",
    "explain",
    "frontier",
    "lattice",
    "measure",
    "split",
    "verify",
    "verify_split",
]
