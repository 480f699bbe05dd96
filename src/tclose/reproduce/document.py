"""The page: what the paper reports beside what was measured. One file that refers to no other."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tclose.report.charts.svg import escape
from tclose.reproduce import paper
from tclose.reproduce.chart import Axis, Series, bar_chart, line_chart, number
from tclose.reproduce.claims import Claim, claims_of, curve, kinds
from tclose.reproduce.experiments import Experiments, Run
from tclose.version import VERSION

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 62rem; margin: 2rem auto;
  padding: 0 1rem; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; }
table { border-collapse: collapse; margin: 1rem 0; font-size: 0.9rem; }
caption { text-align: left; font-weight: 600; padding-bottom: 0.3rem; }
th, td { border-bottom: 1px solid #ccc; padding: 0.3rem 0.7rem 0.3rem 0; text-align: left;
  vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
svg { max-width: 100%; height: auto; display: block; margin: 1rem 0; }
.scroll { overflow-x: auto; }
.note { color: #555; font-size: 0.9rem; }
"""
FIGURE_ONLY = "figure only"
"""What is drawn in the paper but not printed; no reading of a picture is passed off for it."""


def page(found: Experiments) -> str:
    """The whole page as HTML that is well-formed XML as well."""
    body = [
        f"<h1>{escape(paper.TITLE)}</h1>",
        _lead(found),
        "<h2>What the paper says and what came out</h2>",
        _claims(claims_of(found)),
        "<h2>The table (Figure 2)</h2>",
        *_data(found),
        "<h2>Similarity attack</h2>",
        *_attack(found),
        "<h2>Efficiency (Figure 3)</h2>",
        *_efficiency(found),
        "<h2>Data quality (Figure 4)</h2>",
        *_quality(found),
        f'<p class="note">Made by tclose {escape(VERSION)}. The numbers are in the CSV files '
        "beside this page. Seconds belong to the machine that ran it; all else is the same on any "
        "machine.</p>",
    ]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            f'<head><meta charset="utf-8"/><title>{escape(paper.TITLE)}</title>',
            '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
            f"<style>{STYLE}</style></head>",
            "<body>",
            *body,
            "</body>",
            "</html>",
            "",
        ]
    )


def _lead(found: Experiments) -> str:
    return (
        "<p>N. Li, T. Li and S. Venkatasubramanian, <em>t-Closeness: Privacy Beyond k-Anonymity "
        "and l-Diversity</em> (2007), section 6, run again on "
        f"{found.rows:,} records of the Adult census table. All minimal tables are found by "
        "Incognito: every column generalized to one level of its hierarchy, no record left out. "
        "The occupation is sensitive, and closeness is the hierarchical earth mover’s distance. "
        "The paper does not print its hierarchies, so counts may differ and the shape is what must "
        f"agree. Values that it only draws are marked “{FIGURE_ONLY}” and not compared.</p>"
    )


def _claims(claims: Sequence[Claim]) -> str:
    rows = [
        [claim.about, claim.stated, claim.measured, claim.verdict, claim.remark] for claim in claims
    ]
    heading = ("statement", "paper", "here", "verdict", "why they differ")
    return _table("Every statement of section 6", heading, rows, numbers=False)


def _data(found: Experiments) -> list[str]:
    rows = [
        [column.stated.name, column.stated.values, column.values, column.stated.height,
         column.height]
        for column in found.columns
    ]  # fmt: skip
    groups = "; ".join(
        f"{values} occupations with {people:,} people" for values, people in found.groups
    )
    heading = ("attribute", "values, paper", "values here", "height, paper", "height here")
    other = [one.stated.name for one in found.columns if one.height != one.stated.height]
    fewer = [one.stated.name for one in found.columns if one.values != one.stated.values]
    notes = [f"Groups of similar occupations, from the folder’s hierarchy: {groups}."]
    if other:
        notes.append(f"Other heights than in the paper: {', '.join(other)}.")
    if fewer:
        notes.append(
            f"Other numbers of values: {', '.join(fewer)}; here those of the {found.rows:,} "
            "records are counted, and the paper may count those of all records."
        )
    return [_table("Columns", heading, rows), f'<p class="note">{escape(" ".join(notes))}</p>']


