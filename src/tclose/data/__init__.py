"""The only room that touches frames, files and databases: everything above it sees integers.

A table is opened as a `Source`, counted by its engine, and bound to a policy (`binding`); where its
cells are too many for one place, it is summarized column by column (`summary`) and worked on in
parts that the engine keeps. Floors, from below: `io`, the `source` that engines promise, `encode`,
`engines`, and what is made of them.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tclose.data.binding import BoundTable, bind, open_source
    from tclose.data.encode.cells import Cells, count_cells
    from tclose.data.encode.classes import form_classes
    from tclose.data.encode.columns import Dictionary
    from tclose.data.io.files import write_atomically, write_table
    from tclose.data.io.paths import AS_FOUND, Reading
    from tclose.data.source import Source
else:
    from tclose.lazy import load_on_use

    load_on_use(
        __name__,
        {
            "tclose.data.binding": ["BoundTable", "bind", "open_source"],
            "tclose.data.encode.cells": ["Cells", "count_cells"],
            "tclose.data.encode.classes": ["form_classes"],
            "tclose.data.encode.columns": ["Dictionary"],
            "tclose.data.io.files": ["write_atomically", "write_table"],
            "tclose.data.io.paths": ["AS_FOUND", "Reading"],
            "tclose.data.source": ["Source"],
        },
    )

__all__ = [
    "AS_FOUND",
    "BoundTable",
    "Cells",
    "Dictionary",
    "Reading",
    "Source",
    "bind",
    "count_cells",
    "form_classes",
    "open_source",
    "write_atomically",
    "write_table",
]
