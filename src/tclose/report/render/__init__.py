"""Renders a document as a page, as text for a terminal, or as a file."""
