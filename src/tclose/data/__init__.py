"""The only room that touches frames and files: everything above it sees integers.

- `dialect`     how a CSV file is written: encoding, delimiter, header
- `places`      which files a path stands for: one, a folder's, a pattern's
- `kinds`       types of values that DuckDB has no word for
- `source`      what every engine shows of a table; `opening` finds the engine,
                `amount` reads how much memory it may take
- `engine`      the engines: what counts and rewrites
- `outline`     a table whose cells are too many for one place, and its parts; `bench` keeps them
- `digest`      what identifies a table: the hash of a file, or of rows in any order
- `translation` how an engine that rewrites its own rows is told what they become
- `dictionary`  the distinct values of a column, in their natural order
- `labels`      what a generalized value covers: intervals, sets, masks
- `hierarchies` a column's generalization tree, from what the policy says
- `boxes`       released values as runs of an original's values
- `covering`    classes as boxes over an original, and the rows that they cover
- `alignment`   rows of two tables that are of the same people
- `attribute`   a sensitive column with its order and its ground distances
- `cells`       distinct quasi-identifier × sensitive tuples with their weight
- `counting`    what a row counts: several rows, a weight, a person
- `persons`     who has a row in which cell, each counted once
- `classes`     sizes and histograms of the classes: all that a requirement sees
- `views`       what else an attacker may have to reckon with, where values are missing
- `check`       every way in which a policy and a table can disagree
- `profile`     what `init` looks at to suggest roles
- `stream`      the rows in order, batch by batch, and the cell of each
- `frames`      frames in, the same kind of frame out
- `write`       files that appear whole or not at all; `folder` likewise
- `writers`     files of every kind from batches; `sheet` writes Excel's
- `holding`     what each kind of file can hold, refused before any work
- `layout`      which columns are in which file of a release in several tables
"""

from tclose.data.binding import BoundTable, bind
from tclose.data.encode.attribute import Attribute
from tclose.data.encode.cells import Cells, count_cells
from tclose.data.encode.classes import Classes, Tally, form_classes
from tclose.data.encode.dictionary import Dictionary
from tclose.data.io.files import write_atomically, write_table
from tclose.data.io.open import open_source
from tclose.data.io.reading import AS_FOUND, Reading
from tclose.data.source import Source

__all__ = [
    "AS_FOUND",
    "Attribute",
    "BoundTable",
    "Cells",
    "Classes",
    "Dictionary",
    "Reading",
    "Source",
    "Tally",
    "bind",
    "count_cells",
    "form_classes",
    "open_source",
    "write_atomically",
    "write_table",
]
