"""The made-up hospital as files: a table, its policy and its tree of diagnoses."""

from __future__ import annotations

import os
from pathlib import Path

from tclose.data.io.files import write_table, write_text
from tclose.sample.diagnosis import diagnosis_chains
from tclose.sample.hospital import HOSPITAL_SCHEMA, hospital_blocks

HOSPITAL_POLICY = """\
# What may be published about the made-up hospital, and on what promise.
# Every column is named: a column nobody thought about is a column nobody protected.

# Anyone who is looked for is one of at least five patients who look alike.
k = 5

[columns]
# Point at one person by themselves; they never leave the hospital.
name = "identifier"
national_id = "identifier"

# Known to neighbours, colleagues, employers: together they pick a person out of the crowd.
sex = "quasi"
ethnicity = "quasi"

# A bill to the cent is nearly unique and follows the diagnosis: as good as a name. It stays here.
cost = "identifier"

[columns.birth_date]
# Released as an interval, as narrow as the promise allows: beyond decades a hierarchy has only "*".
role = "quasi"

[columns.postcode]
# Generalized to part of a district, the district, the region, and at last to nothing.
role = "quasi"
hierarchy = { prefix = [3, 2, 1, 0] }

[columns.admission_date]
# Anyone who saw the ambulance knows the day: the date can be linked, so it is not harmless.
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

[search]
# Age is what analysts need most, and what the promise costs most: it counts twice.
weights = { birth_date = 2 }
"""
"""The policy as TOML text; it expects `diagnosis.csv` in the same folder."""


def write_hospital(
    folder: str | os.PathLike[str], rows: int = 10_000, seed: int = 1
) -> tuple[Path, Path, Path]:
    """Writes `hospital.csv`, `policy.toml` and `diagnosis.csv` into a folder; returns their paths.

    Each file appears completely or not at all. The folder is made if it does not exist.

    >>> import tempfile
    >>> [path.name for path in write_hospital(tempfile.mkdtemp(), rows=10)]
    ['hospital.csv', 'policy.toml', 'diagnosis.csv']
    """
    home = Path(folder)
    tree = "".join(";".join(chain) + "\n" for chain in diagnosis_chains())
    return (
        write_table(home / "hospital.csv", HOSPITAL_SCHEMA, hospital_blocks(rows, seed)),
        write_text(home / "policy.toml", HOSPITAL_POLICY),
        write_text(home / "diagnosis.csv", tree),
    )
