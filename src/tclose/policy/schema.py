"""The JSON Schema of a policy, for editors that check while one types."""

from __future__ import annotations

from typing import Any

from tclose.distance.part import list_parts
from tclose.distance.spec import DISTANCES
from tclose.policy.model import Policy
from tclose.policy.words import ROLES, SYNONYMS


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
    for part in list_parts(Policy).values():
        if part.short_form is not None:
            name = part.__name__
            parts[name] = {"anyOf": [part.short_form, parts[name]]}
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
