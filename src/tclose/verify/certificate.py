"""What was promised and attained, with the hashes of everything it was made from; no raw value.

A certificate is checked by counting the released file again: nothing in it is believed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tclose.errors import DataError, UsageError
from tclose.verify.audit import Audit

FORMAT = 1


@dataclass(frozen=True)
class Certificate:
    """The certificate of a release, as it is written to JSON."""

    content: dict[str, Any]

    @property
    def policy(self) -> dict[str, Any]:
        """The policy that the release keeps."""
        policy: dict[str, Any] = self.content["policy"]
        return policy

    @property
    def holds(self) -> bool:
        """Whether every requirement held when the file was counted."""
        return bool(self.content["holds"])

    def to_json(self) -> dict[str, Any]:
        """The certificate as plain values."""
        return self.content

    def __str__(self) -> str:
        counted = f"{self.content['rows']:,} rows in {self.content['classes']:,} classes"
        lines = [f"certificate: {counted}"]
        for one in self.content["requirements"]:
            about = f" of {one['attribute']}" if one["attribute"] else ""
            lines.append(
                f"  {one['requirement']}{about}: {one['required']} asked, "
                f"{one['achieved']} attained"
            )
        return "\n".join(lines)


@dataclass(frozen=True)
class Check:
    """One line of a certificate, held against what was counted. None: cannot be recounted."""

    line: str
    stated: str
    counted: str
    confirmed: bool | None


def certify(audit: Audit, policy: dict[str, Any], details: dict[str, Any]) -> Certificate:
    """The certificate of a counted release; `details` say how it came about."""
    return Certificate(
        {
            "tclose_certificate": FORMAT,
            "holds": audit.holds,
            "rows": audit.rows,
            "classes": audit.classes,
            "k": audit.k,
            "requirements": [verdict.to_json() for verdict in audit.requirements],
            "policy": policy,
            **details,
        }
    )


def load_certificate(path: str | Path) -> Certificate:
    """Reads a certificate file."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", where=str(path)) from None
    except ValueError:
        raise UsageError("this is not a certificate of tclose", where=str(path)) from None
    if not isinstance(content, dict) or content.get("tclose_certificate") != FORMAT:
        raise UsageError("this is not a certificate of tclose", where=str(path))
    return Certificate(content)


def recheck(certificate: Certificate, audit: Audit, output_hash: str | None) -> tuple[Check, ...]:
    """Every line of a certificate against a fresh count of the file."""
    stated = certificate.content
    checks = [
        _check("sha256 of the file", stated.get("hashes", {}).get("output"), output_hash),
        _check("rows", stated.get("rows"), audit.rows),
        _check("classes", stated.get("classes"), audit.classes),
        _check("smallest class", stated.get("k"), audit.k),
        _check("the promise holds", stated.get("holds"), audit.holds),
    ]
    counted = {_name(one): one for one in (verdict.to_json() for verdict in audit.requirements)}
    for one in stated.get("requirements", []):
        mine = counted.pop(_name(one), None)
        for key in ("required", "achieved_exact", "achieved", "holds", "failing_classes"):
            theirs = None if mine is None else mine[key]
            checks.append(_check(f"{_name(one)}: {key}", one.get(key), theirs))
    checks += [Check(f"{name}: not in the certificate", "", "", False) for name in counted]
    if "loss" in stated:
        checks.append(Check("loss", str(stated["loss"].get("overall")), "needs the original", None))
    return tuple(checks)


def file_hash(path: str | Path) -> str:
    """The sha256 of a file's bytes.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "empty"
    >>> _ = place.write_bytes(b"")
    >>> file_hash(place)[:8]
    'e3b0c442'
    """
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def stream_hash(batches: Iterable[Any]) -> str:
    """The sha256 of a table that is no file: of its record batches, one after the other."""
    digest = hashlib.sha256()
    for batch in batches:
        digest.update(batch.serialize())
    return digest.hexdigest()


def json_hash(value: Any) -> str:
    """The sha256 of plain values, whatever the order of their keys."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _name(one: dict[str, Any]) -> str:
    parts = [one.get("requirement"), one.get("attribute"), one.get("distance"), one.get("reading")]
    return " ".join(str(part) for part in parts if part)


def _check(line: str, stated: Any, counted: Any) -> Check:
    same = stated == counted
    if isinstance(stated, float) and isinstance(counted, float):
        same = abs(stated - counted) <= 1e-12 * max(1.0, abs(stated))
    return Check(line, str(stated), str(counted), same)
