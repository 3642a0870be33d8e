"""The player as one HTML document: it opens from a disk, from a server, or in an iframe.

The document carries the timeline, one style, and one script that unpacks the player's. Its
Content-Security-Policy lets nothing else run or load, so whatever a timeline holds, it stays text.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
from functools import lru_cache
from pathlib import Path

from pagesim.player.lean import lean_script, lean_style
from pagesim.player.pack import pack

HERE = Path(__file__).parent
# One script: player.js, and before it its parts in this order; none needs a later one to load.
PARTS = ("read", "model", "words", "questions", "sheet", "queues", "stage", "curve", "controls")


def sources() -> list[Path]:
    """The files that make up the script, in their order."""
    return [*(HERE / "js" / f"{name}.js" for name in PARTS), HERE / "player.js"]


@lru_cache(maxsize=1)
def script() -> str:
    """The player's script as a page carries it."""
    text = "".join(source.read_text(encoding="utf-8") for source in sources())
    return lean_script(f'(() => {{\n"use strict";\n{text}}})();\n')


@lru_cache(maxsize=1)
def loader() -> str:
    """What unpacks the script, so that a page carries a third of it."""
    return lean_script((HERE / "js" / "load.js").read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def packed_script() -> str:
    """The script, gzipped, in letters; the same ones each time."""
    return base64.b64encode(gzip.compress(script().encode(), 9, mtime=0)).decode("ascii")


@lru_cache(maxsize=1)
def style() -> str:
    """The player's style as a page carries it."""
    return lean_style((HERE / "player.css").read_text(encoding="utf-8"))


def policy() -> str:
    """The Content-Security-Policy: these scripts and this style, and nothing from anywhere."""
    scripts = f"'{_sha256(loader())}' '{_sha256(script())}'"
    return f"default-src 'none'; script-src {scripts}; style-src '{_sha256(style())}'"


def page(jsonl_gz: bytes, *, title: str, alt: str) -> str:
    """A whole HTML document that plays a timeline file; the same text each time.

    ``jsonl_gz`` is a file as ``FORMAT.md`` describes it, gzipped; the caller has checked it.
    ``alt`` says in words what there is to see, for those without a script or without eyes.
    """
    words = html.escape(alt)
    data = base64.b64encode(pack(gzip.decompress(jsonl_gz).decode())).decode("ascii")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy()}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{style()}</style>\n</head>\n<body>\n"
        f'<main class="pagesim-player" aria-label="{words}"></main>\n'
        f"<noscript><p>{words}</p><p>Stepping through it needs JavaScript.</p></noscript>\n"
        f'<template id="pagesim-timeline">{data}</template>\n'
        f'<template id="pagesim-script">{packed_script()}</template>\n'
        f"<script>{loader()}</script>\n</body>\n</html>\n"
    )


def _sha256(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
