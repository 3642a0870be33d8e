"""What an author adds to a run: a title, words for the tokens, questions for *predict*."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pagesim.checks import check_int
from pagesim.timeline.effects import MAX_NAME, is_text, show


@dataclass(frozen=True, slots=True)
class Question:
    """What the player asks before event ``at`` happens, which blocks are right, and why."""

    at: int
    ask: str
    answer: tuple[int, ...]
    why: str = ""


@dataclass(frozen=True, slots=True)
class Notes:
    """A run's title, the labels of its tokens, and its questions."""

    title: str | None = None
    tokens: Mapping[int, str] = field(default_factory=dict)
    questions: tuple[Question, ...] = ()

    def with_changes(
        self,
        title: str | None,
        tokens: Mapping[int, str] | None,
        questions: Iterable[Question] | None,
    ) -> Notes:
        """These notes with what is given in the place of what was there; TypeError if unfit."""
        notes = self
        if title is not None:
            notes = replace(notes, title=_text("title", title))
        if tokens is not None:
            labels = {_token(token): _text("a label", label) for token, label in tokens.items()}
            notes = replace(notes, tokens=labels)
        if questions is not None:
            asked = tuple(questions)
            for question in asked:
                if not isinstance(question, Question):
                    raise TypeError(f"questions must be pagesim.Question, not {show(question)}")
                check_int("at", question.at, 0)
                for block in question.answer:
                    check_int("answer", block, 0)
                _text("ask", question.ask)
                _text("why", question.why)
            notes = replace(notes, questions=asked)
        return notes

    def piece(self, start: int, stop: int) -> Notes:
        """The notes of the events ``start`` … ``stop - 1`` alone, counted from 0."""
        kept = [question for question in self.questions if start <= question.at < stop]
        return replace(self, questions=tuple(replace(q, at=q.at - start) for q in kept))

    def as_dict(self) -> dict[str, Any]:
        """The keys of the file's header; what is empty is left out."""
        words: dict[str, Any] = {}
        if self.title:
            words["title"] = self.title
        if self.tokens:
            words["tokens"] = {str(token): label for token, label in self.tokens.items()}
        if self.questions:
            words["questions"] = [
                {"at": q.at, "ask": q.ask, "answer": list(q.answer), "why": q.why}
                for q in self.questions
            ]
        return words


def notes_from(header: Mapping[str, Any]) -> Notes:
    """The notes in a file's header. TypeError, ValueError or KeyError if they are unfit."""
    questions = [
        Question(
            check_int("at", asked["at"], 0),
            _text("ask", asked["ask"]),
            tuple(check_int("answer", block, 0) for block in asked["answer"]),
            _text("why", asked.get("why", "")),
        )
        for asked in header.get("questions", [])
    ]
    tokens = {int(token): label for token, label in dict(header.get("tokens", {})).items()}
    return Notes().with_changes(header.get("title"), tokens, questions)


def _text(name: str, value: Any) -> str:
    if not is_text(value):
        raise TypeError(f"{name} must be a string of at most {MAX_NAME} letters, not {show(value)}")
    return value  # type: ignore[no-any-return]


def _token(value: Any) -> int:
    if type(value) is not int:
        raise TypeError(f"tokens must be labels by token id, and {show(value)} is none")
    return value
