"""A table as an asset, with a check of its promise that blocks all later steps."""

from __future__ import annotations

import os
from pathlib import Path

import dagster as dg

import tclose

FOLDER = Path(os.environ.get("TCLOSE_EXAMPLE", Path(__file__).resolve().parents[1]))


@dg.asset
def patients() -> str:
    """The table to publish."""
    return str(FOLDER / "patients.csv")


@dg.asset_check(asset=patients, blocking=True)
def promise_holds(patients: str) -> dg.AssetCheckResult:
    """Audits the table under the policy."""
    audit = tclose.audit(patients, FOLDER / "policy.toml")
    found = {"k": audit.k, "classes": audit.classes, "broken": str(audit.broken or "nothing")}
    return dg.AssetCheckResult(passed=bool(audit.holds), metadata=found)


@dg.asset
def publication(patients: str) -> None:
    """Publishes the table; runs only if the check has passed."""
    print(f"published: {patients}")


defs = dg.Definitions(assets=[patients, publication], asset_checks=[promise_holds])

if __name__ == "__main__":
    done = dg.materialize([patients, publication, promise_holds], raise_on_error=False)
    raise SystemExit(0 if done.success else 1)
