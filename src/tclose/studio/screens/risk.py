"""The page Risk now: the audit, the worst classes, attacks, and why a class is so far away."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from tclose.errors import UsageError
from tclose.report.document import Folded, Paragraph, Part, Picture, Table, Tone
from tclose.report.explanation import draw_flow, summarize_explanation
from tclose.report.summaries import (
    FOUND_NOTHING,
    FURTHER,
    WORST_CLASSES,
    summarize_attacks,
    summarize_audit,
)
from tclose.studio.visit import Visit, is_whole, show
from tclose.verify.audit import Audit
from tclose.verify.explanation import explain_class

MOST_CLASSES = 15


def show_risk(visit: Visit, problem: str = "") -> Response:
    """Shows what the unchanged table reveals, by the current policy."""
    bench = visit.bench
    lists = ("parts", "further", "worst", "attacks", "attributes")
    values: dict[str, Any] = {name: [] for name in lists}
    command = bench.command("audit", "--policy", "policy.toml")
    if problem:
        return visit.page("risk.html", problem=problem, command=command, **values)
    job = bench.audit()
    audit: Audit | None = visit.get_result(job)
    if audit is None:
        return visit.page("risk.html", waiting=job, command=command, **values)
    values["parts"], values["further"] = sort_parts(summarize_audit(audit, values=False))
    values["worst"] = [] if audit.in_parts else audit.worst[:MOST_CLASSES]
    values["attributes"] = [] if audit.in_parts else list(audit.bound.attributes)
    if audit.in_parts:
        return visit.page("risk.html", command=command, **values)
    attacks = bench.attack()
    found = visit.get_result(attacks)
    if found is not None:
        values["attacks"] = fold_idle(summarize_attacks(found))
    waiting = attacks if found is None else None
    return visit.page("risk.html", command=command, waiting=waiting, **values)


def sort_parts(parts: list[Part]) -> tuple[list[Part], list[Part]]:
    """Divides an audit's parts into those to show and those to fold.

    The worst classes are in neither, because the page shows them with links.
    """
    noted, aside = (_list_with_tone(parts, tone) for tone in ("note", "aside"))
    measured = [part for part in parts if _is_called(part, FURTHER)]
    gone = [*noted, *aside, *measured]
    first = [part for part in parts if part not in gone and not _is_called(part, WORST_CLASSES)]
    further: list[Part] = []
    if noted:
        further.append(Folded(f"Notes ({len(noted)})", (*noted,)))
    if measured:
        further.append(Folded(FURTHER, (*measured, *aside)))
    return first, further


def fold_idle(parts: list[Part]) -> list[Part]:
    """Folds the attacks that found nothing or could not be tried."""
    idle = [part for part in parts if _is_called(part, FOUND_NOTHING)]
    idle += _list_with_tone(parts, "aside")
    shown = [part for part in parts if part not in idle]
    return [*shown, Folded(f"{FOUND_NOTHING}, or could not be tried", (*idle,))] if idle else shown


def _list_with_tone(parts: list[Part], tone: Tone) -> list[Part]:
    return [part for part in parts if isinstance(part, Paragraph) and part.tone == tone]


def _is_called(part: Part, caption: str) -> bool:
    return isinstance(part, Table) and part.caption == caption


def show_why(visit: Visit, problem: str = "") -> Response:
    """Explains why one class is as far from the table as it is, with the flow of mass."""
    bench = visit.bench
    number, attribute = visit.text("class"), visit.text("attribute") or None
    words = ["--class-number", number] if number else []
    words += ["--attribute", attribute] if attribute else []
    command = bench.command("explain", "--policy", "policy.toml", *words)
    if problem:
        return visit.page("why.html", problem=problem, command=command, parts=[], screen="risk")
    job = bench.audit()
    audit: Audit | None = visit.get_result(job)
    if audit is None:
        return visit.page("why.html", waiting=job, command=command, parts=[], screen="risk")
    if audit.in_parts or not audit.bound.attributes:
        raise UsageError("there is no distance to explain", hint="make a column sensitive")
    if number and not is_whole(number):
        raise UsageError("a class is given by its number", where="class")
    why = explain_class(audit.bound, int(number) if number else None, attribute)
    rest = summarize_explanation(why, drawn=True)
    last = max((at for at, part in enumerate(rest) if isinstance(part, Picture)), default=1)
    parts, rest = rest[: last + 1], rest[last + 1 :]
    if why.moves:
        moves = [part for part in rest if isinstance(part, Table)][-1]
        parts.append(Picture("The flow of mass", draw_flow(why, inline=True), moves))
        rest.remove(moves)
    return visit.page(
        "why.html", command=command, parts=[*parts, *_fold(rest)], why=why, screen="risk",
        classes=audit.classes,
        attributes=list(audit.bound.attributes),
    )  # fmt: skip


def _fold(parts: list[Part]) -> list[Part]:
    """Folds the tables of steps of the flow, which are long."""
    return [Folded(part.caption, (part,)) if isinstance(part, Table) else part for part in parts]


ROUTES = [show("/risk", show_risk), show("/risk/why", show_why)]
