"""How close does decoding come to the memory's speed? A roofline table; needs a GPU.

    python -m pagesim.kernels.bench --out figures/data/roofline.json   (make bench)
    python -m pagesim.kernels.bench --dry-run        every code path, tiny, anywhere

Decode attention reads every key and value once and computes little with it, so memory limits it.
What counts is useful bytes per second (K and V once, q, out, the table) beside what the same chip
moves in the same run: a copy (bytes read + bytes written) and a stream that only reads.

The rules that make the figures meaningful:

* pages are shuffled over a cache many times larger than the L2; `identity` is for contrast;
* before anything is timed, unused slots are filled with NaN, and the answers of the first sequences
  are compared with the float64 reference;
* what is timed is a CUDA graph's replay: no Python, no launch latency; the median of several;
* peers get the same numbers in the same run. SDPA's gathering of pages is shown separately.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import statistics
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any

from pagesim.kernels.runtime import mode

if mode.has_torch():
    import torch

    from pagesim.kernels.bench import peers
    from pagesim.kernels.bench.cases import CASES, TINY, Inputs, make_inputs, read_stream

REPEATS, WARMUPS = 20, 3
GIB = 2**30

Report = dict[str, Any]
"""Where it was measured, and a row for each case."""


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table: microseconds, useful TB/s, and its parts of the measured ceilings.

    error: why there are no figures; graph: whether a CUDA graph was replayed.
    """

    case: str
    name: str
    us: float | None = None
    tb_s: float | None = None
    of_copy: float | None = None
    of_read: float | None = None
    graph: bool = False
    error: str | None = None


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 0 = done, 1 = nothing to measure here or a kernel answered wrongly."""
    parser = argparse.ArgumentParser(prog="python -m pagesim.kernels.bench", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--out", type=Path, help="write the figures to this JSON file")
    parser.add_argument("--case", action="append", help="measure cases with this name only")
    parser.add_argument("--dry-run", action="store_true", help="tiny shapes; measures nothing")
    parser.add_argument("--if-gpu", action="store_true", help="no GPU is no error (for make)")
    options = parser.parse_args(arguments)
    backend = mode.decide()
    if backend.mode != "compiled" and not options.dry_run:
        print(
            f"pagesim.kernels.bench: nothing to measure, {backend.reason}; --dry-run tries the code"
        )
        return 0 if options.if_gpu else 1
    if backend.device is None:
        print(f"pagesim.kernels.bench: nothing can run, {backend.reason}", file=sys.stderr)
        return 1
    # A dry run uses its eager version.
    warnings.filterwarnings("ignore", message="flex_attention called without torch.compile")
    report = measure(options.case, options.dry_run)
    print(*table(report), sep="\n")
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(report, indent=1) + "\n")
        print(f"wrote {options.out}")
    return int(any("answered wrongly" in (row["error"] or "") for row in report["rows"]))


def measure(names: Sequence[str] | None = None, dry_run: bool = False) -> Report:
    """Run the cases; the report as plain data. A dry run's figures mean nothing and say so."""
    cases = [case for case in (TINY if dry_run else CASES) if case.name in (names or [case.name])]
    if not cases:
        raise ValueError(f"no case is called {names}: there are {[c.name for c in CASES]}")
    copy, read = ceilings(dry_run)
    rows: list[Result] = []
    for case in cases:
        inputs = make_inputs(case)
        for name, prepare in peers.CANDIDATES.items():
            rows += _candidate(inputs, name, prepare, copy, read)
        del inputs
    return {
        "version": 1,
        "dry_run": dry_run,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "chip": _chip(),
        "versions": _versions(),
        "copy_tb_s": copy,
        "read_tb_s": read,
        "cases": [asdict(case) for case in cases],
        "rows": [asdict(row) for row in rows],
    }


def ceilings(dry_run: bool) -> tuple[float, float]:
    """TB/s of a device-to-device copy (read + written) and of a stream that is only read."""
    size = 2**16 if dry_run else 2 * GIB
    source = torch.zeros(size, dtype=torch.uint8, device=mode.device())
    target = torch.empty_like(source)
    copy, _ = seconds(lambda: target.copy_(source))
    words = source.view(torch.float32)
    read, _ = seconds(lambda: read_stream(words))
    return 2 * size / copy / 1e12, size / read / 1e12


def seconds(work: Callable[[], object]) -> tuple[float, bool]:
    """The median time of one call, and whether it was a CUDA graph's replay."""
    if mode.device() == "cpu":
        begin = perf_counter()
        work()
        return perf_counter() - begin, False
    for _ in range(WARMUPS):
        work()
    torch.cuda.synchronize()
    graph: Any = torch.cuda.CUDAGraph()
    run = work
    try:
        with torch.cuda.graph(graph):
            work()
        run = graph.replay
    except RuntimeError:  # some peers cannot be captured: they are timed with their launches
        graph = None
    for _ in range(WARMUPS):
        run()
    times = []
    for _ in range(REPEATS):
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        stop.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(stop) / 1e3)
    return statistics.median(times), graph is not None


def _candidate(
    inputs: Inputs, name: str, prepare: Callable[[Inputs], peers.Peer], copy: float, read: float
) -> list[Result]:
    """Check one kernel on one case, then time it, and its gather separately if it has one."""
    case = inputs.case.name
    try:
        peer = prepare(inputs)
        answer = peer.run()
        try:
            inputs.check(answer)
        except AssertionError as error:
            return [Result(case, name, error=f"answered wrongly: {error}")]
        rows = []
        for part, work, moved in (
            (f"{name} (gather)", peer.gather, inputs.gather_bytes),
            (name, peer.run, inputs.useful_bytes),
        ):
            if work is not None:
                taken, graph = seconds(work)
                rate = moved / taken / 1e12
                rows.append(Result(case, part, taken * 1e6, rate, rate / copy, rate / read, graph))
        return rows
    except Exception as error:  # a peer is missing or cannot do this: the row says why
        words = str(error).strip().splitlines() or [""]
        return [Result(case, name, error=f"{type(error).__name__}: {words[0][:160]}")]


def table(report: Report) -> list[str]:
    """The report as lines of text."""
    lines = ["DRY RUN: tiny shapes, no figure below is a measurement"] if report["dry_run"] else []
    lines.append(f"{report['chip']['name']}, {report['date']}")
    lines.append(", ".join(f"{name} {found}" for name, found in report["versions"].items()))
    lines.append(f"copy {report['copy_tb_s']:.2f} TB/s, read {report['read_tb_s']:.2f} TB/s")
    lines.append(f"{'case':<26}{'kernel':<26}{'µs':>10}{'TB/s':>8}{'of copy':>9}{'of read':>9}")
    for row in report["rows"]:
        start = f"{row['case']:<26}{row['name']:<26}"
        if row["error"]:
            lines.append(f"{start}  {row['error']}")
        else:
            shares = f"{row['of_copy']:>9.0%}{row['of_read']:>9.0%}"
            note = "" if row["graph"] or report["dry_run"] else "  launched, no graph"
            lines.append(f"{start}{row['us']:>10.1f}{row['tb_s']:>8.2f}{shares}{note}")
    return lines


def _chip() -> Report:
    if mode.device() == "cpu":
        return {"name": f"CPU ({platform.machine()})", "processors": 0, "l2_bytes": 0}
    found = torch.cuda.get_device_properties(0)
    return {
        "name": found.name,
        "processors": found.multi_processor_count,
        "l2_bytes": getattr(found, "L2_cache_size", 0),
    }


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("torch", "triton", "flashinfer-python"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


if __name__ == "__main__":
    raise SystemExit(main())
