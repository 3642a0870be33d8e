"""The player as a notebook's output: alive in an iframe, with a still picture beside it."""

from __future__ import annotations

import base64
from html import escape

from pagesim.player.page import page

# Until the script has measured what it needs (see `fit` in js/main.js).
HEIGHT = 860


def notebook_html(jsonl_gz: bytes, *, title: str, alt: str, static_svg: str) -> str:
    """HTML for ``_repr_html_``: it works live, in a static export and offline.

    The iframe has an origin (``allow-same-origin``): the player asks the notebook around it for its
    theme and keeps its step in the session's storage, for an iframe that is scrolled away begins
    again. Its policy allows no script but the player's. An untrusted notebook drops the iframe and
    keeps the picture, which is why it is there.
    """
    document = page(jsonl_gz, title=title, alt=alt)
    # Only these two have a meaning inside single quotes; the script is full of double ones.
    inside = document.replace("&", "&amp;").replace("'", "&#39;")
    picture = base64.b64encode(static_svg.encode()).decode("ascii")
    return (
        f'<iframe class="pagesim-frame" title="{escape(title)}" aria-label="{escape(alt)}" '
        f'sandbox="allow-scripts allow-same-origin" '
        f'style="width:100%;height:{HEIGHT}px;border:0" '
        f"srcdoc='{inside}'></iframe>\n"
        "<details><summary>A still picture</summary>"
        f'<img alt="{escape(alt)}" style="max-width:100%" '
        f'src="data:image/svg+xml;base64,{picture}"></details>\n'
    )
