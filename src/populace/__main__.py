"""`python -m populace` is `populace`."""

from populace.cli import main

main()
