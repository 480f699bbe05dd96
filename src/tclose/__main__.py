"""`python -m tclose`, and the program `tclose`; failing to start has an exit code of its own."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import NoReturn

CRASHED = 70


def main() -> None:
    """Runs the command line; exits with 70 where it cannot start or an error cannot be reported."""
    _open_closed_streams()
    try:
        from tclose.cli import main as run
    except KeyboardInterrupt:
        print("stopped; nothing was written", file=sys.stderr)
        sys.exit(130)
    except Exception as error:
        reason = str(error) if isinstance(error, ImportError) else type(error).__name__
        hint = "install it again: pip install --force-reinstall tclose"
        _give_up(f"tclose cannot start ({reason})", hint)
    try:
        run()
    except Exception as error:
        _give_up(f"tclose cannot go on ({type(error).__name__})", "give it more memory")


def _give_up(what: str, hint: str) -> NoReturn:
    with suppress(OSError):
        print(f"Error: {what}\n  Hint: {hint}", file=sys.stderr)
    sys.exit(CRASHED)


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
