"""A private folder for what an engine keeps while it works."""

from __future__ import annotations

import shutil
import tempfile
import weakref


class Scratch:
    """A private folder that is removed with the last reference to it."""

    def __init__(self) -> None:
        self.name = tempfile.mkdtemp(prefix="tclose-")
        weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)
