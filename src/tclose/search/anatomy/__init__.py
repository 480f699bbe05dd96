"""Groups of rows for releases in several tables, whatever their quasi-identifiers."""
