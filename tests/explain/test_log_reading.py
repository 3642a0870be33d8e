"""A log is any text: colors, clocks, processes, damage, and more bytes than fit into memory."""

import io
import random
import time
import tracemalloc
from collections.abc import Iterator

import pytest

from pagesim.explain import log_reading
from pagesim.explain.log import explain_file, explain_log
from pagesim.explain.log_reading import MOST_BYTES, clock, log_lines, seconds_between
from pagesim.explain.log_stats import stats_of
from pagesim.explain.log_story import story_of
from tests.explain.logs import only, tokens, v0, v1

pytestmark = pytest.mark.ch10

STUCK = [v1(0, 0, 2, 0.0), v1(10, 0, 2, 0.0)]


@pytest.mark.parametrize(
    "head",
    [
        "",
        "INFO 07-28 06:41:09 [loggers.py:118] ",
        "INFO 07-28 06:41:09 loggers.py:118] ",
        "(APIServer pid=1) INFO 07-28 06:41:09 [loggers.py:118] ",
        "(APIServer pid=1) (EngineCore_DP0 pid=2) INFO 07-28 06:41:09 [v1/metrics/loggers.py:1] ",
        "\x1b[0;36m(APIServer pid=1)\x1b[0;0m \x1b[32mINFO\x1b[0m 07-28 06:41:09 [loggers.py:1] ",
        "2026-07-28T06:41:09.123456789Z stdout F INFO ",
        "Jul 28 06:41:09 gpu-1 vllm[4242]: ",
        "vllm-1  | 2026/07/28 06:41:09 ",
        '{"asctime": "2026-07-28 06:41:09,000", "levelname": "INFO", "message": "',
        "\ufeff\t ",
        "\x1b[1mIN BOLD\x1b[0m ",
        "é".encode("latin-1").decode("utf-8", "surrogateescape"),
    ],
)
def test_what_stands_before_the_message(head: str) -> None:
    lines = [head + line.partition("] ")[2] for line in STUCK]
    if "BOLD" in head:
        lines = [
            line.replace(": ", ":\x1b[1;32m ").replace(" reqs", "\x1b[0m reqs") for line in lines
        ]
    one = only(*lines)
    assert one.cost == {"requests starving": 2}
    encoded = [line.encode("utf-8", "surrogateescape") for line in lines]
    assert explain_log(encoded)[0].title == one.title


def test_clocks() -> None:
    assert clock("2026-07-28T23:59:58.5Z x") == 86_398
    assert clock("no time: 25:00:00, 1:2:3, 12:34") is None
    assert seconds_between(86_398, 8, 10) == 10
    assert seconds_between(None, 8, 5) == 5
    night = [v1(0, 0, 2, 0.0).replace("22:00:00", time) for time in ("23:59:55", "00:00:05")]
    assert "10 s" in only(*night).detail


def test_two_records_in_one_line() -> None:
    """A logger that lost the end of a line."""
    first, second = stats_of(v1(0, 8, 0, 91.6, hits=0.0) + v1(10, 7, 1, 91.9, engine=3))
    assert (first.engine, first.running, first.hits) == (0, 8, 0.0)
    assert (second.engine, second.running, second.hits) == (3, 7, None)
    (old,) = stats_of(v0(3, 1, 99.7, swapped=2, cpu=1.5))
    assert (old.version, old.waiting, old.swapped, old.cpu_usage) == ("v0", 1, 2, 1.5)
    (cpu,) = stats_of(v1(0, 1, 0, 5.0).replace("GPU KV", "CPU KV"))
    assert (cpu.version, cpu.usage, cpu.cpu_usage) == ("v1", 5.0, None)
    (full,) = stats_of(
        v1(0, 8, 5, 91.9, deferred=2, fetching=2, preemptions=4, hits=7.0, external=3.0)
    )
    assert (full.deferred, full.fetching, full.preemptions) == (2, 2, 4)
    assert (full.hits, full.external) == (7.0, 3.0)


def test_long_and_binary_files() -> None:
    text = "\n".join(STUCK).encode()
    junk = random.Random(0).randbytes(300_000)
    for data in (junk + b"\n" + text, b"x" * 10**6 + b"\n" + text, text + b"\n" + b"\0" * 10**6):
        report = explain_file(io.BytesIO(data))
        assert len(report.findings) == 1
        assert report.text() and report.as_dict()["known"] == report.known
    assert list(log_lines(io.BytesIO(b"a" * 200_000 + b"\nb\n"))) == [b"a" * MOST_BYTES, b"b\n"]
    nothing = explain_file(io.BytesIO(junk))
    assert nothing.findings == [] and nothing.known == 0
    assert "None of" in nothing.text()
    assert explain_file(io.BytesIO(b"")).lines == 0


