"""Streams of pseudo-random numbers, each with a state of its own."""


class RandomStream:
    """One stream; equal seeds and stream numbers give equal numbers on every machine."""

    def __init__(self, seed: int, stream: int) -> None:
        mixed = (seed * 2654435761 + stream * 40503 + 88172645463325252) % (1 << 64)
        self.state = mixed or 1  # from zero xorshift could not move
