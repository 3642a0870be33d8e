"""An exercise: what is asked, the oracle that knows the answer, and what goes wrong typically."""

import copy
import inspect
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pagesim.errors import UsageError
from pagesim.exercises import source
from pagesim.exercises.case import Case, Function, Value, Wrong
from pagesim.exercises.guard import Answer, Call, attempt, call_plainly
from pagesim.exercises.problem import LEFT_IN, NOT_WRITTEN, has_code
from pagesim.exercises.values import (
    SHOWN,
    Same,
    difference,
    equal_values,
    has_nan,
    shown,
    shown_apart,
    wrong_type,
)
from pagesim.exercises.verdict import Replay, Verdict
from pagesim.timeline.run import Timeline

POINTS = {1: 1, 2: 2, 3: 4}
"""Points for one, two and three stars."""
PATIENCE = 10
"""All cases together may take this many times as long as one of them."""


@dataclass(frozen=True)
class Exercise:
    """One exercise of the course; ``check`` tries an answer, smallest case first."""

    number: str
    title: str
    stars: int
    statement: str
    """Markdown: what to write, shapes, units, an example."""
    reference: Function
    """A right answer, with the marks of `source` in its text."""
    cases: Callable[[random.Random, bool], Iterator[Case]]
    """``(rng, hidden)`` → the cases, smallest first; ``hidden`` asks for other sizes and seeds."""
    expected: Function
    """The oracle: the simulator, or a kernel's reference, on the arguments of a case."""
    why: Callable[[Case, Any, Any], str]
    """``(case, yours, expected)`` → one sentence naming the rule that was broken."""
    mistakes: Mapping[str, Wrong]
    """The typical wrong answers by name."""
    hints: tuple[str, str, str]
    """From a nudge to nearly the whole answer."""
    vllm: tuple[str, ...]
    """Where the real thing is: ``file: function`` of vLLM's ``release``."""
    play: Callable[[Case], Timeline] | None = None
    """The run of a case, to be stepped through."""
    replay: Replay | None = None
    """The run of an answer, beside which the right one is shown."""
    case_of: Callable[..., Case | None] | None = None
    """The case of arguments that were made smaller, or None if they make none; where it is missing,
    a case is shown as it is."""
    same: Same = equal_values
    call: Call = call_plainly
    """How an answer is tried on a case."""
    seconds: float = 2.0
    needs_triton: bool = False
    release: str = "0.6.4.post1"

    @property
    def chapter(self) -> int:
        """The chapter that it belongs to."""
        return int(self.number.split(".")[0])

    @property
    def points(self) -> int:
        """What it is worth."""
        return POINTS[self.stars]

    @property
    def name(self) -> str:
        """What the student's function is called."""
        return str(self.reference.__name__)

    @property
    def stub(self) -> str:
        """The text that the student begins with."""
        return source.stub(source.text(self.reference))

    @property
    def solution(self) -> str:
        """The text of the reference."""
        return source.solved(source.text(self.reference))

    @property
    def in_vllm(self) -> str:
        """Where the real thing is, as Markdown."""
        return f"In vLLM {self.release}:\n\n" + "\n".join(f"* `{place}`" for place in self.vllm)

    @property
    def wrong(self) -> dict[str, Function]:
        """The typical wrong answers by name."""
        return {name: mistake.function for name, mistake in self.mistakes.items()}

    def check(self, f: Function, *, hidden: bool = False, seed: int = 0) -> Verdict:
        """Try an answer on one case after the other; the first that it fails ends the check."""
        if isinstance(f, source.Cell):
            f = f.load()
        tried, taken = 0, 0.0
        for tried, case in enumerate(self.cases(random.Random(seed), hidden), start=1):
            begun = time.monotonic()
            answer = attempt(f, case, self.call, self.seconds)
            if answer.problem == NOT_WRITTEN and has_code(f, self.stub):
                answer = replace(answer, problem=LEFT_IN)
            taken += time.monotonic() - begun
            if taken > PATIENCE * self.seconds and not answer.problem:
                answer = Answer(problem=f"{tried} cases took {taken:.0f} s, which is far too slow.")
            verdict = self.judge(case, answer, tried)
            if verdict is not None:
                return replace(verdict, function=f)
        return Verdict(self.number, self.title, True, tried)

    def assert_right(self, f: Function) -> None:
        """AssertionError with the verdict unless ``f`` passes the shown and the hidden cases."""
        for hidden in (False, True):
            verdict = self.check(f, hidden=hidden)
            if not verdict:
                raise AssertionError(str(verdict))

    def judge(self, case: Case, answer: Answer, tried: int = 1) -> Verdict | None:
        """None if the answer to this case is right, else the verdict that says what is wrong."""
        if answer.problem == NOT_WRITTEN:
            return Verdict(self.number, self.title, False, 0, yours=NOT_WRITTEN)
        expected = self.expected(*copy.deepcopy(case.args))
        if not answer.problem and self._same(answer.value, expected):
            return None
        yours, right = shown_apart(answer.value, expected)
        return Verdict(
            self.number,
            self.title,
            False,
            tried,
            case=case,
            words=self.words(case),
            yours=answer.problem or yours,
            expected=right,
            why="" if answer.problem else self._why(case, answer.value, expected),
            printed=answer.printed,
            play=self.play,
            replay=None if answer.problem else self.replay,
            answer=answer.value,
        )

    def words(self, case: Case) -> str:
        """A case in words."""
        if case.words:
            return case.words
        reference = self.reference
        if isinstance(reference, source.Cell):
            reference = reference.load()
        names = inspect.signature(reference).parameters
        return ", ".join(f"{n} = {shown(v, 120)}" for n, v in zip(names, case.args, strict=False))

    def _same(self, yours: Value, expected: Value) -> bool:
        try:
            return bool(self.same(yours, expected))
        except Exception:  # a value of another shape or type may do anything
            return False

    def _why(self, case: Case, yours: Value, expected: Value) -> str:
        nan = has_nan(yours) and not has_nan(expected)
        prefix = "Your result contains NaN. " if nan else ""
        if kind := wrong_type(yours, expected):
            return kind
        if len(shown(yours)) == SHOWN:
            prefix += f"{difference(yours, expected)} ".lstrip()
        try:
            return prefix + self.why(case, yours, expected)
        except UsageError as error:  # an impossible story, an invalid layout
            return f"{prefix}This is not possible: {error}."
        except Exception:  # written for answers of the right shape
            return prefix + "Your result does not have the right shape."
