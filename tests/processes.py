"""Copies of the test process, which die where a test wants them to."""

from __future__ import annotations

import gc
import os

import pytest

forking = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be copied here")


def copy_process() -> int:
    """Forks; 0 in the copy.

    The copy never frees what was there before: libraries whose threads it does not have would
    crash when their objects are freed by the garbage collector.
    """
    gc.freeze()
    child = os.fork()
    if child:
        gc.unfreeze()
    return child
