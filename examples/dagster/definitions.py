"""A table as an asset, with a check of its promise that blocks whatever comes after."""

from __future__ import annotations

import os
from pathlib import Path

import dagster as dg

import tclose

FOLDER = Path(os.environ.get("TCLOSE_EXAMPLE", Path(__file__).resolve().parents[1]))


@dg.asset
def patients() -> str:
    """The table that is to be published."""
    return str(FOLDER / "patients.csv")


@dg.asset_check(asset=patients, blocking=True)
def promise_holds(patients: str) -> dg.AssetCheckResult:
    """What the policy promises, counted on the table."""
    audit = tclose.audit(patients, FOLDER / "policy.toml")
    told = {"k": audit.k, "classes": audit.classes, "broken": str(audit.broken or "nothing")}
    return dg.AssetCheckResult(passed=bool(audit.holds), metadata=told)


@dg.asset
def publication(patients: str) -> None:
    """What is only made of a table that keeps its promise."""
    print(f"published: {patients}")


defs = dg.Definitions(assets=[patients, publication], asset_checks=[promise_holds])

if __name__ == "__main__":
    done = dg.materialize([patients, publication, promise_holds], raise_on_error=False)
    raise SystemExit(0 if done.success else 1)
