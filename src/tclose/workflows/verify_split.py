"""A release in several tables, read from its folder and counted again."""

from __future__ import annotations

from pathlib import Path

from tclose.data import Reading, Source, open_source
from tclose.data.io.layout import Layout
from tclose.verify.certificate import load_certificate
from tclose.verify.forms import CERTIFICATE, Recount, missing_folder, recheck_folder
from tclose.workflows.api import PolicyLike, kept_policy, policy_of


def verify_split(
    folder: str | Path, policy: PolicyLike | None = None, *, memory: str | None = None
) -> Recount:
    """Counts a folder that `split` wrote from scratch; judges its own policy, or the one given.

    Every line of its certificate is confirmed or refuted, and nothing in it is believed but which
    file holds what.

    >>> import tempfile
    >>> import pyarrow as pa
    >>> from tclose import split
    >>> table = pa.table({"age": [21, 22, 23, 44], "ill": ["a", "b", "a", "b"]})
    >>> rules = {"k": 2, "columns": {"age": "quasi", "ill": {"role": "sensitive", "l": 2}}}
    >>> made = split(table, rules, form="anatomy", output=Path(tempfile.mkdtemp()) / "release")
    >>> verify_split(made.path).holds, verify_split(made.path, {**rules, "k": 3}).holds
    (True, False)
    """
    place = Path(folder)
    if not (place / CERTIFICATE).is_file():
        raise missing_folder(folder)
    certificate = load_certificate(place / CERTIFICATE)
    layout = Layout.from_json(certificate.content.get("form"))
    rules = (
        kept_policy(certificate.policy, place, "certificate")
        if policy is None
        else policy_of(policy)
    )
    files = [part.file for part in layout.parts if (place / part.file).is_file()]
    sources = {file: opened(place / file, memory) for file in files}
    return recheck_folder(place, certificate, rules, sources)


def opened(path: Path, memory: str | None) -> Source:
    """A table of a split release; its CSV files are UTF-8, with commas."""
    mark = "," if path.suffix == ".csv" else None
    encoding = "utf-8" if mark else None
    return open_source(path, Reading(delimiter=mark, encoding=encoding, memory=memory))
