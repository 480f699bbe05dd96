"""tclose audits and anonymizes tables about people (k-anonymity, t-closeness, related models).

    >>> import pyarrow as pa
    >>> import tclose
    >>> table = pa.table({"zip": ["476", "476", "479", "479"], "illness": list("abab")})
    >>> tclose.audit(table, quasi=["zip"], sensitive="illness").k
    2

The subpackages, from the top: `cli` and `learn` (for scikit-learn) call `workflows` (what a user
asks for) and `reproduce` (published experiments), which use `report`, `sample` (made-up data),
`attacks`, `recode` (writes classes), `verify` (judges from scratch), `search` (proposes classes),
`utility` (what is lost), `requirements`, `data` (files and frames become integers), `hierarchy`,
`policy` and `distance`. Public names are imported when they are first used.
"""

from typing import TYPE_CHECKING

from tclose.version import VERSION

__version__ = VERSION

if TYPE_CHECKING:
    from tclose.attacks.finding import AttackReport as AttackReport
    from tclose.attacks.finding import Finding as Finding
    from tclose.attacks.person import PersonBelief as PersonBelief
    from tclose.data.io.paths import Reading as Reading
    from tclose.dictionary import DataDictionary as DataDictionary
    from tclose.distance.comparison import DistanceComparison as DistanceComparison
    from tclose.distance.comparison import compare_distances as compare_distances
    from tclose.errors import DataError as DataError
    from tclose.errors import HierarchyError as HierarchyError
    from tclose.errors import InternalError as InternalError
    from tclose.errors import PolicyError as PolicyError
    from tclose.errors import Problem as Problem
    from tclose.errors import TcloseError as TcloseError
    from tclose.errors import UsageError as UsageError
    from tclose.hierarchy.tree import Hierarchy as Hierarchy
    from tclose.policy.columns import Column as Column
    from tclose.policy.draft import PolicyDraft as PolicyDraft
    from tclose.policy.model import Policy as Policy
    from tclose.recode.plan import Plan as Plan
    from tclose.release import Release as Release
    from tclose.search.by_construction.matrix import FragmentMatrix as FragmentMatrix
    from tclose.search.frontier.curves import Frontier as Frontier
    from tclose.search.full_domain.survey import Survey as Survey
    from tclose.utility.pair import Measure as Measure
    from tclose.utility.pair import Utility as Utility
    from tclose.verify.audit import Audit as Audit
    from tclose.verify.explanation import Explanation as Explanation
    from tclose.verify.verdict import Verdict as Verdict
    from tclose.workflows.anonymize import anonymize as anonymize
    from tclose.workflows.apply import apply as apply
    from tclose.workflows.attack import attack as attack
    from tclose.workflows.attack import attack_person as attack_person
    from tclose.workflows.audit import audit as audit
    from tclose.workflows.compose import compose as compose
    from tclose.workflows.explain import explain as explain
    from tclose.workflows.explain import explain_fragments as explain_fragments
    from tclose.workflows.frontier import frontier as frontier
    from tclose.workflows.inputs import assess as assess
    from tclose.workflows.inputs import check as check
    from tclose.workflows.inputs import draft_policy as draft_policy
    from tclose.workflows.lattice import lattice as lattice
    from tclose.workflows.measure import measure as measure
    from tclose.workflows.report import audit_report as audit_report
    from tclose.workflows.split import Split as Split
    from tclose.workflows.split import split as split
    from tclose.workflows.verify import verify as verify
    from tclose.workflows.verify import verify_split as verify_split
else:
    from tclose.lazy import load_on_use

    __all__ = load_on_use(
        __name__,
        {
            "tclose.attacks.finding": ["AttackReport", "Finding"],
            "tclose.attacks.person": ["PersonBelief"],
            "tclose.data.io.paths": ["Reading"],
            "tclose.dictionary": ["DataDictionary"],
            "tclose.distance.comparison": ["DistanceComparison", "compare_distances"],
            "tclose.errors": "DataError HierarchyError InternalError PolicyError Problem "
            "TcloseError UsageError".split(),
            "tclose.hierarchy.tree": ["Hierarchy"],
            "tclose.policy.columns": ["Column"],
            "tclose.policy.draft": ["PolicyDraft"],
            "tclose.policy.model": ["Policy"],
            "tclose.recode.plan": ["Plan"],
            "tclose.release": ["Release"],
            "tclose.search.by_construction.matrix": ["FragmentMatrix"],
            "tclose.search.frontier.curves": ["Frontier"],
            "tclose.search.full_domain.survey": ["Survey"],
            "tclose.utility.pair": ["Measure", "Utility"],
            "tclose.verify.audit": ["Audit"],
            "tclose.verify.explanation": ["Explanation"],
            "tclose.verify.verdict": ["Verdict"],
            "tclose.workflows.attack": ["attack", "attack_person"],
            "tclose.workflows.explain": ["explain", "explain_fragments"],
            "tclose.workflows.inputs": ["assess", "check", "draft_policy"],
            "tclose.workflows.report": ["audit_report"],
            "tclose.workflows.split": ["Split", "split"],
            "tclose.workflows.verify": ["verify", "verify_split"],
        }
        | {
            f"tclose.workflows.{verb}": [verb]
            for verb in "anonymize apply audit compose frontier lattice measure".split()
        },
    )
    __all__ += ["__version__"]
