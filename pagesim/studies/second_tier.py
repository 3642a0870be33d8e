"""The same requests where V0 swaps and where V1 has a second tier: what is copied, and when.

V0 moves a victim's blocks out when memory is short, and must bring exactly these back. V1 copies
every chunk of a prompt once, when it is computed, whether memory is short or not; and it reads back
what the GPU has lost when somebody asks for it: a victim, or any other request that begins alike.

    python -m pagesim.studies.second_tier        the table

96 requests arrive at once, with 8 different beginnings. Copies end in the step in which they begin,
except where the table says otherwise.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from pagesim.simulation import Limits, Outcomes, Paged, PagedV1, Roofline, WasteLog, simulate
from pagesim.simulation.paged import PagedServer
from pagesim.simulation.serving import steps
from pagesim.sizing.cost_model import CostModel
from pagesim.timeline.pair import Compared, compare
from pagesim.workload import Request

BLOCK_SIZE = 16
LIMITS = Limits(max_num_seqs=96, max_num_batched_tokens=2_048)
CPU_BLOCKS = 4_000
"""More than all of them need."""

LATER = 1e7
"""When the requests come for the second time: long after the last has ended."""


def requests() -> list[Request]:
    """96 prompts of 224 to 320 tokens, of which 192 are those of one of 8 beginnings."""
    draw = random.Random(5)
    begins = [[draw.randrange(50_000) for _ in range(192)] for _ in range(8)]
    made = []
    for row in range(96):
        own = [draw.randrange(50_000) for _ in range(draw.choice((32, 64, 128)))]
        tokens = (*begins[row % 8], *own)
        output = draw.choice((64, 128, 192))
        made.append(Request(str(row), 0.0, len(tokens), output, (), tokens))
    return made


def twice() -> list[Request]:
    """The same, and all of them again after the last has ended."""
    first = requests()
    again = [replace(r, request_id=f"{r.request_id} again", arrival_s=LATER) for r in first]
    return [*first, *again]


class Move(NamedTuple):
    """Blocks of a request that a step moves or begins to copy, to the CPU or back."""

    step: int
    row: int
    out: bool
    num_blocks: int


@dataclass(frozen=True, slots=True)
class Played:
    """What a run has done; steps in which nothing was computed count as well."""

    steps: int
    preempted: int
    computed: int
    """Tokens that went through the model."""
    moves: tuple[Move, ...]

    def blocks(self, *, out: bool) -> int:
        """Blocks that went to the CPU, or back."""
        return sum(move.num_blocks for move in self.moves if move.out is out)


class Counting(CostModel):
    """The built-in clock, which also counts the tokens that are computed."""

    def __init__(self) -> None:
        self.clock = Roofline()
        self.tokens = 0

    def seconds(
        self, prefill_tokens: int, decode_batch: int, kv_tokens: int, swapped_tokens: int = 0
    ) -> float:
        self.tokens += prefill_tokens + decode_batch
        return self.clock.seconds(prefill_tokens, decode_batch, kv_tokens, swapped_tokens)


def play_v1(blocks: int, asked: list[Request], **fields: object) -> Played:
    """V1 with so many blocks, and the null block."""
    policy = PagedV1(BLOCK_SIZE, **{"link": 0} | fields)  # type: ignore[arg-type]
    clock, pool = Counting(), (blocks + 1) * BLOCK_SIZE
    run = simulate(asked, policy=policy, pool=pool, limits=LIMITS, cost_model=clock, progress=False)
    empty, copies = (run.tier.empty_steps, run.tier.copies) if run.tier else (0, [])
    moves = [Move(each.step, each.row, each.out, each.num_blocks) for each in copies]
    return Played(run.iterations + empty, run.preemptions, clock.tokens, tuple(moves))


def play_v0(blocks: int) -> Played:
    """V0, which swaps its victims."""
    swaps = {"preemption_mode": "swap", "num_cpu_blocks": CPU_BLOCKS, "fast_forward": False}
    server = Paged(BLOCK_SIZE, **swaps).server(blocks * BLOCK_SIZE, LIMITS)  # type: ignore[arg-type]
    assert isinstance(server, PagedServer)
    asked, clock = requests(), Counting()
    outcomes, log = Outcomes(asked), WasteLog(server.pool)
    moves: list[Move] = []
    away: dict[int, int] = {}
    """By row: the blocks of a request that is swapped out."""
    for step, _ in enumerate(steps(server, asked, log, outcomes, clock), 1):
        swapped = {group.sampling_params.row for group in server.scheduler.swapped}
        tables = server.tables()
        for row in [row for row in away if row not in swapped]:
            moves.append(Move(step, row, False, away.pop(row)))
        for row in [row for row in swapped if row not in away]:
            away[row] = len(tables[row])
            moves.append(Move(step, row, True, away[row]))
    return Played(log.iterations, outcomes.num_preemptions, clock.tokens, tuple(moves))


def side_by_side() -> Compared:
    """Four requests on 8 blocks of 4, served by both, to be stepped through together."""
    asked = [Request(str(row), 0.0, 7 + row % 3, 8) for row in range(4)]
    limits = Limits(max_num_seqs=8, max_num_batched_tokens=64, max_model_len=64)
    swaps = Paged(4, preemption_mode="swap", num_cpu_blocks=16, fast_forward=False)
    v0, v1 = (
        simulate(asked, policy=policy, pool=8 * 4, limits=limits, record=True, progress=False)
        for policy in (swaps, PagedV1(4, cpu_blocks=16, link=0))
    )
    return compare(v0, v1, ("V0 swaps", "V1 with a second tier"))


def table() -> Iterator[tuple[str, str, Played]]:
    """The pool, what serves, and what it has done."""
    prompts = {"cpu_blocks": CPU_BLOCKS}
    for blocks in (600, 1_000):
        yield f"{blocks:,}", "V0, swap", play_v0(blocks)
        yield f"{blocks:,}", "V1, no tier", play_v1(blocks, requests())
        yield f"{blocks:,}", "V1, prompts", play_v1(blocks, requests(), **prompts)
        if blocks == 600:
            outputs = prompts | {"offload_prompt_only": False}
            yield "600", "V1, outputs too", play_v1(600, requests(), **outputs)
    again = "600, all twice"
    yield again, "V1, a tier of 1 chunk", play_v1(600, twice(), cpu_blocks=1)
    yield again, "V1, prompts", play_v1(600, twice(), **prompts)
    late = "the same, copies take 5 steps more"
    yield again, late, play_v1(600, twice(), **prompts, link=5)


HEAD = ("steps", "preempted", "computed", "blocks out", "blocks in")


def report() -> Iterator[str]:
    """The lines of the table."""
    yield f"{'pool':<16}{'':<36}" + "".join(f"{name:>12}" for name in HEAD)
    for pool, name, run in table():
        moved = run.blocks(out=True), run.blocks(out=False)
        cells = (run.steps, run.preempted, run.computed, *moved)
        yield f"{pool:<16}{name:<36}" + "".join(f"{cell:>12,}" for cell in cells)


def main() -> None:
    """Print the table."""
    for line in report():
        print(line, flush=True)


if __name__ == "__main__":
    main()
