"""Publishes a release: searches it, in parts if it is large, writes, recounts and certifies it."""
