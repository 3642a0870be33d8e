"""What a page carries is made of the sources as they are: `make web` after a change of them."""

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from pagesim.player.page import BUNDLE

ROOT = Path(__file__).parents[2]
PLAYER = BUNDLE.parent
SUM = re.compile(r"from sources with the sum ([0-9a-f]{64})")


def test_the_bundle_is_made_of_these_sources() -> None:
    """It says so itself, which needs no node: bundle.mjs takes the same sum."""
    scripts = [f"js/{path.name}" for path in sorted((PLAYER / "js").iterdir())]
    names = [*scripts, *sorted(path.name for path in PLAYER.glob("*.css"))]
    total = hashlib.sha256()
    for name in names:
        total.update(f"{name}\n".encode() + (PLAYER / name).read_bytes())
    for made in ("player.txt", "pair.txt", "film.txt", "films.txt"):
        message = SUM.search((BUNDLE / made).read_text(encoding="utf-8").split("\n", 1)[0])
        assert message and message[1] == total.hexdigest(), "the bundle is stale: make web"


@pytest.mark.parametrize("page", ["player", "pair", "film", "films"])
def test_the_tools_make_the_same_bundle(tmp_path: Path, page: str) -> None:
    node = shutil.which("node")
    if node is None or not (ROOT / "node_modules" / "esbuild").is_dir():
        pytest.skip("esbuild is not installed: make web-setup")
    subprocess.run([node, PLAYER / "bundle.mjs", tmp_path, page], check=True, timeout=60)
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {"load.js", f"{page}.css", f"{page}.txt"}
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (BUNDLE / path.name).read_bytes(), f"{path.name}: make web"


def test_every_module_is_reached_from_the_first() -> None:
    """Else a file could be left behind that no page carries."""
    found, ahead = {"load.js"}, ["main.js"]
    while ahead:
        name = ahead.pop()
        if name not in found:
            found.add(name)
            text = (PLAYER / "js" / name).read_text(encoding="utf-8")
            ahead += re.findall(r'^import .* from "\./(\w+\.js)";$', text, re.M)
    assert found == {path.name for path in (PLAYER / "js").iterdir()}
