"""Ibis tables."""
