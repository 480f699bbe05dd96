"""Every requirement, registered once: policies, audits, searches and reports walk this list.

The order is that of verdicts. A new requirement is a file of its own and a line here.
"""

from __future__ import annotations

from tclose.requirements.belief.beta_likeness import BasicBetaLikeness, EnhancedBetaLikeness
from tclose.requirements.belief.delta_disclosure import DeltaDisclosure
from tclose.requirements.closeness.joint import JointCloseness
from tclose.requirements.closeness.nt_closeness import NTCloseness
from tclose.requirements.closeness.t_closeness import TCloseness
from tclose.requirements.diversity.alpha import AlphaAnonymity
from tclose.requirements.diversity.distinct import DistinctDiversity
from tclose.requirements.diversity.entropy import EntropyDiversity
from tclose.requirements.diversity.p_sensitivity import PSensitivity
from tclose.requirements.diversity.probabilistic import ProbabilisticDiversity
from tclose.requirements.diversity.recursive import RecursiveDiversity
from tclose.requirements.identity.delta_presence import DeltaPresence
from tclose.requirements.identity.k_anonymity import KAnonymity
from tclose.requirements.identity.k_map import KMap
from tclose.requirements.requirement import Requirement

REQUIREMENTS: tuple[type[Requirement], ...] = (
    KAnonymity,
    TCloseness,
    DistinctDiversity,
    EntropyDiversity,
    RecursiveDiversity,
    ProbabilisticDiversity,
    AlphaAnonymity,
    PSensitivity,
    BasicBetaLikeness,
    EnhancedBetaLikeness,
    DeltaDisclosure,
    NTCloseness,
    JointCloseness,
    KMap,
    DeltaPresence,
)
BY_NAME: dict[str, type[Requirement]] = {kind.name: kind for kind in REQUIREMENTS}
