"""How a release came about, in the words of its certificate: no raw value among them."""

from __future__ import annotations

import platform
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tclose.data import BoundTable
from tclose.hierarchy import Hierarchy
from tclose.policy.model import Policy
from tclose.recode import Plan
from tclose.recode.plan.parsing import FIXED
from tclose.search import Budget, Outcome
from tclose.utility import Quasi
from tclose.verify.certificate import json_hash
from tclose.version import VERSION

Ints = NDArray[np.int64]


def policy_json(policy: Policy) -> dict[str, Any]:
    """A policy as plain values that read back as the same policy."""
    dumped: dict[str, Any] = policy.model_dump(mode="json", exclude_unset=True)
    return dumped


def rows_from(bound: BoundTable, quasi: Quasi, gone: NDArray[np.bool_]) -> dict[str, Any]:
    """How many rows some cells are, and from which coarse parts of each quasi-identifier."""
    weight = bound.cells.rows
    where: dict[str, dict[str, int]] = {}
    for at, column in enumerate(quasi.columns):
        counts: dict[str, int] = {}
        code = quasi.codes[gone, at]
        parts = column.coarse(np.maximum(code, 0))
        for part, placed, rows in zip(parts, code >= 0, weight[gone].tolist(), strict=True):
            told = part if placed else "unknown"
            counts[told] = counts.get(told, 0) + rows
        where[column.name] = dict(sorted(counts.items()))
    return {"rows": int(weight[gone].sum()), "from": where}


def search_details(
    bound: BoundTable, outcome: Outcome, budget: Budget, command: str
) -> dict[str, Any]:
    """How a search went: by what means, how it ended, and how good its result is known to be."""
    details: dict[str, Any] = {
        "method": outcome.method,
        "stopped": outcome.stopped,
        "tried": [vars(trial) for trial in outcome.tried],
        "seed": budget.seed,
        "seconds": budget.seconds,
        "effort": budget.effort,
        "suppression": str(budget.suppression),
        "command": command,
    }
    if outcome.why:
        details["why"] = outcome.why
    if bound.policy.release.recoding != "local":
        return details  # central values are at no level, and no bound is about their loss
    if outcome.levels is not None:
        details["levels"] = dict(zip(bound.classes.quasi, outcome.levels, strict=True))
    if outcome.bound is not None:
        details["optimality"] = {
            "measure": outcome.measure,
            "loss": outcome.loss if outcome.value is None else outcome.value,
            "no_less_than": outcome.bound,
            "optimal": outcome.gap == 0,
        }
    return details


def hashes_of(bound: BoundTable, plan: Plan) -> dict[str, Any]:
    """The hashes of everything that a release was made from."""
    trees = {
        **bound.hierarchies,
        **{name: one.hierarchy for name, one in bound.attributes.items() if one.hierarchy},
    }
    return {
        "input": bound.source.digest(),
        "policy": json_hash(policy_json(bound.policy)),
        "hierarchies": {name: tree_hash(tree) for name, tree in sorted(trees.items())},
        "plan": json_hash(plan.to_json()),
    }


def tree_hash(tree: Hierarchy) -> str:
    """The sha256 of a hierarchy: of its labels and what stands above each."""
    return json_hash([list(tree.labels), tree.parent.tolist()])


def fixed_hierarchies(bound: BoundTable) -> dict[str, str]:
    """The hashes of the quasi-identifiers' hierarchies that are the same for every table."""
    specs = {name: bound.policy.columns[name].hierarchy for name in bound.hierarchies}
    fixed = [name for name, spec in specs.items() if spec is not None and spec.kind in FIXED]
    return {name: tree_hash(bound.hierarchies[name]) for name in sorted(fixed)}


def changed_hierarchies(plan: Plan, bound: BoundTable) -> tuple[str, ...]:
    """The columns whose hierarchy is not the one that a plan was made with."""
    now = fixed_hierarchies(bound)
    return tuple(name for name, was in plan.hierarchies.items() if now.get(name) != was)


def versions() -> dict[str, str]:
    """The versions of everything that counted and wrote."""
    return {
        "tclose": VERSION,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "pyarrow": pa.__version__,
        "duckdb": duckdb.__version__,
    }
