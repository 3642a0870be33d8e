"""Runs the player's script without a page: its model, its words, its reading, under node."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pagesim.player.pack import pack
from pagesim.player.page import script

Node = Callable[..., Any]

FRAME = """
const player = require(process.argv[2]);
const given = JSON.parse(require("fs").readFileSync(0, "utf8"));
const begin = async (data) => new player.Run(player.parse(await player.unpack(data)));
(async () => { %s })().then((value) => console.log(JSON.stringify(value)));
"""


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Node:
    """``node(code, text)``: what ``code`` returns; ``begin(given.data)`` reads ``text``."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("node is not installed: the player's model is not run without a browser")
    module = tmp_path_factory.mktemp("player") / "player.cjs"
    module.write_text(script(), encoding="utf-8")

    def call(code: str, text: str = "", **given: Any) -> Any:
        data = base64.b64encode(pack(text)).decode()
        return _call(program, module, code, {"data": data, **given})

    return call


def _call(program: str, module: Path, code: str, given: dict[str, Any]) -> Any:
    done = subprocess.run(
        [program, "-e", FRAME % code, "-", str(module)],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
