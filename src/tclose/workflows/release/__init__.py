"""A recoding becomes a release: where it goes, how it is written, recounted and certified."""
