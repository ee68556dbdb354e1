"""`python -m populace` is `populace`."""

from populace.cli import main

if __name__ == "__main__":
    main()
