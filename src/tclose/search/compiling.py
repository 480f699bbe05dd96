"""How the kernels of this room are compiled: entries for Python, and parts that only kernels call.

Parts get no wrappers for Python and no cache of their own: they live inside the entries that call
them, and compiling a wrapper that unpacks all their arrays would take longer than the part itself.
Division follows the hardware (no kernel divides by zero), which again is less to compile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

if TYPE_CHECKING:

    def entry(function: F) -> F:
        """A kernel that Python calls; compiled on first use and cached on disk."""
        return function

    def part(function: F) -> F:
        """A kernel that only kernels call."""
        return function
else:
    import numba

    entry = numba.njit(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True)
    part = numba.njit(
        nogil=True, error_model="numpy", no_cfunc_wrapper=True, no_cpython_wrapper=True
    )
