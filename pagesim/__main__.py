"""`python -m pagesim` is the `pagesim` command, for where scripts are not on the PATH."""

from pagesim.commands.cli import main

if __name__ == "__main__":
    main()
