"""What a steward reads: words that agree with the numbers, and values shown as they are."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

import tclose
from tclose.report.document import Part
from tclose.report.explanation import MOST_ROWS, summarize_explanation
from tclose.report.render.terminal import render_parts, write_plain_text
from tclose.report.summaries import (
    MOST_STEPS,
    choose_trials,
    summarize_attacks,
    summarize_audit,
    summarize_release,
    summarize_utility,
    weigh_certificate,
)
from tclose.search import Outcome, Trial
from tclose.verify.recheck import Check


def shown(parts: list[Part], width: int = 140) -> str:
    page = io.StringIO()
    Console(file=page, width=width, highlight=False).print(render_parts(parts))
    return page.getvalue()


def test_one_is_singular_and_many_are_plural() -> None:
    single = tclose.audit(pa.table({"q": ["a"], "s": ["x"]}), quasi="q", sensitive="s")
    assert "frame: 1 row in 1 class; the smallest has 1 row." in shown(summarize_audit(single))
    many = tclose.audit(pa.table({"q": ["a", "b"] * 2, "s": ["x"] * 4}), quasi="q", sensitive="s")
    assert "frame: 4 rows in 2 classes; the smallest has 2 rows." in shown(summarize_audit(many))


def test_one_is_singular_in_every_view() -> None:
    table = pa.table({"q": ["a"], "s": ["x"]})
    rules = {"k": 1, "columns": {"q": "quasi", "s": {"role": "sensitive", "t": 1}}}
    assert "1 row in 1 class." in shown(summarize_attacks(tclose.attack(table, rules)))
    assert "1 row, 0 left out, 1 class;" in shown(
        summarize_utility(tclose.measure(original=table, release=table, policy=rules))
    )
    assert "1 row in 1 class, mean" in shown(summarize_release(tclose.anonymize(table, rules)))


@pytest.mark.parametrize(
    ("promised", "says"),
    [
        ({}, "minimality: no requirement is about sensitive attributes"),
        ({"t": 1, "n": 2}, "minimality: (n,t)-closeness cannot be judged on halves of classes"),
    ],
)
def test_why_an_attack_was_not_tried_is_said(promised: dict[str, int], says: str) -> None:
    table = pa.table({"q": ["a", "a", "b", "b"], "s": ["x", "y"] * 2})
    rules = {"k": 2, "columns": {"q": "quasi", "s": {"role": "sensitive", **promised}}}
    assert says in shown(summarize_attacks(tclose.attack(table, rules, original=table)))


def test_brackets_in_names_and_values_are_not_markup() -> None:
    table = pa.table({"[red]q": ["[b]a[/b]", "[/]"], "[bold]s[/]": ["[i]x", "y[/i]"]})
    options = {"quasi": ["[red]q"], "sensitive": ["[bold]s[/]"]}
    text = shown(summarize_explanation(tclose.explain(table, class_number=2, **options)))  # type: ignore[arg-type]
    for word in ("[red]q", "[b]a[/b]", "[bold]s[/]", "[i]x", "y[/i]"):
        assert word in text
    roles = {"[red]q": "quasi", "[bold]s[/]": "sensitive"}
    broken = tclose.audit(table, {"k": 2, "columns": roles})
    assert "[red]q=[b]a[/b]" in shown(summarize_audit(broken))


def test_a_broken_promise_stands_out_with_its_margin() -> None:
    table = pa.table({"q": ["a", "a", "b"], "s": ["x", "y", "x"]})
    rules = {"k": 2, "columns": {"q": "quasi", "s": {"role": "sensitive", "t": "1/3"}}}
    text = shown(summarize_audit(tclose.audit(table, rules)))
    assert "The promise does NOT hold." in text
    assert "k-anonymity, by 1" in text
    assert "q=b" in text and "q=a" not in text


def test_a_kept_promise_lists_no_worst_class() -> None:
    table = pa.table({"q": ["a", "a"], "s": ["x", "y"]})
    rules = {"k": 2, "columns": {"q": "quasi", "s": {"role": "sensitive", "t": 0}}}
    text = shown(summarize_audit(tclose.audit(table, rules)))
    assert "The promise holds." in text and "Worst classes" not in text


def test_a_long_explanation_is_cut_and_says_so() -> None:
    values = [f"v{at:03}" for at in range(100)]
    table = pa.table({"q": ["a"] * 50 + ["b"] * 50, "s": values})
    text = shown(summarize_explanation(tclose.explain(table, quasi="q", sensitive="s")))
    assert f"{100 - MOST_ROWS} more values that differ less" in text
    assert "smaller ones" in text


def test_the_equal_distance_is_not_told_as_one_between_neighbours() -> None:
    table = pa.table({"q": ["a", "b"], "s": ["x", "y"]})
    text = shown(summarize_explanation(tclose.explain(table, quasi="q", sensitive="s")))
    assert "equal" in text and "neighbours" not in text


def test_a_distance_that_moves_nothing_says_so() -> None:
    table = pa.table({"q": ["a", "b"], "s": ["x", "y"]})
    rules = {"columns": {"q": "quasi", "s": {"role": "sensitive", "distance": "js", "t": 1}}}
    text = shown(summarize_explanation(tclose.explain(table, rules)))
    assert "nothing is moved" in text


def test_a_narrow_terminal_loses_nothing_of_the_verdict() -> None:
    table = pa.table({"q": ["a", "b"], "s": ["x", "y"]})
    rules = {"k": 2, "columns": {"q": "quasi", "s": {"role": "sensitive", "t": 0}}}
    text = shown(summarize_audit(tclose.audit(table, rules)), width=80)
    assert "does NOT hold" in text and "FAILS" in text
    assert max(map(len, text.splitlines())) <= 80


HYBRID = [Trial(f"cuts {at}", 0.5 - at / 100, at) for at in range(20)]
COVER = [Trial(f"cover: {step}", 0.2 + at / 10, 20 + at) for at, step in enumerate("abcd")]


@pytest.mark.parametrize(
    ("method", "tried", "steps"),
    [
        (
            "hybrid",
            HYBRID + COVER,
            [*HYBRID[-MOST_STEPS:], Trial("cover: its best step", 0.2, 20)],
        ),
        ("cover", HYBRID + COVER, [*COVER, Trial("hybrid: its best step", HYBRID[-1].loss, 19)]),
        ("mdav", HYBRID, HYBRID[-MOST_STEPS:]),
    ],
)
def test_the_steps_shown_are_those_of_what_was_chosen(
    method: str, tried: list[Trial], steps: list[Trial]
) -> None:
    label = np.zeros(1, dtype=np.int64)
    outcome = Outcome(label, 0.2, method, "finished", tuple(tried), uses_sensitive=True)
    assert list(choose_trials(outcome)) == steps


def test_a_step_that_was_repeated_is_shown_once_with_the_least_loss_that_it_reached() -> None:
    losses = [("strict cuts", 0.5), ("repairs", 0.4), ("repairs", 0.2), ("repairs", 0.3)]
    tried = tuple(
        Trial(step, loss, at) for at, (step, loss) in enumerate([*losses, ("result", 0.2)])
    )
    outcome = Outcome(np.zeros(1, dtype=np.int64), 0.2, "hybrid", "finished", tried, True)
    assert list(choose_trials(outcome)) == [
        Trial("strict cuts", 0.5, 0), Trial("repairs, 3 times", 0.2, 3), Trial("result", 0.2, 4),
    ]  # fmt: skip


def test_a_result_that_loses_more_than_its_steps_says_why() -> None:
    """Where persons have several rows, steps only guide: classes are merged in the end."""
    tried = (Trial("repairs", 0.4, 1), Trial("result", 0.5, 2), Trial("t = 0: one class", 1.0, 3))
    outcome = Outcome(np.zeros(1, dtype=np.int64), 0.5, "hybrid", "finished", tried, True)
    assert [trial.step for trial in choose_trials(outcome)] == [
        "repairs", "result, after failing classes were merged",
        "best step of another search, for t = 0",
    ]  # fmt: skip


def test_classes_without_sensitive_columns_are_not_said_to_depend_on_them() -> None:
    table = pa.table({"q": list(range(40))})
    release = tclose.anonymize(table, {"k": 4, "columns": {"q": "quasi"}}, effort=0.05)
    assert "sensitive" not in shown(summarize_release(release))


@pytest.mark.slow
def test_auto_shows_how_its_choice_came_about_and_what_the_others_lost() -> None:
    cells = {"q": list(range(60)), "s": [at * 7 % 5 for at in range(60)], "u": [0, 1, 2] * 20}
    told = {"role": "sensitive", "distance": "ordered", "t": 0.3}
    rules = {"k": 2, "columns": {"q": "quasi", "s": told, "u": told}}
    release = tclose.anonymize(pa.table(cells), rules, effort=0.6)
    assert release.outcome is not None
    other = "cover" if release.outcome.method == "hybrid" else "hybrid"
    text = shown(summarize_release(release))
    assert text.count(f"{other}: ") == text.count(f"{other}: its best step") == 1


def test_a_report_on_a_screen_speaks_of_nothing_that_only_a_page_draws() -> None:
    table = pa.table({"q": ["a", "a", "b", "b"], "s": ["x", "y"] * 2})
    rules = {"k": 2, "columns": {"q": "quasi", "s": {"role": "sensitive", "t": 0}}}
    text = write_plain_text(tclose.audit_report(tclose.audit(table, rules)))
    assert "limit: " in text and "Lines between the bars mark the promised limits" in text
    assert not [word for word in ("dashed", "shaded", "drawn") if word in text]


def test_an_explanation_of_the_first_attribute_names_the_others() -> None:
    table = pa.table({"zip": ["1", "1", "2", "2"], "ill": list("abab"), "pay": [1, 2, 3, 4]})
    policy = {"columns": {"zip": "quasi", "ill": "sensitive", "pay": "sensitive"}}
    assert "explained by name: pay" in tclose.explain(table, policy).note
    assert "explained by name" not in tclose.explain(table, policy, attribute="ill").note


def test_a_release_of_one_class_says_that_nothing_is_left() -> None:
    table = pa.table({"age": [20, 30, 40, 50], "ill": list("abab")})
    policy = {"k": 3, "columns": {"age": "quasi", "ill": "insensitive"}}
    release = tclose.anonymize(table, policy, method="mondrian")
    assert "All rows are in one class" in shown(summarize_release(release))
    release = tclose.anonymize(table, {**policy, "k": 2}, method="mondrian")
    assert "in one class" not in shown(summarize_release(release))


def test_an_explanation_prints_moves_as_decimals() -> None:
    """Fractions such as 35476235738/366372312579 say nothing to a reader."""
    table = pa.table({"zip": ["1", "1", "1", "2"], "ill": list("aabb")})
    policy = {"columns": {"zip": "quasi", "ill": {"role": "sensitive", "distance": "equal"}}}
    assert str(tclose.explain(table, policy)).splitlines() == [
        "class 2 (zip 2; 1 row), ill, equal",
        "distance 0.5000 = 1/2",
        "  0.5000 from b to a, cost 0.5000",
    ]


def test_printed_results_count_one_in_the_singular() -> None:
    table = pa.table({"zip": ["1", "2", "2"], "ill": list("aab")})
    policy = {"k": 2, "columns": {"zip": "quasi", "ill": "insensitive"}}
    audit = tclose.audit(table, policy)
    assert str(audit).startswith("frame: 3 rows in 2 classes; the smallest has 1 row\n")
    assert "; broken by 1 class with 1 row" in str(audit)
    forbidden = {"columns": {"zip": {"role": "quasi", "missing": "forbid"}, "ill": "insensitive"}}
    with pytest.raises(tclose.PolicyError, match="1 row has no value, which is forbidden"):
        tclose.audit(pa.table({"zip": ["1", None], "ill": ["a", "b"]}), forbidden)


def test_a_certificate_is_weighed_before_its_lines_are_listed() -> None:
    """A table of thirty lines, each confirmed or not, had no sentence above it."""
    right, stated = Check("rows", "9", "9", True), Check("seed", "1", "stated", None)
    assert weigh_certificate(()) == []
    (words,) = weigh_certificate((right, right, stated))
    assert words.tone == "good" and words.text.startswith(
        "The certificate agrees with the files: 2 lines are confirmed by the count, 1 cannot"
    )
    (words,) = weigh_certificate((right, Check("rows", "9", "8", False)))
    assert words.tone == "bad" and "1 of 2 lines is refuted" in words.text
