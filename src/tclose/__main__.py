"""`python -m tclose`, and the program `tclose`; failing to start has an exit code of its own."""

from __future__ import annotations

import sys

CRASHED = 70


def main() -> None:
    """Runs the command line; exit code 70, not 1, where its modules cannot be imported."""
    try:
        from tclose.cli import main as run
    except KeyboardInterrupt:
        print("stopped; nothing was written", file=sys.stderr)
        sys.exit(130)
    except Exception as error:
        reason = str(error) if isinstance(error, ImportError) else type(error).__name__
        print(f"Error: tclose cannot start ({reason})", file=sys.stderr)
        print("  Hint: install it again: pip install --force-reinstall tclose", file=sys.stderr)
        sys.exit(CRASHED)
    run()


if __name__ == "__main__":
    main()
