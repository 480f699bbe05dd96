"""How a release comes about once it is clear what is to be released: proposed part by part where
the table is too large for one place, then written, counted again and certified."""
