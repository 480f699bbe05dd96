"""The page and its CSV files: the paper's results beside the measurements."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import astuple

from tclose.report.charts.axes import write_number
from tclose.report.charts.plots import PlottedPoint, draw_counts, draw_plain_curves
from tclose.report.document import (
    Document,
    HistogramChart,
    Paragraph,
    Part,
    Picture,
    Section,
    Series,
    Table,
)
from tclose.reproduce import paper
from tclose.reproduce.claims import check_claims, group_by_kind
from tclose.reproduce.experiments import Experiments, PaperRun
from tclose.reproduce.published import Lines, Published, tabulate
from tclose.reproduce.readings import HEADINGS, ReadingResult, describe_readings

FIGURE_ONLY = "figure only"
"""The text for values that the paper draws but does not print: pictures are not measured."""
CLOSING = (
    "The numbers are in the CSV files beside this page. Seconds depend on the machine that ran it; "
    "everything else is the same on any machine."
)
NAMES_OF_AXES = {
    "size": "quasi-identifier size",
    "parameter": "k and l",
    "judged": "nodes judged",
    "group_size": "records per class",
}
PAGE = "li2007.html"
FILES = (PAGE, "claims.csv", "similarity.csv", "tables.csv", "efficiency.csv", "quality.csv",
         "readings.csv")  # fmt: skip


def make_document(found: Experiments, readings: Sequence[ReadingResult] = ()) -> Document:
    """Makes the whole page as a document."""
    headings = ("statement", "paper", "here", "verdict", "why they differ")
    rows = tuple(astuple(claim) for claim in check_claims(found))
    claims = Table("Every statement of section 6", headings, rows)
    sections = (
        Section("claims", "What the paper says and what came out", (claims,)),
        Section("table", "The table (Figure 2)", tuple(_describe_table(found))),
        Section("attack", "Similarity attack", tuple(_show_attack(found))),
        Section("efficiency", "Efficiency (Figure 3)", tuple(_show_efficiency(found))),
        Section("quality", "Data quality (Figure 4)", tuple(_show_quality(found))),
        *((describe_readings(readings),) if readings else ()),
    )
    return Document(paper.TITLE, _introduce(found), None, sections, CLOSING)


def _introduce(found: Experiments) -> str:
    return (
        "N. Li, T. Li and S. Venkatasubramanian, “t-Closeness: Privacy Beyond k-Anonymity and "
        f"l-Diversity” (2007), section 6, run again on {found.rows:,} records of the Adult census "
        "table. All minimal tables are found by Incognito: every column generalized to one level "
        "of its hierarchy, no record left out. The occupation is sensitive, and closeness is the "
        f"{found.reading.distance} earth mover’s distance. The paper does not print its "
        "hierarchies, so counts "
        "may differ, but the shape must agree. Values that it only draws are marked "
        f"“{FIGURE_ONLY}” and not compared."
    )


def _describe_table(found: Experiments) -> Iterator[Part]:
    rows = [
        (column.stated.name, column.stated.values, column.values, column.stated.height,
         column.height)
        for column in found.columns
    ]  # fmt: skip
    headings = ("attribute", "values, paper", "values here", "height, paper", "height here")
    yield tabulate("Columns", headings, rows)
    groups = "; ".join(
        f"{values} occupations with {people:,} people" for values, people in found.groups
    )
    heights = [each.stated.name for each in found.columns if each.height != each.stated.height]
    values = [each.stated.name for each in found.columns if each.values != each.stated.values]
    notes = [f"Groups of similar occupations, {found.reading.grouped_by}: {groups}."]
    if heights:
        notes.append(f"Other heights than in the paper: {', '.join(heights)}.")
    if values:
        notes.append(
            f"Other numbers of values: {', '.join(values)}; here those of the {found.rows:,} "
            "records are counted, and the paper may count those of all records."
        )
    yield Paragraph(" ".join(notes), "aside")


def _show_attack(found: Experiments) -> Iterator[Part]:
    yield Paragraph(
        "A class is vulnerable if all its occupations fall into one group; a table, if it has such "
        "a class. “Worst” is the most records in such classes in one table. “At most, any groups” "
        "is the most records in classes of at most half of the occupations: other groups could "
        "expose these, but no others."
    )
    rows: list[Sequence[object]] = []
    bars: list[tuple[str, int, int]] = []
    for run, stated in _pair_attacks(found):
        printed: tuple[object, ...] = ("not in it",) * 3
        label = run.measure.label
        if stated is not None:
            worst = "not printed" if stated.worst is None else stated.worst
            printed = (*astuple(stated)[:2], worst)
            bars.append((f"{label}, paper", stated.tables, stated.vulnerable))
            label = f"{label}, here"
        bars.append((label, len(run.tables), run.vulnerable))
        rows.append(_list_attack(run, printed))
    headings = (
        "measure", "minimal, paper", "minimal here", "vulnerable, paper", "vulnerable here",
        "worst, paper", "worst here", "at most, any groups",
    )  # fmt: skip
    title = "Minimal tables and vulnerable ones"
    names, tables, vulnerable = zip(*bars, strict=True)
    series = (Series("minimal", tables), Series("of these vulnerable", vulnerable))
    drawn = draw_counts(HistogramChart(title, "measure", "tables", names, series), inline=True)
    numbers = tabulate("Similarity attack on all minimal tables", headings, rows)
    yield Picture(title, drawn, numbers)


def _show_efficiency(found: Experiments) -> Iterator[Part]:
    yield Paragraph(
        f"The paper’s values are {FIGURE_ONLY}. Seconds are the fastest of {found.plan.repeats} "
        "searches for all minimal tables, without reading the file. The nodes judged do not depend "
        "on the machine. The c of recursive (c, l)-diversity and the range of k and l are only in "
        "the paper’s figures, if at all; here c is 4, as in its similarity attack."
    )
    size, runs = f"varied quasi-identifier size, k = l = {found.plan.fixed}", found.by_parameter
    yield _show_figure(f"Figure 3(a): {size}", "seconds", found.by_size, across="size")
    yield _show_figure("Figure 3(b): varied k and l, seven quasi-identifiers", "seconds", runs)
    title = "Not in the paper: nodes judged, seven quasi-identifiers"
    yield _show_figure(title, "judged", runs)


def _show_quality(found: Experiments) -> Iterator[Part]:
    yield Paragraph(
        f"The paper’s values are {FIGURE_ONLY}. Discernibility is the sum of the squared sizes of "
        "the classes; the average group size is records per class. Both are those of the best "
        "minimal table. Less is better; a step of the grid is a factor of ten."
    )
    title = "Figure 4(a): discernibility metric cost"
    yield _show_figure(title, "discernibility", found.by_parameter, logarithmic=True)
    title = "Figure 4(b): minimal average group size"
    yield _show_figure(title, "group_size", found.by_parameter, logarithmic=True)


def _show_figure(
    title: str, height: str, runs: Sequence[PaperRun], *, across: str = "parameter",
    logarithmic: bool = False,
) -> Picture:  # fmt: skip
    """Draws curves, with the numbers as a table; measures without any table have no point.

    `height` and `across` are properties of a run.
    """
    up, along = NAMES_OF_AXES.get(height, height), NAMES_OF_AXES[across]
    curves, rows = [], []
    for kind, same in group_by_kind(runs).items():
        places = [(getattr(run, across), float(getattr(run, height))) for run in same]
        words = ["no table" if math.isnan(y) else write_number(y) for _, y in places]
        points = [
            PlottedPoint(x, y, f"{kind} at {x}: {word} {up}")
            for (x, y), word in zip(places, words, strict=True)
            if not math.isnan(y)
        ]
        curves.append((kind, points))
        rows.append((kind, *words))
    headings = (f"{up}, by {along}", *dict.fromkeys(str(getattr(run, across)) for run in runs))
    drawn = draw_plain_curves(title, along, up, curves, logarithmic=logarithmic)
    return Picture(title, drawn, tabulate(title, headings, rows))


def publish_experiments(found: Experiments, readings: Sequence[ReadingResult]) -> Published:
    """Returns the page with its numbers; a terminal shows the claims and the readings."""
    lines = (_list_claims, _list_attacks, _list_tables, _list_efficiency, _list_quality)
    read = [result.list_cells() for result in readings]
    numbers = [*(listed(found) for listed in lines), [HEADINGS, *read]]
    claims = tuple(astuple(claim)[:4] for claim in check_claims(found))
    beside = tuple(zip(HEADINGS, *read, strict=True))
    headings = ("reading", *map(str, range(1, len(read) + 1)))
    return Published(
        PAGE, make_document(found, readings), dict(zip(FILES[1:], numbers, strict=True)),
        (Table("Li 2007, section 6", ("statement", "paper", "here", "verdict"), claims),
         Table("Readings", headings, beside)),
    )  # fmt: skip


def _list_claims(found: Experiments) -> Lines:
    yield "statement", "paper", "here", "verdict", "remark"
    yield from map(astuple, check_claims(found))


def _list_attacks(found: Experiments) -> Lines:
    counts = ("minimal", "vulnerable", "worst")
    yield "measure", *(f"{name}{of}" for name in counts for of in ("_paper", "")), "exposable"
    for run, stated in _pair_attacks(found):
        yield _list_attack(run, (None,) * 3 if stated is None else astuple(stated))


def _pair_attacks(found: Experiments) -> Iterator[tuple[PaperRun, paper.StatedAttack | None]]:
    """Yields every attacked run with what the paper prints about it, if anything."""
    yield from zip(found.attacks, (paper.PRINTED_ENTROPY, paper.PRINTED_RECURSIVE), strict=True)
    yield from ((run, None) for run in found.not_attacked)


def _list_attack(run: PaperRun, printed: tuple[object, ...]) -> Sequence[object]:
    tables, vulnerable, worst = printed
    return (
        run.measure.title, tables, len(run.tables), vulnerable, run.vulnerable, worst, run.worst,
        run.exposable,
    )  # fmt: skip


def _list_tables(found: Experiments) -> Lines:
    """Yields every minimal table of the runs with all quasi-identifiers, by its levels."""
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
    kinds = ("discernibility", "group_size")
    yield "measure", "k_and_l", *(f"{name}{of}" for name in kinds for of in ("_paper", ""))
    for run in found.by_parameter:
        squares, size = f"{run.discernibility:.0f}", f"{run.group_size:.4f}"
        if not run.tables:
            squares = size = ""
        yield run.measure.kind, run.parameter, FIGURE_ONLY, squares, FIGURE_ONLY, size
