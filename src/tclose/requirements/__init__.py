"""Privacy requirements: predicates on the sizes and histograms of classes, one file each.

- `requirement`       what a requirement answers, and what it declares about itself
- `k_anonymity`       every class has at least k rows
- `distinct`          distinct l-diversity, and p-sensitivity
- `probabilistic`     no value above a share: probabilistic l-diversity, (α, k)-anonymity
- `entropy`           entropy l-diversity
- `recursive`         recursive (c, l)-diversity
- `t_closeness`       distance from the whole table, any distance
- `nt_closeness`      distance from a large enough natural superset
- `joint`             closeness of several attributes taken together
- `beta_likeness`     how much belief in a value may grow, basic and enhanced
- `delta_disclosure`  how much belief in a value may change at all
- `population`        k-map and δ-presence, against a table of the population
- `promises`          the requirements that a policy states, and those worth measuring anyway
"""

from tclose.requirements.requirement import Capabilities, Measurement, Requirement
from tclose.requirements.stated import Line, measures_of, promises_of

__all__ = [
    "Capabilities",
    "Line",
    "Measurement",
    "Requirement",
    "measures_of",
    "promises_of",
]