def _attack(found: Experiments) -> list[str]:
    stated = (paper.ENTROPY, paper.RECURSIVE)
    rows: list[Sequence[object]] = []
    bars = []
    for run, told in zip(found.attacks, stated, strict=True):
        worst = "not printed" if told.worst is None else told.worst
        rows.append(
            [run.measure.title, told.tables, len(run.tables), told.vulnerable, run.vulnerable,
             worst, run.worst, run.exposable]
        )  # fmt: skip
        bars.append((f"{run.measure.label}\npaper", told.tables, told.vulnerable))
        bars.append((f"{run.measure.label}\nhere", len(run.tables), run.vulnerable))
    for run in found.beside:
        rows.append(
            [run.measure.title, "not in it", len(run.tables), "not in it", run.vulnerable,
             "not in it", run.worst, run.exposable]
        )  # fmt: skip
        bars.append((run.measure.label, len(run.tables), run.vulnerable))
    heading = (
        "measure", "minimal, paper", "minimal here", "vulnerable, paper", "vulnerable here",
        "worst, paper", "worst here", "at most, any groups",
    )  # fmt: skip
    return [
        "<p>A class is vulnerable if all its occupations fall into one group; a table, if it has "
        "such a class. <em>Worst</em> is the most records in such classes in one table. <em>At "
        "most, any groups</em> is the most records in classes of at most half of the occupations: "
        "other groups could expose these, but no others.</p>",
        bar_chart("Minimal tables and vulnerable ones", "tables", bars),
        _table("Similarity attack on all minimal tables", heading, rows),
    ]


def _efficiency(found: Experiments) -> list[str]:
    fixed = found.plan.fixed
    return [
        f"<p>The paper’s values are {FIGURE_ONLY}. Seconds are the fastest of "
        f"{found.plan.repeats} searches for all minimal tables, without reading the file. The "
        "nodes judged depend on no machine. The c of recursive (c, l)-diversity and the range of k "
        "and l stand only in the paper’s figures, if at all; here c is 4, as in its similarity "
        "attack.</p>",
        *_figure(
            f"Figure 3(a): varied quasi-identifier size, k = l = {fixed}", "quasi-identifier size",
            Axis("seconds"), found.by_size, _size, lambda run: run.seconds,
        ),
        *_figure(
            "Figure 3(b): varied k and l, seven quasi-identifiers", "k and l",
            Axis("seconds"), found.by_parameter, _parameter, lambda run: run.seconds,
        ),
        *_figure(
            "Not in the paper: nodes judged, seven quasi-identifiers", "k and l",
            Axis("nodes judged"), found.by_parameter, _parameter, lambda run: float(run.judged),
        ),
    ]  # fmt: skip


def _quality(found: Experiments) -> list[str]:
    return [
        f"<p>The paper’s values are {FIGURE_ONLY}. Discernibility is the sum of the squared sizes "
        "of the classes; the average group size is records per class. Both are those of the best "
        "minimal table. Less is better; a step of the grid is a factor of ten.</p>",
        *_figure(
            "Figure 4(a): discernibility metric cost", "k and l",
            Axis("discernibility", logarithmic=True), found.by_parameter, _parameter,
            lambda run: run.discernibility,
        ),
        *_figure(
            "Figure 4(b): minimal average group size", "k and l",
            Axis("records per class", logarithmic=True), found.by_parameter, _parameter,
            lambda run: run.group_size,
        ),
    ]  # fmt: skip


def _size(run: Run) -> int:
    return run.size


def _parameter(run: Run) -> int:
    return run.parameter


def _figure(
    title: str, across: str, up: Axis, runs: Sequence[Run], place: Callable[[Run], int],
    value: Callable[[Run], float],
) -> list[str]:  # fmt: skip
    """A chart and the same numbers as a table."""
    series = [
        Series(kind, tuple((float(place(run)), value(run)) for run in curve(runs, kind)))
        for kind in kinds(runs)
    ]
    places = list(dict.fromkeys(place(run) for run in runs))
    rows = [[one.name, *(number(height) for _, height in one.points)] for one in series]
    heading = (f"{up.title}, by {across}", *map(str, places))
    return [line_chart(title, across, up, series), _table(title, heading, rows)]


def _table(
    caption: str, heading: Sequence[str], rows: Sequence[Sequence[object]], *, numbers: bool = True
) -> str:
    head = "".join(f'<th scope="col">{escape(word)}</th>' for word in heading)
    lines = []
    for row in rows:
        first, *rest = (_cell(value) for value in row)
        kind = ' class="number"' if numbers else ""
        cells = "".join(f"<td{kind}>{value}</td>" for value in rest)
        lines.append(f'<tr><th scope="row">{first}</th>{cells}</tr>')
    return (
        f'<div class="scroll"><table><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _cell(value: object) -> str:
    return escape(f"{value:,}" if isinstance(value, int) else str(value))
