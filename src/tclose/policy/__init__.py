"""What the steward declares: a policy holds no data and can be kept under version control.

- `words`    the roles and the synonyms of the field that are understood
- `model`    the policy as typed, validated objects
- `load`     reading TOML or JSON, every problem reported at once
- `schema`   the JSON Schema that editors use
- `draft`    a commented first policy, suggested from the columns of a table
"""

from tclose.policy.load import load_policy, parse_policy
from tclose.policy.model import (
    Column,
    DistanceSpec,
    Diversity,
    HierarchySpec,
    Joint,
    Policy,
    Presence,
    Release,
    Search,
)
from tclose.policy.schema import policy_schema

__all__ = [
    "Column",
    "DistanceSpec",
    "Diversity",
    "HierarchySpec",
    "Joint",
    "Policy",
    "Presence",
    "Release",
    "Search",
    "load_policy",
    "parse_policy",
    "policy_schema",
]
