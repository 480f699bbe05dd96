"""Requirements on how near a class's distribution is to that of the table, or of a part of it."""
