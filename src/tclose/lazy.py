"""Names of a package that are imported when they are first used, so that it starts quickly."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType


class LazyModule(ModuleType):
    """A package whose public names are imported from their modules on first use."""

    module_of: dict[str, str]

    def __getattr__(self, name: str) -> object:
        if name not in self.module_of:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = getattr(import_module(self.module_of[name]), name)
        setattr(self, name, value)
        return value

    def __setattr__(self, name: str, value: object) -> None:
        # Importing a room must not hide a public function of its name.
        if name not in self.module_of or not isinstance(value, ModuleType):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.module_of})


def load_on_use(package: str, places: Mapping[str, Sequence[str]]) -> list[str]:
    """Makes a package import each of some modules when one of its names is first used.

    Returns the names.

    >>> module = sys.modules["tclose.example"] = ModuleType("tclose.example")
    >>> load_on_use("tclose.example", {"fractions": ["Fraction"]})
    ['Fraction']
    >>> sys.modules.pop("tclose.example").Fraction
    <class 'fractions.Fraction'>
    """
    module = sys.modules[package]
    vars(module)["module_of"] = {name: place for place, names in places.items() for name in names}
    module.__class__ = LazyModule
    return sorted(vars(module)["module_of"])
