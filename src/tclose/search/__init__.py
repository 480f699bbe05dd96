"""Searches: which rows are released together, so that the promise holds and little is lost."""

from tclose.search.budget import Budget, Progress
from tclose.search.feasible import Infeasible, infeasible
from tclose.search.methods import METHODS, Method, method_named
from tclose.search.outcome import Cuts, Outcome, Trial
from tclose.search.problem import Problem, problem_of

__all__ = [
    "METHODS",
    "Budget",
    "Cuts",
    "Infeasible",
    "Method",
    "Outcome",
    "Problem",
    "Progress",
    "Trial",
    "infeasible",
    "method_named",
    "problem_of",
]
