"""What the data steward declares: a policy holds no data and can be kept under version control.

- `model` the policy as one validated object; synonyms of the field's terms are understood
- `load`  reads TOML or JSON, reports every problem at once, and gives the JSON Schema for editors
- `draft` writes a commented first policy, of what `suggest` makes of the columns of a table
"""

from tclose.distance.registry import DistanceSpec
from tclose.policy.columns import Column, HierarchySpec
from tclose.policy.draft import PolicyDraft
from tclose.policy.load import load_policy, parse_policy, policy_schema
from tclose.policy.model import Policy, ReleaseSettings, SearchSettings

__all__ = [
    "Column", "DistanceSpec", "HierarchySpec", "Policy", "PolicyDraft", "ReleaseSettings",
    "SearchSettings", "load_policy", "parse_policy", "policy_schema",
]  # fmt: skip
