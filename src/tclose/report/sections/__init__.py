"""The sections of a report: each turns what was counted into words, tables and charts."""
