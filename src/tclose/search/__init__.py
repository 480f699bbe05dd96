"""Searches: which rows are released together, so that the promise holds and little is lost.

- `problem`    a table and its promise as integers
- `promise`    requirements compiled into rules; what cannot be compiled is listed
- `rules`      the compiled rules: may a class with this histogram be released?
- `tables`     what the kernels read; what a class loses
- `judge`      partitions judged by the requirements themselves
- `feasible`   promises that no release can keep
- `budget`     work, time, progress, cancelling
- `outcome`    what every search returns
- `settle`     the last word before an outcome
- `methods`    the methods by name
- `best`       the best of what is tried
- `mondrian`   strict and relaxed cuts; `growth`, `cuts`, `halves` and `sweep` their kernels,
  `judged` cuts judged by requirements
- `hybrid`     the default search; its kernels: `deal` (from `keys`, on a `slate`), `repair`,
  `exchange`, `leave`
- `fragments`, `matching`, `sabre`  close by construction: `emd_bounds` has the theorems,
  `fragmentation` parts the values, `quotas` counts records, `construct` makes the classes
- `microaggregation`  MDAV and t-closeness through it; `subsets` for one record of each
- `wang`, `frequency`  published baselines, to compare
- `dealing`    groups of rows for Anatomy and slicing; `association` which columns stay together
- `portfolio`  several searches, of which the best is kept
- `optimal`, `incognito`, `cover`  full-domain levels: `aims` what is asked, `levels`, `lattice` and
  `measures` what there is, `rollup` judges nodes (`grouping` its kernels, `rulebook` its rules),
  `fulldomain` what they share; `covering` covers; `survey` shows the whole lattice
- `frontier`   loss against t or k; `retuning` finds it, one problem at many promises
- `strata`     a table cut into fragments that keep its distribution, where it is too large
- `space_filling_curve`  an order in which neighbours are near in all quasi-identifiers
- `compiling`  how kernels are compiled
"""

from tclose.search.budget import Budget, Progress
from tclose.search.feasibility import Infeasible, infeasible
from tclose.search.outcome import Cuts, Outcome, Trial
from tclose.search.problem import Problem, problem_of
from tclose.search.registry import METHODS, Method, method_named

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
