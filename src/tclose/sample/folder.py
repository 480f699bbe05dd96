"""The made-up hospital as files: a table, its policy and its tree of diagnoses."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from pyarrow import csv

from tclose.sample.diagnosis import diagnosis_chains
from tclose.sample.hospital import HOSPITAL_SCHEMA, hospital_blocks

HOSPITAL_POLICY = """\
# What may be published about the made-up hospital, and on what promise.
# Every column is named: a column nobody thought about is a column nobody protected.

# Whoever is looked for hides among at least five patients.
k = 5

[columns]
# Point at one person by themselves; they never leave the house.
name = "identifier"
national_id = "identifier"

# Known to neighbours, colleagues, employers: together they pick a person out of the crowd.
sex = "quasi"
ethnicity = "quasi"

# A bill to the cent is nearly unique and follows the diagnosis: as good as a name. It stays here.
cost = "identifier"

[columns.birth_date]
role = "quasi"
hierarchy = { dates = ["month", "year", "decade"] }

[columns.postcode]
# Generalized to part of a district, the district, the region, and at last to nothing.
role = "quasi"
hierarchy = { prefix = [3, 2, 1, 0] }

[columns.admission_date]
# Whoever saw the ambulance knows the day: the date can be linked, so it is not harmless.
role = "quasi"
hierarchy = { dates = ["month", "year"] }

[columns.diagnosis]
# What must not be learned. In every group the diagnoses must be spread nearly as in the whole
# hospital, where mistaking one heart disease for another counts less than mistaking it for a birth;
# and every group must show at least three different ones.
role = "sensitive"
hierarchy = "diagnosis.csv"
distance = "hierarchical"
t = 0.2
l = { distinct = 3 }

[columns.length_of_stay]
# A long stay betrays a grave illness. Days have an order, so being off by one counts for little.
role = "sensitive"
distance = "ordered"
t = "1/5"
"""
"""The policy as TOML text; it expects `diagnosis.csv` beside it."""


def write_hospital(
    folder: str | os.PathLike[str], rows: int = 10_000, seed: int = 1
) -> tuple[Path, Path, Path]:
    """Write `hospital.csv`, `policy.toml` and `diagnosis.csv` into a folder, and say where.

    Each file appears whole or not at all. The folder is made if it is not there yet.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_hospital(folder, rows=10)]
    ['hospital.csv', 'policy.toml', 'diagnosis.csv']
    """
    home = Path(folder)
    blocks = hospital_blocks(rows, seed)
    home.mkdir(parents=True, exist_ok=True)
    table, policy, tree = home / "hospital.csv", home / "policy.toml", home / "diagnosis.csv"
    with _replacing(table) as file:
        file.write((",".join(HOSPITAL_SCHEMA.names) + "\n").encode())
        # No made-up word holds a comma or a quote, and a bare file is the kindest to read.
        bare = csv.WriteOptions(include_header=False, quoting_style="none")
        with csv.CSVWriter(file, HOSPITAL_SCHEMA, write_options=bare) as writer:
            for block in blocks:
                writer.write_batch(block)
    with _replacing(policy) as file:
        file.write(HOSPITAL_POLICY.encode())
    with _replacing(tree) as file:
        file.write("".join(";".join(chain) + "\n" for chain in diagnosis_chains()).encode())
    return table, policy, tree


@contextmanager
def _replacing(target: Path) -> Iterator[BinaryIO]:
    """A file that takes the target's place when all of it has been written, and never before."""
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.chmod(name, 0o644)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise
