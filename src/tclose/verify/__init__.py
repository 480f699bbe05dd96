"""Independent of everything that proposes: counts a table from scratch and judges it.

- `audit`        every requirement of a policy (and more) measured on a table
- `parts`        the same part by part, where a table is too large for one place
- `certificate`  what was promised and attained, and the check of that against a fresh count
- `explanation`  the flow behind one class's distance: which mass moves where
- `attacks`      what somebody who means ill could learn from a release
- `forms`        releases in several tables, counted again: `projections` combined by somebody who
  finds a person in each, `learned` what a model learns from exact quasi-identifiers
"""

from tclose.verify.audit import Audit, ClassReport, Verdict, audit_bound
from tclose.verify.certificate import Certificate, Check, certify, load_certificate, recheck
from tclose.verify.explanation import Explanation, Share, Step, explain_class

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
    "load_certificate",
    "recheck",
]
