"""Compares a certificate with a fresh recount, line by line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from tclose.data.io.counting import file_hash
from tclose.plain import json_hash
from tclose.policy.model import Policy
from tclose.verify.audit import Audit
from tclose.verify.certificate import Certificate, SizesRecord, read_context
from tclose.verify.verdict import RequirementRecord

UNCOUNTED = "stated; cannot be counted from the file"
COUNTED = (
    "tclose_certificate", "holds", "rows", "classes", "k", "requirements", "policy", "hashes",
    "sizes", "notes", "form", "context", "signature",
)  # fmt: skip
"""The keys of a certificate that have lines of their own; the rest cannot be recounted."""


@dataclass(frozen=True)
class Check:
    """One line of a certificate compared with the recount; None: it cannot be recounted."""

    line: str
    stated: str
    counted: str
    confirmed: bool | None
    internal: bool = False
    """Whether it states what only the steward may see, such as a hash of the raw table."""


def recheck(certificate: Certificate, audit: Audit, output_hash: str | None) -> tuple[Check, ...]:
    """Every line of a certificate against a fresh count of the file."""
    stated = certificate
    counted = "" if audit.bound.policy.subject is None else ", in persons"
    has_several_files = stated.form is not None or stated.hashes.files is not None
    return (
        compare("sha256 of the file", stated.hashes.output, output_hash),
        *compare_policies(stated, audit.bound.policy),
        compare("rows", stated.rows, audit.rows),
        compare("classes", stated.classes, audit.classes),
        compare(f"smallest class{counted}", stated.k, audit.k),
        compare("the promise holds", stated.holds, audit.holds),
        *compare_requirements(stated.requirements, (each.record() for each in audit.requirements)),
        *compare_sizes(stated, SizesRecord.of(audit, stated.input_rows)),
        *_compare_notes(stated, None if audit.in_parts else audit.caveats),
        *([Check("form", "several files", "one file", False)] if has_several_files else []),
        *list_uncounted(stated, audit.bound.policy, audit.rows),
    )


def compare_policies(stated: Certificate, judged: Policy) -> Iterator[Check]:
    """Whether the certificate is about the policy that is judged, and the files that this names."""
    yield compare("sha256 of the policy", stated.hashes.policy, json_hash(stated.policy))
    mine, theirs = stated.policy, judged.to_json()
    differing = [key for key in {**mine, **theirs} if not is_same(mine.get(key), theirs.get(key))]
    counted = f"differs in {', '.join(sorted(differing))}" if differing else "the same"
    yield Check("policy", "as judged here", counted, not differing)
    context = read_context(mine)
    if context is not None or stated.context is not None:
        words = ("as in the policy", "of the policy")
        yield Check("context", *words, is_same(stated.context, context))
    yield from compare_files(stated.hashes.promise_files or {}, judged)


def compare_files(hashes: Mapping[str, str], judged: Policy) -> Iterator[Check]:
    """Whether files that the policy names are still those that were hashed."""
    for name, digest in hashes.items():
        place = judged.base / name
        if name in judged.files and place.is_file():
            yield compare(f"sha256 of {name}", digest, file_hash(place))
        else:
            counted = "is not here" if name in judged.files else "is not named in the policy"
            confirmed = None if name in judged.files else False
            yield Check(f"sha256 of {name}", digest, counted, confirmed)


def compare(line: str, stated: JsonValue, counted: JsonValue) -> Check:
    """A line that can be recounted; nothing counted confirms nothing."""
    return Check(line, str(stated), str(counted), counted is not None and is_same(stated, counted))


def compare_requirements(
    stated: Sequence[RequirementRecord], counted: Iterable[RequirementRecord]
) -> Iterator[Check]:
    """A check of each requirement: its threshold, value, verdict and failing classes."""
    mine = {record.name: record for record in counted}
    for record in stated:
        other = mine.pop(record.name, None)
        same = other is not None and all(is_same(value, dict(other)[key]) for key, value in record)
        yield Check(record.name, str(record), "not promised" if other is None else str(other), same)
    for name, record in mine.items():
        yield Check(name, "not in the certificate", str(record), False)


def compare_sizes(stated: Certificate, counted: SizesRecord) -> Iterator[Check]:
    """What follows from the sizes of the classes, and from the number of rows that were read."""
    for key, value in stated.sizes or ():
        yield compare(f"sizes: {key}", value, dict(counted)[key])


def _compare_notes(stated: Certificate, counted: Sequence[str] | None) -> Iterator[Check]:
    """Compares the notes with those of the recount; audits in parts make no notes."""
    if stated.notes is not None:
        strange = [note for note in stated.notes if note not in (counted or ())]
        words = f"{len(strange)} of them not found" if strange else "the same"
        confirmed = None if counted is None else not strange
        yield Check("notes", f"{len(stated.notes)}", words, confirmed)


def list_uncounted(stated: Certificate, policy: Policy, rows: int) -> Iterator[Check]:
    """What cannot be recounted from the release alone; refuted where it contradicts itself."""
    if stated.left_out is not None:
        left = stated.left_out.rows
        yield compare("rows left out", left, stated.input_rows - rows)
        sums = {sum(parts.values()) for parts in stated.left_out.parts.values()}
        counted = "the same" if sums <= {left} else "another number"
        yield Check("rows left out, by part", str(left), counted, sums <= {left})
    by_column = {
        "loss": stated.loss and stated.loss.columns,
        "levels": stated.levels,
        "cleaned": stated.cleaned,
        "left_out": stated.left_out and stated.left_out.parts,
    }
    for key, columns in by_column.items():
        strange = [name for name in columns or () if name not in policy.columns]
        if strange:
            yield Check(f"columns of {key}", "of the policy", f"{len(strange)} are not", False)
    earlier = stated.hashes.model_dump(include={"input", "hierarchies", "plan"})
    others = {key: value for key, value in stated.to_json().items() if key not in COUNTED}
    others |= {f"sha256 of the {key}": value for key, value in earlier.items() if value is not None}
    for key, value in others.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield Check(key, text, UNCOUNTED, None)


def is_same(stated: JsonValue, counted: JsonValue) -> bool:
    """Whether two plain values are equal; numbers with a fraction, but for rounding."""
    if isinstance(stated, float) and isinstance(counted, float):
        return abs(stated - counted) <= 1e-12 * max(1.0, abs(stated))
    return type(stated) is type(counted) and stated == counted
