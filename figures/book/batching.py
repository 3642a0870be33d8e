"""Chapter on the scheduler: the same requests in fixed batches, and in batches of every step."""

from collections.abc import Mapping

from pagesim.figures.book.kit import INNER, MARGIN, S0, S1, Sheet, drawing
from pagesim.figures.style import HELD, MUTED, PAPER, Box
from pagesim.v0.config import CacheConfig, SchedulerConfig
from pagesim.v0.scheduler import Scheduler
from pagesim.v0.sequence import Logprob, Sequence, SequenceGroup, SequenceStatus

ANSWERS, SEATS, PROMPT = (2, 9, 3, 8, 4, 6), 3, 4
LOOKS = {
    "prefill": (S1, ""),
    "decode": (S0, ""),
    "in the batch, but not computed": (HELD, ""),
    "empty place": (PAPER, "xxxx"),
}
PREFILL, DECODE, PAUSE, EMPTY = LOOKS
CELL, ROW = 24.4, 19.0
Lanes = Mapping[int, dict[int, str]]


def static() -> Lanes:
    """What a request does in each step: a batch ends with its longest output."""
    lanes: dict[int, dict[int, str]] = {}
    begin = 0
    for first in range(0, len(ANSWERS), SEATS):
        batch = range(first, first + SEATS)
        longest = max(ANSWERS[i] for i in batch)
        for i in batch:
            kinds = [PREFILL] + [DECODE] * (ANSWERS[i] - 1) + [EMPTY] * (longest - ANSWERS[i])
            lanes[i] = dict(enumerate(kinds, begin))
        begin += longest
    return lanes


def continuous() -> Lanes:
    """The same, from vLLM V0's scheduler with as many seats."""
    limits = SchedulerConfig(max_num_batched_tokens=64, max_num_seqs=SEATS, max_model_len=64)
    scheduler = Scheduler(limits, CacheConfig(4, 100, 0))
    for i in range(len(ANSWERS)):
        sequence = Sequence(i, list(range(PROMPT)), 4)
        scheduler.add_seq_group(SequenceGroup(str(i), [sequence]))
    lanes: dict[int, dict[int, str]] = {i: {} for i in range(len(ANSWERS))}
    step = 0
    while scheduler.has_unfinished_seqs():
        metadata, outputs, _ = scheduler.schedule()
        for group in scheduler.running:
            lanes[int(group.request_id)][step] = PAUSE
        for scheduled, meta in zip(outputs.scheduled_seq_groups, metadata, strict=True):
            sequence = scheduled.seq_group.first_seq
            lanes[sequence.seq_id][step] = PREFILL if meta.is_prompt else DECODE
            sequence.data.update_num_computed_tokens(meta.token_chunk_size)
            sequence.append_token_id(1, {1: Logprob(0.0)})
            if sequence.get_output_len() == ANSWERS[sequence.seq_id]:
                sequence.status = SequenceStatus.FINISHED_STOPPED
        scheduler.free_finished_seq_groups()
        step += 1
    return lanes


def steps_of(lanes: Lanes) -> int:
    """How many steps the last request needs."""
    return 1 + max(max(lane) for lane in lanes.values())


@drawing("Continuous batching: a waiting request takes a place as soon as one is free", 430)
def batching(sheet: Sheet) -> str:
    """Requests as lanes over steps, twice."""
    old, new = static(), continuous()
    _lanes(sheet, 38, f"fixed batches of {SEATS}: {steps_of(old)} steps", old)
    _lanes(sheet, 210, f"continuous batching: {steps_of(new)} steps", new)
    _key(sheet)
    return (
        f"Six requests with outputs of {', '.join(map(str, ANSWERS))} tokens and {SEATS} places. "
        f"Fixed batches take {steps_of(old)} steps: a place stays empty until the longest output "
        f"of its batch ends. Continuous batching takes {steps_of(new)}: a waiting request is "
        "prefilled as soon as a place is free, and the others pause for that step."
    )


def _lanes(sheet: Sheet, top: float, title: str, lanes: Lanes) -> None:
    """What each request does in each step, and how long it waits before its first."""
    sheet.panel(Box(MARGIN, top, INNER, 160), title)
    left = MARGIN + 94
    for i, lane in lanes.items():
        y = top + 29 + (ROW + 2) * i
        middle, first = y + ROW / 2, min(lane)
        plural = "s" if ANSWERS[i] > 1 else ""
        sheet.note(left - 8, middle, f"s{i}: {ANSWERS[i]} token{plural}", ha="right")
        if first:
            _waits(sheet, left, left + CELL * first - 3, middle)
        for step, kind in lane.items():
            color, hatch = LOOKS[kind]
            box = Box(left + CELL * step, y, CELL - 1, ROW)
            sheet.rectangle(box, fill=color, width=0.7, hatch=hatch)


def _key(sheet: Sheet) -> None:
    """What the looks mean."""
    for place, (name, (color, hatch)) in enumerate(LOOKS.items()):
        x, y = MARGIN + 240 * (place % 2), 384 + 22 * (place // 2)
        sheet.rectangle(Box(x, y, 20, 15), fill=color, width=0.7, hatch=hatch)
        sheet.note(x + 28, y + 7.5, name)
    _waits(sheet, MARGIN + 380, MARGIN + 400, 391.5)
    sheet.note(MARGIN + 408, 391.5, "waits")


def _waits(sheet: Sheet, start: float, end: float, y: float) -> None:
    sheet.arrow((start, y), (end, y), color=MUTED, width=1, head=False)
