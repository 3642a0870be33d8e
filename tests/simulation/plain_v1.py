"""V1's paging in plain words: pages that know their text, a list for the queue, and a search.

Written from the rules, not from the classes, so that they can be held against it: no ids, hashes,
buckets or counters. A page that holds text is found by comparing all tokens up to its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pagesim.simulation import CostModel, Outcomes
from pagesim.simulation.paged_requests import prompt_of
from pagesim.simulation.waste import WasteLog
from pagesim.workload import Request


@dataclass(eq=False, slots=True)
class Page:
    owners: int = 0
    text: tuple[int, ...] | None = None


@dataclass(eq=False, slots=True)
class Asker:
    row: int
    tokens: list[int]
    prompt: int
    goal: int
    pages: list[Page] = field(default_factory=list)
    done: int = 0


class PlainV1Engine:
    def __init__(
        self,
        num_blocks: int,
        block_size: int,
        budget: int,
        seats: int,
        max_model_len: int,
        *,
        caching: bool,
        chunked: bool,
        watermark: float,
    ) -> None:
        self.size, self.budget, self.seats, self.longest = block_size, budget, seats, max_model_len
        self.caching, self.chunked = caching, chunked
        self.kept_free = int(watermark * num_blocks)
        self.queue = [Page() for _ in range(num_blocks - 1)]
        self.known: list[Page] = []
        self.waiting: list[Asker] = []
        self.running: list[Asker] = []

    def run(
        self, requests: Sequence[Request], log: WasteLog, outcomes: Outcomes, cost_model: CostModel
    ) -> None:
        clock, arrived, usable = 0.0, 0, len(self.queue) * self.size
        while True:
            while arrived < len(requests) and requests[arrived].arrival_s <= clock:
                request = requests[arrived]
                if request.total_tokens > self.longest:
                    outcomes.ignore(arrived)
                else:
                    tokens = prompt_of(request, arrived)
                    asker = Asker(arrived, tokens, request.prompt_tokens, request.total_tokens)
                    self.waiting.append(asker)
                arrived += 1
            spans = self.step(outcomes)
            if not spans and not (self.waiting or self.running) and arrived < len(requests):
                clock = requests[arrived].arrival_s
                log.add(clock, 0, 0, 0, log.pool - usable, 0, self.num_cached() * self.size)
            elif not spans:
                if not self.has_preempted:
                    return
            else:
                clock = self.compute(spans, log, outcomes, cost_model, clock)

    def step(self, outcomes: Outcomes) -> list[tuple[Asker, int, int]]:
        left, spans = self.budget, []
        self.has_preempted = False
        for asker in list(self.running):
            if asker not in self.running or not left:
                continue
            end = min(len(asker.tokens), asker.done + left)
            while asker in self.running and self.pages_for(end, asker) > len(self.queue):
                self.has_preempted = True
                victim = self.running.pop()
                self.release(victim)
                self.waiting.insert(0, victim)
                outcomes.preempt(victim.row)
            if asker in self.running:
                spans.append(self.take(asker, end))
                left -= end - spans[-1][1]
        while self.waiting and left and len(self.running) < self.seats and not self.has_preempted:
            head = self.waiting[0]
            hits = self.look_up(head)
            start = len(hits) * self.size
            if not self.chunked and len(head.tokens) - start > left:
                break
            if self.lacks_pages(head, hits):
                break
            self.running.append(self.waiting.pop(0))
            for page in hits:
                page.owners += 1
                if page in self.queue:
                    self.queue.remove(page)
            head.pages, head.done = hits, start
            if hits:
                outcomes.find(head.row, start)
            spans.append(self.take(head, min(len(head.tokens), start + left)))
            left -= spans[-1][2] - start
        return spans

    def compute(
        self,
        spans: list[tuple[Asker, int, int]],
        log: WasteLog,
        outcomes: Outcomes,
        cost_model: CostModel,
        clock: float,
    ) -> float:
        prefill = decodes = read = 0
        first = []
        for asker, start, end in spans:
            if end - start == 1 and end == len(asker.tokens) > asker.prompt:
                decodes, read = decodes + 1, read + end
            else:
                prefill, read = prefill + end - start, read + start
                outcomes.schedule(asker.row, clock)
                first.append(asker)
        clock += cost_model.seconds(prefill, decodes, read)
        held: dict[Page, int] = {}
        for asker in self.running:
            for i, page in enumerate(asker.pages):
                held[page] = min(self.size, asker.done - i * self.size)
        free = (len(self.queue) - self.num_cached()) * self.size
        waits = bool(self.waiting) and len(self.running) < self.seats
        waits = waits and self.lacks_pages(self.waiting[0], self.look_up(self.waiting[0]))
        null_block = log.pool - (len(held) + len(self.queue)) * self.size
        tokens, cached = sum(held.values()), self.num_cached() * self.size
        internal = len(held) * self.size - tokens
        external = null_block + (free if waits else 0)
        log.add(clock, tokens, 0, internal, external, len(self.running), cached)
        if decodes:
            outcomes.decodes.append(clock)
        for asker, _, end in spans:
            if end < len(asker.tokens):
                continue
            asker.tokens.append(-1 - asker.row)
            if asker in first:
                outcomes.answer(asker.row, clock)
            if len(asker.tokens) == asker.goal:
                self.release(asker)
                self.running.remove(asker)
                outcomes.finish(asker.row, clock)
        return clock

    # -- pages -----------------------------------------------------------------------------------

    def pages_for(self, tokens: int, asker: Asker) -> int:
        """How many more pages it takes to hold so many tokens."""
        return -(-tokens // self.size) - len(asker.pages)

    def look_up(self, asker: Asker) -> list[Page]:
        """The longest run of pages with its text that leaves a token to compute."""
        hits: list[Page] = []
        for end in range(self.size, len(asker.tokens), self.size):
            text = tuple(asker.tokens[:end])
            same = [page for page in self.known if page.text == text]
            if not same:
                break
            hits.append(same[0])
        return hits

    def lacks_pages(self, asker: Asker, hits: list[Page]) -> bool:
        """Whether all of its tokens would not fit; a hit in the queue takes a page out of it."""
        needed = -(-len(asker.tokens) // self.size) - len(hits)
        needed += sum(page in self.queue for page in hits)
        return needed + (self.kept_free if self.running else 0) > len(self.queue)

    def take(self, asker: Asker, end: int) -> tuple[Asker, int, int]:
        for _ in range(self.pages_for(end, asker)):
            page = self.queue.pop(0)
            if page.text is not None:
                self.known.remove(page)
            page.owners, page.text = 1, None
            asker.pages.append(page)
        start, asker.done = asker.done, end
        for i in range(end // self.size if self.caching else 0):
            if asker.pages[i].text is None:
                asker.pages[i].text = tuple(asker.tokens[: (i + 1) * self.size])
                self.known.append(asker.pages[i])
        return asker, start, end

    def release(self, asker: Asker) -> None:
        """Last page first: those with text to the back of the queue, the others to its front."""
        front: list[Page] = []
        for page in reversed(asker.pages):
            page.owners -= 1
            if not page.owners:
                (front if page.text is None else self.queue).append(page)
        self.queue[:0] = front
        asker.pages, asker.done = [], 0

    def num_cached(self) -> int:
        return sum(page.text is not None for page in self.queue)
