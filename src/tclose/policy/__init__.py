"""What the steward declares: a policy holds no data and can be kept under version control.

- `model` the policy as one validated object, with the field's synonyms understood
- `load`  reading TOML or JSON, every problem reported at once, and the JSON Schema for editors
- `draft` a commented first policy, suggested from the columns of a table
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
