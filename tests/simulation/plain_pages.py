"""Paging by counting: vLLM's default scheduling with numbers in place of blocks, tables and ids.

Written from the rules (first come, first served; prefills before decodes; a watermark for admission
only; the newest one recomputed when a decode finds no free block), not from the classes, so that it
can be held against them.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from pagesim.simulation import CostModel, Outcomes
from pagesim.simulation.serving import DoneCallback
from pagesim.simulation.waste import WasteLog
from pagesim.workload import Request


@dataclass(slots=True)
class Runner:
    row: int
    tokens: int
    """Known tokens: the prompt and what was sampled; the last one is not stored yet."""
    last: int
    """Known tokens when it is done."""
    blocks: int = 0


class PlainPagedEngine:
    def __init__(
        self,
        num_blocks: int,
        block_size: int,
        max_num_batched_tokens: int = 2048,
        max_num_seqs: int = 256,
        max_model_len: int = 2048,
        watermark: float = 0.01,
    ) -> None:
        self.num_blocks, self.block_size = num_blocks, block_size
        self.budget, self.seats, self.max_model_len = (
            max_num_batched_tokens,
            max_num_seqs,
            max_model_len,
        )
        self.watermark = int(watermark * num_blocks)
        self.free = num_blocks
        self.waiting: deque[Runner] = deque()
        self.running: list[Runner] = []

    def run(
        self,
        requests: Sequence[Request],
        log: WasteLog,
        outcomes: Outcomes,
        cost_model: CostModel,
        progress: DoneCallback | None = None,
    ) -> None:
        clock, arrived = 0.0, 0
        while arrived < len(requests) or self.waiting or self.running:
            while arrived < len(requests) and requests[arrived].arrival_s <= clock:
                request = requests[arrived]
                most_blocks = self.blocks_for(request.total_tokens - 1)
                if (
                    request.total_tokens > self.max_model_len
                    or most_blocks > self.num_blocks - self.watermark
                ):
                    outcomes.ignore(arrived)
                else:
                    new = Runner(arrived, request.prompt_tokens, request.total_tokens)
                    self.waiting.append(new)
                arrived += 1
            homeless = log.pool - self.num_blocks * self.block_size
            if not self.waiting and not self.running:
                if arrived < len(requests):
                    clock = requests[arrived].arrival_s
                    log.add(clock, 0, 0, 0, homeless, 0)
                continue
            prefills = self.prefill(outcomes, clock)
            decodes = [] if prefills else self.decode(outcomes)
            if not self.running:  # the last one has thrown itself out: nothing is computed
                continue
            token = sum(r.tokens for r in self.running)
            if prefills:  # the others' newest token is not stored in this step
                token -= len(self.running) - len(prefills)
            clock += cost_model.seconds(
                sum(r.tokens for r in prefills), len(decodes), sum(r.tokens for r in decodes)
            )
            held = sum(r.blocks for r in self.running) * self.block_size
            unusable = self.free * self.block_size if self.head_waits() else 0
            log.add(clock, token, 0, held - token, homeless + unusable, len(self.running))
            for runner in prefills or decodes:
                runner.tokens += 1
                if prefills:
                    outcomes.answer(runner.row, clock)
                if runner.tokens == runner.last:
                    self.free += runner.blocks
                    outcomes.finish(runner.row, clock)
                    self.running.remove(runner)
        if progress is not None:
            progress(len(requests))

    def blocks_for(self, tokens: int) -> int:
        return -(-tokens // self.block_size)

    def head_waits(self) -> bool:
        """Whether the head of the queue has a seat, and no blocks above the watermark."""
        if not self.waiting or len(self.running) == self.seats:
            return False
        return self.free - self.blocks_for(self.waiting[0].tokens) < self.watermark

    def prefill(self, outcomes: Outcomes, clock: float) -> list[Runner]:
        done: list[Runner] = []
        left = self.budget
        while self.waiting:
            head = self.waiting[0]
            need = self.blocks_for(head.tokens)
            if (
                self.free - need < self.watermark
                or head.tokens > left
                or len(self.running) == self.seats
            ):
                break
            left -= head.tokens
            self.free -= need
            head.blocks = need
            self.running.append(self.waiting.popleft())
            done.append(head)
            outcomes.schedule(head.row, clock)
        return done

    def decode(self, outcomes: Outcomes) -> list[Runner]:
        queue, done = deque(self.running), []
        while queue:
            runner = queue.popleft()
            alive = True
            while self.free < 1:  # vLLM asks for a whole block, whether one is needed or not
                victim = queue.pop() if queue else runner
                outcomes.preempt(victim.row)
                self.running.remove(victim)
                self.free += victim.blocks
                victim.blocks = 0
                self.waiting.appendleft(victim)
                if victim is runner:
                    alive = False
                    break
            if alive:
                if (runner.tokens - 1) % self.block_size == 0:
                    self.free -= 1
                    runner.blocks += 1
                done.append(runner)
        return done
