"""Runs the player's modules without a page: its model, its words, its reading, under node."""

from __future__ import annotations

import base64
import gzip
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Node = Callable[..., Any]

JS = Path(__file__).parents[2] / "pagesim" / "player" / "js"
MODULES = ("read", "model", "text", "reasons", "questions", "search")  # those that need no document

FRAME = """
import { readFileSync } from "node:fs";
const modules = await Promise.all(process.argv.slice(2).map((path) => import(path)));
const player = Object.assign({}, ...modules);
const given = JSON.parse(readFileSync(0, "utf8"));
const begin = async (data) => new player.Run(player.parse(await player.unpack(data)));
console.log(JSON.stringify(await (async () => { %s })()));
"""


@pytest.fixture(scope="session")
def node() -> Node:
    """``node(code, text)``: what ``code`` returns; ``begin(given.data)`` reads ``text``."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("node is not installed: the player's model is not run without a browser")

    def call(code: str, text: str = "", **given: Any) -> Any:
        data = base64.b64encode(gzip.compress(text.encode(), 1)).decode()
        return _call(program, code, {"data": data, **given})

    return call


def _call(program: str, code: str, given: dict[str, Any]) -> Any:
    paths = [(JS / f"{name}.js").as_uri() for name in MODULES]
    done = subprocess.run(
        [program, "--input-type=module", "-e", FRAME % code, "-", *paths],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
