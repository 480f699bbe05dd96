"""tclose: publish tables about people without giving the people away.

    >>> import pyarrow as pa
    >>> import tclose
    >>> table = pa.table({"zip": ["476", "476", "479", "479"], "illness": list("abab")})
    >>> tclose.audit(table, quasi=["zip"], sensitive="illness").k
    2

The rooms, from the top: `cli` (commands) calls `api`, which wires `report` (what people read),
`sample` (made-up data), `verify` (counts and judges from scratch), `privacy` (requirements),
`table` (files and frames become integers), `hierarchy` (generalization trees), `policy` (what the steward
declares), `distance` (mathematics on arrays) and `errors`. Imports only go downwards.
"""

from tclose.api import Reading, audit, check, explain, verify
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
from tclose.verify import Audit, Explanation, Verdict

__version__ = "0.1.0"

__all__ = [
    "Audit",
    "DataError",
    "Explanation",
    "Hierarchy",
    "HierarchyError",
    "InternalError",
    "Policy",
    "PolicyError",
    "Problem",
    "Reading",
    "TcloseError",
    "UsageError",
    "Verdict",
    "__version__",
    "audit",
    "check",
    "explain",
    "verify",
]
