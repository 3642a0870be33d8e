"""`pagesim explain`: of runs, of recordings of vLLM, and of what is neither."""

import gzip
import json
import os
import re
from pathlib import Path

import pytest

import pagesim
from pagesim import v1
from tests.commands.runs import Shell
from tests.explain.scenes import Scene, text

pytestmark = pytest.mark.ch10

ROOT = Path(__file__).parents[2]
TIGHT = ROOT / "tests/data/v1/scheduler-cached_tight_bs2-133.jsonl.gz"
RECORDINGS = sorted(
    path
    for folder in ("", "v1", "v1_groups", "v1_offload", "recorded")
    for path in (ROOT / "tests/data" / folder).glob("*.jsonl.gz")
    if re.match(r"(offload_)?scheduler|recorded", path.name)
)[:: 1 if "PAGESIM_EXPLAIN" in os.environ else 6]


@pytest.fixture
def starving(tmp_path: Path) -> Path:
    """A saved run in which one request is too large for the pool."""
    scene = Scene(9)
    scene.add("big", text(40))
    scene.add("small", text(3, 500))
    scene.step(4).run.save(tmp_path / "run.jsonl.gz")
    return tmp_path / "run.jsonl.gz"


def test_a_saved_run_has_what_its_report_needs(starving: Path, shell: Shell) -> None:
    (finding,) = shell.answer("explain", starving)["findings"]
    assert finding["quirk"] == "w08" and finding["requests"] == ["big", "small"]
    told = shell("explain", starving)
    assert finding["title"] in told and "10 blocks" in told


def test_a_run_without_settings_claims_less(starving: Path, shell: Shell) -> None:
    head, *events = gzip.decompress(starving.read_bytes()).splitlines()
    words = json.loads(head)
    del words["settings"], words["prompts"]
    starving.write_bytes(gzip.compress(b"\n".join([json.dumps(words).encode(), *events, b""])))
    (finding,) = shell.answer("explain", starving)["findings"]
    assert finding["quirk"] is None and finding["cost"]["requests starving"] == 2
    assert "settings" in shell("explain", starving)


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
def test_every_recording_is_explained(path: Path, shell: Shell) -> None:
    answer = shell.answer("explain", path)
    for finding in answer["findings"]:
        assert finding["title"] and finding["change"]
        assert all(0 < step <= answer["events"] for step in finding["steps"])
        assert len(finding["title"]) < 140


def test_the_story_of_a_request(shell: Shell) -> None:
    told = shell.answer("explain", TIGHT, "--request", "r11")
    assert told["preemptions"] == 2 and told["ended"] == "finish"
    steps = [each["step"] for each in told["story"]]
    assert steps == sorted(steps)
    lines = shell("explain", TIGHT, "--request", "r11")
    assert "step" in lines and "r8" in lines
    assert "r0" in shell.refusal("explain", TIGHT, "--request", "nobody")


def test_every_request_of_a_recording_has_a_story(shell: Shell) -> None:
    from pagesim.explain.reading import history_of
    from pagesim.explain.request import story
    from pagesim.replay import replay_file

    for path in RECORDINGS:
        for run in replay_file(path, record_runs=True).runs[:3]:
            history = history_of(run)
            for name in history.requests:
                told = story(history, str(name))
                assert told.text() and all(1 <= step <= len(run) for step, _ in told.events)


def test_a_page_opens_the_player_at_each_finding(tmp_path: Path, shell: Shell) -> None:
    out = tmp_path / "report.html"
    shell("explain", TIGHT, "-o", out)
    page = out.read_text()
    assert page.count('class="pagesim-player"') == 1
    links = re.findall(r'<a href="#step=(\d+)" data-step="(\d+)">', page)
    assert len(links) > 5 and all(a == b for a, b in links)
    policy = re.search(r'Content-Security-Policy" content="(.*?)"', page)
    assert policy is not None and policy[1].count("sha256-") == 6
    assert page.index("<ol>") < page.index('class="pagesim-player"')


def test_a_name_cannot_become_markup(tmp_path: Path, shell: Shell) -> None:
    scene = Scene(9)
    scene.add("<b>big</b>", text(40))
    scene.step(2).run.save(tmp_path / "run.jsonl")
    shell("explain", tmp_path / "run.jsonl", "-o", tmp_path / "out.html")
    assert "<b>" not in (tmp_path / "out.html").read_text()


