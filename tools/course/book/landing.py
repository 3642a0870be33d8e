"""The first page: the race, three live tiles, a sweep, the course as a path, and why."""

import base64
import json
import re

import pagesim
from pagesim.simulation import Limits, Simulation
from pagesim.workload import Request, gamma
from tools.course import ROOT
from tools.course.book import markup, navigation, tiles
from tools.course.book.chapters import Chapter, output_html
from tools.course.book.page import Page

SIDES = {"max": "One region for each request", "paged": "Pages of 16 tokens"}
TILES = {
    "when": ("When", "Who waits, who runs, who is sent away: a line for each request."),
    "where": ("Where", "From a word through the block table to its slot in memory."),
    "who": (
        "Who reads",
        "A GPU kernel at work: each program loads its sequence's blocks, one by one.",
    ),
}
MEMORY, ANSWERS, BLOCKS = (3, 6, 12), (100, 300, 800), (1, 16, 256, 0)
"""The sweep: GiB, tokens of the mean answer, tokens of a block (0: one region for each request)."""
REQUESTS, PROMPT, SPREAD = 160, 160, 0.8
_STILL = re.compile(r'src="data:image/svg\+xml;base64,([\w+/=]+)"')


def race() -> dict[str, Simulation]:
    """Ten requests on the same memory, as in the gallery: reserved at once, and in pages."""
    requests = [
        Request(f"r{i}", 0.05 * i, 160 + 37 * i % 140, 60 + 53 * i % 150) for i in range(10)
    ]
    limits = Limits(max_model_len=512)
    return {
        policy: pagesim.simulate(
            requests, policy=policy, pool=2_048, limits=limits, record=True, progress=False
        )
        for policy in SIDES
    }


def sweep(
    answers: tuple[int, ...] = ANSWERS, memory: tuple[int, ...] = MEMORY
) -> list[dict[str, float]]:
    """The same requests in every setting: how many run at once, and what the memory holds."""
    rows = []
    for answer in answers:
        requests = gamma(REQUESTS, PROMPT, SPREAD, answer, SPREAD, seed=1)
        for gib in memory:
            for block in BLOCKS:
                how = {"policy": "paged", "block_size": block} if block else {"policy": "max"}
                pool = pagesim.Pool.for_model("opt-13b", gib)
                run = pagesim.simulate(requests, pool=pool, saturated=True, progress=False, **how)
                waste = run.summary()["waste"]
                parts = {
                    name: round(waste[name], 1)
                    for name in ("token", "reserved", "internal", "external", "free")
                }
                rows.append(
                    {
                        "answer": answer,
                        "gib": gib,
                        "block": block,
                        "batch": round(waste["batch"], 1),
                        **parts,
                    }
                )
    return rows


def facts() -> list[tuple[str, str]]:
    """Numbers of this repository that speak for it, and what they count."""
    data = ROOT / "tests/data"
    folders = [data, *data.glob("v1*"), ROOT / "pagesim/exercises/ch09/recordings"]
    files = [path.name for folder in folders for path in folder.glob("*.jsonl.gz")]
    recordings = [name for name in files if re.search(r"-\d+\.jsonl\.gz$", name)]
    rows = re.findall(
        r"^\| \d+ \| (\d+) \|", (ROOT / "docs/CLAIMS.md").read_text("utf-8"), re.MULTILINE
    )
    return [
        (f"{len(recordings)}", "recordings of the real vLLM replay here, block id by block id"),
        (f"{sum(map(int, rows))}", "statements of the course have a source and a date"),
        (f"{len(pagesim.quirks.quirks())}", "surprises of vLLM run as scenes"),
        ("3", "GPU architectures for which every kernel compiles in the tests"),
    ]


def page(chapters: list[Chapter]) -> Page:
    """The page, and the three players that its tiles open."""
    runs = race()
    both = pagesim.compare(runs["max"], runs["paged"], (SIDES["max"], SIDES["paged"]))
    shown = tiles.shown(chapters, runs["paged"])
    body = markup.page(
        "landing.html",
        race=both._repr_html_(),
        tiles=[(name, *TILES[name], shown[name]) for name in TILES],
        sweep=json.dumps(sweep()),
        choices={"block": BLOCKS, "gib": MEMORY, "answer": ANSWERS},
        parts=navigation.by_part(chapters),
        questions=navigation.questions(),
        facts=facts(),
        thumbs={
            chapter.name: f"assets/thumbs/{chapter.name}.svg"
            for chapter in chapters
            if _thumb(chapter)
        },
    )
    extra = {
        f"live/{name}.html": tiles.alone(name, frame, ": ".join(TILES[name]), chapters)
        for name, frame in shown.items()
        if frame
    }
    extra |= {
        f"assets/thumbs/{chapter.name}.svg": _thumb(chapter)
        for chapter in chapters
        if _thumb(chapter)
    }
    return Page(
        "index.html", "pagesim: watch a language model's memory", body, "", "", "home", extra=extra
    )


def _thumb(chapter: Chapter) -> str:
    """The first still picture or figure that a chapter shows: an SVG, or nothing."""
    outputs = [each for cell in chapter.notebook.cells for each in cell.get("outputs", ())]
    shown = [output_html(output) for output in outputs]
    found = [picture for picture in map(_STILL.search, shown) if picture]
    return base64.b64decode(found[0][1]).decode("utf-8") if found else ""
