"""A release's classes without its data, and how new rows are put into them."""
