"""An expectation about a whole table: it satisfies a policy."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import great_expectations as gx
import pandas as pd
from great_expectations.expectations.expectation import BatchExpectation

import tclose

FOLDER = Path(os.environ.get("TCLOSE_EXAMPLE", Path(__file__).resolve().parents[1]))


class ExpectTableToKeepPolicy(BatchExpectation):
    """Expects the table to satisfy every requirement of a policy."""

    policy: str
    metric_dependencies = ("table.row_count",)
    success_keys = ("policy",)

    def _validate(
        self, metrics: dict[str, Any], runtime_configuration: Any = None,
        execution_engine: Any = None,
    ) -> dict[str, Any]:  # fmt: skip
        frame = execution_engine.batch_manager.active_batch_data.dataframe
        audit = tclose.audit(frame, self.policy)
        observed = {
            "k": audit.k,
            "classes": audit.classes,
            "broken": str(audit.broken or "nothing"),
        }
        return {"success": bool(audit.holds), "result": {"observed_value": observed}}


def main() -> int:
    """Validates the table."""
    context = gx.get_context(mode="ephemeral")
    asset = context.data_sources.add_pandas("files").add_dataframe_asset("patients")
    batch = asset.add_batch_definition_whole_dataframe("all").get_batch(
        batch_parameters={"dataframe": pd.read_csv(FOLDER / "patients.csv", dtype=str)}
    )
    found = batch.validate(ExpectTableToKeepPolicy(policy=str(FOLDER / "policy.toml")))
    print(found.result)
    return 0 if found.success else 1


if __name__ == "__main__":
    raise SystemExit(main())
