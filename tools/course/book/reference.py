"""The reference: every command's help, and every public name with its docstring."""

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from html import escape
from importlib import import_module
from types import ModuleType

import click

from pagesim.commands.cli import cli
from tools.course.book.markup import markdown
from tools.course.book.page import Page

COMMANDS, PYTHON = "reference/commands.html", "reference/python.html"
MODULES = (
    *("pagesim", "pagesim.v1", "pagesim.workload", "pagesim.simulation", "pagesim.studies"),
    *("pagesim.timeline", "pagesim.story", "pagesim.sizing", "pagesim.cache", "pagesim.decision"),
    *(
        "pagesim.quirks",
        "pagesim.generation",
        "pagesim.lesson",
        "pagesim.figures",
        "pagesim.kernels",
    ),
)

_QUOTED = re.compile(r"(: |-> )'([^']*)'")


def pages() -> Iterator[Page]:
    """The commands on one page; a page for each module, and their list."""
    yield Page(COMMANDS, "All commands", _commands(), "", COMMANDS)
    items = []
    for name in MODULES:
        try:
            module = import_module(name)
        except ImportError:  # the kernels, where torch is not installed
            continue
        url = f"reference/{name}.html"
        items.append(f'<li><a href="{name}.html"><code>{name}</code></a>: {_first(module)}</li>')
        yield Page(url, name, _module(name, module), "", PYTHON)
    words = "<h1>Python reference</h1><p>What each package offers, from its docstrings.</p>"
    yield Page(PYTHON, "Python reference", f"{words}<ul>{''.join(items)}</ul>", "", PYTHON)


def _commands() -> str:
    parts = [
        "<h1>All commands</h1><p>What <code>pagesim COMMAND --help</code> prints. "
        '<a href="../docs/cli.html">The command line, told</a> has examples.</p>'
    ]
    for name, command in sorted(cli.commands.items()):
        context = click.Context(command, info_name=f"pagesim {name}", max_content_width=88)
        text = escape(command.get_help(context))
        parts.append(f'<h2>pagesim {name}</h2><pre tabindex="0">{text}</pre>')
    return "".join(parts)


def _module(name: str, module: ModuleType) -> str:
    names = [each for each in getattr(module, "__all__", ()) if not each.startswith("_")]
    members = [(each, getattr(module, each)) for each in sorted(names, key=str.lower)]
    told = [_member(each, value) for each, value in members if not inspect.ismodule(value)]
    return f"<h1>{name}</h1>{markdown(inspect.getdoc(module) or '')}{''.join(told)}"


def _member(name: str, value: object) -> str:
    """A heading, the signature, the docstring; of a class also its public methods."""
    text = f"<h2>{name}</h2>"
    if not (inspect.isclass(value) or callable(value)):
        return f"{text}<p><code>{escape(repr(value))[:400]}</code></p>"
    text += _signature(name, value) + markdown(_doc(value))
    if inspect.isclass(value):
        for each, method in vars(value).items():
            inner = getattr(method, "__func__", getattr(method, "fget", method))
            if not each.startswith("_") and callable(inner) and _doc(inner):
                text += f"<h3>{name}.{each}</h3>{_signature(each, inner)}{markdown(_doc(inner))}"
    return f'<section class="member">{text}</section>'


def _signature(name: str, value: object) -> str:
    if inspect.isclass(value) and issubclass(value, Enum):
        return ""
    try:
        text = f"{name}{inspect.signature(value)}"  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ""
    text = _QUOTED.sub(r"\1\2", text)
    if text.endswith("(*args, **kwargs)"):  # a protocol is not called
        return ""
    return f'<pre class="signature" tabindex="0">{escape(text)}</pre>'


def _doc(value: object) -> str:
    return inspect.getdoc(value) or ""


def _first(module: ModuleType) -> str:
    return escape(_doc(module).split("\n\n")[0].rstrip(".").replace("`", ""))
