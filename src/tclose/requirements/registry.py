"""Every requirement, registered once: policies, audits, searches and reports walk this list.

The order is that of verdicts. A new requirement is a file of its own and is registered here: by
its class, and by the part that adds its key to a column or to the policy.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import model_validator

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
from tclose.requirements.diversity.distinct import DistinctDiversity, DistinctKey
from tclose.requirements.diversity.entropy import EntropyDiversity, EntropyKey
from tclose.requirements.diversity.p_sensitivity import PField, PSensitivity
from tclose.requirements.diversity.probabilistic import ProbabilisticDiversity, ProbabilisticKey
from tclose.requirements.diversity.recursive import RecursiveDiversity, RecursiveKey
from tclose.requirements.fields import ColumnPart
from tclose.requirements.identity.delta_presence import DeltaPresence, PresenceField
from tclose.requirements.identity.k_anonymity import KAnonymity, KField
from tclose.requirements.identity.k_map import KMap, KMapField
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


class Diversity(ProbabilisticKey, RecursiveKey, EntropyKey, DistinctKey):
    """The kinds of l-diversity that may be promised together."""

    short_form: ClassVar[dict[str, Any] | None] = {
        "type": "integer", "minimum": 1, "description": "distinct values per class"
    }  # fmt: skip

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        plain = isinstance(value, int) and not isinstance(value, bool)
        return {"distinct": value} if plain else value

    @model_validator(mode="after")
    def _some(self) -> Diversity:
        if not self.model_fields_set:
            kinds = list(type(self).model_fields)
            raise ValueError(f"name a kind: {', '.join(kinds[:-1])} or {kinds[-1]}")
        return self


class DiversityField(ColumnPart):
    """`l` of a column."""

    l: Diversity | None = None


class ColumnRequirements(DeltaField, BetaField, PField, AlphaField, DiversityField, ClosenessField):
    """A column with the keys of all requirements about one; the last named come first."""


class PolicyRequirements(PresenceField, KMapField, JointField, KField):
    """A policy with the keys of all requirements about a whole table."""
