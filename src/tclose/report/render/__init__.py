"""A document as a page, a terminal view, or a file; and the terminal views of the commands."""
