"""The sections of a report: each turns counts into words, tables and charts."""
