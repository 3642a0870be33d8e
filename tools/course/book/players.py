"""Players that start when they are seen, with one script for all pages.

A notebook carries the player's script once for each player, 70 kB each. Here the script is a file
of its own, and site.js puts it back into the same document when the reader comes near.
"""

import hashlib
import json
import re

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
        name = hashlib.sha256(packed[2].encode()).hexdigest()[:8]
        text = json.dumps(packed[2])
        self.files[f"assets/player-{name}.js"] = (
            f'(window.pagesimScripts ??= {{}})["{name}"]={text};'
        )
        inside = frame[2].replace(packed[0], f"{packed[1]}{packed[3]}")
        return f"{frame[1]} data-script=\"{name}\" data-document='{inside}'></iframe>"
