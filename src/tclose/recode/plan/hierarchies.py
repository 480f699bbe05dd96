"""The hierarchies of a plan beside those of the table that it is applied to."""

from __future__ import annotations

from collections.abc import Sequence

from tclose.data.binding import BoundTable, hash_hierarchy, make_hierarchy
from tclose.data.encode.labels import ANYTHING, read_interval
from tclose.errors import UsageError
from tclose.hierarchy import Hierarchy
from tclose.policy.model import HierarchySpec
from tclose.recode.plan.model import Plan
from tclose.recode.values import Released


def is_fixed(spec: HierarchySpec | None) -> bool:
    """Whether a hierarchy is the same whatever the values of the table are."""
    return spec is not None and spec.kind in ("file", "groups")


def hash_fixed_hierarchies(bound: BoundTable) -> dict[str, str]:
    """The hashes of the quasi-identifiers' hierarchies that are the same for every table."""
    columns = bound.policy.columns
    return {
        name: hash_hierarchy(tree)
        for name, tree in sorted(bound.hierarchies.items())
        if is_fixed(columns[name].hierarchy)
    }


def find_changed_hierarchies(plan: Plan, bound: BoundTable) -> tuple[str, ...]:
    """The columns whose hierarchy is not the one that a plan was made with."""
    now = hash_fixed_hierarchies(bound)
    return tuple(name for name, was in plan.hierarchies.items() if now.get(name) != was)


def extend_hierarchy(released: Released, bound: BoundTable, borders: Sequence[str]) -> Hierarchy:
    """The column's hierarchy with a place for the plan's labels, also where values built it."""
    name = released.column
    spec, tree = bound.policy.columns[name].hierarchy, bound.hierarchies.get(name)
    if spec is None or tree is None:
        raise UsageError(
            "the plan recodes the column by a hierarchy, and the policy names none",
            where=f"column {name!r}",
            hint="apply the plan with the policy it was made under",
        )
    wanted = {*released.values, *borders} - {None, ANYTHING}
    lacking = [str(label) for label in wanted if not tree.contains(str(label))]
    if lacking and not is_fixed(spec):
        labels = bound.cells.dictionaries[name].labels
        seeds = sorted(_seed(label, spec) for label in lacking)
        tree = make_hierarchy(spec, name, [*labels, *seeds], bound.policy.base)
        lacking = [label for label in lacking if not tree.contains(label)]
    if lacking:
        raise UsageError(
            f"{len(lacking):,} labels of the plan are not in the hierarchy",
            where=f"column {name!r}",
            hint="apply the plan with the hierarchy it was made with",
        )
    return tree


def _seed(label: str, spec: HierarchySpec) -> str:
    """A value or label from which the builder makes a branch with this label."""
    interval = read_interval(label) if spec.kind in ("intervals", "cuts") else None
    if interval is None:
        return label
    if interval.low is not None and interval.with_low:
        return str(interval.low)
    if interval.high is not None and interval.low is None:
        return str(interval.high - 1)
    return label
