"""The `pagesim` command; each of its commands has a file in `pagesim/commands/`.

Exit codes: 0 yes, 1 it ran and the answer is no, 2 bad input (one line on stderr says what and
where).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from pagesim.commands.common import example
from pagesim.commands.doctor import doctor
from pagesim.commands.play import play
from pagesim.commands.replay import replay
from pagesim.commands.simulate import simulate
from pagesim.commands.size import size
from pagesim.commands.waste import waste

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(
    context_settings=SETTINGS, invoke_without_command=True, epilog=example("pagesim doctor")
)
@click.version_option(package_name="pagesim")
@click.pass_context
def cli(context: click.Context) -> None:
    """See how vLLM keeps its KV cache in pages."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for command in (doctor, play, replay, simulate, size, waste):
    cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit. Errors are one line, not click's three."""
    try:
        code = cli.main(args=arguments, prog_name="pagesim", standalone_mode=False)
    except click.ClickException as error:
        message = " ".join(error.format_message().split())
        if isinstance(error, click.UsageError):
            message += " (see pagesim --help)"
        click.echo(f"pagesim: {message}", err=True)
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(130)
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
