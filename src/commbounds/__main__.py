"""``python -m commbounds``: the command line."""

from commbounds.cli import main

if __name__ == "__main__":
    main()
