"""The player as one HTML document that opens from a disk, from a server, or in an iframe.

The document contains the timeline, one style, and one script that unpacks the player's. Its
Content-Security-Policy lets nothing else run or load, so the contents of a timeline remain text.
"""

import base64
import gzip
import hashlib
import html
import string
from functools import cache
from pathlib import Path

SHELL = (
    ":root{color-scheme:light dark}body{margin:0;min-height:100vh;background:#fff}"
    "@media(prefers-color-scheme:dark){body{background:#16181c}}"
)
"""The style of a page until its script runs."""
BUNDLE = Path(__file__).parent / "bundle"
"""The output of `make web` from js/ and the styles; a page contains no other part of the player."""


PLAYER, PAIR, FILM, FILMS = "player.txt", "pair.txt", "film.txt", "films.txt"
"""The player of one run, and the one that compares two; the same two that draw a kernel as well."""
LOADER = "load.js"
"""The code that unpacks the script, which applies its style; packed, it takes a third."""
DIGITS = "".join(sign for sign in map(chr, range(ord("%"), ord("~") + 1)) if sign not in "&'<>\\")
OF_PYTHON = f"{string.digits}{string.ascii_letters.swapcase()}!#$%&()*+-;<=>?@^_`{{|}}~"
"""The digits of load.js, and of Python's b85encode."""


@cache
def bundled(name: str) -> str:
    """A file of the bundle."""
    return (BUNDLE / name).read_text(encoding="utf-8").rstrip("\n")


@cache
def script(name: str = PLAYER) -> str:
    """A script of the player as a page runs it."""
    return unpacked_script(packed_script(name)).decode()


def style_of(name: str = PLAYER) -> str:
    """The style that a script applies."""
    return bundled(name.replace(".txt", ".css"))


def packed_script(name: str = PLAYER) -> str:
    """The script as a page contains it: packed, in digits of load.js that HTML leaves alone."""
    return bundled(name).split("\n", 1)[1]  # the line before it names its source


def unpacked_script(packed: str) -> bytes:
    """The script from a page, whichever zlib has packed it."""
    return gzip.decompress(base64.b85decode(packed.translate(str.maketrans(DIGITS, OF_PYTHON))))


def policy(own_style: str = "", own_script: str = "", player: str = PLAYER) -> str:
    """The Content-Security-Policy: these scripts and styles, and nothing else."""
    scripts = [bundled(LOADER), script(player), *filter(None, [own_script])]
    styles = [SHELL, style_of(player), *filter(None, [own_style])]
    allowed = [" ".join(f"'{_sha256(each)}'" for each in some) for some in (scripts, styles)]
    rules = f"script-src {allowed[0]}; style-src {allowed[1]}"
    return f"default-src 'none'; {rules}; img-src blob:"


def page(
    *jsonl_gz: bytes, title: str, alt: str, above: str = "", style: str = "", script: str = ""
) -> str:
    """A whole HTML document that plays a timeline file, or two of them linked.

    ``jsonl_gz`` are valid files as ``FORMAT.md`` describes them, gzipped. ``alt`` describes the
    picture for readers who do not see it. ``above`` is HTML that stands above the player, with a
    ``style`` and a ``script`` of its own. The text is the same each time.
    """
    words, files = html.escape(alt), [gzip.decompress(one) for one in jsonl_gz]
    draws = any(b'"reads":' in one for one in files)
    name = ((PLAYER, FILM) if len(files) == 1 else (PAIR, FILMS))[draws]
    if len(jsonl_gz) == 1:
        player = f'<main class="pagesim-player" aria-label="{words}"></main>\n'
    else:
        each = '<section class="pagesim-player"></section>\n' * len(jsonl_gz)
        player = f'<main class="pagesim-pair" aria-label="{words}">\n{each}</main>\n'
    runs = "".join(
        f'<template class="pagesim-timeline">{_packed(one)}</template>\n' for one in files
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(style, script, name)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{SHELL}</style>\n"
        f"{f'<style>{style}</style>' if style else ''}</head>\n<body>\n{above}{player}"
        f"<noscript><p>{words}</p><p>Stepping through it needs JavaScript.</p></noscript>\n"
        f"{runs}"
        f'<template id="pagesim-script">{packed_script(name)}</template>\n'
        f"{f'<script>{script}</script>' if script else ''}"
        f"<script>{bundled(LOADER)}</script>\n</body>\n</html>\n"
    )


def _packed(data: bytes) -> str:
    """Gzipped and base64-encoded, reproducibly."""
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode("ascii")


def _sha256(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
