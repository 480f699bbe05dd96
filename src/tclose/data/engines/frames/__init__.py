"""Frames in memory and polars' lazy frames."""
