"""Runs the player's modules without a page: its model, its words, its reading, under node."""

import base64
import gzip
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pagesim import Timeline
from pagesim.timeline import file
from tests.player import samples

Node = Callable[..., Any]


class NodeError(Exception):
    """What the player's script raised."""


JS = Path(__file__).parents[2] / "pagesim" / "player" / "js"
MODULES = (
    "read",
    "model",
    "programs",
    "text",
    "reasons",
    "questions",
    "search",
    "rounds",
    "heard",
    "jobs",
    "lives",
    "axis",
    "batch",
    "beats",
    "effects",
    "bytes",
    "chains",
    "course",
    "race",
    "score",
)  # those that need no document

# One process for all tests: a line asks, a line answers.
SERVER = """
import { createInterface } from "node:readline";
globalThis.FILM = true;
const modules = await Promise.all(process.argv.slice(2).map((path) => import(path)));
const player = Object.assign({}, ...modules);
const open = async (data) => new player.Run(player.parse(await player.unpack(data)));
for await (const line of createInterface({ input: process.stdin })) {
  const { code, given } = JSON.parse(line);
  let answer;
  try {
    const run = given.data && await open(given.data);
    answer = { value: await new Function("player", "given", "run", code)(player, given, run) };
  } catch (error) { answer = { error: `${error}` }; }
  console.log(JSON.stringify(answer));
}
"""


@pytest.fixture(scope="session")
def node() -> Iterator[Node]:
    """``node(code, run, x=…)``: what ``code`` returns; it has ``run``, ``player`` and ``given.x``.

    A run is given as a timeline, a sample's header and events, or the text of a file.
    """
    program = shutil.which("node")
    if program is None:
        pytest.skip("node is not installed: the player's model is not run without a browser")
    command = [program, "--input-type=module", "-e", SERVER, "-"]
    with subprocess.Popen(
        [*command, *((JS / f"{name}.js").as_uri() for name in MODULES)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        asks, answers = process.stdin, process.stdout

        def call(code: str, run: Any = "", **given: Any) -> Any:
            given["data"] = _packed(run)
            asks.write(json.dumps({"code": code, "given": given}) + "\n")
            asks.flush()
            answer = json.loads(answers.readline())
            if "error" in answer:
                raise NodeError(answer["error"])
            return answer.get("value")

        yield call


def _packed(run: Timeline | str | tuple[Any, Any]) -> str:
    if isinstance(run, Timeline):
        return base64.b64encode(file.packed(run)).decode()
    text = run if isinstance(run, str) else samples.text_of(*run)
    if not text:
        return ""
    return base64.b64encode(gzip.compress(text.encode(), 1)).decode()
