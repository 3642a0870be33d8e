"""Lighthouse's marks for the pages of site/ that weigh most; `make lighthouse` compares them.

The folder is served as it is, without compression: no host sends more. The marks of a busy machine
are worse, so each page is loaded several times, the medians count, and the load is printed.
"""

import argparse
import functools
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median

from pagesim.figures.chromium import installed
from tools.course import ROOT

LIGHTHOUSE = "lighthouse@12.8.2"
"""The newest that runs with node 20."""
MARKS = ("performance", "accessibility", "best-practices")
LEAST = {"mobile": (80, 100, 95), "desktop": (95, 100, 95)}
"""The lowest mark of each kind that a page may have."""
TIMES = {
    "first-contentful-paint": "FCP",
    "largest-contentful-paint": "LCP",
    "total-blocking-time": "TBT",
    "cumulative-layout-shift": "CLS",
}
"""What decides on performance: printed, so that a bad mark says why."""
_PICTURE = re.compile(r'<img [^>]*?src="([^"]+)"')
_PLAYED = re.compile(r'data-(?:document|script)="([^"]+)"')
Row = dict[str, float]


class _Quiet(SimpleHTTPRequestHandler):
    """Serves a folder and reports nothing."""

    def log_message(self, format: str, *args: str) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder on this machine, for as long as it is needed."""
    handler = functools.partial(_Quiet, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def weight(path: Path) -> int:
    """The bytes of a page, with its pictures, its players and what these play."""
    text = path.read_text("utf-8")
    parts = {path, *(path.parent / name for name in _PICTURE.findall(text))}
    parts |= {path.parent / f"assets/{name}.js" for name in _PLAYED.findall(text)}
    return sum(part.stat().st_size for part in parts)


def heaviest(folder: Path) -> list[str]:
    """The first page, the three chapters with most bytes, and the one with most players."""
    chapters = sorted(folder.glob("[01][0-9]_*.html"), key=weight, reverse=True)
    most = max(chapters, key=lambda path: path.read_text("utf-8").count("<iframe"))
    return list(dict.fromkeys(path.name for path in (Path("index.html"), *chapters[:3], most)))


def marks(report: dict[str, dict[str, dict[str, float]]]) -> Row:
    """The numbers of one report that are compared or printed."""
    row = {name: 100 * report["categories"][name]["score"] for name in MARKS}
    return row | {name: report["audits"][name]["numericValue"] for name in TIMES}


def load(url: str, device: str) -> Row:
    """Let Lighthouse load a page once."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "report.json")
        command = ["npx", "--yes", LIGHTHOUSE, url, "--quiet", f"--output-path={path}"]
        command += ["--output=json", f"--only-categories={','.join(MARKS)}"]
        command += ["--preset=desktop"] if device == "desktop" else []
        command += ["--chrome-flags=--headless --no-sandbox --disable-dev-shm-usage"]
        known = os.environ | {"CHROME_PATH": installed() or ""}
        done = subprocess.run(command, env=known, capture_output=True, text=True, check=False)
        if not path.is_file():
            sys.exit(f"{LIGHTHOUSE} has no report of {url}: {done.stderr[-2000:]}")
        return marks(json.loads(path.read_text("utf-8")))


def middle(rows: list[Row]) -> Row:
    """The median of each number."""
    return {name: median(row[name] for row in rows) for name in rows[0]}


def missed(device: str, row: Row) -> list[str]:
    """The kinds of marks that are too low."""
    pairs = zip(MARKS, LEAST[device], strict=True)
    return [f"{name} below {least}" for name, least in pairs if round(row[name]) < least]


def line(page: str, device: str, row: Row) -> str:
    """A row of the table: the marks, the times in seconds, and what is too low."""
    numbers = [f"{row[name]:.0f}" for name in MARKS]
    times = [
        f"{short} {row[name] / (1 if short == 'CLS' else 1000):.2f}"
        for name, short in TIMES.items()
    ]
    cells = [page, device, *numbers, ", ".join(times), "; ".join(missed(device, row))]
    return f"| {' | '.join(cells)} |"


def main(arguments: list[str] | None = None) -> int:
    """Print the table; the exit code is 1 if a mark is too low."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", type=Path, default=ROOT / "site", help="folder")
    parser.add_argument("--times", type=int, default=3, help="loads of each page")
    parser.add_argument("pages", nargs="*", help="instead of the heaviest")
    options = parser.parse_args(arguments)
    head = ["page", "device", *MARKS, "seconds, CLS", "too low"]
    print(f"{LIGHTHOUSE}, medians of {options.times}, load {os.getloadavg()[0]:.1f}")
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}", flush=True)
    bad = 0
    with served(options.site) as address:
        for page in options.pages or heaviest(options.site):
            for device in LEAST:
                row = middle([load(f"{address}/{page}", device) for _ in range(options.times)])
                print(line(page, device, row), flush=True)
                bad += len(missed(device, row))
    print(f"load {os.getloadavg()[0]:.1f}")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
