"""Privacy requirements: predicates on the sizes and histograms of classes, one file each.

A file holds all there is to say about a requirement: how a policy states it, what a table attains
(exactly, with the margin of every class), the constraints that kernels check in its place, what a
search may rely on, and the sentence that a report prints. `registry` lists them, `stating` turns a
policy into requirements, and `evaluate` judges classes by them, as every adversary sees these.
"""

from tclose.requirements.evaluate import Evaluation, evaluate, failing_classes
from tclose.requirements.requirement import Capabilities, Measurement, Proposal, Requirement
from tclose.requirements.stating import list_measurements, state_requirements

__all__ = [
    "Capabilities",
    "Evaluation",
    "Measurement",
    "Proposal",
    "Requirement",
    "evaluate",
    "failing_classes",
    "list_measurements",
    "state_requirements",
]
