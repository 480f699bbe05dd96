"""Results as values that JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def to_plain(value: Any) -> Any:
    """The same value for JSON: what is infinite is null, what has a `to_json` is what that says.

    >>> to_plain({"a": (1, float("inf"))})
    {'a': [1, None]}
    """
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {name: to_plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(inner) for inner in value]
    return value.to_json() if hasattr(value, "to_json") else value
