"""Files, folders and patterns of every kind that can be read, as tables that DuckDB counts."""
