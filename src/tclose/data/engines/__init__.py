"""The engines behind a `Source`: each counts a table where it is and hands out its rows.

Every engine has a `source`, which counts, streams and, where it can, rewrites rows by itself, as
`tclose.data.source` promises; `partitioned` where it keeps cells that are too many for one place;
the other files are what only this engine needs. DuckDB counts what has no engine of its own.
"""
