"""Computes again what the thesis on several numerical sensitive attributes draws.

These are its Figures 15, 18 and 19, its bounds beside the corrected ones, and how closeness
decreases as attributes are added. The thesis has no experiment. On the Adult table its bound is
compared with the corrected one for hours × education; the matrix of Figure 15, which is not
printed, follows from its sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv

from tclose.data.binding import BoundTable, bind
from tclose.data.opening import open_source
from tclose.errors import DataError
from tclose.policy.model import Policy
from tclose.report.charts.plots import PlottedPoint, draw_plain_curves
from tclose.report.document import Document, Paragraph, Part, Picture, Section, Table
from tclose.report.fragments import describe_bounds, draw_blocks, draw_matrix, make_picture
from tclose.reproduce.published import Published, tabulate
from tclose.requirements import compile_constraints, state_requirements
from tclose.search.by_construction.emd_bounds import (
    EmdConstraints,
    find_emd_constraints,
    make_emd_bounds,
)
from tclose.search.by_construction.fragments import cut_into_fragments
from tclose.search.by_construction.matrix import (
    Fragment,
    FragmentMatrix,
    bound_fragments,
    count_assigned,
    make_matrix,
)
from tclose.search.by_construction.quotas import assign_in_turn, count_in_proportion
from tclose.search.problem import problem_of

Progress = Callable[[str], None]
TABLE = "adult-full.csv"
FILES = PAGE, FIGURES, ADULT, ADDED = "thesis.html", "figures.csv", "adult.csv", "added.csv"
SENSITIVE = ("hours-per-week", "education-num", "capital-gain", "capital-loss")
"""Numbers of the Adult table, in the order in which they are added."""
K = 5
TS = ("0.05", "0.1", "0.15", "0.2", "0.3")
SIZES = (10, 20, 50)
SHARES = (0.3, 0.5, 0.7)
"""The shares of t that a fragmentation may use, when a least t is searched for."""
STEPS = 8
"""Steps of bisection, when the least t is searched for."""
FIGURE_15 = ((2, 3), (1, 4))
"""In tenths: rows of ½ and ½, columns of 0.3 and 0.7. Except for the order of its rows, no other
matrix has these sums and the bounds after the split."""
FIGURE_18, FIGURE_19 = (250, 100, 350, 300), (250, 100, 350, 301)
INTRODUCTION = (
    "The thesis cuts the matrix of two sensitive attributes into fragments until the bounds X̂ and "
    "Ŷ are within t, and gives every class the same share of every fragment. Here its figures are "
    "computed again, its bounds beside those with one common scale, and class sizes in exact "
    "proportion beside those of assigning rows in turn."
)
CLOSING = "The numbers are in the CSV files beside this page, and the same on any machine."


@dataclass(frozen=True)
class FigureLine:
    """One number of a figure: the thesis's, and the one computed here."""

    figure: str
    about: str
    stated: str
    here: str


@dataclass(frozen=True)
class AdultLine:
    """The fragments and classes for one t on hours × education."""

    t: str
    published_fragments: int
    corrected_fragments: int
    published_classes: int
    """In exact proportion to the published fragments."""
    assigned_classes: int
    assigned_rows: float
    """Rows per class, on average."""


@dataclass(frozen=True)
class AddedLine:
    """The least t for which classes of some size are guaranteed, for a number of attributes."""

    attributes: int
    rows: int
    t: float


@dataclass(frozen=True)
class ThesisRun:
    """All results."""

    figures: tuple[FigureLine, ...]
    matrix: FragmentMatrix | None = None
    """Hours × education."""
    adult: tuple[AdultLine, ...] = ()
    added: tuple[AddedLine, ...] = ()


def split_figure_15() -> tuple[FragmentMatrix, FragmentMatrix]:
    """Returns the matrix of Figure 15 in tenths, before its split between the columns and after."""
    counts, line = np.array(FIGURE_15), (Fraction(0), Fraction(1))
    whole = [Fragment((0, 1), (0, 1), int(counts.sum()))]
    halves = [Fragment((0, 1), (at, at), int(counts[:, at].sum())) for at in (0, 1)]
    before, after = (
        FragmentMatrix(
            ("X", "Y"), (("x1", "x2"), ("y1", "y2")), counts, (Fraction(1), Fraction(1)),
            tuple(some), bound_fragments(counts, some, (line, line)), 1, None,
        )
        for some in (whole, halves)
    )  # fmt: skip
    return before, after


def find_deviation(rows: Sequence[int], classes: int) -> Fraction:
    """Returns the largest share of a class's rows in other fragments than by exact proportion.

    Rows are assigned to this many classes in turn.

    >>> find_deviation([2, 2], 2), find_deviation([3, 2], 2)
    (Fraction(0, 1), Fraction(1, 10))
    """
    total, worst = sum(rows), Fraction(0)
    for counts in assign_in_turn(np.array(rows), classes).counts.tolist():
        pairs = zip(counts, rows, strict=True)
        apart = (abs(Fraction(held, sum(counts)) - Fraction(all_, total)) for held, all_ in pairs)
        worst = max(worst, sum(apart, Fraction(0)) / 2)
    return worst


