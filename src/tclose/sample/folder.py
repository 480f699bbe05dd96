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
from tclose.sample.policy import HOSPITAL_POLICY


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
