"""`pagesim compare` of what `pagesim simulate` wrote: two results in a table."""

import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from pagesim.simulation import simulate
from pagesim.workload import load
from tests.commands.runs import SMALL, Shell, requests, run, written

pytestmark = pytest.mark.ch01

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Results of two policies, and other files that commands write or read."""
    folder = tmp_path_factory.mktemp("files")

    def write_output(out: str, *arguments: str | Path) -> None:
        with redirect_stdout(io.StringIO()) as printed:
            assert run(*arguments, "--json") == 0
        (folder / out).write_text(printed.getvalue())

    trace, grid = written(folder), folder / "grid.json"
    for policy in ("paged", "v1"):
        outs = ("--requests", folder / f"{policy}.csv", "--record", folder / f"{policy}.jsonl.gz")
        write_output(f"{policy}.json", "simulate", trace, *SMALL, "--policy", policy, *outs)
    value = json.loads((folder / "v1.json").read_text())
    (folder / "indented.json").write_text(json.dumps(value, indent=2))
    grid.write_text(json.dumps({"workload": [str(trace)], "pool": [999]}))
    write_output("sweep.json", "sweep", grid, "-o", folder / "study.jsonl")
    write_output("size.json", "size", "--model", "qwen2-1.5b", "--memory", "64MiB")
    write_output("play.json", "play", folder / "v1.jsonl.gz", "-o", folder / "page.html")
    (folder / "junk.txt").write_bytes(b"\xff\x00{")
    recording = {"VLLM": DATA / "block_table-edge-106.jsonl.gz"}
    return {file.name: file for file in folder.iterdir()} | recording


def test_two_summaries_are_the_table_of_their_runs(shell: Shell, files: dict[str, Path]) -> None:
    limits: Any = {"pool": 1000, "max_model_len": 256, "progress": False}
    trace = load(files["trace.csv"])
    one, other = (simulate(trace, policy=policy, **limits) for policy in ("paged", "v1"))
    expected = [list(row) for row in one.compare(other).rows]
    for second in ("v1.json", "indented.json"):
        value = shell.answer("compare", files["paged.json"], files[second])
        assert value["measures"] == expected
        assert value["names"] == ["paged.json", second]
    titles = ("--titles", "V0", "a long title for V1")
    lines = shell("compare", files["paged.json"], files["v1.json"], *titles).splitlines()
    assert lines[0].split() == ["V0", "a", "long", "title", "for", "V1", "ratio"]
    assert len({len(line) for line in lines}) == 1 and len(lines) == 1 + len(expected)


def test_rows_of_requests_give_what_the_summary_says(
    shell: Shell, tmp_path: Path, files: dict[str, Path]
) -> None:
    for policy in ("paged", "v1"):
        rows, write_output = files[f"{policy}.csv"], files[f"{policy}.json"]
        measures = shell.answer("compare", rows, write_output)["measures"]
        assert len(measures) == 14
        for name, of_rows, of_summary, _ in measures:
            assert of_rows == pytest.approx(of_summary), name
    spreadsheet = tmp_path / "marked.csv"  # as some write UTF-8
    spreadsheet.write_bytes(b"\xef\xbb\xbf" + files["v1.csv"].read_bytes())
    measures = shell.answer("compare", spreadsheet, files["v1.csv"])["measures"]
    assert len(measures) == 14 and all(first == second for _, first, second, _ in measures)


def test_what_is_not_finished_is_in_no_latency(shell: Shell, tmp_path: Path) -> None:
    trace = requests(tmp_path / "never.csv", "0,90,2", "0,4,2", "0,99,9")
    out = tmp_path / "requests.csv"
    command = ("simulate", trace, "--policy", "v1", "--slots", "64", "--max-len", "100")
    (tmp_path / "s.json").write_text(shell(*command, "--requests", out, "--json", code=1))
    measures = shell.answer("compare", out, tmp_path / "s.json")["measures"]
    assert [row[1] for row in measures] == [row[2] for row in measures]
    assert [row[1] for row in measures[:4]] == [3, 0, 1, 2]


@pytest.mark.parametrize(
    ("first", "second", "write_output"),
    [
        ("paged.json", "trace.csv", "a trace of requests"),
        ("trace.csv", "trace.csv", "a trace of requests"),
        ("paged.json", "v1.jsonl.gz", "a recorded run"),
        ("v1.jsonl.gz", "paged.csv", "the requests of a run"),
        ("v1.jsonl.gz", "VLLM", "a recording of vLLM"),
        ("study.jsonl", "paged.json", "the output of pagesim sweep"),
        ("paged.json", "sweep.json", "the answer of pagesim sweep"),
        ("paged.json", "size.json", "the output of pagesim size"),
        ("page.html", "page.html", "a page"),
        ("paged.json", "junk.txt", "junk.txt"),
        ("junk.txt", "v1.jsonl.gz", "--out"),
        ("v1.jsonl.gz", "v1.jsonl.gz", "--out"),
    ],
)
def test_another_file_is_told_what_it_is(
    shell: Shell, files: dict[str, Path], first: str, second: str, write_output: str
) -> None:
    assert write_output in shell.refusal("compare", files[first], files[second])


def test_two_results_make_no_page(shell: Shell, files: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "out.html"
    assert "--out" in shell.refusal("compare", files["paged.json"], files["v1.json"], "-o", out)
    assert not out.exists()


@pytest.mark.parametrize("path", [("latency",), ("waste",), ("waste", "token"), ("finished",)])
@pytest.mark.parametrize(
    "junk", ["x", [1], {}, True, None, 1e999, pytest.param(10**400, id="huge")]
)
def test_a_damaged_summary_is_a_line(
    shell: Shell, tmp_path: Path, files: dict[str, Path], path: tuple[str, ...], junk: Any
) -> None:
    value = json.loads(files["v1.json"].read_text())
    inside = value
    for name in path[:-1]:
        inside = inside[name]
    inside[path[-1]] = junk
    damaged = tmp_path / "damaged.json"
    damaged.write_text(json.dumps(value))
    accepted = ({}, "latency"), ({}, "waste"), (None, "waste"), (None, "finished")
    if (junk, *path) in accepted:  # nothing is told there, and nothing wrong
        assert shell("compare", files["v1.json"], damaged)
    else:
        assert damaged.name in shell.refusal("compare", files["v1.json"], damaged)


@pytest.mark.parametrize("cell", ["ttft_s", "preemptions", "state"])
def test_damaged_rows_are_a_line(
    shell: Shell, tmp_path: Path, files: dict[str, Path], cell: str
) -> None:
    head, first, *rest = files["v1.csv"].read_text().splitlines()
    cells = first.split(",")
    cells[head.split(",").index(cell)] = "x"
    damaged = tmp_path / "damaged.csv"
    damaged.write_text("\n".join([head, ",".join(cells), *rest]))
    if cell == "state":  # then it is neither finished, nor stuck, nor ignored
        lines = shell("compare", damaged, files["v1.json"]).splitlines()
        assert lines[2].split()[:3] == ["finished", "39", "40"]
    else:
        assert damaged.name in shell.refusal("compare", damaged, files["v1.json"])
