"""Tables that Spark counts and rewrites."""
