"""Tables that Spark counts and rewrites on its cluster, and the files it reads and writes."""
