"""The hierarchical distance: how far up two values meet in their hierarchy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tclose.distance.ground import Metric, TreeMetric
from tclose.distance.histogram import whole
from tclose.distance.kinds.kind import DistanceKind, DistanceValues


def hierarchical(
    parent: Sequence[int], height: Sequence[int], leaf: Sequence[int], *, missing: bool = False
) -> TreeMetric:
    """Height of the lowest common ancestor over the height of the tree (Li 2007, section 5.2).

    `parent` and `height` describe the tree's nodes (the root's parent is −1), `leaf` the node of
    each value. An edge to the parent has half the difference of their heights.

    >>> tree = hierarchical([2, 2, 4, 4, -1], [0, 0, 1, 0, 2], [0, 1, 3])
    >>> tree.between(0, 1), tree.between(0, 2)
    (Fraction(1, 2), Fraction(1, 1))

    A value that is an inner node N (a generalized value) hangs below N as a leaf of its own. It is
    then as far from every other value as the farthest value it can stand for: height(N) / height of
    the tree from those below N, and the height of the common ancestor from all others. So whoever
    reads N as any distribution S over the values below it, the same in all classes, sees classes
    that are no farther from the table than they count here. For any two values, EMD(S(u), S(v)) is
    at most the largest distance of a value below u from one below v, which is at most d(u, v);
    spreading the mass of an optimal flow by S therefore gives a flow of no more work.

    >>> hierarchical([2, 2, 4, 4, -1], [0, 0, 1, 0, 2], [0, 3, 2]).between(0, 2)
    Fraction(1, 2)
    """
    nodes = sorted(range(len(parent)), key=lambda node: (height[node], node))
    root = nodes[-1]
    hung = [node for node in leaf if height[node] > 0]
    above = [*([root] if missing else []), *hung]
    place = {node: at + len(above) for at, node in enumerate(nodes)}
    up = [place[node] for node in above]
    up += [place[parent[node]] if node != root else -1 for node in nodes]
    step = [max(height[node], 1) for node in above]
    step += [height[parent[node]] - height[node] if node != root else 0 for node in nodes]
    tips = iter(range(int(missing), len(above)))
    spot = [next(tips) if height[node] > 0 else place[node] for node in leaf]
    if missing:
        spot.append(0)
    return TreeMetric(
        "hierarchical",
        np.array(spot, dtype=np.int64),
        np.array(up, dtype=np.int64),
        whole(step),
        2 * max(height[root], 1),
        (*([-1] * len(above)), *nodes),
    )


def _make(values: DistanceValues) -> Metric:
    tree = values.hierarchy
    assert tree is not None
    known = values.labels[: values.values - values.with_missing]
    leaf = [int(node) for node in tree.indices(known)]
    parent, height = tree.parent.tolist(), tree.height.tolist()
    return hierarchical(parent, height, leaf, missing=values.with_missing)


HIERARCHICAL = DistanceKind(
    "hierarchical",
    "counting values of one group as near",
    ground=_make,
    lack=lambda values: "" if values.hierarchy is not None else "it has no hierarchy",
    knows_groups=True,
)
