"""All compiled code: the innermost loops of searches and distances, in typed Python for Cython.

Modules are compiled ahead of time, when the package is built, and know arrays and numbers only.
Memory is handed in as arrays, whose owners keep them alive, or kept in a `Memory`; it is
reached by plain pointers with named fields. Nothing here takes the interpreter's lock in a loop.
"""

from pathlib import Path

from tclose.kernels.freshness import ensure_fresh

ensure_fresh(Path(__file__).parent)
