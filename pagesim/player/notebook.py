"""The player as a notebook's output: live in an iframe, with a still picture as a fallback."""

import base64
from html import escape

from pagesim.player.page import page

# In JupyterLab nothing separates what a chapter folds from the paragraph behind it.
LOOKS = "<style>.jp-RenderedMarkdown details{margin-bottom:1em}</style>"
# Until the script has measured what it needs (see `fit` in js/main.js).
HEIGHT = 860


def notebook_html(*jsonl_gz: bytes, title: str, alt: str, static_svg: str) -> str:
    """HTML for ``_repr_html_``: it works live, in a static export and offline.

    The iframe has an origin (``allow-same-origin``): the player reads the theme of the notebook
    around it, keeps its step in the session's storage, because an iframe that scrolls out of view
    is reloaded, and closes the still picture. Its policy allows only the player's script. An
    untrusted notebook drops the iframe and shows the picture.
    """
    document = page(*jsonl_gz, title=title, alt=alt)
    # Only these two are special inside single quotes; the script is full of double quotes.
    inside = document.replace("&", "&amp;").replace("'", "&#39;")
    picture = base64.b64encode(static_svg.encode()).decode("ascii")
    return (
        f'{LOOKS}<iframe class="pagesim-frame" title="{escape(title)}" aria-label="{escape(alt)}" '
        f'sandbox="allow-scripts allow-same-origin allow-downloads" '
        f'style="width:100%;height:{HEIGHT}px;border:0" '
        f"srcdoc='{inside}'></iframe>\n"
        '<details class="pagesim-still" open><summary>A still picture</summary>'
        f'<img alt="{escape(alt)}" style="max-width:100%" '
        f'src="data:image/svg+xml;base64,{picture}"></details>\n'
    )
