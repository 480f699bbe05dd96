"""How the kernels of this room are compiled: entries for Python, and parts that only kernels call.

Parts get no wrappers for Python and no cache of their own: they live inside the entries that call
them, and compiling a wrapper that unpacks all their arrays would take longer than the part itself.
Division follows the hardware (no kernel divides by zero), which again is less to compile.

Kernels make no arrays: they are given all the memory they need. They are therefore compiled without
the counting of references, which would cost a hundred times the work of a short part: every array
that a part takes out of a tuple would be counted up and down. A kernel that must make arrays is a
`maker`, which counts.
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

    def inlined(function: F) -> F:
        """A small part that is written into its callers."""
        return function

    def maker(function: F) -> F:
        """A kernel that makes arrays."""
        return function
else:
    import numba

    _plain = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    maker = numba.njit(cache=True, **_plain)
    entry = numba.njit(cache=True, _nrt=False, **_plain)
    part = numba.njit(no_cpython_wrapper=True, _nrt=False, **_plain)
    inlined = numba.njit(no_cpython_wrapper=True, forceinline=True, _nrt=False, **_plain)
