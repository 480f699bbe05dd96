"""The tree itself: numbering, levels, common ancestors; and every row it refuses."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tclose.errors import HierarchyError
from tclose.hierarchy.tree import Hierarchy

RAGGED = [["cat", "pet", "animal", "*"], ["oak", "*"], ["cow", "animal", "*"]]


@st.composite
def random_chains(draw: st.DrawFn) -> list[list[str]]:
    """Rows of a random, mostly unbalanced tree, shuffled, with random padding."""
    above = {0: -1}
    for node in range(1, draw(st.integers(1, 14))):
        above[node] = draw(st.integers(0, node - 1))
    leaves = [node for node in above if node not in above.values()]
    rows = []
    for leaf in draw(st.permutations(leaves)):
        row, node = [], leaf
        while node >= 0:
            row += [f"n{node}"] * draw(st.integers(1, 2))
            node = above[node]
        rows.append(row)
    return rows


def way_up(rows: list[list[str]], label: str) -> list[str]:
    """The label and all above it, straight from the rows: the independent computation."""
    row = next(row for row in rows if label in row)
    return list(dict.fromkeys(row[row.index(label) :]))


def height_of(rows: list[list[str]], label: str) -> int:
    paths = [list(dict.fromkeys(row)) for row in rows]
    return max(path.index(label) for path in paths if label in path)


@given(random_chains())
def test_parents_and_heights_are_those_of_the_rows(rows: list[list[str]]) -> None:
    tree = Hierarchy.from_chains(rows, "c")
    assert set(tree.labels) == {label for row in rows for label in row}
    for node, label in enumerate(tree.labels):
        up = way_up(rows, label)
        assert (tree.labels[tree.parent[node]] if node != tree.root else None) == (
            up[1] if len(up) > 1 else None
        )
        assert tree.height[node] == height_of(rows, label)


@given(random_chains())
def test_numbering_puts_leaves_first_and_parents_after_children(rows: list[list[str]]) -> None:
    tree = Hierarchy.from_chains(rows, "c")
    assert sorted(tree.leaves) == sorted(row[0] for row in rows)
    assert np.all(tree.parent[:-1] > np.arange(tree.root))
    assert tree.parent[tree.root] == -1
    for node, label in enumerate(tree.labels):
        below = tree.leaves_below(node).tolist()
        assert below == list(range(below[0], below[0] + len(below)))
        assert {tree.leaves[leaf] for leaf in below} == {r[0] for r in rows if label in r}


@given(random_chains())
def test_ancestors_are_the_highest_nodes_within_each_level(rows: list[list[str]]) -> None:
    tree = Hierarchy.from_chains(rows, "c")
    assert tree.ancestors.shape == (len(rows), tree.levels)
    for leaf, label in enumerate(tree.leaves):
        for level in range(tree.levels):
            allowed = [up for up in way_up(rows, label) if height_of(rows, up) <= level]
            assert tree.labels[tree.ancestors[leaf, level]] == allowed[-1]
            assert tree.generalize(label, level) == allowed[-1]


@given(random_chains())
def test_an_inner_label_stays_until_its_level_is_passed(rows: list[list[str]]) -> None:
    tree = Hierarchy.from_chains(rows, "c")
    for label in tree.labels:
        for level in range(tree.levels):
            allowed = [up for up in way_up(rows, label) if height_of(rows, up) <= level]
            assert tree.generalize(label, level) == (allowed[-1] if allowed else label)


@given(random_chains())
def test_sizes_add_up_over_children(rows: list[list[str]]) -> None:
    tree = Hierarchy.from_chains(rows, "c")
    assert tree.size_below[tree.root] == len(rows)
    for node in range(len(tree.labels)):
        children = tree.children(node)
        expected = tree.size_below[children].sum() if len(children) else 1
        assert tree.size_below[node] == expected
        assert np.all(tree.parent[children] == node)


@given(random_chains(), st.data())
def test_lca_equals_the_first_label_common_to_all_ways_up(
    rows: list[list[str]], data: st.DataObject
) -> None:
    tree = Hierarchy.from_chains(rows, "c")
    chosen = data.draw(st.lists(st.sampled_from(tree.labels), min_size=1, max_size=5))
    ways = [way_up(rows, label) for label in chosen]
    expected = next(label for label in ways[0] if all(label in way for way in ways))
    assert tree.lca_of_labels(chosen) == expected
    assert tree.labels[tree.lca([tree.index(label) for label in chosen])] == expected


@given(random_chains())
def test_lca_of_ranges_equals_lca_of_everything_between(rows: list[list[str]]) -> None:
    tree = Hierarchy.from_chains(rows, "c")
    low, high = np.triu_indices(tree.leaf_count)
    expected = [tree.lca(range(a, b + 1)) for a, b in zip(low, high, strict=True)]
    assert tree.lca_of_ranges(low, high).tolist() == expected


def test_ragged_rows_give_levels_to_every_node() -> None:
    tree = Hierarchy.from_chains(RAGGED, "kind")
    assert tree.leaves == ("cat", "cow", "oak")
    table = [[tree.labels[node] for node in row] for row in tree.ancestors]
    assert table == [
        ["cat", "pet", "animal", "*"],
        ["cow", "cow", "animal", "*"],
        ["oak", "oak", "oak", "*"],
    ]


def test_lca_tells_a_group_with_one_member_from_that_member() -> None:
    tree = Hierarchy.from_chains(RAGGED, "kind")
    assert tree.lca_of_labels(["cat"]) == "cat"
    assert tree.lca_of_labels(["cat", "pet"]) == "pet"
    assert tree.lca_of_labels(["pet"]) == "pet"


def test_leaves_of_a_group_stand_together_in_order_of_first_appearance() -> None:
    rows = [["3", "odd", "*"], ["2", "even", "*"], ["1", "odd", "*"]]
    assert Hierarchy.from_chains(rows, "n").leaves == ("3", "1", "2")


def test_a_single_label_is_a_whole_hierarchy() -> None:
    tree = Hierarchy.from_chains([["*"]], "c")
    assert (tree.labels, tree.levels, tree.leaf_count, tree.root) == (("*",), 1, 1, 0)
    assert tree.lca([0]) == 0
    assert Hierarchy.from_chains([["a", "*"]], "c").levels == 2


def test_padding_is_not_a_level() -> None:
    tree = Hierarchy.from_chains([["White", "White", "*"], ["Black", "Black", "*"]], "race")
    assert tree.labels == ("White", "Black", "*")


def test_a_value_may_also_be_a_group_when_the_rows_agree() -> None:
    rows = [["Europe", "*"], ["France", "Europe", "*"], ["Europe's rest", "Europe", "*"], ["*"]]
    tree = Hierarchy.from_chains(rows, "country")
    assert tree.leaves == ("France", "Europe's rest")
    assert tree.generalize("Europe", 0) == "Europe"
    assert tree.generalize("Europe", 2) == "*"


REFUSED = {
    "no rows": ([], "the hierarchy is empty", ""),
    "an empty row": ([["a", "*"], []], "has no labels", "line 2"),
    "a text as a row": (["secret"], "not a list", "line 1"),
    "a number as a label": ([["secret", 5, "*"]], "is not text", "line 1, level 1"),
    "a blank label": ([["secret", " ", "*"]], "is blank", "line 1, level 1"),
    "a NUL in a label": ([["secret\0", "*"]], "NUL", "line 1, level 0"),
    "identical rows": (
        [["secret", "*"], ["b", "*"], ["secret", "*"]],
        "line 1 already, an identical one",
        "line 3, level 0",
    ),
    "rows of one value that disagree": (
        [["secret", "g", "*"], ["secret", "h", "*"]],
        "line 1 already, and the two disagree",
        "line 2, level 0",
    ),
    "a group with two parents": (
        [["a", "secret", "x", "*"], ["b", "secret", "y", "*"]],
        "two different labels above it, here and on line 1, level 1",
        "line 2, level 1",
    ),
    "a value that is elsewhere a group of another chain": (
        [["a", "secret", "*"], ["secret", "misc", "*"]],
        "two different labels above it, here and on line 1, level 1",
        "line 2, level 0",
    ),
    "a cycle within a row": ([["a", "secret", "a", "*"]], "cycle", "line 1, level 2"),
    "a root that returns": ([["*", "secret", "*"]], "cycle", "line 1, level 2"),
    "a cycle over two rows": (
        [["a", "secret", "g", "*"], ["b", "g", "secret", "*"]],
        "cycle",
        "line 2, level 1",
    ),
    "two roots": (
        [["a", "secret"], ["b", "c", "other"]],
        "more than one root: the row does not end like line 1",
        "line 2, level 2",
    ),
    "a value without a group": ([["a", "*"], ["secret"]], "no label above it", "line 2, level 0"),
    "values only": ([["secret"], ["b"]], "no label above it", "line 2, level 0"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_contradictory_rows_are_refused_without_showing_a_label(case: str) -> None:
    rows, what, where = REFUSED[case]
    with pytest.raises(HierarchyError) as refusal:
        Hierarchy.from_chains(rows, "kind")  # type: ignore[arg-type]
    assert what in str(refusal.value)
    assert f"hierarchy of column 'kind'{', ' if where else ''}{where}:" in str(refusal.value)
    assert "secret" not in str(refusal.value)


def test_two_roots_are_answered_with_the_way_out() -> None:
    with pytest.raises(HierarchyError, match=r"a last column `\*`"):
        Hierarchy.from_chains([["a", "x"], ["b", "y"]], "c")


def test_given_line_numbers_are_the_ones_named() -> None:
    with pytest.raises(HierarchyError, match=r"line 9.*line 4 already"):
        Hierarchy.from_chains([["a", "*"], ["a", "*"]], "c", lines=[4, 9])
    with pytest.raises(HierarchyError, match="one line number per row"):
        Hierarchy.from_chains([["a", "*"]], "c", lines=[4, 9])


def test_unknown_labels_are_counted_not_shown() -> None:
    tree = Hierarchy.from_chains(RAGGED, "kind")
    with pytest.raises(HierarchyError, match="2 of 3 values are not in the hierarchy") as refusal:
        tree.indices(["cat", "secret", "other secret"])
    assert "secret" not in str(refusal.value)
    assert tree.contains("pet") and not tree.contains("secret")


@pytest.mark.parametrize("level", [-1, 4])
def test_levels_outside_the_tree_are_refused(level: int) -> None:
    with pytest.raises(HierarchyError, match=f"there is no level {level}"):
        Hierarchy.from_chains(RAGGED, "kind").generalize("cat", level)


@pytest.mark.parametrize("nodes", [[], [-1], [6]])
def test_nodes_outside_the_tree_are_refused(nodes: list[int]) -> None:
    with pytest.raises(HierarchyError, match=r"no nodes were given|no such node"):
        Hierarchy.from_chains(RAGGED, "kind").lca(nodes)


def test_a_range_of_groups_is_refused() -> None:
    with pytest.raises(HierarchyError, match="does not consist of leaves"):
        Hierarchy.from_chains(RAGGED, "kind").lca_of_ranges(np.array([0]), np.array([4]))


BROKEN = {
    "no nodes": ([], [], []),
    "no root": (["a", "*"], [1, 0], [0, 1]),
    "a child after its parent": (["*", "a"], [-1, 0], [1, 0]),
    "a parent that does not exist": (["a", "*"], [7, -1], [0, 1]),
    "too few heights": (["a", "*"], [1, -1], [0]),
    "an inner node of height 0": (["a", "*"], [1, -1], [0, 0]),
    "a leaf among the inner nodes": (["a", "g", "b", "*"], [1, 3, 3, -1], [0, 1, 0, 2]),
    "leaves of a group apart": (
        ["a", "b", "c", "g", "h", "*"],
        [3, 4, 3, 5, 5, -1],
        [0, 0, 0, 1, 1, 2],
    ),
    "a label twice": (["a", "a", "*"], [2, 2, -1], [0, 0, 1]),
}


@pytest.mark.parametrize("case", BROKEN)
def test_arrays_that_are_no_ordered_tree_are_refused(case: str) -> None:
    labels, parent, height = BROKEN[case]
    with pytest.raises(HierarchyError, match=r"do not describe one tree|same label"):
        Hierarchy(tuple(labels), np.array(parent), np.array(height), "c")  # type: ignore[arg-type]


def test_nothing_of_a_hierarchy_can_be_changed() -> None:
    tree = Hierarchy.from_chains(RAGGED, "kind")
    revived = pickle.loads(pickle.dumps(tree))
    for kept in (tree, revived):
        for array in (kept.parent, kept.height, kept.size_below, kept.ancestors):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 7
    with pytest.raises(AttributeError):
        tree.column = "other"  # type: ignore[misc]


def test_equality_is_that_of_trees() -> None:
    tree = Hierarchy.from_chains(RAGGED, "kind")
    same = Hierarchy.from_chains(RAGGED, "another column")
    assert tree == same and hash(tree) == hash(same) and tree == pickle.loads(pickle.dumps(tree))
    assert tree != Hierarchy.from_chains(RAGGED[1:], "kind")
    assert tree != "kind"


def test_the_text_form_shows_no_labels() -> None:
    assert repr(Hierarchy.from_chains(RAGGED, "kind")) == (
        "Hierarchy(column='kind', leaves=3, levels=4)"
    )


@pytest.mark.slow
def test_a_hundred_thousand_leaves_are_no_burden() -> None:
    rows = [[str(i), *(f"{w}:{i // w}" for w in (5, 50, 500, 5000)), "*"] for i in range(100_000)]
    tree = Hierarchy.from_chains(rows, "n")
    assert tree.levels == 6 and tree.leaf_count == 100_000
    assert tree.lca_of_labels(["4999", "0"]) == "5000:0"
