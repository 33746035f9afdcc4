"""`python -m harken` is `harken`."""

from harken.cli import main

main()
