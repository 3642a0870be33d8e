"""Reads a run once, from its first event to its last, and writes its history."""

from pagesim.explain.contents import Key
from pagesim.explain.history import HEADS, Decision, History, Life, Stay, Step
from pagesim.explain.prefix import missed
from pagesim.explain.tracking import Tracking
from pagesim.explain.waiting import why
from pagesim.journal import effects as fx
from pagesim.journal.effects import Name
from pagesim.timeline import Move, Timeline
from pagesim.timeline.events import Entry, Event, event_of

WAITING, RUNNING = "waiting", "running"
BEGINS, ENDS = ("admit", "resume"), ("preempt", "finish", "abort", "ignore")
GROWS = ("allocate_slots", "append_slots")
TIER = ("load", "defer", "promote")


def history_of(run: Timeline) -> History:
    """The history of a run."""
    reading = _Reading(run)
    for entry in run.entries():
        reading.learn(entry)
    for number, entry in enumerate(run.entries()):
        reading.event(number, entry)
    return reading.finished(len(run))


class _Reading(Tracking):
    """A run while it is read, and its history so far."""

    def __init__(self, run: Timeline) -> None:
        super().__init__(run)
        start, asked = self.history.start, run.asked
        self.prompts, self.requests = asked.prompts, self.history.requests
        self.is_async = asked.settings.get("async_scheduling") is True
        self.aside = [name for name in start.queues if name not in (WAITING, RUNNING)]
        self.by_table: dict[Name, Name] = {}
        self.decisions: list[tuple[int | None, Decision]] = []
        self.victims: list[Stay] = []
        """Those preempted in this step, of whom it is not known yet for whom."""
        self.wanted: dict[Name, list[Key]] = {}
        self.last_step, self.before = 0, None
        for queue, names in start.queues.items():
            for name in names:
                life = self._life(name, start.requests.get(name))
                if queue == RUNNING:
                    life.stays.append(Stay(0, life.known))
                else:
                    life.queued.append((0, None))

    before: int | None
    """How many blocks were free when the step began that is being decided."""

    def _life(self, request: Name, table: Name | None) -> Life:
        if (life := self.requests.get(request)) is None:
            prompt = self.prompts.get(request) if self.arrivals[request] < 2 else None
            life = self.requests[request] = Life(request, prompt=prompt, known=prompt or 0)
        if table is not None:
            life.table = table
            self.by_table[table] = request
        return life

    def _queue(self, life: Life, move: Move, number: int) -> None:
        """A request enters or leaves a queue; those who run are in one too, but do not wait."""
        if move.queue == RUNNING:
            return
        if not move.enters:
            if life.queued:
                life.queued[-1] = life.queued[-1][0], number
        elif life.queued and life.queued[-1][1] == number:  # the queue was put in order
            life.queued[-1] = life.queued[-1][0], None
        else:
            life.queued.append((number, None))

    def _rename(self, request: Name, number: int) -> None:
        """Another request has arrived under the name of one that has ended."""
        earlier = self.requests.pop(request)
        earlier.name = f"{request} (before event {number + 1})"
        self.requests[earlier.name] = earlier
        self.wanted.pop(request, None)

    def event(self, number: int, entry: Entry) -> None:
        """Read the next event."""
        event = event_of(entry)
        self.history.numbers.append(event.step)
        if event.step is not None and event.step > self.last_step and self.before is None:
            self.before = self.free()
        for move in event.moves:
            if event.kind == "arrive" and move.request in self.requests:
                self._rename(move.request, number)
            self._queue(self._life(move.request, move.sequence), move, number)
        request = None if event.subject is None else self.by_table.get(event.subject, event.subject)
        for job in event.begun:
            self._life(job.request, None).stores += job.kind == fx.STORE
        for row in entry[3:]:
            self.apply(row, number, request if request is not None else event.kind)
        self.cached(event, number)
        if self.victims and event.kind in (*GROWS, "schedule"):
            for stay in self.victims:
                stay.by = request if event.kind in GROWS else stay.by
            self.victims = []
        if request is not None and (its := self.requests.get(request)) is not None:
            self._decided(event, its, number)
        elif event.lookups and event.subject is not None:
            self.history.lookups.append((number, event.subject, event.lookups))
        if event.kind == "schedule" or event.called == "schedule":
            self._scheduled(event, number)

    # -- decisions -------------------------------------------------------------------------------

    def _decided(self, event: Event, life: Life, number: int) -> None:
        kind = event.kind
        if kind == "arrive":
            life.arrived = number + 1
        elif kind in BEGINS:
            self._begin(event, life, number)
        elif kind in ENDS:
            self._end(life, number, event)
        elif kind == "get_computed_blocks":
            life.lookups = event.lookups
        elif kind == "load":
            life.loads.append((number, len(life.stays)))
            life.looked_up, life.is_loaded = number, False
        elif kind == "promote":
            life.is_loaded = life.table in self.pages.tables
        elif kind == "defer":
            kinds = {job.kind for job in self.pages.jobs.values()}
            life.defers.append((number, " and ".join(sorted(kinds))))
        if kind in (*BEGINS, *TIER, "preempt", "ignore"):
            self.decisions.append((event.step, Decision(kind, life.name, number)))

    def _begin(self, event: Event, life: Life, number: int) -> None:
        is_back = bool(life.stays) and event.kind == "resume"
        tokens = life.known if is_back or life.prompt is None else life.prompt
        stay = Stay(number, tokens, looked_up=life.looked_up or number, lookups=life.lookups)
        life.looked_up, life.lookups, life.is_loaded = 0, (), False
        hits = [effect for effect in event.effects if effect.kind == fx.HIT and effect.count]
        computed = self.pages.computed if not self.history.is_v1 else None
        for hit in hits:
            is_next = hit.table == life.table and hit.first == stay.hits
            stay.hits += hit.count if is_next and (computed is None or hit.block in computed) else 0
        if not self.history.is_v1:
            moved = any(effect.kind == fx.MOVE for effect in event.effects)
            stay.first = stay.computed = life.stays[-1].computed if moved and life.stays else 0
        life.stays.append(stay)

    def _end(self, life: Life, number: int, event: Event) -> None:
        kind, is_moved = event.kind, any(effect.kind == fx.MOVE for effect in event.effects)
        is_back = any(move.enters and move.queue == WAITING for move in event.moves)
        if kind == "preempt":
            tokens = self.num_tokens(life.table) if life.table is not None else 0
            sampled = sum(stay.sampled for stay in life.stays)
            life.known = max(life.known, tokens, (life.prompt or 0) + sampled)
        else:
            life.end, life.how = number, kind
            life.freed = sum(effect.kind == fx.FREE for effect in event.effects)
        if life.stays and life.stays[-1].end is None:
            stay = life.stays[-1]
            stay.end, stay.how = number, kind
            stay.is_kept, stay.is_lost = is_moved and not is_back, is_moved and is_back
            if kind == "preempt":  # whoever is preempted last may have wanted the blocks itself
                self.victims.append(stay)
                for victim in self.victims:
                    victim.by = life.name
            self._keep_contents(life, stay)

    def _keep_contents(self, life: Life, stay: Stay) -> None:
        """What the request looked for when it was admitted: its tokens may have come later."""
        if not self.is_caching or life.table is None:
            return
        tokens = self.all_tokens(life)
        known = tokens[: stay.num_tokens] if stay.num_tokens else tokens
        stay.keys = tuple(self.history.contents.extend([], known))
        stay.tail = tuple(known[len(stay.keys) * self.history.start.block_size :])

    # -- steps -----------------------------------------------------------------------------------

    def _scheduled(self, event: Event, number: int) -> None:
        queues = self.pages.queues
        aside = tuple(name for queue in self.aside for name, _ in queues[queue])
        waiting = queues.get(WAITING, [])
        free, step_number = self.free(), event.step or 0
        step = Step(
            step_number,
            number,
            tuple(name for name, _ in waiting[:HEADS]),
            len(waiting),
            len(queues.get(RUNNING, ())),
            aside,
            tuple((each.request, each.num_tokens, each.is_prompt) for each in event.scheduled),
            free if self.before is None else self.before,
            free,
            tuple(decision for at, decision in self.decisions if at == event.step),
            is_copying=bool(self.pages.jobs),
            failed=event.error or "",
        )
        self._head(step)
        self.history.steps.append(step)
        self.decisions, self.before = [], None
        self.last_step = max(self.last_step, step_number)
        step.unfinished = frozenset(
            request
            for request, num_tokens, is_prompt in step.scheduled
            if not self._computes(self._life(request, None), num_tokens, is_prompt)
        )
        self.count_copies(number)

    def _head(self, step: Step) -> None:
        """Note what the first that waits would need."""
        if step.aside:
            table = self._life(step.aside[0], None).table
            step.aside_blocks = len(self.pages.tables.get(table, ())) if table is not None else 0
        passed_over = step.of("defer")
        loaded = [name for name in step.aside if self._life(name, None).is_loaded]
        others = [name for name in step.waiting if name not in passed_over]
        if not (heads := loaded + others):
            return
        step.head = head = heads[0]
        life = self._life(head, None)
        step.head_tokens = life.known
        if loaded and life.table is not None:
            step.head_hits = step.head_shared = len(self.pages.tables[life.table])
            return
        tokens = self.all_tokens(life)
        if not self.is_caching:
            step.head_hits = 0
        if not self.is_caching or not life.known or len(tokens) < life.known - 1:
            return
        contents, size = self.history.contents, self.history.start.block_size
        wanted = contents.extend(self.wanted.setdefault(head, []), tokens[: life.known])
        step.head_hits = 0
        for key in wanted[: (life.known - 1) // size]:
            if (block := contents.block_of(key)) is None:
                break
            step.head_hits += 1
            step.head_shared += self.pages.refs[block] > 0

    def _computes(self, life: Life, num_tokens: int, is_prompt: bool) -> bool:
        """Note what a request computes; returns whether that is all it has, so that it samples."""
        if not life.stays:
            life.stays.append(Stay(len(self.history.numbers) - 1, life.known))
        stay = life.stays[-1]
        if self.history.is_v1:
            end = self.pages.num_slots.get(life.table, 0) if life.table is not None else 0
            start = end - num_tokens
            if stay.first is None:
                stay.first = max(start, 0)
        else:
            start = stay.computed
            end = start + (num_tokens if is_prompt else 1)
            start = max(start, stay.hits)
        life.twice += max(0, min(end, life.high) - max(start, 0))
        life.high, stay.computed = max(life.high, end), max(stay.computed, end)
        if life.table is not None:
            life.known = max(life.known, self.num_tokens(life.table))
        stay.steps += 1
        is_whole = end >= max(stay.num_tokens, 1)
        stay.sampled += is_whole
        return is_whole

    def finished(self, num_events: int) -> History:
        """The history, once all events are read."""
        history, pages = self.history, self.pages
        history.num_events = num_events
        for life in self.requests.values():
            if life.stays and life.stays[-1].end is None:
                self._keep_contents(life, life.stays[-1])
        if missed(history, "salt"):  # then who waits may not find what has its tokens
            for step in history.steps:
                step.head_hits, step.head_shared = None, 0
        history.reasons = [why(history, step) for step in history.steps]
        ended = {life.table for life in self.requests.values() if life.end is not None}
        alive = [ids for name, ids in pages.tables.items() if name not in ended]
        named = {block for ids in alive for block in ids}
        named |= {block for job in pages.jobs.values() for pair in job.blocks for block in pair}
        if history.steps and history.start.tier is None and not self.is_async:
            owned = (block for block, count in enumerate(pages.refs) if count)
            free = {pages.null_block}
            history.pinned = tuple(block for block in owned if block not in named | free)
        return history
