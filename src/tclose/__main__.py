"""`python -m tclose`."""

from tclose.cli import main

main()
