"""Every requirement, registered once: policies, audits, searches and reports walk this list.

A new requirement is a file of its own and is registered here: by its class, in the order of
verdicts, and by the part that adds its key to a column or to the policy.
"""

from __future__ import annotations

from typing import ClassVar

from tclose.requirements.belief.beta_likeness import (
    BasicBetaLikeness,
    BetaField,
    EnhancedBetaLikeness,
)
from tclose.requirements.belief.delta_disclosure import DeltaDisclosure, DeltaField
from tclose.requirements.closeness.joint import JointCloseness, JointField
from tclose.requirements.closeness.nt_closeness import NTCloseness
from tclose.requirements.closeness.t_closeness import ClosenessField, TCloseness
from tclose.requirements.diversity.alpha import AlphaAnonymity, AlphaField
from tclose.requirements.diversity.distinct import (
    DistinctDiversity,
    DistinctKey,
    PField,
    PSensitivity,
)
from tclose.requirements.diversity.entropy import EntropyDiversity, EntropyKey
from tclose.requirements.diversity.probabilistic import ProbabilisticDiversity, ProbabilisticKey
from tclose.requirements.diversity.recursive import RecursiveDiversity, RecursiveKey
from tclose.requirements.identity.delta_presence import DeltaPresence, PresenceField
from tclose.requirements.identity.k_anonymity import KAnonymity, KField
from tclose.requirements.identity.k_map import KMap, KMapField
from tclose.requirements.requirement import (
    AttributeRequirement,
    ColumnPart,
    Requirement,
    SeveralKinds,
)

FIRST: tuple[type[Requirement], ...] = (KAnonymity,)
ABOUT_COLUMNS: tuple[type[AttributeRequirement], ...] = (
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
)
LAST: tuple[type[Requirement], ...] = (JointCloseness, KMap, DeltaPresence)


class Diversity(ProbabilisticKey, RecursiveKey, EntropyKey, DistinctKey, SeveralKinds):
    """The kinds of l-diversity that may be promised together."""

    short_key: ClassVar[str] = "distinct"


class DiversityField(ColumnPart):
    """`l` of a column."""

    l: Diversity | None = None


class ColumnRequirements(DeltaField, BetaField, PField, AlphaField, DiversityField, ClosenessField):
    """A column with the keys of all requirements about one; the last named come first."""

    requirements = ABOUT_COLUMNS


class PolicyRequirements(PresenceField, KMapField, JointField, KField):
    """A policy with the keys of all requirements about a whole table."""

    requirements = (*FIRST, *LAST)


def find_requirement(name: str) -> type[Requirement] | None:
    """The requirement that the field calls so."""
    every = (*FIRST, *ABOUT_COLUMNS, *LAST)
    return next((kind for kind in every if kind.name == name), None)
