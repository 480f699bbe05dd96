"""A certificate held against a fresh count of the file, line by line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from tclose.data.io.records import json_hash
from tclose.verify.audit import Audit
from tclose.verify.certificate import Certificate, SizesRecord
from tclose.verify.verdict import RequirementRecord

NOT_HERE = "needs the original"


@dataclass(frozen=True)
class Check:
    """One line of a certificate, held against what was counted. None: cannot be recounted."""

    line: str
    stated: str
    counted: str
    confirmed: bool | None


def recheck(certificate: Certificate, audit: Audit, output_hash: str | None) -> tuple[Check, ...]:
    """Every line of a certificate against a fresh count of the file."""
    stated = certificate
    return (
        compare("sha256 of the file", stated.hashes.output, output_hash),
        compare("sha256 of the policy", stated.hashes.policy, json_hash(stated.policy)),
        compare("rows", stated.rows, audit.rows),
        compare("classes", stated.classes, audit.classes),
        compare("smallest class", stated.k, audit.k),
        compare("the promise holds", stated.holds, audit.holds),
        *compare_requirements(
            stated.requirements, [verdict.record() for verdict in audit.requirements]
        ),
        *_compare_sizes(stated, audit),
        *(Check(line, str(value), NOT_HERE, None) for line, value in _of_the_original(stated)),
    )


def compare(line: str, stated: JsonValue, counted: JsonValue) -> Check:
    """A line that can be recounted; nothing counted confirms nothing."""
    return Check(line, str(stated), str(counted), counted is not None and _same(stated, counted))


def compare_requirements(
    stated: Sequence[RequirementRecord], counted: Iterable[RequirementRecord]
) -> Iterator[Check]:
    """One line per requirement: asked, attained, the verdict, and the classes that fail."""
    mine = {record.name: record for record in counted}
    for record in stated:
        other = mine.pop(record.name, None)
        same = other is not None and all(_same(value, dict(other)[key]) for key, value in record)
        yield Check(record.name, str(record), "not promised" if other is None else str(other), same)
    for name, record in mine.items():
        yield Check(name, "not in the certificate", str(record), False)


def _compare_sizes(stated: Certificate, audit: Audit) -> Iterator[Check]:
    """What follows from the sizes of the classes, and from the number of rows that were read."""
    if stated.sizes is not None:
        counted = dict(SizesRecord.of(audit, stated.input_rows))
        for key, value in stated.sizes:
            yield compare(f"sizes: {key}", value, counted[key])
    if stated.left_out is not None:
        yield compare("rows left out", stated.left_out.rows, stated.input_rows - audit.rows)


def _of_the_original(stated: Certificate) -> Iterator[tuple[str, JsonValue]]:
    """What cannot be recounted from the release alone."""
    if stated.loss is not None:
        yield "loss", stated.loss.overall
    yield "rows read", stated.input_rows
    for line, rows in (
        ("outside", stated.outside),
        ("held back", stated.held_back),
        ("widened", stated.widened),
    ):
        if rows is not None:
            yield line, rows
    if stated.leftover is not None:
        for key in ("rooted", "hidden", "generalized", "dropped"):
            yield f"rows left over: {key}", getattr(stated.leftover, key)
    for name, level in (stated.levels or {}).items():
        yield f"level of {name}", level
    for name, value in (("input", stated.hashes.input), ("plan", stated.hashes.plan)):
        if value is not None:
            yield f"sha256 of the {name}", value
    for name, value in (stated.hashes.hierarchies or {}).items():
        yield f"sha256 of the hierarchy of {name}", value


def _same(stated: JsonValue, counted: JsonValue) -> bool:
    if isinstance(stated, float) and isinstance(counted, float):
        return abs(stated - counted) <= 1e-12 * max(1.0, abs(stated))
    return type(stated) is type(counted) and stated == counted
