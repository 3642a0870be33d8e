"""The `pagesim` command; each of its commands has a file beside this one.

Exit codes: 0 for yes, 1 if the command ran and the answer is no, 2 for an input or output that
cannot be used (one line on stderr says which and why), 130 for Ctrl-C.
"""

import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import click

from pagesim.commands.common import BadInput, example
from pagesim.errors import shortened
from pagesim.starting import INTERRUPTED, started

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True}


@click.group(
    context_settings=SETTINGS, invoke_without_command=True, epilog=example("pagesim doctor")
)
@click.version_option(package_name="pagesim")
@click.pass_context
def cli(context: click.Context) -> None:
    """See how vLLM keeps its KV cache in pages.

    Start with doctor, or with lab for the course. Every command has --help and --json.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


COMMANDS = (
    *("compare", "doctor", "exercises", "explain", "fit", "generate", "grade", "lab"),
    *("offload", "play", "quirks", "replay", "simulate", "size", "sweep", "waste", "whatif"),
)
for name in COMMANDS:
    cli.add_command(getattr(import_module(f"pagesim.commands.{name}"), name))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit. An error takes one line instead of click's three."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a file's name may not be text
    try:
        started()
        code = cli.main(args=arguments, prog_name="pagesim", standalone_mode=False)
    except click.ClickException as error:
        message = " ".join(error.format_message().split())
        if isinstance(error, click.UsageError):
            message += " (see pagesim --help)"
        _fail(message, error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    except OSError as error:
        if error.filename is not None:
            raise
        # An error without a file name comes from the disk behind stdout. The rest of the buffer is
        # discarded: Python flushes once more when it ends.
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (stays open until the end)
        _fail(f"standard output: {error.strerror}", BadInput.exit_code)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int) -> NoReturn:
    click.echo(f"pagesim: {shortened(message)}", err=True)
    sys.exit(code)


if __name__ == "__main__":
    main()
