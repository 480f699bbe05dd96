"""Independent of everything that proposes: counts a table from scratch and judges it.

An audit measures what a policy promises, of a table in one piece or in parts; a certificate writes
down what was attained, and is checked against a fresh count. Nothing here imports what proposes.
"""

from tclose.verify.audit import Audit, audit_bound
from tclose.verify.certificate import Certificate, Check, certify, recheck
from tclose.verify.explanation import Explanation, Share, Step, explain_class
from tclose.verify.verdict import ClassReport, Verdict

__all__ = [
    "Audit",
    "Certificate",
    "Check",
    "ClassReport",
    "Explanation",
    "Share",
    "Step",
    "Verdict",
    "audit_bound",
    "certify",
    "explain_class",
    "recheck",
]
