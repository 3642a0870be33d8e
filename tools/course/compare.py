"""Whether a fresh run gives what was committed.

Text is compared exactly; pictures by presence and alt text; players by their packed contents.
"""

import difflib
import gzip
import hashlib
import html
import json
import re
from base64 import b64decode
from collections.abc import Mapping
from typing import Any

from nbformat import NotebookNode

from pagesim.player.page import unpacked_script
from tools.course.canonical import is_machine, outputs_of, place_of

DATA_URI = re.compile(r"data:image/[^\"')\s]+")
SRCDOC = re.compile(r"srcdoc='([^']*)'")
PAYLOAD = re.compile(r'="pagesim-(timeline|script)">([^<]+)')


def comparable(cell: NotebookNode) -> str:
    """What two runs of a cell must have in common, as text: everything but the pixels of images."""
    if cell.cell_type != "code" or is_machine(cell):
        return ""
    parts = []
    for output in outputs_of(cell.outputs):
        kind = output["output_type"]
        if kind == "stream":
            parts.append(f"[{output['name']}]\n{output['text']}")
        elif kind == "error":
            parts.append(f"[error]\n{output['ename']}: {output['evalue']}")
        else:
            for mime, data in sorted(output["data"].items()):
                parts.append(f"[{mime}]\n{_data_text(mime, data, output.get('metadata', {}))}")
    return "\n".join(parts)


def _data_text(mime: str, data: Any, metadata: Mapping[str, Any]) -> str:
    if mime.startswith("image/"):
        alt = metadata.get(mime, {}).get("alt") or metadata.get("alt")
        return f"an image, alt text: {alt}"
    text = data if isinstance(data, str) else json.dumps(data, indent=1, sort_keys=True)
    if mime != "text/html":
        return text
    return SRCDOC.sub(_player_text, DATA_URI.sub("data:image/…", text))


def _player_text(match: re.Match[str]) -> str:
    """A player as checksums: of its contents, and of the rest of the page.

    The contents are unpacked, as zlib differs from machine to machine.
    """
    page, packed = html.unescape(match[1]), []
    for payload in PAYLOAD.finditer(page):
        is_script = payload[1] == "script"
        unpack = unpacked_script if is_script else lambda text: gzip.decompress(b64decode(text))
        packed.append(_sum(unpack(payload[2])))
    rest = _sum(PAYLOAD.sub("", page).encode())
    return f"a player (page {rest}) of the run and with the script {' '.join(packed)}"


def _sum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]


def differences(name: str, committed: NotebookNode, fresh: NotebookNode) -> list[str]:
    """One readable diff for every cell whose outputs are not those that were committed."""
    found = []
    for number, (before, after) in enumerate(zip(committed.cells, fresh.cells, strict=True)):
        old, new = comparable(before), comparable(after)
        if old != new:
            lines = difflib.unified_diff(
                old.splitlines(), new.splitlines(), "committed", "this run", lineterm="", n=2
            )
            where = f"{name}, {place_of(number, before)}: the output differs"
            found.append("\n    ".join([where, *list(lines)[:60]]))
    return found
