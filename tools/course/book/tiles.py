"""What the tiles of the first page show, and the page of its own that each of them opens."""

import base64
import html
import re

import pagesim
from pagesim.player.page import page
from pagesim.simulation import Simulation
from tools.course.book.chapters import PLAYER, Chapter, output_html
from tools.course.book.markup import HERE

READ_IN = {"when": "07", "where": "04", "who": "13"}
"""The chapter that explains each of them."""
_SRCDOC = re.compile(r"srcdoc='([^']*)'")
_PARTS = re.compile(
    r'aria-label="(?P<alt>[^"]*)".*<template class="pagesim-timeline">(?P<file>[^<]+)<', re.DOTALL
)
_ICON = (HERE / "assets/icon.svg").read_text("utf-8").strip()
_IMAGE = f"data:image/svg+xml;base64,{base64.b64encode(_ICON.encode()).decode()}"
_STYLE = (
    "header{display:flex;flex-wrap:wrap;gap:6px 24px;justify-content:space-between;"
    "margin:0 auto;max-width:1532px;padding:10px 14px 4px;font:15px/1.5 system-ui,sans-serif}"
    "header a{color:light-dark(#0059a1,#7cc4f0)}"
    "header svg{display:inline;height:20px;margin:0 6px;vertical-align:-4px;width:20px}"
    "@media print{header{display:none}}"
)


def shown(chapters: list[Chapter], run: Simulation) -> dict[str, str]:
    """The frame with the player of each tile; empty if a chapter that has it is missing."""
    assert run.timeline is not None
    title = "Ten requests in pages of 16 tokens"
    when = run.timeline.annotate(title=title, tokens={-1: "·"})
    return {
        "when": when._repr_html_(),
        "where": _player(chapters, "04", "figure8-player"),
        "who": _kernel() or _player(chapters, "13", "film"),
    }


def alone(name: str, frame: str, about: str, chapters: list[Chapter]) -> str:
    """The player of a frame as a page of the site, which leads back to it."""
    found = _SRCDOC.search(frame)
    parts = _PARTS.search(html.unescape(found[1])) if found else None
    if parts is None:
        return ""
    more = next((each for each in chapters if each.name.startswith(READ_IN[name])), None)
    read = more and f'<a href="../{more.name}.html">{html.escape(more.title)}</a>'
    text = page(
        base64.b64decode(parts["file"]),
        title=f"{about.partition(':')[0]} · pagesim",
        alt=html.unescape(parts["alt"]),
        above=f'<header><a href="../index.html">←{_ICON}pagesim</a>{read or ""}</header>\n',
        style=_STYLE,
    )
    head = f'<meta name="description" content="{html.escape(about)}">\n'
    head += f'<link rel="icon" href="{_IMAGE}">\n'
    text = text.replace("img-src blob:", "img-src blob: data:", 1)  # for the icon
    return text.replace("</head>", f"{head}</head>", 1)


def _player(chapters: list[Chapter], number: str, cell_id: str) -> str:
    """The player that a cell of a chapter shows; empty if there is none."""
    for chapter in chapters:
        for cell in chapter.notebook.cells:
            if chapter.name.startswith(number) and cell.id == cell_id:
                outputs = [output_html(output) for output in cell.get("outputs", ())]
                return next((each for each in outputs if PLAYER in each), "")
    return ""


def _kernel() -> str:
    """A film of four programs that read two block tables; empty where no kernel can be watched."""
    try:
        import torch

        from pagesim import kernels
    except ImportError:
        return ""
    story = pagesim.Story(gpu_blocks=6, block_size=4)
    early = story.arrive("a request that has left", name=0)
    s1 = story.arrive("Four score and seven years ago our", name=1)
    early.leave()
    s2 = s1.fork(name=2)
    s1.write("fathers brought forth")
    s2.write("mothers asked for a house of their own")
    batch = story.batch()
    torch.manual_seed(0)
    query, (keys, values) = torch.randn(2, 2, 16), torch.randn(2, 6, 4, 1, 16)
    tables, lengths = map(torch.from_numpy, (batch.block_tables, batch.seq_lens))
    try:
        trace = kernels.xray(kernels.paged_attention_v1, query, keys, values, tables, lengths)
    except kernels.backend.CannotRunError:  # without Triton, or compiled for a GPU
        return ""
    film = story.run.film(kernels.xray.reads(trace))
    film.annotate(title="Four programs of the attention kernel", tokens=story.words, opens=1)
    return film._repr_html_()
