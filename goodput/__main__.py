"""`python -m goodput`."""

from goodput.cli import main

main(prog_name="goodput")
