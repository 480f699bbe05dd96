"""Privacy requirements: predicates on the sizes and histograms of classes, one file each.

`registry` lists them; `evaluate` finds the ones that a policy states and judges classes by them, as
each adversary sees the classes.
"""

from tclose.requirements.constraint import compile_constraints
from tclose.requirements.evaluate import (
    Evaluation,
    evaluate,
    failing_classes,
    list_measurements,
    list_stated,
    state_requirements,
)
from tclose.requirements.requirement import Capabilities, Measurement, ProposedCells, Requirement

__all__ = [
    "Capabilities", "Evaluation", "Measurement", "ProposedCells", "Requirement",
    "compile_constraints", "evaluate", "failing_classes", "list_measurements", "list_stated",
    "state_requirements",
]  # fmt: skip
