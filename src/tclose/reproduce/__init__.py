"""Published experiments, run again: what a paper reports beside what comes out here.

- `paper`        what Li 2007 prints in section 6, and nothing that it only draws
- `census`       the folder with the Adult table and its hierarchies
- `measures`     the five privacy measures that are compared
- `experiments`  the runs: minimal tables, similar classes, seconds, sizes
- `claims`       every statement of the paper beside what was measured, with a sentence
- `chart`        lines and bars as SVG
- `document`     the page
- `files`        the page and its CSV files, written to a folder
"""

from tclose.reproduce.census import Census, open_census
from tclose.reproduce.claims import Claim, check_claims
from tclose.reproduce.experiments import (
    FULL,
    Experiments,
    MinimalTable,
    PaperRun,
    Schedule,
    run_experiments,
)
from tclose.reproduce.files import write_report

__all__ = [
    "FULL",
    "Census",
    "Claim",
    "Experiments",
    "MinimalTable",
    "PaperRun",
    "Schedule",
    "check_claims",
    "open_census",
    "run_experiments",
    "write_report",
]
