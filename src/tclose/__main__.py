"""`python -m tclose`, and the program `tclose`; failing to start has an exit code of its own."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

CRASHED = 70


def main() -> None:
    """Runs the command line; exit code 70, not 1, where its modules cannot be imported."""
    _open_closed_streams()
    try:
        from tclose.cli import main as run
    except KeyboardInterrupt:
        print("stopped; nothing was written", file=sys.stderr)
        sys.exit(130)
    except Exception as error:
        reason = str(error) if isinstance(error, ImportError) else type(error).__name__
        with suppress(OSError):
            print(f"Error: tclose cannot start ({reason})", file=sys.stderr)
            print("  Hint: install it again: pip install --force-reinstall tclose", file=sys.stderr)
        sys.exit(CRASHED)
    run()


def _open_closed_streams() -> None:
    """Gives a process that was started without a stream one that leads nowhere: the next file that
    is opened would take its number, and whatever a library prints would be written into it."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


if __name__ == "__main__":
    main()
