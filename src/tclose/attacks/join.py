"""Background join: what somebody learns who already knows the other sensitive attributes.

Classes then break into smaller ones, in which the remaining attribute may be certain or the person
alone. What the class gave away by itself is not counted again.
"""

from __future__ import annotations

import numpy as np

from tclose.attacks.finding import Finding, rank_worst
from tclose.data.encode.classes import Classes
from tclose.verify.wording import rows_text


def find_background_join(classes: Classes, attribute: str) -> Finding:
    """Rows whose value becomes certain for whoever knows the other sensitive values."""
    others = [name for name in classes.attributes if name != attribute]
    seen = classes.regroup(others)
    single = np.diff(seen.histogram(attribute).start) == 1
    before = np.diff(classes.histogram(attribute).start) == 1
    fresh = single & ~before[seen.origin]
    affected = int(seen.class_rows[fresh].sum())
    rows = np.zeros(classes.count, dtype=np.int64)
    np.add.at(rows, seen.origin[fresh], seen.class_rows[fresh].astype(np.int64))
    alone = int(seen.class_rows[seen.size == 1].sum())
    known = " and ".join(others)
    if affected:
        sentence = (
            f"Whoever also knows {known} of a person is certain of the {attribute} of "
            f"{rows_text(affected)} whose class alone does not tell it."
        )
    else:
        sentence = f"Knowing {known} as well makes nobody's {attribute} certain."
    numbers = {"rows that stand alone": alone, "share alone": alone / classes.n_rows}
    return Finding(
        "background join", attribute, sentence, affected, classes.n_rows,
        rank_worst(rows > 0, rows), numbers,
    )  # fmt: skip