def test_a_log_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_reading, "MAX_BYTES", 1000)
    assert len(list(log_lines(io.BytesIO(b"a" * 1000)))) == 1
    with pytest.raises(ValueError, match="last part"):
        list(log_lines(io.BytesIO(b"a\n" * 501)))


class Endless(io.RawIOBase):
    """A log of so many bytes: one piece, again and again."""

    def __init__(self, piece: bytes, size: int) -> None:
        self.piece, self.left = piece, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        number = min(len(buffer), self.left, len(self.piece))
        buffer[:number] = self.piece[:number]
        self.left -= number
        return number


@pytest.mark.parametrize("ends", [True, False])
def test_memory_is_constant(ends: bool) -> None:
    """Eight times the log takes no more memory, with lines and without."""
    piece = ("\n".join([*tokens(76_640, 262_144), *STUCK]) + "\n").encode()
    piece = piece if ends else piece.replace(b"\n", b" ")
    peaks = []
    for size in (2**18, 2**21):
        file = io.BufferedReader(Endless(piece, size))
        tracemalloc.start()
        explain_file(file)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0] + 100_000


def hostile() -> Iterator[str]:
    """Lines that begin as vLLM's do, and then never end, or lie."""
    yield "Avg prompt throughput: " * 2_000
    yield "Running: " + "9" * 60_000 + " reqs, Avg prompt throughput: 1.0 KV cache usage: 1.0%"
    yield v1(0, 10**11, 10**11, 99.0, preemptions=10**11)
    yield v1(0, 0, 10**12, 0.0).replace("0.0%", "999999999999.9%")
    yield "GPU KV cache size: " + "9," * 30_000 + " tokens"
    yield "GPU KV cache size: 0 tokens, Maximum concurrency for 0 tokens per request: 0.00x"
    yield "Overriding num_gpu_blocks=0 with num_gpu_blocks_override=0"
    yield "# GPU blocks: 0, # CPU blocks: 0"
    yield (
        "max seq len (0), (0.0 GiB KV cache is needed, which is larger than the available KV "
        "cache memory (0.0 GiB)"
    )
    yield (
        "max seq len (9999999999), (99999999999999 GiB KV cache is needed, which is larger than "
        "the available KV cache memory (99999999999 GiB). estimated maximum model length is 0"
    )
    yield (
        "Free memory on device cuda:0 (0/0 GiB) on startup is less than desired GPU memory "
        "utilization (0, 0 GiB)"
    )
    yield "is preempted by " + "mode " * 10_000
    yield "Input prompt (" + "1" * 50_000 + " tokens)"
    yield "'max_model_len': 0, 'block_size': 0, 'tensor_parallel_size': 0, 'max_num_seqs': 0"
    yield "Setting attention block size to 0 tokens to ensure that attention page size is"
    yield "KV Transfer metrics: vllm:kv_offload_load_bytes=" + "9" * 60_000
    yield "\x1b[" * 30_000 + "KV"
    yield "Prefix cache hit rate: GPU: 99.9.9%, CPU"
    yield "Prefix cache hit rate: GPU: 1.0%, CPU: 0.00%"


@pytest.mark.parametrize("line", [*hostile()], ids=range(19))
def test_hostile_lines(line: str) -> None:
    """No line makes it fail, nor take long, alone or between the lines of a server."""
    began = time.process_time()
    for lines in ([line], [*tokens(76_640), line, *STUCK], [line, *STUCK, line, v1(30, 1, 0, 1.0)]):
        explain_log(lines)
        report = explain_file(io.BytesIO("\n".join(lines).encode()))
        assert report.text()
    assert time.process_time() - began < 2


@pytest.mark.parametrize("seed", range(4))
def test_shuffled_pieces(seed: int) -> None:
    """Pieces of real lines in any order: an answer, and never an error."""
    rng = random.Random(seed)
    every = [*hostile(), *tokens(76_640, 262_144), *STUCK, v0(3, 1, 99.0), v0(0, 1, 0.0, swapped=1)]
    words = " ".join(line[:400] for line in every).split(" ")
    for _ in range(30):
        rng.shuffle(words)
        lines = [" ".join(words[i : i + 40]) for i in range(0, len(words), 40)]
        explain_file(io.BytesIO("\n".join([*lines, *rng.sample(every, 6)]).encode())).text()


def test_many_engines() -> None:
    lines = (v1(0, 0, 1, 0.0, engine=number) for number in range(5_000))
    assert len(explain_log(lines)) == 16
    more = (v1(0, 0, 1, 0.0, engine=number) for number in range(5_000))
    assert len(story_of(more).engines) < 5_000
