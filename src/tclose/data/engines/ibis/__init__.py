"""Ibis tables of any backend; those of DuckDB and PostgreSQL are handled by our own engines."""
