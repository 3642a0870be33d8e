"""What `--help` says of every option of every command: what it is where it is not given."""

from collections.abc import Iterator

import click
import pytest

from pagesim.commands.cli import SETTINGS, cli
from pagesim.commands.common import INPUT_FILE, OUTPUT_FILE
from pagesim.simulation import Limits, Paged, PagedV1
from pagesim.simulation.limits import CHUNK

pytestmark = pytest.mark.ch01

NOTHING = {
    "compare": {"out"},
    "explain": {"request"},
    "generate": {"prompts"},
    "replay": {"part"},
    "simulate": {"compare"},
    "size": {
        *("model", "memory", "gpu_memory", "peak", "swap_space", "num_gpu_blocks_override"),
        *("line", "length"),
    },
    "waste": {"preset"},
}
"""Options that ask for something more, or one of several that must be given."""


def options() -> Iterator[tuple[str, click.Option, str]]:
    """Every option with its command and its line of help."""
    commands = list(cli.commands.items())
    for name, command in commands:
        if isinstance(command, click.Group):
            commands += [(f"{name} {each}", one) for each, one in command.commands.items()]
        context = click.Context(command, info_name=name, show_default=SETTINGS["show_default"])
        for option in command.params:
            if isinstance(option, click.Option):
                yield name, option, option.get_help_record(context)[1]


def test_every_option_is_explained() -> None:
    for command, option, text in options():
        assert len(text.partition("[")[0].split()) >= 2, (command, option.name)


def test_every_default_is_told() -> None:
    count = 0
    for command, option, text in options():
        is_switch = option.is_flag and not option.secondary_opts  # off unless it is given
        is_file = option.type in (INPUT_FILE, OUTPUT_FILE)
        if is_switch or is_file or option.required or option.name in NOTHING.get(command, ()):
            continue
        assert "[default: " in text, (command, option.name)
        count += 1
    assert count > 60


@pytest.mark.parametrize("command", ["simulate", "waste"])
def test_the_defaults_told_are_those_of_the_policies(command: str) -> None:
    helps = {
        option.name: text.split("[default: ")[-1] for of, option, text in options() if of == command
    }
    assert helps["policy"].startswith("paged]")
    for engine, name in ((Paged(), "paged"), (PagedV1(), "v1")):
        for field in ("watermark", "block_size"):
            value = str(getattr(engine, field))
            assert helps[field].startswith(f"{value}]") or f"{value} for {name}" in helps[field]
        for field in ("enable_prefix_caching", "enable_chunked_prefill"):
            assert f"{'on' if getattr(engine, field) else 'off'} for {name}" in helps[field]
    assert helps["scheduler_reserve_full_isl"].startswith("on]")
    assert helps["num_cpu_blocks"].startswith("0]") and helps["samples"].startswith("1]")
    assert helps["sliding_window"].startswith("none]")
    for gpu in ("a100-80gb", "h100"):
        limits = Limits.of_server(gpu)
        assert str(limits.budget) in helps["max_num_batched_tokens"]
        assert str(limits.max_num_seqs) in helps["max_num_seqs"]
    assert str(CHUNK) in helps["max_num_batched_tokens"]
