"""The JSON Schema of a policy, for editors that check while one types."""

from __future__ import annotations

from typing import Any

from tclose.distance.part import list_parts
from tclose.distance.registry import DISTANCES
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
    options = parts["DistanceSpec"]["properties"]
    for part in list_parts(Policy).values():
        if part.short_form is not None:
            name = part.__name__
            parts[name] = {"anyOf": [part.short_form, parts[name]]}
    named = [kind.name for kind in DISTANCES.values() if not kind.needs_option]
    parts["DistanceSpec"] = {
        "anyOf": [
            {"type": "string", "enum": named},
            *(
                {
                    "type": "object",
                    "properties": {kind.name: kind.long_schema(options)},
                    "required": [kind.name],
                    "additionalProperties": False,
                }
                for kind in DISTANCES.values()
                if kind.long_schema is not None
            ),
            parts["DistanceSpec"],
        ]
    }
    return schema
