"""The page of stories to try, and the place of a text that can be edited."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

from pagesim.exercises.registry import get
from pagesim.player.notebook import LOOKS
from pagesim.player.page import PAIR, PLAYER, policy
from pagesim.timeline.run import Timeline
from tools.course.book.markup import beside, code, fold, markdown, slug
from tools.course.book.page import Page
from tools.course.live import files, inside

TRY = "try.html"
STORIES = {
    "share": "Sharing",
    "swap": "Swapping",
    "prefix": "Prefix caching",
    "engine": "V1's scheduler",
    "groups": "KV cache groups",
    "tier": "Second tier",
}
"""The stories, in the order of the page, and what each is about."""
KEYS = (
    '<p class="small" id="editor-keys">Ctrl+Enter runs the text, Tab indents, and Escape, then '
    "Tab, leaves the text. What you write stays in this browser.</p>"
)


@dataclass(frozen=True, slots=True)
class Story:
    """A text to begin with: what it is about, in words, and its code."""

    name: str
    title: str
    words: str
    source: str


def stories() -> Iterator[Story]:
    """Each is a file of ``stories``: title and words are its docstring."""
    for name in STORIES:
        text = (Path(__file__).parent / f"stories/{name}.py").read_text("utf-8")
        tree = ast.parse(text)
        title, _, words = (ast.get_docstring(tree) or "").partition("\n")
        source = "".join(text.splitlines(keepends=True)[tree.body[0].end_lineno or 0 :])
        yield Story(name, title, words.strip(), source.strip("\n"))


def page() -> Page:
    """All stories; a script shows one at a time, and lets it be edited."""
    every = [*stories()]
    links = "".join(f'<li><a href="#{slug(s.title)}">{STORIES[s.name]}</a></li>' for s in every)
    alive = files.are_here()
    how = (
        "Change them, and press <b>Run</b>: the picture shows what your text does. Python runs in "
        "this page, and nothing leaves it."
        if alive
        else "Here they can be read and stepped through: this copy of the site was made without "
        "Pyodide. <code>make lab</code> runs them."
    )
    body = f"<h1>Try it</h1><p>Each story below is a few lines of Python. {how}</p>"
    body += KEYS if alive else ""
    body += f'<nav aria-label="Stories" class="stories"><ul>{links}</ul></nav>'
    body += "".join(map(_section, every))
    return Page(TRY, "Try it", body, "", TRY, "chapter", policy=allowed())


def _section(story: Story) -> str:
    words = f"<h2>{escape(story.title)}</h2>{markdown(story.words)}"
    text = cell("run", story.name, story.title, story.source)
    player = recorded(story).annotate(title=story.title)._repr_html_().replace(LOOKS, "")
    return f'<section class="story">{beside(words + text, player, "")}</section>'


def recorded(story: Story) -> Timeline:
    """The run of a story as it is; ValueError for one that fails."""
    answer, value = inside.executed(story.source, {})
    run = inside.run_of(value)
    if not isinstance(run, Timeline):
        raise ValueError(f"stories/{story.name}.py: {answer}")
    return run


def cell(kind: str, name: str, title: str, source: str) -> str:
    """A text that a script makes an editor of; to be read where none runs."""
    named = f'data-live="{kind}:{name}" data-title="{escape(title)}"' if files.are_here() else ""
    return f'<div class="live" {named}>{code(source)}</div>'


def exercise(number: str, source: str) -> str:
    """An exercise's function as such a text, and its hints."""
    given = get(number)
    hints = ""
    for hint in reversed(given.hints):
        hints = fold(
            "Another hint" if hint is not given.hints[0] else "A hint", markdown(hint) + hints
        )
    return cell("check", number, f"Your answer to {number} {given.title}", source) + hints


def allowed() -> str:
    """The Content-Security-Policy of these pages: the site's own files, and the player's script.

    What the reader writes runs in the worker, and what comes of it is text, or a player in a frame,
    which this policy holds for as well. Empty where nothing can be edited.
    """
    if not files.are_here():
        return ""
    players = " ".join(policy(player=name) for name in (PLAYER, PAIR))

    def hashes(kind: str) -> str:
        rules = re.findall(rf"{kind} ([^;]*)", players)
        return " ".join(dict.fromkeys(" ".join(rules).split()))

    return (
        f"default-src 'none'; script-src 'self' {hashes('script-src')}; worker-src 'self'; "
        f"style-src 'self' {hashes('style-src')}; style-src-attr 'unsafe-inline'; "
        "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'"
    )
