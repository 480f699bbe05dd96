"""Names of a package that are imported when they are first used, so that it starts quickly."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module


def load_on_use(
    package: str, places: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package, whose names come from some modules.

    >>> get, _ = load_on_use("tclose.lazy", {"fractions": ["Fraction"]})
    >>> get("Fraction")
    <class 'fractions.Fraction'>
    """
    module_of = {name: module for module, names in places.items() for name in names}

    def find(name: str) -> object:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(module_of[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *module_of})

    return find, list_names
