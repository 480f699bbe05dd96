"""Tables and queries in PostgreSQL: counted by the server, from one snapshot."""
