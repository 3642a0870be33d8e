"""Players that start when they are seen, with one script for all pages.

A notebook carries the player's script once for each player, 70 kB each. Here the script is a file
of its own, and so is the document of each player: site.js puts them together when the reader comes
near.
"""

import hashlib
import json
import re
from html import unescape

from pagesim.player.notebook import HEIGHT

_FRAME = re.compile(r"(<iframe class=\"pagesim-frame\"[^>]*?) srcdoc='([^']*)'></iframe>")
_SCRIPT = re.compile(r'(<template id="pagesim-script">)(.*?)(</template>)', re.DOTALL)


class Scripts:
    """The scripts of all players that were met: usually one."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}

    def taken(self, html: str) -> str:
        """The same HTML, with each player's script taken out of its frame."""
        return _FRAME.sub(self._frame, html)

    def _frame(self, frame: re.Match[str]) -> str:
        packed = _SCRIPT.search(frame[2])
        if packed is None:
            return frame[0]
        script = self._filed("player", packed[2])
        inside = unescape(frame[2].replace(packed[0], f"{packed[1]}{packed[3]}"))
        document = self._filed("run", inside)
        opened = frame[1].replace(
            f"height:{HEIGHT}px;", ""
        )  # site.css has it, and home.css another
        return f'{opened} data-script="{script}" data-document="{document}"></iframe>'

    def _filed(self, kind: str, text: str) -> str:
        """The name of a script that keeps a text: a page from a disk may load nothing else."""
        name = f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
        self.files[f"assets/{name}.js"] = (
            f'(window.pagesimTexts ??= {{}})["{name}"]={json.dumps(text)};'
        )
        return name