def test_a_long_run_is_played_where_it_matters(tmp_path: Path, monkeypatch: object) -> None:
    from pagesim.explain import page
    from pagesim.explain.report import findings

    scene = Scene(9)
    scene.add("a", text(8), max_tokens=20)
    scene.step(30)
    scene.add("big", text(40))
    scene.step(20)
    monkeypatch.setattr(page, "MAX_EVENTS", 20)  # type: ignore[attr-defined]
    page.write(scene.run, tmp_path / "out.html", "title", "", findings(scene.history()))
    words = (tmp_path / "out.html").read_text()
    assert all(0 <= int(step) <= 20 for step in re.findall(r'data-step="(-?\d+)"', words))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.jsonl", b""),
        ("text.txt", b"nothing of interest\n"),
        ("cut.jsonl", b'{"format":"pagesim-timel'),
        ("other.jsonl", b'{"format":"pagesim-timeline/99"}\n'),
        ("number.jsonl", b'{"format":7}\n'),
        ("list.jsonl", b"[1]\n"),
        ("not.gz", b"not gzipped"),
        ("binary", bytes(range(256))),
    ],
)
def test_what_is_neither_is_refused(
    name: str, content: bytes, tmp_path: Path, shell: Shell
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    try:
        import pagesim.explain.log  # type: ignore[import-not-found]  # noqa: F401
    except ImportError:
        assert name in shell.refusal("explain", path)
        return
    if name not in ("empty.jsonl", "text.txt", "list.jsonl", "binary"):
        assert name in shell.refusal("explain", path)


def test_damaged_settings_are_refused(starving: Path, shell: Shell) -> None:
    head, *events = gzip.decompress(starving.read_bytes()).splitlines()
    for key, value in (
        *(("settings", wrong) for wrong in (7, [1], {"max_num_seqs": [1]})),
        *(("prompts", wrong) for wrong in (7, {"a": 1}, [["a"]], [["a", -1]], [[[], 1]])),
    ):
        words = json.loads(head) | {key: value}
        starving.write_bytes(gzip.compress(b"\n".join([json.dumps(words).encode(), *events, b""])))
        assert "run.jsonl.gz:1" in shell.refusal("explain", starving)


def test_absurd_settings_do_no_harm(starving: Path, shell: Shell) -> None:
    head, *events = gzip.decompress(starving.read_bytes()).splitlines()
    for value in (None, True, -1, 0, 10**30, 1e300, "many"):
        words = json.loads(head)
        words["settings"] = dict.fromkeys(words["settings"], value)
        starving.write_bytes(gzip.compress(b"\n".join([json.dumps(words).encode(), *events, b""])))
        shell("explain", starving)
        shell("explain", starving, "--request", "small")


def test_runs_without_a_scheduler(tmp_path: Path, shell: Shell) -> None:
    manager = v1.KVCacheManager(8, 4, 64)
    with pagesim.record(manager) as run:
        request = v1.Request("a", text(9), block_size=4)
        manager.allocate_slots(request, 9)
    run.save(tmp_path / "run.jsonl")
    assert shell.answer("explain", tmp_path / "run.jsonl")["steps"] == 0
    assert "scheduler" in shell("explain", tmp_path / "run.jsonl")


def test_the_parts_of_a_recording(shell: Shell) -> None:
    edge = ROOT / "tests/data/scheduler-edge-508.jsonl.gz"
    assert shell.answer("explain", edge, "--part", "2")["events"] == 11
    assert "parts 1 to" in shell.refusal("explain", edge, "--part", "99")


def test_a_recording_that_differs_says_from_where(tmp_path: Path, shell: Shell) -> None:
    lines = gzip.decompress(TIGHT.read_bytes()).splitlines()
    words = json.loads(lines[40])
    words["state"]["running"] = ["nobody"]
    lines[40] = json.dumps(words).encode()
    (tmp_path / "other.jsonl").write_bytes(b"\n".join([*lines, b""]))
    answer = shell.answer("explain", tmp_path / "other.jsonl")
    assert any("other.jsonl:41" in note for note in answer["notes"])
    assert answer["notes"][-1] in shell("explain", tmp_path / "other.jsonl")
