"""What was promised and attained, with the hashes of everything it was made from; no raw value.

A certificate is checked by counting the released file again: nothing in it is believed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tclose.errors import DataError, UsageError
from tclose.verify.audit import Audit

FORMAT = 1
NOT_HERE = "needs the original"


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

    def of_file(self, output_hash: str) -> Certificate:
        """The same certificate for a file with this hash."""
        hashes = {**self.content["hashes"], "output": output_hash}
        return Certificate({**self.content, "hashes": hashes})

    def to_json(self) -> dict[str, Any]:
        """The certificate as plain values."""
        return self.content

    def __str__(self) -> str:
        counted = f"{self.content['rows']:,} rows in {self.content['classes']:,} classes"
        lines = [f"certificate: {counted}"]
        if "levels" in self.content:
            told = ", ".join(f"{name} {level}" for name, level in self.content["levels"].items())
            lines.append(f"  levels: {told}")
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
            **({"notes": list(audit.caveats)} if audit.caveats else {}),
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
    if not _is_certificate(content):
        raise UsageError("this is not a certificate of tclose", where=str(path))
    return Certificate(content)


def recheck(certificate: Certificate, audit: Audit, output_hash: str | None) -> tuple[Check, ...]:
    """Every line of a certificate against a fresh count of the file."""
    stated = certificate.content
    hashes = stated["hashes"]
    return (
        _check("sha256 of the file", hashes.get("output"), output_hash),
        _check("sha256 of the policy", hashes.get("policy"), json_hash(stated["policy"])),
        _check("rows", stated.get("rows"), audit.rows),
        _check("classes", stated.get("classes"), audit.classes),
        _check("smallest class", stated.get("k"), audit.k),
        _check("the promise holds", stated.get("holds"), audit.holds),
        *_requirements(stated["requirements"], [one.to_json() for one in audit.requirements]),
        *_sizes(stated, audit),
        *(Check(line, str(value), NOT_HERE, None) for line, value in _of_the_original(stated)),
    )


def _requirements(stated: list[dict[str, Any]], counted: list[dict[str, Any]]) -> Iterator[Check]:
    """One line per requirement: asked, attained, the verdict, and the classes that fail."""
    mine = {_name(one): one for one in counted}
    for one in stated:
        other = mine.pop(_name(one), None)
        alike = other is not None and set(one) == set(other)
        same = alike and all(_same(value, (other or {})[key]) for key, value in one.items())
        yield Check(_name(one), _told(one), "not promised" if other is None else _told(other), same)
    for name, one in mine.items():
        yield Check(name, "not in the certificate", _told(one), False)


def _told(one: dict[str, Any]) -> str:
    exact = one.get("achieved_exact")
    attained = one.get("achieved") if exact is None else exact
    holds = {True: "holds", False: "fails"}.get(one.get("holds"), "not decided")  # type: ignore[arg-type]
    failing = f", {one.get('failing_classes')} classes fail" if one.get("failing_classes") else ""
    return f"{one.get('required')} asked, {attained} attained: {holds}{failing}"


def _sizes(stated: dict[str, Any], audit: Audit) -> Iterator[Check]:
    """What follows from the sizes of the classes, and from the number of rows that were read."""
    counts = audit.counts
    read = stated.get("input_rows")
    lost = read - audit.rows if isinstance(read, int) else 0
    counted = {
        "classes": audit.classes,
        "smallest": counts.smallest,
        "mean": audit.rows / audit.classes,
        "largest": counts.largest,
        "discernibility": counts.squares + lost * (audit.rows + lost),
    }
    if isinstance(stated.get("sizes"), dict):
        for key, value in stated["sizes"].items():
            yield _check(f"sizes: {key}", value, counted.get(key))
    if isinstance(stated.get("left_out"), dict):
        yield _check("rows left out", stated["left_out"].get("rows"), lost)


def _of_the_original(stated: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """What cannot be recounted from the release alone."""
    if isinstance(stated.get("loss"), dict):
        yield "loss", stated["loss"].get("overall")
    if "input_rows" in stated:
        yield "rows read", stated["input_rows"]
    for line in ("outside", "held_back", "widened"):
        if line in stated:
            yield line.replace("_", " "), stated[line]
    if isinstance(stated.get("leftover"), dict):
        for key in ("rooted", "hidden", "generalized", "dropped"):
            yield f"rows left over: {key}", stated["leftover"].get(key)
    if isinstance(stated.get("levels"), dict):
        for name, level in stated["levels"].items():
            yield f"level of {name}", level
    for name in ("input", "plan"):
        if name in stated["hashes"]:
            yield f"sha256 of the {name}", stated["hashes"][name]
    trees = stated["hashes"].get("hierarchies")
    for name, tree in trees.items() if isinstance(trees, dict) else ():
        yield f"sha256 of the hierarchy of {name}", tree


def json_hash(value: Any) -> str:
    """The sha256 of plain values, whatever the order of their keys."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _name(one: dict[str, Any]) -> str:
    parts = [one.get("requirement"), one.get("attribute"), one.get("distance"), one.get("reading")]
    return " ".join(str(part) for part in parts if part)


def _check(line: str, stated: Any, counted: Any) -> Check:
    return Check(line, str(stated), str(counted), _same(stated, counted))


def _same(stated: Any, counted: Any) -> bool:
    if isinstance(stated, float) and isinstance(counted, float):
        return abs(stated - counted) <= 1e-12 * max(1.0, abs(stated))
    return type(stated) is type(counted) and bool(stated == counted)


def _is_certificate(content: Any) -> bool:
    """Whether the parts that a recount needs are there, and of the kind that they must be."""
    if not isinstance(content, dict) or content.get("tclose_certificate") != FORMAT:
        return False
    lines = content.get("requirements")
    return (
        all(isinstance(content.get(key), dict) for key in ("policy", "hashes"))
        and isinstance(lines, list)
        and all(isinstance(one, dict) for one in lines)
    )
