"""Small files that would fill the memory of a reader that believes them; run in a child process.

Prints one JSON object: what became of each, and the memory that each took at most, in MiB.
"""

import gzip
import json
import multiprocessing
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import pagesim
from pagesim.files import jsonl
from pagesim.timeline import header as bounds

SHARE = int(sys.argv[2])
MIB = 2**20 // SHARE
LIMIT = 256 * 2**20 + 1280 * MIB
jsonl.MAX_LINE //= SHARE
bounds.MAX_BLOCKS //= SHARE


def header(num_gpu_blocks: int, events: int = 1, **words: object) -> bytes:
    line = {"format": bounds.FORMAT, "block_size": 1, "pools": [["GPU", num_gpu_blocks]]}
    more = {"lists": [["free list", "linked"]], "events": events, "state": words}
    return json.dumps({**line, **more}).encode()


def bombs() -> Iterator[tuple[str, list[bytes]]]:
    """Names, and parts of the files in pieces of some MiB."""
    small = header(1) + b"\n"
    yield "an endless line", [b" " * MIB] * 40
    yield "an endless line after the header", [small, *[b" " * MIB] * 200]
    for word in (b"{},", b"1000,", b"[", b'{"":'):
        part = word * (MIB // len(word))
        yield f"a line of {word.decode()}", [small, b'{"effects":[', *[part] * 31]
    yield "as many blocks as may be", [header(bounds.MAX_BLOCKS, 0), b"\n"]
    yield "too many blocks", [header(bounds.MAX_BLOCKS + 1, 0), b"\n"]
    line = b'{"event":"e","x":"' + b" " * 16 * MIB + b'"}\n'
    yield "line after line of nothing", [header(1, 8), b"\n", *[line] * 8]
    size = 100_000 // SHARE
    free = header(size, 20_000, lists=[list(range(size))])
    yield "a huge pool and a long run", [free, b"\n", b'{"event":"e"}\n' * 20_000]


def outcome(path: Path) -> str:
    try:
        run = pagesim.load(path)
        run.at(-1)
    except pagesim.timeline.TimelineError as error:
        return str(error)
    return f"{len(run)} events"


def tried(folder: str, index: int) -> tuple[str, str, int]:
    """Name, outcome and peak in MiB of one bomb; a process tries one, so peaks do not add up."""
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    name, parts = list(bombs())[index]
    path = Path(folder) / "bomb.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as packed:
        packed.writelines(parts)
    del parts
    message = outcome(path)
    return name, message, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> None:
    numbers = [(sys.argv[1], index) for index in range(len(list(bombs())))]
    with multiprocessing.get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        answers = pool.starmap(tried, numbers, chunksize=1)
    message = {name: text for name, text, _ in answers}
    print(json.dumps({"message": message, "peaks": {name: peak for name, _, peak in answers}}))


if __name__ == "__main__":
    main()
