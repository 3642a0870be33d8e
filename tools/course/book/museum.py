"""The museum on the site: every quirk with its scene, played, and a list of all of them."""

from html import escape
from itertools import groupby

from pagesim.quirks import quirks
from pagesim.quirks.asked import asked
from pagesim.quirks.page import SUBJECTS
from pagesim.quirks.registry import Quirk
from tools.course.book.documents import url_of
from tools.course.book.markup import beside, code, markdown
from tools.course.book.page import Page

INDEX = "museum/index.html"


def pages() -> list[Page]:
    """The list, and a page for each quirk."""
    every = quirks()
    links = [(f"museum/{quirk.quirk_id}.html", _title(quirk)) for quirk in every]
    around = zip([None, *links], every, [*links[1:], None], strict=False)
    rooms = [
        Page(f"museum/{q.quirk_id}.html", _title(q), _body(q), "", INDEX, "chapter", before, after)
        for before, q, after in around
    ]
    return [Page(INDEX, "The museum of surprises", _list(every), "", INDEX), *rooms]


def _title(quirk: Quirk) -> str:
    return f"{quirk.quirk_id} · {quirk.page.title}".replace("`", "")


def _list(every: tuple[Quirk, ...]) -> str:
    parts = [
        f"<h1>The museum of surprises</h1><p>{len(every)} things that vLLM does and that surprise "
        "people who run it. Each has a scene that you can step through. Chapter 17 "
        'begins with <a href="../17_the_museum.html">twelve of them</a>.</p>'
    ]
    order = sorted(every, key=lambda quirk: SUBJECTS.index(quirk.page.subject))
    for subject, rooms in groupby(order, key=lambda quirk: quirk.page.subject):
        parts.append(f'<h2>{escape(subject.capitalize())}</h2><ul class="rooms">')
        parts += [
            f'<li><a href="{quirk.quirk_id}.html"><b>{quirk.quirk_id}</b> '
            f"{_inline(quirk.page.title)}</a> <small>{quirk.page.engine}</small></li>"
            for quirk in rooms
        ]
        parts.append("</ul>")
    return "".join(parts)


def _body(quirk: Quirk) -> str:
    page = quirk.page
    scene = quirk.scenario()
    played = quirk.played()
    facts = "".join(
        f"<tr><td>{escape(name.replace('_', ' '))}</td><td>{escape(str(value))}</td></tr>"
        for name, value in scene.facts.items()
    )
    mended = " It does not happen in pagesim." if page.is_mended else ""
    before = (
        f"<h1>{_inline(_title(quirk))}</h1>"
        f'<p class="where">vLLM {page.release} ({page.engine}), {escape(page.subject)}.{mended}</p>'
        f"<p><b>{_inline(page.claim)}</b></p><h2>Expected</h2>{markdown(page.expected)}"
    )
    after = f"<h2>What happens</h2>{markdown(page.what_happens)}"
    after += f'<div class="wide" tabindex="0"><table>{facts}</table></div>'
    after += f"<h2>Why</h2>{markdown(page.why)}<h2>What to do</h2>{markdown(page.what_to_do)}"
    after += f"<h2>The scene</h2>{code(quirk.source)}{_elsewhere(quirk)}"
    return beside(before, "" if played is None else played._repr_html_(), after)


def _elsewhere(quirk: Quirk) -> str:
    """Where people met it, who asks about it, and the same on the other engine."""
    items = [
        f'<a href="{escape(its.link)}">{_inline(its.name)}</a>: {_inline(its.what)}'
        for its in quirk.page.threads
    ]
    items += [
        f'<a href="../{url_of(its.page)}">{_inline(its.title)}</a>' for its in asked(quirk.quirk_id)
    ]
    if beside := quirk.page.beside:
        items.append(f'The same on the other engine: <a href="{beside}.html">{beside}</a>')
    if not items:
        return ""
    return f"<h2>Elsewhere</h2><ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"


def _inline(text: str) -> str:
    """One line of Markdown without its paragraph."""
    return markdown(text).strip().removeprefix("<p>").removesuffix("</p>")
