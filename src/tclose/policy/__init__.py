"""What the steward declares: a policy holds no data and can be kept under version control.

- `words`    the roles and the synonyms of the field that are understood
- `values`   what a column's values mean: hierarchies
- `column`   one column, with both
- `settings` how a release is searched for and written
- `model`    the policy: all of this as one validated object
- `load`     reading TOML or JSON, every problem reported at once
- `schema`   the JSON Schema that editors use
- `draft`    a commented first policy, suggested from the columns of a table
"""

from tclose.distance.registry import DistanceSpec
from tclose.policy.column import Column
from tclose.policy.load import load_policy, parse_policy
from tclose.policy.model import Policy
from tclose.policy.schema import policy_schema
from tclose.policy.settings import Release, Search
from tclose.policy.values import HierarchySpec
from tclose.requirements.closeness.joint import Joint
from tclose.requirements.identity.delta_presence import Presence
from tclose.requirements.registry import Diversity

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
