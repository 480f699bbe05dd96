"""The JSON Schema of a policy, for editors that check while one types."""

from __future__ import annotations

from typing import Any

from tclose.policy.model import Policy
from tclose.policy.values import DISTANCES
from tclose.policy.words import ROLES, SYNONYMS

SHORT_FORMS: dict[str, dict[str, Any]] = {
    "Column": {"type": "string", "enum": [*ROLES, *SYNONYMS]},
    "HierarchySpec": {"type": "string", "description": "path of a hierarchy file"},
    "Diversity": {"type": "integer", "minimum": 1, "description": "distinct values per class"},
    "Alpha": {"type": ["number", "string"]},
    "Beta": {"type": ["number", "string"]},
    "Delta": {"type": ["number", "string"]},
}


def policy_schema() -> dict[str, Any]:
    """The schema, short forms included.

    >>> policy_schema()["title"]
    'Policy'
    """
    schema = Policy.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    parts = schema["$defs"]
    parts["Column"]["properties"]["role"]["enum"] = [*ROLES, *SYNONYMS]
    smoothing = parts["DistanceSpec"]["properties"]
    for name, short in SHORT_FORMS.items():
        parts[name] = {"anyOf": [short, parts[name]]}
    parts["DistanceSpec"] = {
        "anyOf": [
            {"type": "string", "enum": [name for name in DISTANCES if name != "matrix"]},
            {
                "type": "object",
                "properties": {"matrix": {"type": "string"}},
                "required": ["matrix"],
                "additionalProperties": False,
            },
            {
                "type": "object",
                "properties": {
                    "smoothed-js": {
                        "type": "object",
                        "properties": {key: smoothing[key] for key in ("over", "bandwidth")},
                        "additionalProperties": False,
                    }
                },
                "required": ["smoothed-js"],
                "additionalProperties": False,
            },
            parts["DistanceSpec"],
        ]
    }
    return schema
