"""tclose: publish tables about people without giving the people away.

    >>> import pyarrow as pa
    >>> import tclose
    >>> table = pa.table({"zip": ["476", "476", "479", "479"], "illness": list("abab")})
    >>> tclose.audit(table, quasi=["zip"], sensitive="illness").k
    2

The rooms, from the top: `cli` (commands) and `learn` (a scikit-learn transformer, imported by its
own name) call `workflows` (what a user asks for) and `reproduce`
(published experiments), which wire `report` (what people read), `sample` (made-up data), `attacks`,
`recode` (writes classes), `verify` (counts and judges from scratch), `search` (proposes classes),
`utility` (what is lost), `requirements`, `data` (files and frames become integers), `hierarchy`
(generalization trees), `policy` (what the steward declares) and `distance` (mathematics on arrays).
Imports only go downwards. Public names are imported when they are first used.
"""

from typing import TYPE_CHECKING

from tclose.version import VERSION

if TYPE_CHECKING:
    from tclose.attacks.finding import AttackReport, Finding
    from tclose.data.io.paths import Reading
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
    from tclose.utility.pair import Measure, Utility
    from tclose.verify import Audit, Explanation, Verdict
    from tclose.workflows.anonymize import anonymize
    from tclose.workflows.apply import apply
    from tclose.workflows.attack import attack
    from tclose.workflows.audit import audit
    from tclose.workflows.explain import explain
    from tclose.workflows.frontier import frontier
    from tclose.workflows.inputs import check
    from tclose.workflows.lattice import lattice
    from tclose.workflows.measure import measure
    from tclose.workflows.report import audit_report
    from tclose.workflows.split import Split, split
    from tclose.workflows.verify import verify, verify_split
else:
    from tclose.lazy import load_on_use

    load_on_use(
        __name__,
        {
            "tclose.attacks.finding": ["AttackReport", "Finding"],
            "tclose.data.io.paths": ["Reading"],
            "tclose.errors": "DataError HierarchyError InternalError PolicyError Problem "
            "TcloseError UsageError".split(),
            "tclose.hierarchy": ["Hierarchy"],
            "tclose.policy": ["Policy"],
            "tclose.recode": ["Plan"],
            "tclose.release": ["Release"],
            "tclose.search.frontier.curves": ["Frontier"],
            "tclose.search.full_domain.survey": ["Survey"],
            "tclose.utility.pair": ["Measure", "Utility"],
            "tclose.verify": ["Audit", "Explanation", "Verdict"],
            "tclose.workflows.anonymize": ["anonymize"],
            "tclose.workflows.apply": ["apply"],
            "tclose.workflows.attack": ["attack"],
            "tclose.workflows.audit": ["audit"],
            "tclose.workflows.explain": ["explain"],
            "tclose.workflows.frontier": ["frontier"],
            "tclose.workflows.inputs": ["check"],
            "tclose.workflows.lattice": ["lattice"],
            "tclose.workflows.measure": ["measure"],
            "tclose.workflows.verify": ["verify", "verify_split"],
            "tclose.workflows.report": ["audit_report"],
            "tclose.workflows.split": ["Split", "split"],
        },
    )

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
