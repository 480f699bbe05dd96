"""Every requirement, registered once: policies, audits, searches and reports walk this list.

A new requirement has its own file and is registered here: its class, in the order of verdicts, and
its key in the policy or in a column of it.
"""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from tclose.requirements.belief.beta_likeness import BasicBetaLikeness, Beta, EnhancedBetaLikeness
from tclose.requirements.belief.delta_disclosure import Delta, DeltaDisclosure
from tclose.requirements.closeness.joint import Joint, JointCloseness
from tclose.requirements.closeness.nt_closeness import NTCloseness
from tclose.requirements.closeness.t_closeness import ClosenessField, TCloseness
from tclose.requirements.diversity.alpha import Alpha, AlphaAnonymity
from tclose.requirements.diversity.distinct import DistinctDiversity, PSensitivity
from tclose.requirements.diversity.entropy import EntropyDiversity, ValueCount
from tclose.requirements.diversity.probabilistic import ProbabilisticDiversity
from tclose.requirements.diversity.recursive import Recursive, RecursiveDiversity
from tclose.requirements.identity.combinations import (
    Combination,
    CombinationAnonymity,
    CombinationCloseness,
)
from tclose.requirements.identity.delta_presence import DeltaPresence, Presence
from tclose.requirements.identity.k_anonymity import KAnonymity
from tclose.requirements.identity.k_map import KMap
from tclose.requirements.requirement import (
    AttributeRequirement,
    PolicyPart,
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
LAST: tuple[type[Requirement], ...] = (
    JointCloseness,
    CombinationAnonymity,
    CombinationCloseness,
    KMap,
    DeltaPresence,
)


class Diversity(SeveralKinds):
    """The kinds of l-diversity, which may be required together."""

    short_key: ClassVar[str] = "distinct"

    distinct: int | None = Field(None, ge=1)
    entropy: ValueCount | None = None
    recursive: Recursive | None = None
    probabilistic: ValueCount | None = None


class ColumnRequirements(ClosenessField):
    """A column with the keys of all requirements on a single column."""

    requirements = ABOUT_COLUMNS

    l: Diversity | None = None
    alpha: Alpha | None = None
    p: int | None = Field(None, ge=1, description="p-sensitive k-anonymity")
    beta: Beta | None = None
    delta: Delta | None = None


class PolicyRequirements(PolicyPart):
    """A policy with the keys of all requirements on the whole table."""

    requirements = (*FIRST, *LAST)

    k: int | None = Field(None, ge=1, description="k-anonymity: least size of a class")
    joint: tuple[Joint, ...] = ()
    combinations: tuple[Combination, ...] = Field(
        (), description="k and t of combinations of some of the quasi-identifiers"
    )
    k_map: int | None = Field(None, ge=1, description="k-map: least matches in the population")
    presence: Presence | None = None


def find_requirement(name: str) -> type[Requirement] | None:
    """Returns the requirement with this name; None if there is none."""
    every = (*FIRST, *ABOUT_COLUMNS, *LAST)
    return next((kind for kind in every if kind.name == name), None)
