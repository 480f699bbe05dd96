"""Work in the background: it ends before the process does, and when the studio is closed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tclose.studio.jobs import Jobs

WORK = """
import sys, time
from pathlib import Path
from tclose.studio.jobs import Jobs

def work(job):
    time.sleep(0.5)
    Path(sys.argv[1]).write_text("done")

Jobs().compute("key", "Counting", work)
"""


def test_a_process_ends_after_the_work_that_it_began(tmp_path: Path) -> None:
    """A thread within compiled code aborts an interpreter that ends without waiting for it."""
    ended = subprocess.run([sys.executable, "-c", WORK, str(tmp_path / "trace")], check=False)
    assert ended.returncode == 0
    assert (tmp_path / "trace").read_text() == "done"


@pytest.mark.parametrize("number", [0, 1, 3])
def test_all_work_is_asked_to_end_and_waited_for(number: int) -> None:
    jobs, ended = Jobs(), []

    def work(job: Any) -> None:
        while not job.watch["cancelled"]():
            pass
        ended.append(job.keeps)

    begun = [jobs.compute(at, "Searching", work) for at in range(number)]
    jobs.stop_all(10)
    assert all(job.is_done for job in begun)
    assert ended == [False] * number
