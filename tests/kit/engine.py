"""pagesim as a program that the kit checks: ``python -m tests.kit.engine`` answers calls."""

import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from pagesim.replay import PLAYERS, UnknownNameError


def answers(lines: Iterable[str]) -> Iterator[str]:
    """An answer for each line but the first, which is the header."""
    read = map(json.loads, lines)
    header = next(read)
    player = PLAYERS[header["format"]][header["kind"]]()

    def begin(config: Any) -> None:
        player.config = config
        player.start(config)

    begin(header["config"])
    for line in read:
        args = line["args"] or {}
        answer: dict[str, Any]
        try:
            if line["op"] == "reset":
                begin(args.get("config", player.config))
                ret = None
            else:
                ret = getattr(player, f"op_{line['op']}")(**args)
            answer = {} if ret is None else {"ret": ret}
        except UnknownNameError:
            raise
        except Exception as raised:
            answer = {"error": name_of(raised)}
        yield json.dumps(answer | {"state": player.state()})


def name_of(raised: Exception) -> str:
    """The name of vLLM's error; where vLLM asserts, pagesim raises a subclass of AssertionError."""
    return "AssertionError" if isinstance(raised, AssertionError) else type(raised).__name__


if __name__ == "__main__":
    for answer in answers(sys.stdin):
        print(answer)
