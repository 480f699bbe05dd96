"""The drawing of a tree: counts, and an end to it."""

from __future__ import annotations

import pytest

from tclose.errors import HierarchyError
from tclose.hierarchy.build import intervals
from tclose.hierarchy.preview import preview
from tclose.hierarchy.tree import Hierarchy


def test_a_large_group_shows_a_few_members_and_counts_the_rest() -> None:
    tree = Hierarchy.from_chains([[f"v{i}", "*"] for i in range(16)], "c")
    assert preview(tree).splitlines() == [
        "c: 16 leaves, 2 levels, nodes per level: 16, 1",
        "* (16)",
        "├─ v0",
        "├─ v1",
        "├─ v2",
        "├─ v3",
        "└─ … 12 more",
    ]


def test_one_more_member_is_drawn_rather_than_counted() -> None:
    tree = Hierarchy.from_chains([[f"v{i}", "*"] for i in range(5)], "c")
    assert "more" not in preview(tree, limit=4)


def test_nodes_per_level_count_nodes_that_span_levels() -> None:
    tree = Hierarchy.from_chains([["a", "g", "*"], ["b", "g", "*"], ["c", "*"]], "c")
    assert preview(tree).splitlines()[0].endswith("nodes per level: 3, 2, 1")


def test_a_tree_of_one_label_is_drawn() -> None:
    assert preview(Hierarchy.from_chains([["*"]], "c")) == (
        "c: 1 leaf, 1 level, nodes per level: 1\n*"
    )


def test_groups_are_opened_from_the_top_until_the_lines_are_used() -> None:
    tree = intervals([str(i) for i in range(10_000)], [10, 100, 1000], column="n")
    drawn = preview(tree, limit=4, lines=20).splitlines()
    assert len(drawn) <= 20 + 5
    assert [line for line in drawn if line.startswith("├─")] == [
        f"├─ [{i}000, {i + 1}000) (1000)".replace("[0000", "[0") for i in range(4)
    ]
    assert drawn[-1] == "└─ … 6 more"


def test_control_characters_are_drawn_as_escapes() -> None:
    tree = Hierarchy.from_chains([["a\nb", "*"], ["\x1b[31m", "*"]], "c")
    assert preview(tree).splitlines()[2:] == ["├─ a\\nb", "└─ \\x1b[31m"]


def test_a_preview_of_nothing_is_refused() -> None:
    with pytest.raises(HierarchyError, match="at least one line"):
        preview(Hierarchy.from_chains([["*"]], "c"), limit=0)
