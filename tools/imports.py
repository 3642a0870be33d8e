"""The contracts on imports in pyproject.toml: ``python -m tools.laid_out tools.imports``."""

from importlinter.cli import lint_imports_command

if __name__ == "__main__":
    lint_imports_command(["--no-logo", "--no-cache"])
