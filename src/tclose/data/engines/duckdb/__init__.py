"""Tables that DuckDB counts: files out of core, frames without copying, relations."""
