"""anonymize · apply · split · lattice · frontier: wires the rooms; computes nothing.

Nothing that proposes certifies: what was written is read back and counted by `verify` before it is
moved into place, and a release that does not keep its promise is never made.

- `searched`  a release found by a search
- `fragmented`  the same of a table too large for one place, fragment by fragment; `laying` says
              where its cells lie, `gathered` makes a release of it
- `asked`     what a caller asks of a search
- `surveyed`  the lattice of full-domain generalizations
- `swept`     loss against t or k; `grid` which of them, `valued` what is lost by any measure
- `applied`   a release of new rows, recoded by an earlier plan
- `forms`     a release in several tables; `parted` which columns are where, `projected` several
              releases, `recounted` a folder counted again
- `written`   a recoding written or framed, counted again, certified; `delivery` puts it there
- `reported`  the reports on audits and releases
- `targets`   where to, and what is refused beforehand
"""

from tclose.data import Reading
from tclose.workflows.anonymize import anonymize
from tclose.workflows.api import check
from tclose.workflows.apply import apply
from tclose.workflows.frontier import frontier
from tclose.workflows.lattice import lattice
from tclose.workflows.report import audit_report
from tclose.workflows.split import split
from tclose.workflows.verify_split import verify_split

__all__ = [
    "Reading",
    "anonymize",
    "apply",
    "audit_report",
    "check",
    "frontier",
    "lattice",
    "split",
    "verify_split",
]
