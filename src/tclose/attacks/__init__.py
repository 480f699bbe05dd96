"""What somebody who means ill could learn from a release, as findings with numbers and words.

- `finding`           what an attack found; a report of all
- `beliefs`           what the table teaches, and what the class adds
- `homogeneity`       classes in which one value is, or soon becomes, certain
- `skewness`          classes that raise the belief in a value
- `similarity`        classes whose values mean the same
- `join`              what the other sensitive attributes give away
- `reidentification`  prosecutor, journalist, marketer
- `linkage`, `minimality`, `definetti`   with the original's quasi-identifiers
- `composition`       with a second release
- `suite`             all that the given tables allow
"""

from tclose.attacks.finding import AttackReport, Belief, Finding
from tclose.attacks.suite import Other, attack_release

__all__ = ["AttackReport", "Belief", "Finding", "Other", "attack_release"]
