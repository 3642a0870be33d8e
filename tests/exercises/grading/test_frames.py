"""Hostile frames: whatever a submission writes is read and judged in a time that is bounded."""

import io
import os
import random
import struct
import time
from collections.abc import Callable
from typing import Any

import pytest

from pagesim.exercises import get
from pagesim.exercises.case import Case
from pagesim.exercises.grading import wire
from pagesim.exercises.grading.parent import EndedError, Process
from pagesim.exercises.guard import MAX_PRINTED, Answer, attempt
from tests.exercises.grading.attacks import FRAMES, answering

pytestmark = pytest.mark.ch02

SECONDS = 2.0
"""Of the processor's time: fifty times what the longest honest answer takes to be read."""


JUDGES = ("0.2", "2.1") if "PAGESIM_GRADE_ALL" in os.environ else ("0.2",)
"""The first makes sets of what is in the answer, which is worse for it."""


def framed(data: bytes) -> io.BytesIO:
    return io.BytesIO(struct.pack(">I", len(data)) + data)


def took(call: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.process_time()
    result = attempt(call, Case(()), seconds=60.0)  # a machine may be busy
    return time.process_time() - begun, result


@pytest.mark.parametrize("name", FRAMES)
def test_a_hostile_frame_is_read_and_judged_in_no_time(name: str) -> None:
    stream = framed(FRAMES[name]())

    def received() -> Any:
        try:
            return Answer(wire.receive(stream).get("value"))
        except wire.WireError as error:
            assert len(str(error)) < 200
            return Answer(problem=str(error))

    seconds, read = took(received)
    assert seconds < SECONDS and not read.problem, read.problem
    for number in JUDGES:
        exercise = get(number)
        case = next(exercise.cases(random.Random(0), True))
        seconds, judged = took(lambda: str(exercise.judge(case, read.value)))  # noqa: B023
        assert seconds < SECONDS
        assert judged.problem or (judged.value != "None" and len(judged.value) < 100_000)


def nested(depth: int) -> list[Any]:
    """One value within ``depth`` others: of each kind that holds others."""
    a_list: Any = 0
    a_tuple, in_values, in_keys = a_list, a_list, a_list
    for _ in range(depth):
        a_list, a_tuple, in_values = [a_list], (a_tuple,), {0: in_values}
        in_keys = frozenset({in_keys})
    return [a_list, a_tuple, in_values, in_keys]


def test_what_may_be_sent_is_read_and_what_may_not_is_not_sent() -> None:
    deep, deeper = nested(wire.MAX_DEPTH), nested(wire.MAX_DEPTH + 1)
    rows = [[1] * 9] * (wire.MAX_ITEMS // 10 - 1)
    for value in (
        rows,
        {k: (k, None) for k in range(wire.MAX_MEMBERS)},
        [10**wire.MAX_DIGITS - 1, 1 - 10**wire.MAX_DIGITS],
        set(range(wire.MAX_MEMBERS)),
        {frozenset({(1, "a")}), 2.5},
        *deep,
    ):
        stream = io.BytesIO()
        wire.send(stream, {"value": value})
        stream.seek(0)
        assert wire.receive(stream) == {"value": value}
    for value, words in (
        ([rows, rows], f"more than {wire.MAX_ITEMS} values"),
        (set(range(wire.MAX_MEMBERS + 1)), f"a set of {wire.MAX_MEMBERS + 1}"),
        ({k: 0 for k in range(wire.MAX_MEMBERS + 1)}, f"a dict of {wire.MAX_MEMBERS + 1}"),
        (-(10**wire.MAX_DIGITS), f"{wire.MAX_DIGITS} are allowed"),
        *((value, f"more than {wire.MAX_DEPTH} lists") for value in deeper),
        ("x" * wire.MAX_FRAME, f"{wire.MAX_FRAME} are allowed"),
    ):
        stream = io.BytesIO()
        with pytest.raises(wire.WireError, match=words):
            wire.send(stream, {"value": value})
        assert stream.getvalue() == b""


def test_no_two_numbers_that_may_be_sent_have_one_hash() -> None:
    """Otherwise a list of them is as dangerous as a set: an oracle may make a set of it."""
    largest = 10**wire.MAX_DIGITS - 1
    assert hash(largest) == largest and hash(-largest) == -largest
    with pytest.raises(wire.WireError, match="digits"):
        wire.receive(framed(answering(2**61 - 1)))


@pytest.mark.parametrize(("told", "accepted"), [("x" * 10**6, True), (["x"], False), (1, False)])
@pytest.mark.parametrize("name", ["problem", "printed", "both"])
def test_what_is_told_beside_an_answer_is_text_of_bounded_length(
    name: str, told: Any, accepted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {"id": 1, "problem": told, "printed": told}
    if name != "both":
        said |= {"problem": "", "printed": "", name: told}
    process = object.__new__(Process)
    process._asked = 0
    monkeypatch.setattr(process, "_exchange", lambda *_: said, raising=False)
    if accepted:
        told = process.ask(1.0)
        assert {told["problem"], told["printed"]} - {""} == {"x" * MAX_PRINTED}
    else:
        with pytest.raises(EndedError, match="something else"):
            process.ask(1.0)
