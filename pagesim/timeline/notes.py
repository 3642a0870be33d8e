"""What an author adds to a run: a title, labels for the tokens, questions, and where it opens."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from pagesim.checks import check_int
from pagesim.files.jsonl import Json, JsonObject, finite
from pagesim.journal.effects import Name, is_name, show
from pagesim.timeline.kv_shape import KVShape, kv_shape_from
from pagesim.timeline.questions import Question, check_text, question_from


@dataclass(frozen=True, slots=True)
class Notes:
    """A run's title, the labels of its tokens, its questions, and the step that it opens at."""

    title: str | None = None
    tokens: Mapping[int, str] = field(default_factory=dict)
    questions: tuple[Question, ...] = ()
    sequences: tuple[Name, ...] = ()
    """The sequences of a longer run that this one continues, in the order of their colours."""
    opens: int | None = None
    """The step that the player opens at; None leaves it to the player."""
    kv_events: tuple[str, ...] = ()
    """The pools of which the engine tells routers what is cached."""
    clock: tuple[float, ...] = ()
    """When each call of ``schedule()`` had ended, in seconds of the simulation."""
    model: KVShape | None = None
    """The tensors behind the blocks, if they are known."""

    def with_changes(
        self,
        title: str | None,
        tokens: Mapping[int, str] | None,
        questions: Iterable[Question] | None,
        opens: int | None = None,
    ) -> "Notes":
        """These notes with the given parts replaced; TypeError for a value of the wrong type."""
        notes = self
        if title is not None:
            notes = replace(notes, title=check_text("title", title))
        if tokens is not None:
            labels = {
                _token(token): check_text("a label", label) for token, label in tokens.items()
            }
            notes = replace(notes, tokens=labels)
        if questions is not None:
            asked = tuple(questions)
            for question in asked:
                if not isinstance(question, Question):
                    raise TypeError(f"questions must be pagesim.Question, not {show(question)}")
                question.checked()
            notes = replace(notes, questions=asked)
        if opens is not None:
            check_int("opens", opens, 0)
            notes = replace(notes, opens=opens)
        return notes

    def piece(self, start: int, stop: int) -> "Notes":
        """The notes of the events ``start`` … ``stop - 1`` alone, counted from 0."""
        kept = [question for question in self.questions if start <= question.at < stop]
        opens = None if self.opens is None else self.opens - start
        return replace(
            self,
            questions=tuple(replace(q, at=q.at - start) for q in kept),
            opens=opens if opens in range(stop - start + 1) else None,
        )

    def as_dict(self) -> JsonObject:
        """The keys of the file's header; empty ones are omitted."""
        words = {
            "title": self.title,
            "tokens": {str(token): label for token, label in self.tokens.items()},
            "questions": [question.as_dict() for question in self.questions],
            "sequences": list(self.sequences),
            "kv_events": list(self.kv_events),
            "clock": list(self.clock),
        }
        known: JsonObject = {} if self.opens is None else {"opens": self.opens}
        known |= {} if self.model is None else {"model": self.model.as_dict()}
        return {key: value for key, value in words.items() if value} | known


def notes_from(header: JsonObject) -> Notes:
    """The notes in a file's header. TypeError, ValueError or KeyError if they are invalid."""
    questions = [question_from(asked) for asked in header.get("questions", [])]
    tokens = {int(token): label for token, label in dict(header.get("tokens", {})).items()}
    opens = header.get("opens")
    notes = Notes().with_changes(header.get("title"), tokens, questions, opens)
    if opens is not None and opens > header["events"]:
        raise ValueError(f"there is no step {opens} to open at")
    given = header.get("kv_events", [])
    if not isinstance(given, list):
        raise TypeError(f"kv_events must be a list of pools, not {show(given)}")
    pools = tuple(check_text("a pool of kv_events", pool) for pool in given)
    sequences = tuple(_name(name) for name in header.get("sequences", ()))
    clock = tuple(_time(time) for time in header.get("clock", ()))
    model = kv_shape_from(header.get("model"))
    return replace(notes, sequences=sequences, kv_events=pools, clock=clock, model=model)


def _name(value: Json) -> Name:
    if not is_name(value):
        raise TypeError(f"sequences must be names, not {show(value)}")
    return value


def _time(value: Json) -> float:
    if (number := finite(value)) is None:
        raise TypeError(f"clock must be a list of times, and {show(value)} is none")
    return number


def _token(value: Json) -> int:
    if type(value) is not int:
        raise TypeError(f"tokens must map token ids to labels, and {show(value)} is not a token id")
    return value
