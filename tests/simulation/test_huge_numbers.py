"""Huge numbers: they work, or one line says why not; a pool costs what is used of it."""

import sys
from pathlib import Path

import pytest

import pagesim
from pagesim.simulation.baselines import BuddyAllocator
from pagesim.simulation.rows import record_max
from pagesim.workload import Request, load
from tests.commands.runs import Shell, requests, run
from tests.kernels.children import python

SLOTS = 2_000_000_000

PROGRAM = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))  # or a failure would take all there is
import pagesim
from pagesim.workload import gamma
stream = gamma(20, 60, 1.0, 40, 0.8, rate=4.0, seed=1, max_len=256)
settings = [
    dict(policy=name, max_model_len=256) for name in ("max", "pow2", "oracle", "static", "token")
] + [
    dict(),
    dict(block_size=1, num_cpu_blocks=10**15, preemption_mode="swap"),
    dict(policy="v1"),
    dict(policy="v1", enable_prefix_caching=False, block_size=1),
    dict(fast_forward=False),
    dict(enable_prefix_caching=True),
    dict(enable_chunked_prefill=True, samples=2, num_cpu_blocks=10**15),
]
for keywords in settings:
    run = pagesim.simulate(stream, pool=int(sys.argv[1]), progress=False, **keywords)
    assert run.requests.num_finished == 20, keywords
status = Path("/proc/self/status").read_text()  # getrusage would count the parent before the exec
print(status.split("VmHWM:")[1].split()[0])  # the peak, in KiB
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc has the peak on Linux")
def test_a_pool_costs_what_is_used_of_it() -> None:
    ran = python("-c", PROGRAM, str(SLOTS))
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) < 300 * 1024


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return requests(tmp_path / "trace.csv", "0,20,5", "0.1,7,9", "0.2,9,1")


V1 = ("--policy", "v1", "--async-scheduling")
LARGE, BEYOND = "99999999999999", "99999999999999999999999"


@pytest.mark.parametrize(
    "arguments",
    [
        ("simulate", "--slots", LARGE),
        ("simulate", "--slots", LARGE, "--enable-prefix-caching"),
        ("simulate", "--slots", LARGE, "--block-size", "1"),
        ("simulate", "--slots", LARGE, "--policy", "v1"),
        ("simulate", "--slots", str(sys.maxsize), "--max-len", LARGE),
        ("simulate", "--cpu-blocks", LARGE, "--preemption-mode", "swap"),
        ("simulate", "--cpu-blocks", LARGE, "--samples", "2"),
        ("simulate", "--max-num-seqs", LARGE, "--max-num-batched-tokens", LARGE),
        ("simulate", "--first", LARGE),
        *(("waste", "--slots", LARGE, "--policy", policy) for policy in ("static", "token")),
        *(("waste", "--slots", LARGE, "--policy", policy) for policy in ("max", "pow2", "oracle")),
        ("waste", "--slots", str(sys.maxsize), "--policy", "max", "--max-len", LARGE),
        ("waste", "--slots", LARGE),
    ],
)
def test_large_numbers_work(arguments: tuple[str, ...], trace: Path) -> None:
    assert run(arguments[0], trace, *arguments[1:]) == 0


def test_what_does_not_fit_into_the_pool_is_ignored(trace: Path) -> None:
    assert run("simulate", trace, "--samples", LARGE) == 1


@pytest.mark.parametrize("policy", ["paged", "v1"])
def test_a_pool_smaller_than_a_block_is_named(
    policy: str, trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    slots = ("--slots", 15, "--block-size", 16)
    error = Shell(capsys).refusal("simulate", trace, "--policy", policy, *slots)
    assert "pool of 15 slots" in error and "block of 16" in error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("simulate", "--slots", BEYOND), f"'--slots': {BEYOND} is not between 1 and"),
        (("waste", "--slots", BEYOND), f"'--slots': {BEYOND} is not between 1 and"),
        (("simulate", "--cpu-blocks", BEYOND), f"'--cpu-blocks': {BEYOND} is more than"),
        (("simulate", "--first", BEYOND), f"'--first': {BEYOND} is more than"),
        (("simulate", "--slots", LARGE, "--record", "run.gz"), "blocks are more than the 2000000"),
        (
            ("simulate", "--slots", LARGE, *V1),
            "6249999999999 blocks are too many: a stepped run of V1 may have at most 2000000",
        ),
    ],
)
def test_numbers_that_are_too_large_are_one_line(
    arguments: tuple[str, ...], message: str, trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in Shell(capsys).refusal(arguments[0], trace, *arguments[1:])


def test_in_python_as_well(trace: Path) -> None:
    with pytest.raises(pagesim.UsageError, match=f"slots must be at most {sys.maxsize}, not"):
        pagesim.simulate([Request("a", 0.0, 4, 4)], pool=10**30)
    with pytest.raises(pagesim.UsageError, match="num_cpu_blocks must be at most"):
        pagesim.simulate([Request("a", 0.0, 4, 4)], num_cpu_blocks=10**30)
    assert len(load(trace, first=10**30)) == 3
    with pytest.raises(pagesim.UsageError, match="at most 2000000 units of 4 slots"):
        record_max([Request("a", 0.0, 4, 4)], pool=SLOTS, max_model_len=8, unit=4)


def test_the_roots_of_a_large_pool_are_given_away_in_order() -> None:
    allocator = BuddyAllocator(10**15 + 16, 64)
    assert [allocator.allocate(64) for _ in range(3)] == [(0, 64), (64, 64), (128, 64)]
    assert allocator.allocate(10) == (10**15, 16)  # the smallest that fits is the rest of the pool
    assert allocator.allocate(10) == (192, 16)
    allocator.free(64)
    assert allocator.allocate(40) == (64, 64)
    assert allocator.allocate(65) is None