def list_figures() -> Iterator[FigureLine]:
    """Yields the numbers of the figures, as stated and as computed."""
    before, after = split_figure_15()
    for about, stated, bounds in (
        ("before the split", ("0.5", "0.7"), before.bounds),
        ("after the split", ("0.6", "0"), after.bounds),
    ):
        for name, said, here in zip(("X̂", "Ŷ"), stated, bounds.published, strict=True):
            yield FigureLine("15", f"{name} {about}", said, f"{float(here):g}")
    kept = min(found.bounds.corrected[0] for found in (before, after))
    yield FigureLine("15", "X after the split, least on the way", "not in it", f"{float(kept):g}")
    for figure, rows, stated in (("18", FIGURE_18, ("50", "20")), ("19", FIGURE_19, ("1", "1001"))):
        q = math.gcd(*rows)
        yield FigureLine(figure, "q, classes in exact proportion", stated[0], f"{q}")
        yield FigureLine(figure, "r, rows of each", stated[1], f"{sum(rows) // q}")
        share = f"{float(find_deviation(rows, 50)):.4f}"
        about = "largest share in other fragments, assigned to 50 classes"
        yield FigureLine(figure, about, "not in it", share)


def run_thesis(folder: Path | None, progress: Progress = lambda step: None) -> ThesisRun:
    """Computes the figures and, if there is a folder with the Adult table, the results on it."""
    figures = tuple(list_figures())
    if folder is None:
        return ThesisRun(figures)
    progress("reading the table")
    table = read_complete(folder)
    bound = bind_numbers(table, 2, "0.2")
    constraints = compile_constraints(state_requirements(bound), bound.classes)
    matrix = make_matrix(bound.classes, constraints, bound.attributes)
    lines = []
    for t in TS:
        progress(f"fragments for t = {t}")
        lines.append(compare_bounds(lay_out(table, 2, t), t))
    added = []
    for number in range(1, len(SENSITIVE) + 1):
        progress(f"{number} sensitive attributes")
        closeness = lay_out(table, number, "1")
        added += [AddedLine(number, rows, find_least_t(closeness, rows)) for rows in SIZES]
    return ThesisRun(figures, matrix, tuple(lines), tuple(added))


def read_complete(folder: Path) -> pa.Table:
    """Reads the rows of the Adult table without missing values."""
    place = folder / TABLE
    if not place.is_file():
        hint = "name the folder that contains the table with all numbers, or leave out --adult"
        raise DataError(f"there is no {TABLE}", where=str(folder), hint=hint)
    table = csv.read_csv(place)
    lacking = [name for name in (*SENSITIVE, "sex") if name not in table.column_names]
    if lacking:
        columns = ", ".join(map(repr, lacking))
        raise DataError(f"the table has no column {columns}", where=str(place))
    complete = pa.array(np.ones(len(table), dtype=bool))
    for column in table.columns:
        if pa.types.is_string(column.type):
            known = pc.not_equal(pc.utf8_trim_whitespace(column), "?")
            complete = pc.and_(complete, known.combine_chunks())
    return table.filter(complete).select([*SENSITIVE, "sex"])


def bind_numbers(table: pa.Table, number: int, t: str) -> BoundTable:
    """Binds the first numbers as sensitive attributes, with the ordered distance."""
    sensitive = {"role": "sensitive", "distance": "ordered", "t": t}
    columns = {
        name: sensitive if at < number else "insensitive" for at, name in enumerate(SENSITIVE)
    }
    return bind(Policy.build(columns | {"sex": "quasi"}, k=K), open_source(table))


def lay_out(table: pa.Table, number: int, t: str) -> EmdConstraints:
    """Makes the closeness constraints of the first numbers, for fragments."""
    problem = problem_of(bind_numbers(table, number, t))
    return find_emd_constraints(problem, problem.make_coded_table(ordered=False).constraints.arrays)


def compare_bounds(closeness: EmdConstraints, t: str) -> AdultLine:
    """Counts fragments and classes by the published bounds and by the corrected ones."""
    limits = [each.t for each in closeness.attributes]
    published = cut_into_fragments(closeness, limits, own_width=True)
    corrected = cut_into_fragments(closeness, limits)
    assigned = count_assigned(closeness, K)
    return AdultLine(
        t,
        published.count,
        corrected.count,
        count_in_proportion(published.rows, (), K),
        assigned,
        closeness.total / assigned,
    )


def find_least_t(closeness: EmdConstraints, rows: int) -> float:
    """Returns the least t, equal for all attributes, for which classes of this size are close.

    They are close whichever rows they take from their fragments: an upper bound on the least t,
    which better fragments may lower.
    """
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        t = (low + high) / 2
        low, high = (low, t) if _is_guaranteed(closeness, t, rows) else (t, high)
    return high


