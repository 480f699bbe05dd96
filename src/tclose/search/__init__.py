"""Searches: which rows are released together, so that the promise holds and little is lost.

A search reads a `problem` (integers, laid out by `kernel_arrays` for the kernels), spends a budget
and returns an `outcome`, whose classes the requirements themselves have judged. The methods are
listed in `registry`: cuts from the top (`mondrian`), the default (`local_search`), classes that are
close by the way they are built (`by_construction`), whole columns recoded (`full_domain`), and
groups for Anatomy and slicing (`anatomy`). `frontier` searches one problem at many t and k.
"""

from tclose.search.feasibility import infeasible
from tclose.search.outcome import Budget, Cuts, Outcome, Progress, Trial
from tclose.search.problem import SearchProblem, problem_of
from tclose.search.registry import METHODS, Method, method_named

__all__ = [
    "METHODS",
    "Budget",
    "Cuts",
    "Method",
    "Outcome",
    "Progress",
    "SearchProblem",
    "Trial",
    "infeasible",
    "method_named",
    "problem_of",
]
