"""Independent of everything that proposes: counts a table from scratch and judges it.

- `audit`        every requirement of a policy (and more) measured on a table
- `explanation`  the flow behind one class's distance: which mass moves where
"""

from tclose.verify.audit import Audit, ClassReport, Verdict, audit_bound
from tclose.verify.explanation import Explanation, Share, Step, explain_class

__all__ = [
    "Audit",
    "ClassReport",
    "Explanation",
    "Share",
    "Step",
    "Verdict",
    "audit_bound",
    "explain_class",
]
