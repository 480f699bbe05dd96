"""Tables for the transformer, as any kind of frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not installed: pip install 'tclose[learn]'")


@pytest.fixture(scope="session")
def people() -> pd.DataFrame:
    """Made-up patients with an index of their own."""
    rng = np.random.default_rng(7)
    rows = 120
    born = pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 20_000, rows), "D")
    return pd.DataFrame(
        {
            "name": [f"Person-{at}" for at in range(rows)],
            "age": rng.integers(18, 90, rows),
            "height": rng.normal(170, 9, rows).round(1),
            "town": rng.choice(["Ayr", "Bath", "Cork", "Deal"], rows),
            "born": born,
            "illness": rng.choice(["flu", "ulcer", "asthma"], rows),
            "note": [f"note-{at}" for at in range(rows)],
        },
        index=np.arange(rows) * 10,
    )


@pytest.fixture(scope="session")
def rules() -> dict[str, Any]:
    """A policy for them."""
    return {
        "k": 4,
        "columns": {
            "name": "identifier",
            "age": "quasi",
            "height": "quasi",
            "town": "quasi",
            "born": "quasi",
            "illness": {"role": "sensitive", "t": 0.4, "distance": "equal"},
            "note": "insensitive",
        },
    }


KINDS = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.fixture(params=sorted(KINDS))
def kind(request: pytest.FixtureRequest) -> Any:
    """Makes the same frame in one library after the other."""
    return KINDS[request.param]
