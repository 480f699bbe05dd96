"""The engines behind a `Source`: each counts and hands out rows; some rewrite them by themselves.

- `duck`    DuckDB, which counts everything that has no engine of its own, out of core;
            `duck_bench` keeps cells in files, in a `scratch` folder, where they are too many, and
            `duck_join` puts rows beside what was found there;
            `connection` is one that keeps to an amount of memory
- `files`   one file or many, read by DuckDB: `text` (CSV, packed or not), `parquet`, `arrow`,
            `excel`; `uniting` makes one table of files with different columns, `partitions` reads
            the names of folders
- `memory`  pandas, polars and pyarrow frames, counted by DuckDB without copying; `objects` are
            columns of Python's own, `scanning` shows Arrow to DuckDB
- `dataset` Arrow datasets, scanned by DuckDB
- `relation` DuckDB relations, released as relations of the same connection
- `lazy`    polars' lazy frames, counted and rewritten by polars
- `database` tables and queries in PostgreSQL, by their `address`: `database_link` connects,
            `database_types` knows its types and Arrow's, `database_copy` moves rows,
            `database_release` makes new tables
- `ibis_tables` Ibis tables, counted by their backend; `ibis_release` makes theirs; `spooling` puts
            tables into a file whose engine cannot work on parts
- `spark`   Spark frames, counted and rewritten on the cluster; `spark_frames` is what is done with
            any frame, `spark_rows` what workers do with rows; `spark_session` starts Spark,
            `spark_files` and `spark_store` read and write files, found by `spark_places`;
            `spark_lines` looks at those of CSV first; `spark_bench` keeps cells on the cluster
"""
