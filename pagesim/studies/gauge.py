"""What the usage gauge says, and how many slots hold a token: a stream of short prompts.

V1's gauge counts blocks, and a block with one token counts as much as a full one. A pull request
that would add a gauge for tokens measured both for OPT-125M with blocks of 16, while prompts kept
coming: with prompts of 17 tokens the usual gauge read 66.7 % in the median, while 36.5 % of the
slots held a token. With prompts of 400 tokens the two agreed within 1.2 points.

The lengths of the outputs and the number of requests are not given. `steady` assumes three tokens
each, and a pool that is full while a step runs. Then the three published numbers come out: a
request holds its blocks in three steps, and the engine measures when the third is over and these
blocks are free again. So the gauge shows two thirds of what the steps use.

    python -m pagesim.studies.gauge
"""

from pagesim.simulation import Limits, PagedV1, Simulation, simulate
from pagesim.sizing.cost_model import CostModel
from pagesim.workload import Request, Workload

SOURCE = "github.com/vllm-project/vllm, pull request 57336"
PUBLISHED = {"usage": 66.7, "slots": 36.5, "apart": 1.2}
"""Percent of the blocks, and of the slots, with short prompts; points between them with long."""

SHORT, LONG = 17, 400
OUTPUT, A_STEP, STEPS, BLOCK = 3, 50, 40, 16
"""Output tokens (assumed), requests that arrive before each step, steps, and slots per block."""


class Second(CostModel):
    """Every step takes a second."""

    def seconds(
        self, prefill_tokens: int, decode_batch: int, kv_tokens: int, swapped_tokens: int = 0
    ) -> float:
        return 1.0


def steady(prompt_tokens: int, block_size: int = BLOCK) -> Simulation:
    """A stream of equal requests, in a pool that is full while a step runs, with its metrics."""
    requests = tuple(
        Request(f"{number}", float(number // A_STEP), prompt_tokens, OUTPUT)
        for number in range(A_STEP * STEPS)
    )
    blocks = -(-(prompt_tokens + OUTPUT - 1) // block_size) * OUTPUT * A_STEP + 1
    return simulate(
        Workload("a steady stream", "made up", requests),
        policy=PagedV1(block_size=block_size),
        pool=blocks * block_size,
        limits=Limits(max_num_seqs=OUTPUT * A_STEP, max_num_batched_tokens=1_000_000),
        cost_model=Second(),
        metrics=True,
        progress=False,
    )


def medians(run: Simulation) -> tuple[float, float]:
    """The gauge and the slots in percent: the medians over the steps."""
    assert run.metrics is not None
    found = run.metrics.summary()
    return 100 * found["usage"]["median"], 100 * found["slots"]["median"]


def main() -> None:
    """Print the table."""
    print(f"{'prompt':>8}{'block':>8}{'gauge, %':>12}{'slots, %':>12}")
    for prompt, block_size in ((SHORT, BLOCK), (SHORT, BLOCK // 2), (LONG, BLOCK)):
        usage, slots = medians(steady(prompt, block_size))
        print(f"{prompt:>8}{block_size:>8}{usage:>12.1f}{slots:>12.1f}")


if __name__ == "__main__":
    main()
