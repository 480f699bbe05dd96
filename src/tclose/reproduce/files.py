"""The page and its numbers as files: each appears whole or not at all."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from tclose.data.io.files import refuse_unwritable, write_text
from tclose.report.render.html import render_page
from tclose.reproduce import paper
from tclose.reproduce.claims import check_claims
from tclose.reproduce.document import FIGURE_ONLY, make_document
from tclose.reproduce.experiments import Experiments, PaperRun

PAGE = "li2007.html"
NAMES = (PAGE, "claims.csv", "similarity.csv", "tables.csv", "efficiency.csv", "quality.csv")


def refuse_folder(folder: Path) -> None:
    """Raises where the files could not be written, before any work is done for them."""
    for name in NAMES:
        refuse_unwritable(folder / name)


def write_report(found: Experiments, folder: Path) -> tuple[Path, ...]:
    """Writes the page and its CSV files to a folder, which is made if it is not there yet."""
    tables = (_list_claims, _list_attacks, _list_tables, _list_efficiency, _list_quality)
    texts = (render_page(make_document(found)), *(_write_csv(table(found)) for table in tables))
    return tuple(write_text(folder / name, text) for name, text in zip(NAMES, texts, strict=True))


Lines = Iterable[Sequence[object]]


def _list_claims(found: Experiments) -> Lines:
    yield "statement", "paper", "here", "verdict", "remark"
    for claim in check_claims(found):
        yield claim.about, claim.stated, claim.measured, claim.verdict, claim.remark


def _list_attacks(found: Experiments) -> Lines:
    yield (
        "measure", "minimal_paper", "minimal", "vulnerable_paper", "vulnerable", "worst_paper",
        "worst", "exposable",
    )  # fmt: skip
    printed = (paper.ENTROPY, paper.RECURSIVE)
    for run, stated in zip(found.attacks, printed, strict=True):
        yield _list_attack(run, (stated.tables, stated.vulnerable, stated.worst))
    for run in found.beside:
        yield _list_attack(run, (None, None, None))


def _list_attack(
    run: PaperRun, printed: tuple[int | None, int | None, int | None]
) -> Sequence[object]:
    tables, vulnerable, worst = printed
    return (
        run.measure.title, tables, len(run.tables), vulnerable, run.vulnerable, worst, run.worst,
        run.exposable,
    )  # fmt: skip


def _list_tables(found: Experiments) -> Lines:
    """Every minimal table of the runs with all quasi-identifiers, by its levels."""
    quasi = [column.column for column in paper.QUASI]
    counted = ("classes", "discernibility", "similar_classes", "exposed", "exposable")
    yield "measure", *(f"level_{name}" for name in quasi), *counted
    for run in dict.fromkeys((*found.attacks, *found.by_parameter)):
        for table in run.tables:
            level = dict(zip(run.columns, table.levels, strict=True))
            yield (
                run.measure.title, *(level[name] for name in quasi), table.classes, table.squares,
                table.similar, table.exposed, table.exposable,
            )  # fmt: skip


def _list_efficiency(found: Experiments) -> Lines:
    yield (
        "figure", "measure", "quasi_identifiers", "k_and_l", "seconds_paper", "seconds",
        "nodes_judged", "minimal_tables",
    )  # fmt: skip
    for figure, runs in (("3(a)", found.by_size), ("3(b)", found.by_parameter)):
        for run in runs:
            yield (
                figure, run.measure.kind, run.size, run.parameter, FIGURE_ONLY,
                f"{run.seconds:.4f}", run.judged, len(run.tables),
            )  # fmt: skip


def _list_quality(found: Experiments) -> Lines:
    yield (
        "measure", "k_and_l", "discernibility_paper", "discernibility", "group_size_paper",
        "group_size",
    )  # fmt: skip
    for run in found.by_parameter:
        yield (
            run.measure.kind, run.parameter, FIGURE_ONLY, _write_value(run.discernibility, 0),
            FIGURE_ONLY, _write_value(run.group_size, 4),
        )  # fmt: skip


def _write_value(number: float, digits: int) -> str:
    return "" if math.isnan(number) else f"{number:.{digits}f}"


def _write_csv(lines: Lines) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    return text.getvalue()
