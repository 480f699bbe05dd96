"""Frames in memory (pandas, polars, pyarrow), and polars' lazy frames, which polars counts."""
