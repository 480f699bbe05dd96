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

from tclose.api import Reading, check
from tclose.publish.applied import apply
from tclose.publish.forms import split
from tclose.publish.recounted import verify_split
from tclose.publish.reported import audit_report
from tclose.publish.searched import anonymize
from tclose.publish.surveyed import lattice
from tclose.publish.swept import frontier

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
