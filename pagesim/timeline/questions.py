"""What the player asks before a step. The answer is not stored: it comes from the step itself."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.files.jsonl import Json, JsonObject
from pagesim.journal.effects import EFFECTS, MAX_NAME, is_text, show
from pagesim.journal.state import MAMBA, State
from pagesim.timeline.events import Effect, Event


def _asked(kind: str, word: str) -> Callable[[Event], list[int | None]]:
    """The blocks of an event that a word asks for: where they go if it ends in "to"."""
    end = "to" if word.endswith(" to") else "block"
    return lambda event: [getattr(e, end) for e in event.effects if e.kind == kind]


ANSWERS = {word: _asked(kind, word) for kind, what in EFFECTS.items() for word in what.asked}
"""What a question can ask for, the values of ``Question.answer``, and the blocks that answer it."""

WHICH = ("all", "in order", "first", "last", "any")
"""How many of the matching blocks are wanted: the values of ``Question.which``."""


class Steps(Protocol):
    """The events and states of a Timeline."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Event: ...

    def at(self, index: int) -> State: ...


@dataclass(frozen=True, slots=True)
class Question:
    """A question that the player asks before event ``at``; its answer is blocks of that event.

    ``at`` counts events as ``run[at]`` does. The player asks at step ``at``, before it goes on to
    step ``at + 1``. ``answer`` says what happens to the blocks in question. Their ids come from the
    recorded event, so the answer stays right when the code above the question changes. ``answer``
    is one of:

    =================  ===========================================================
    ``taken``          from a free list or an evictor
    ``returned``       freed by their last owner
    ``unused``         returned without ever having held a token
    ``written``        tokens are written into them
    ``shared``         they gain an owner
    ``copied``         their content is copied (to ``copied to``)
    ``swapped``        their content moves to another pool (to ``swapped to``)
    ``found``          found by their content (a hit of the prefix cache)
    ``evicted``        they leave the cache
    ``cached``         they became full and can be found from now on
    =================  ===========================================================

    ``which`` says which of these blocks are asked for: ``all`` in any order, all ``in order``, the
    ``first``, the ``last``, or ``any`` one. In ``ask``, ``{count}`` stands for the number of blocks
    in the answer, as a word: "three". ``why`` is shown after the answer, with the blocks in place
    of ``{answer}``. Omit ``why`` if the source above the player would give the answer away; the
    player then takes the reason from the step itself. If a run has questions, the player asks no
    others. ``answer`` may also be a tuple of ids.
    """

    at: int
    ask: str
    answer: str | tuple[int, ...] = "taken"
    why: str = ""
    which: str = "all"

    def blocks(self, run: Steps) -> tuple[int, ...]:
        """Return the ids of the answer in ``run``; with ``which="any"``, any one of them is right.

        UsageError if the run has no such event or the event has no such blocks.
        """
        if self.at >= len(run):
            last = f"its events are 0 to {len(run) - 1}" if len(run) else "it has no events"
            raise UsageError(f"question at={self.at}: the run has no such event, {last}")
        event = run[self.at]
        here = f"question at={self.at}: {event.kind}"
        here += "" if event.subject is None else f" of {event.subject!r:.80}"
        if not isinstance(self.answer, str):
            touched = dict.fromkeys(block for e in event.effects for block in _blocks(e))
            if missing := [block for block in self.answer if block not in touched]:
                does = f"it concerns {_list(touched)}" if touched else "it concerns no block"
                raise UsageError(f"{here} does nothing to {_list(missing)}; {does}")
            return self.answer
        found = [block for block in ANSWERS[self.answer](event) if block is not None]
        if self.answer == "unused":
            used = _used(run.at(self.at))
            found = [block for block in found if block not in used]
        ids = tuple(dict.fromkeys(found))
        if not ids:
            does = ", ".join(f"{word} {_list(ids)}" for word, ids in _done(event))
            raise UsageError(f"{here}: no block is {self.answer}; {does or 'none changes'}")
        return {"first": ids[:1], "last": ids[-1:]}.get(self.which, ids)

    def checked(self) -> "Question":
        """Return this question; TypeError or ValueError if a field is wrong in every run."""
        check_int("at", self.at, 0)
        check_text("ask", self.ask)
        check_text("why", self.why)
        if isinstance(self.answer, tuple):
            for block in self.answer:
                check_int("answer", block, 0)
        elif not isinstance(self.answer, str):
            raise TypeError(f"answer must be a word or a tuple of ids, not {show(self.answer)}")
        elif self.answer not in ANSWERS:
            raise UsageError(f"answer must be one of {', '.join(ANSWERS)}, not {self.answer!r:.80}")
        if self.which not in WHICH:
            raise UsageError(f"which must be one of {', '.join(WHICH)}, not {show(self.which)}")
        return self

    def as_dict(self) -> dict[str, Json]:
        """Return the question as a dict, as a file stores it."""
        answer = self.answer if isinstance(self.answer, str) else list(self.answer)
        return {
            "at": self.at, "ask": self.ask, "answer": answer, "which": self.which, "why": self.why
        }  # fmt: skip


def question_from(words: JsonObject) -> Question:
    """A question in a file. TypeError, ValueError or KeyError if it is invalid.

    If ``answer`` is a list of ids and ``which`` is missing, any one of them is right.
    """
    answer = words["answer"]
    literal = not isinstance(answer, str)
    return Question(
        words["at"],
        words["ask"],
        tuple(answer) if literal else answer,
        words.get("why", ""),
        words.get("which", "any" if literal else "all"),
    ).checked()


def _blocks(effect: Effect) -> list[int]:
    return [effect.block] if effect.to is None else [effect.block, effect.to]


def _done(event: Event) -> list[tuple[str, list[int]]]:
    """What the event does, by the possible values of ``answer``."""
    found = {word: dict.fromkeys(b for b in of(event) if b is not None)
             for word, of in ANSWERS.items() if word != "unused"}  # fmt: skip
    return [(word, list(ids)) for word, ids in found.items() if ids]


def _used(state: State) -> set[int]:
    """The blocks that hold a token of any table, or a state."""
    return {
        block
        for name, table in state.tables.items()
        for block, filled in zip(table.block_ids, table.fill, strict=True)
        if filled or state.group_of(name).kind == MAMBA
    }


def _list(ids: Iterable[int]) -> str:
    words = [str(block) for block in ids]
    more = f" and {len(words) - 8} more" if len(words) > 8 else ""
    return f"block{'s' * (len(words) > 1)} {', '.join(words[:8])}{more}"


def check_text(name: str, value: Json) -> str:
    """``value``; TypeError unless it is a string that a file can hold."""
    if not is_text(value):
        raise TypeError(
            f"{name} must be a string of at most {MAX_NAME:,} characters, not {show(value)}"
        )
    return value
