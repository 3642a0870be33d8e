"""Chapter "Text": from a prompt through pages to a word, and what a damaged page does."""

import json

from matplotlib.axes import Axes

from pagesim.figures import style
from pagesim.figures.book.kit import (
    DATA,
    LOOK,
    MARGIN,
    S0,
    arrow,
    drawing,
    node,
    note,
    panel,
    slots,
)
from pagesim.figures.style import Box
from pagesim.files.jsonl import JsonObject

STATIONS = {
    "prompt": "text",
    "tokens": "numbers",
    "slots": "by the tables",
    "attention": "reads pages",
    "logits": "one a word",
    "next word": "the highest",
}
WIDE = (38.0, 19.0, 38.0, 19.0)
BLOCK, PITCH = sum(WIDE), 123.0
BAD = "#D55E00"


@drawing("From prompt to page to word: one damaged page, and the output goes wrong there", 342)
def word_path(axes: Axes) -> str:
    """The stations of a word, the pages of a way, and two answers."""
    data = json.loads((DATA / "word_path.json").read_text(encoding="utf-8"))
    for place, (name, sub) in enumerate(STATIONS.items()):
        x = MARGIN + 106 * place
        node(axes, Box(x, 40, 88, 36), name, sub, fill=LOOK if name == "attention" else style.PAPER)
        if place:
            arrow(axes, (x - 18, 58), (x - 2, 58))
    end, begin = MARGIN + 106 * 5 + 44, MARGIN + 106 + 44
    arrow(axes, (end, 77), (end, 90), (begin, 90), (begin, 78))
    note(axes, (begin + end) / 2, 99, "the word is the next token", ha="center")
    right, wrong = data["right"].split(), data["wrong"].split()
    facts = {fact.split()[0]: fact for fact in data["facts"]}
    way = [data["start"], *right[:-2]]
    panel(
        axes,
        Box(MARGIN, 114, 624, 178),
        "the pages that the output needs: each says where a place leads",
    )
    for place, name in enumerate(way):
        x = MARGIN + 9 + PITCH * place
        block = data["blocks"][data["facts"].index(facts[name])]
        damaged = facts[name] == data["damaged"]
        note(axes, x + BLOCK / 2, 144, f"block {block}", ha="center")
        _page(axes, x, [] if damaged else facts[name].split())
        if damaged:
            axes.plot([x, x + BLOCK], [152, 180], color=BAD, linewidth=2.5, clip_on=False)
            axes.plot([x, x + BLOCK], [180, 152], color=BAD, linewidth=2.5, clip_on=False)
        for row, answer in enumerate((right, wrong)):
            y = 216 + 46 * row
            if place == 0:
                said = "with all pages:" if row == 0 else f"with block {_harmed(data)} set to zero:"
                note(axes, x, y - 20, said)
            if place < len(answer):
                ok = answer[place] == right[place]
                node(
                    axes, Box(x + 10, y - 11, BLOCK - 20, 24), answer[place], fill=S0 if ok else BAD
                )
    note(
        axes,
        MARGIN,
        316,
        f'The page of "{data["damaged"]}" is zero. The words before it is '
        "needed are right;\nthe word that it should give is not: the dot says that the way ends "
        "here.",
    )
    return (
        "A prompt becomes tokens, tokens get slots, attention reads the pages, logits give the "
        f'next word, and the word is the next token. The output "{data["right"]}" needs '
        f"{len(way)} pages, one a word. With block {_harmed(data)} set to zero it is "
        f'"{data["wrong"]}": right up to the word for which that page is needed.'
    )


def _page(axes: Axes, x: float, words: list[str]) -> None:
    style.rectangle(axes, Box(x, 152, BLOCK, 28), width=1.8)
    for wide, word in zip(WIDE, words, strict=False):
        slots(axes, Box(x, 152, wide, 28), [word], 1, S0, width=0.9)
        x += wide


def _harmed(data: JsonObject) -> str:
    block: str = data["blocks"][data["facts"].index(data["damaged"])]
    return block
