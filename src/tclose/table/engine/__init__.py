"""The engines behind a `Source`: each counts and hands out rows; some rewrite them by themselves.

- `duck`    DuckDB, which counts everything that has no engine of its own, out of core
- `files`   CSV, Parquet and Arrow files, read by DuckDB
- `memory`  pandas, polars and pyarrow frames, counted by DuckDB without copying
"""
