"""verify: whether a table, or a folder of tables, keeps what its policy promises."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tclose.data.io.paths import AS_FOUND, KINDS, Reading, suffix_of
from tclose.data.opening import open_source
from tclose.data.source import Source
from tclose.errors import UsageError
from tclose.notebook import show_progress
from tclose.plain import json_hash
from tclose.verify.audit import Audit
from tclose.verify.certificate import Certificate
from tclose.verify.forms import Recount, load_split_certificate, recheck_folder
from tclose.verify.recheck import Check, compare, compare_files
from tclose.workflows.audit import audit_table
from tclose.workflows.inputs import (
    PolicyLike,
    Progress,
    check,
    open_table,
    parse_embedded_policy,
    population_for,
    require_policy,
    resolve_policy,
    supersets_for,
)

if TYPE_CHECKING:
    from tclose.policy.model import Policy
    from tclose.recode.plan import Plan


@show_progress
def verify(
    data: Any,
    policy: PolicyLike | None = None,
    *,
    certificate: Certificate | None = None,
    population: Any = None,
    reading: Reading = AS_FOUND,
    progress: Progress = lambda step: None,
) -> Audit:
    """Recounts a table from scratch and returns whether it keeps the requirements of the policy.

    `data` is a path, a frame, or a `Release`, which is judged by its own policy if none is given.
    For (n, t)-closeness the `certificate` names the parts of the table with which classes are
    compared; nothing else in it is used.

    >>> import pyarrow as pa
    >>> table = pa.table({"zip": ["476", "476"], "illness": ["flu", "flu"]})
    >>> rules = {"k": 2, "columns": {"zip": "quasi", "illness": {"role": "sensitive", "t": 0}}}
    >>> verify(table, rules).holds
    True
    """
    reading.refuse_idle_query(data, population)
    if certificate is not None and not isinstance(certificate, Certificate):
        what, hint = "a certificate is expected, not its file", "Certificate.load(path)"
        raise UsageError(what, where="certificate", hint=hint)
    if isinstance(data, str | Path) and reading.sheet is None:
        _refuse_unjudged(Path(data))
    rules = require_policy(data, policy)
    table = open_table(data, rules, reading, progress=progress, is_clean=True)
    if table.policy is not None and not table.problems and not table.policy.promises_something:
        what = "the policy promises nothing, so there is nothing to verify"
        raise UsageError(what, where="policy", hint="state k, or t at a sensitive column")
    people = population_for(data, population)
    named = supersets_for(data) if certificate is None else certificate.supersets or ()
    return audit_table(
        table, people, reading, measure_all=False, progress=progress, supersets=named
    )


def _refuse_unjudged(path: Path) -> None:
    """Raises if a file holds further tables, which nobody would have judged."""
    if KINDS.get(suffix_of(path)) == "excel" and path.is_file():
        from tclose.data.engines.files.excel import refuse_other_sheets

        refuse_other_sheets(path)


def check_origin(
    certificate: Certificate,
    plan: Plan | None,
    original: Any,
    policy: Policy,
    reading: Reading = AS_FOUND,
) -> tuple[Check, ...]:
    """A certificate held against the plan of its release and the table that it was made from.

    These are not passed on: the plan holds the hashes that nobody else may have. A plan that was
    applied to new rows tells of the release that it was made with, and nothing of their table.
    """
    applied = certificate.way is not None
    made = None if plan is None or applied else plan.provenance
    if original is not None and made is None:
        what = "only the plan states which table a release was made from"
        hint = "give its plan, too (--plan PLAN)"
        if applied:
            hint = "this one was made by the plan of an earlier release: leave the table out"
        raise UsageError(what, where="original", hint=hint)
    if plan is None:
        return ()
    lines = [
        compare("seed, of the plan", certificate.seed, plan.seed),
        compare(
            "method, of the plan",
            certificate.method,
            f"apply ({plan.method})" if applied else plan.method,
        ),
        compare("policy, of the plan", certificate.hashes.policy, json_hash(plan.policy)),
    ]
    if made is not None:
        lines.append(compare("sha256 of the release", certificate.hashes.output, made.output))
        lines += compare_files(made.files or {}, policy)
    if original is not None and made is not None:
        # A verification starts without it.
        from tclose.workflows.release.task import trace_inputs

        bound = check(original, policy, reading=reading)
        found = trace_inputs(bound)
        lines.append(compare("rows read", certificate.input_rows, bound.classes.n_rows))
        lines.append(compare("sha256 of the input", made.input, found.input))
        lines += [
            compare(f"sha256 of the hierarchy of {name}", digest, found.hierarchies.get(name))
            for name, digest in made.hierarchies.items()
        ]
    return tuple(replace(line, internal=True) for line in lines)


def verify_split(
    folder: str | Path, policy: PolicyLike | None = None, *, memory: str | None = None
) -> Recount:
    """Recounts a folder that `split` wrote and returns every check of its certificate.

    The folder is judged by its own policy, or by `policy` if one is given. From the certificate
    only the list of files is used; every other entry is confirmed or refuted.

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
    certificate, layout = load_split_certificate(place)
    beside = place.resolve().parent  # the folder was written whole: its policy lies next to it
    rules = (
        parse_embedded_policy(certificate.policy, place, beside, keeper="certificate")
        if policy is None
        else resolve_policy(policy)
    )
    files = [part.file for part in layout.parts if (place / part.file).is_file()]
    sources = {file: open_split_table(place / file, memory) for file in files}
    return recheck_folder(place, certificate, layout, rules, sources)


def open_split_table(path: Path, memory: str | None = None) -> Source:
    """A table of a split release; its CSV files are UTF-8, with commas."""
    mark = "," if path.suffix == ".csv" else None
    encoding = "utf-8" if mark else None
    return open_source(path, Reading(delimiter=mark, encoding=encoding, memory=memory))
