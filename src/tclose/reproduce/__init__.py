"""Published experiments, run again: what a paper reports beside what comes out here.

What the paper prints is kept apart from what it only draws; every statement gets a verdict with a
sentence that follows from the numbers.
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
from tclose.reproduce.page import write_report

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
