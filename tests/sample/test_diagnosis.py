"""The tree of diagnoses is a tree, and the risks fit it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tclose.sample.diagnosis import (
    AGE_EDGES,
    DISEASES,
    ETHNICITIES,
    REGIONS,
    SEXES,
    diagnosis_chains,
    risk_table,
)


def test_the_tree_has_three_levels_below_one_root() -> None:
    leaves, groups, chapters, roots = (
        set(level) for level in zip(*diagnosis_chains(), strict=True)
    )
    assert (len(leaves), len(groups), len(chapters), roots) == (len(DISEASES), 12, 5, {"*"})
    assert 38 <= len(leaves) <= 46


def test_no_word_names_two_nodes_and_no_node_has_two_parents() -> None:
    chains = diagnosis_chains()
    levels = [set(level) for level in zip(*chains, strict=True)]
    assert len(set().union(*levels)) == sum(len(level) for level in levels)
    edges = {edge for chain in chains for edge in pairwise(chain)}
    assert len({child for child, _ in edges}) == len(edges)


def test_chains_come_in_the_order_of_the_diseases() -> None:
    assert [leaf for leaf, *_ in diagnosis_chains()] == [disease.name for disease in DISEASES]


def test_everybody_can_fall_ill() -> None:
    risk = risk_table()
    people = (len(AGE_EDGES) - 1, len(SEXES), len(REGIONS), len(ETHNICITIES))
    assert risk.shape == (*people, len(DISEASES))
    assert np.all(risk >= 0)
    assert np.all(risk.sum(axis=-1) > 0)
