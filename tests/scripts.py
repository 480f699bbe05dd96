"""Scripts that stand beside the package, in docs, tools and benchmarks, as modules."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def load_script(path: str) -> Any:
    """Runs a script, named from the root of the repository, and returns its module."""
    spec = spec_from_file_location(path.removesuffix(".py").replace("/", "_"), ROOT / path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # where the classes in it look for their own module
    spec.loader.exec_module(module)
    return module
