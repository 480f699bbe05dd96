"""The engines behind a `Source`: each counts and hands out rows; some rewrite them by themselves.

- `duck`    DuckDB, which counts everything that has no engine of its own, out of core;
            `duck_bench` keeps cells in files, in a `scratch` folder, where they are too many
- `files`   CSV, Parquet and Arrow files, read by DuckDB
- `memory`  pandas, polars and pyarrow frames, counted by DuckDB without copying
- `spark`   Spark frames, counted and rewritten on the cluster; `spark_frames` is what is done with
            any frame, `spark_rows` what workers do with rows; `spark_session` starts Spark,
            `spark_files` and `spark_store` read and write files, found by `spark_places`
"""
