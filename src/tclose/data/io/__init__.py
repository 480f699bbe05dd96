"""Files in and out: paths, dialects, writers, fingerprints."""
