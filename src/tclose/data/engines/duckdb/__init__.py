"""DuckDB: counts files out of core, frames without copying, and its own relations."""
