"""What is said about the paper's statements follows from the numbers, whichever way they fall."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tclose.report.render.saving import render_page
from tclose.reproduce.census import CensusColumn
from tclose.reproduce.claims import check_claims
from tclose.reproduce.experiments import Experiments, MinimalTable, PaperRun, Schedule
from tclose.reproduce.page import make_document
from tclose.reproduce.paper import OCCUPATION, QUASI, ROWS, PaperMeasure, entropy, five, recursive

PLAN = Schedule(sizes=(2, 7), fixed=5, parameters=(2, 5))
NAMES = tuple(one.column for one in QUASI)


def made(measure: PaperMeasure, parameter: int, size: int, **numbers: Any) -> PaperRun:
    """A run whose numbers are as the paper describes them."""
    loss = {"k": 10, "e": 20, "r": 15}[measure.kind[0]] + (1 if "t" in measure.required else 0)
    fast = measure.kind.startswith("entropy")
    tables = (MinimalTable((0,) * size, 1000 - loss, 1000 + loss, 0, 0, 0),)
    about: dict[str, Any] = {
        "rows": ROWS, "columns": NAMES[:size], "tables": tables,
        "judged": 100 - parameter, "seconds": 1.0 / parameter if fast else 5.0,
    }  # fmt: skip
    return PaperRun(measure, parameter, size, **(about | numbers))


def attacked(measure: PaperMeasure, tables: int, vulnerable: int, worst: int) -> PaperRun:
    exposed = [worst] * vulnerable + [0] * (tables - vulnerable)
    found = tuple(MinimalTable((0,) * 7, 10, 100, int(rows > 0), rows, rows) for rows in exposed)
    return made(measure, 2, 7, tables=found)


@pytest.fixture
def as_printed() -> Experiments:
    return Experiments(
        ROWS,
        tuple(CensusColumn(one, one.values, one.height) for one in (*QUASI, OCCUPATION)),
        ((5, 10_000), (5, 10_000), (4, 10_162)),
        PLAN,
        (attacked(entropy(2), 21, 13, 916), attacked(recursive(4), 26, 17, 50)),
        tuple(made(one, 5, size) for size in PLAN.sizes for one in five(5)),
        tuple(made(one, value, 7) for value in PLAN.parameters for one in five(value)),
    )


def verdicts(found: Experiments) -> dict[str, str]:
    return {claim.about: claim.verdict for claim in check_claims(found)}


def test_the_paper_s_own_numbers_agree_with_the_paper(as_printed: Experiments) -> None:
    told = [claim.verdict for claim in check_claims(as_printed)]
    assert told == ["equal"] * 6 + ["same shape"] * 6


def test_whatever_differs_has_a_sentence_that_says_why(as_printed: Experiments) -> None:
    worse = replace(
        as_printed,
        rows=100,
        attacks=(attacked(entropy(2), 5, 1, 6), attacked(recursive(4), 3, 0, 0)),
        by_size=tuple(replace(run, seconds=1.0) for run in as_printed.by_size),
        by_parameter=tuple(
            replace(
                run,
                judged=50 + run.parameter,
                seconds=float(run.parameter) if "entropy" in run.measure.kind else 0.5,
                tables=() if "t" in run.measure.required else run.tables,
            )
            for run in as_printed.by_parameter
        ),
    )
    claims = check_claims(worse)
    assert all(claim.verdict == "differs" for claim in claims), verdicts(worse)
    assert all(claim.remark.endswith(".") for claim in claims)
    assert "no table" in render_page(make_document(worse)), (
        "a measure that nothing keeps has no point, and says so"
    )


def test_a_count_within_a_factor_of_two_has_the_same_shape(as_printed: Experiments) -> None:
    for tables, verdict in ((21, "equal"), (11, "same shape"), (42, "same shape"), (10, "differs")):
        run = attacked(entropy(2), tables, tables, 916)
        told = verdicts(replace(as_printed, attacks=(run, as_printed.attacks[1])))
        assert told["entropy 2-diversity: minimal tables"] == verdict


def test_other_heights_are_named(as_printed: Experiments) -> None:
    columns = tuple(
        replace(one, height=2) if one.stated.name == "Race" else one for one in as_printed.columns
    )
    run = attacked(entropy(2), 16, 2, 6)
    other = replace(as_printed, columns=columns, attacks=(run, as_printed.attacks[1]))
    remark = check_claims(other)[1].remark
    assert "3,240 nodes, here it has 2,160: Race has another height" in remark
