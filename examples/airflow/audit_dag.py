"""Audits a table before it is published; the task fails if the promise does not hold."""

from __future__ import annotations

import os
from pathlib import Path

from airflow.exceptions import AirflowFailException
from airflow.sdk import dag, task

FOLDER = Path(os.environ.get("TCLOSE_EXAMPLE", Path(__file__).resolve().parents[1]))


@dag(schedule=None, catchup=False)
def publish_patients() -> None:
    """Audit, then publish."""

    @task
    def audit() -> str:
        import tclose  # needed where the task runs, not where the file is parsed

        table = FOLDER / "patients.csv"
        found = tclose.audit(table, FOLDER / "policy.toml")
        if not found.holds:
            # A retry would count the same rows, so there is none.
            raise AirflowFailException(f"not published: {found.broken}")
        return str(table)

    @task
    def publish(table: str) -> None:
        print(f"published: {table}")

    publish(audit())


publish_patients()