def _is_guaranteed(closeness: EmdConstraints, t: float, rows: int) -> bool:
    tight = replace(
        closeness, attributes=tuple(replace(each, t=t) for each in closeness.attributes)
    )
    classes = closeness.total // rows
    for share in SHARES:
        found = cut_into_fragments(tight, [share * t] * len(tight.attributes))
        bounds = make_emd_bounds(tight, found.of_tuple, found.coarser)
        counts = assign_in_turn(found.rows, classes).counts
        if all(float(bound.evaluate(counts).max()) <= t for bound in bounds):
            return True
    return False


# --- the page


def make_thesis_document(run: ThesisRun) -> Document:
    """Makes the page."""
    sections = [Section("figures", "Figures 15, 18 and 19", tuple(_show_figures(run)))]
    if run.matrix is not None:
        sections.append(Section("adult", "Hours × education", tuple(_show_adult(run, run.matrix))))
        sections.append(Section("added", "More attributes", tuple(_show_added(run))))
    title = "Fragments of several numerical sensitive attributes"
    return Document(title, INTRODUCTION, None, tuple(sections), CLOSING)


def tabulate_figures(run: ThesisRun) -> Table:
    """Tabulates every number of the figures."""
    rows = tuple(map(astuple, run.figures))
    return Table("The figures", ("figure", "number", "thesis", "here"), rows, (2, 3))


def tabulate_adult(run: ThesisRun) -> Table:
    """Tabulates a line for every t."""
    headings = (
        "t", "fragments, published bound", "corrected bound", "classes in exact proportion",
        "classes assigned", "rows per class",
    )  # fmt: skip
    rows = ((*astuple(line)[:-1], f"{line.assigned_rows:.1f}") for line in run.adult)
    people = "" if run.matrix is None else f", {run.matrix.rows:,} people"
    return tabulate(f"Hours × education{people}", headings, rows)


def tabulate_added(run: ThesisRun) -> Table:
    """Tabulates a line for every number of attributes."""
    numbers = dict.fromkeys(line.attributes for line in run.added)
    rows = (
        (", ".join(SENSITIVE[:number]),
         *(f"{line.t:.3f}" for line in run.added if line.attributes == number))
        for number in numbers
    )  # fmt: skip
    headings = ("sensitive attributes", *(f"classes of {size}" for size in SIZES))
    return tabulate("The least t that is guaranteed", headings, rows)


def _show_figures(run: ThesisRun) -> Iterator[Part]:
    yield Paragraph(
        "A split lowers one bound and may raise the other (Figure 15): the rows' bound rises from "
        "0.5 to 0.6. A class that is right on the halves is right on the whole as well, so the "
        "least bound met on the way counts, and nothing rises. Class sizes in exact proportion "
        "depend on a common divisor (Figure 18), and one row more leaves a single class "
        "(Figure 19); assigned in turn, every class differs from its proportion by less "
        "than a row per fragment."
    )
    numbers = tabulate_figures(run)
    for when, found in zip(("before", "after"), split_figure_15(), strict=True):
        one, other = (float(bound) for bound in found.bounds.published)
        tenths = "; ".join(" and ".join(map(str, row)) for row in FIGURE_15)
        captions = (f"X̂ = {one:g} and Ŷ = {other:g}", f"tenths of the rows: {tenths}")
        drawn = draw_matrix(found, captions=captions, inline=True)
        yield Picture(f"Figure 15: {when} the split", drawn, numbers)
    for figure, rows in (("18", FIGURE_18), ("19", FIGURE_19)):
        q = math.gcd(*rows)
        title = f"Figure {figure}: four fragments"
        described = f"q = {q}, r = {sum(rows) // q}; where each lies in the matrix is not printed"
        yield Picture(title, draw_blocks(rows, title, described, inline=True), numbers)


def _show_adult(run: ThesisRun, matrix: FragmentMatrix) -> Iterator[Part]:
    yield make_picture(matrix)
    first, *others = describe_bounds(matrix)
    yield Paragraph(" ".join([f"{first}.", *others]), "aside")
    yield tabulate_adult(run)


def _show_added(run: ThesisRun) -> Iterator[Part]:
    yield Paragraph(
        "Closeness decreases as sensitive attributes are added: classes of the same size are "
        "guaranteed to be within a larger and larger t. The best possible t can never fall, "
        "since classes close in all attributes are close in the first ones; what is shown is "
        "guaranteed whichever rows a class takes, with fragments that are cut greedily."
    )
    curves = [
        (f"classes of {size}", [
            PlottedPoint(line.attributes, line.t, f"{line.attributes}: {line.t:.3f}")
            for line in run.added if line.rows == size
        ])
        for size in SIZES
    ]  # fmt: skip
    drawn = draw_plain_curves("The least t", "sensitive attributes", "t", curves)
    yield Picture("The least t that is guaranteed", drawn, tabulate_added(run))


def publish_thesis(run: ThesisRun) -> Published:
    """Returns the page with its numbers: a file for each table."""
    tables = {FIGURES: tabulate_figures(run)}
    if run.adult:
        tables |= {ADULT: tabulate_adult(run), ADDED: tabulate_added(run)}
    numbers = {name: (table.headings, *table.rows) for name, table in tables.items()}
    return Published(PAGE, make_thesis_document(run), numbers, tuple(tables.values()))
