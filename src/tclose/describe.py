"""How a release came about, in the words of its certificate: no raw value among them."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.policy.model import Policy
from tclose.recode import Plan
from tclose.table import Bound
from tclose.utility import Quasi
from tclose.verify.certificate import file_hash, json_hash, stream_hash
from tclose.version import VERSION

Ints = NDArray[np.int64]


def policy_json(policy: Policy) -> dict[str, Any]:
    """A policy as plain values that read back as the same policy."""
    dumped: dict[str, Any] = policy.model_dump(mode="json", exclude_unset=True)
    return dumped


def left_out_of(bound: Bound, quasi: Quasi, label: Ints) -> dict[str, Any]:
    """How many rows were left out, and from which coarse part of each quasi-identifier's domain."""
    gone = label < 0
    weight = bound.cells.weight
    where: dict[str, dict[str, int]] = {}
    for at, column in enumerate(quasi.columns):
        counts: dict[str, int] = {}
        for part, rows in zip(
            column.coarse(quasi.codes[gone, at]), weight[gone].tolist(), strict=True
        ):
            counts[part] = counts.get(part, 0) + rows
        where[column.name] = dict(sorted(counts.items()))
    return {"rows": int(weight[gone].sum()), "from": where}


def hashes_of(data: Any, bound: Bound, plan: Plan) -> dict[str, Any]:
    """The hashes of everything that a release was made from."""
    trees = {
        **bound.hierarchies,
        **{name: one.hierarchy for name, one in bound.attributes.items() if one.hierarchy},
    }
    path = isinstance(data, str | Path)
    return {
        "input": file_hash(data) if path else stream_hash(bound.source.reader(100_000)),
        "policy": json_hash(policy_json(bound.policy)),
        "hierarchies": {
            name: json_hash([list(tree.labels), tree.parent.tolist()])
            for name, tree in sorted(trees.items())
        },
        "plan": json_hash(plan.to_json()),
    }


def versions() -> dict[str, str]:
    """The versions of everything that counted and wrote."""
    return {
        "tclose": VERSION,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "pyarrow": pa.__version__,
        "duckdb": duckdb.__version__,
    }
