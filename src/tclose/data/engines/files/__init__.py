"""Files, folders and patterns, read through DuckDB."""
