"""Ibis tables of any backend; DuckDB and PostgreSQL are asked in their own words."""
