"""What a student calls: check, hint, solution and progress."""

from dataclasses import dataclass
from html import escape

from pagesim.exercises.case import Function
from pagesim.exercises.entry import Entry, entries, keep
from pagesim.exercises.exercise import Exercise
from pagesim.exercises.registry import exercises, get
from pagesim.exercises.shrink import smallest
from pagesim.exercises.verdict import Verdict
from pagesim.lesson import progress_file
from pagesim.player.describe import counted

_asked: set[str] = set()
_hinted: dict[str, int] = {}


class Shown(str):
    """A text that a notebook and a terminal show as it is, without quotes."""

    __slots__ = ()
    __repr__ = _repr_markdown_ = str.__str__


def check(number: str, f: Function) -> Verdict:
    """Check ``f``; if it is wrong, return the smallest case on which it fails, to step through."""
    exercise = get(number)
    verdict = exercise.check(f)
    if verdict.tried:
        keep(number, tried=True, right=verdict.right)
    return verdict if verdict else smallest(exercise, f, verdict)


def hint(number: str) -> Shown:
    """Return the next of three hints; they go from a nudge to nearly the whole answer."""
    exercise = get(number)
    seen = max(_hinted.get(number, 0), entries().get(number, Entry()).hints)
    place = min(seen, len(exercise.hints) - 1)
    _hinted[number] = place + 1
    keep(number, hints=place + 1)
    more = "" if place + 1 < len(exercise.hints) else f' The solution is in `solution("{number}")`.'
    return Shown(f"**Hint {place + 1} of {len(exercise.hints)}:** {exercise.hints[place]}{more}")


def solution(number: str) -> Shown:
    """Return the solution; the first call only asks whether you want to see it."""
    exercise = get(number)
    if number not in _asked:
        _asked.add(number)
        return Shown(
            f'This shows the whole solution of {number}. There are also hints: `hint("{number}")`. '
            f'If you are sure, call `solution("{number}")` again.'
        )
    keep(number, solution=True)
    return Shown(f"```python\n{exercise.solution}```\n\n{exercise.in_vllm}")


@dataclass(frozen=True)
class Progress:
    """The exercises with what was done; ``problem`` says what is wrong with the file."""

    rows: list[tuple[Exercise, Entry]]
    problem: str = ""

    @property
    def points(self) -> int:
        """Points for what was right once."""
        return sum(exercise.points for exercise, entry in self.rows if entry.right)

    @property
    def total(self) -> int:
        """Points for all of them."""
        return sum(exercise.points for exercise, _ in self.rows)

    def __str__(self) -> str:
        lines = [self.problem] if self.problem else []
        lines += [
            f"{_mark(entry)} {exercise.number:5} {'*' * exercise.stars:3}  "
            f"{exercise.title:40.40}  {_done(entry)}".rstrip()
            for exercise, entry in self.rows
        ]
        return "\n".join([*lines, f"{self.points} of {self.total} points"])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{_mark(entry)}</td><td>{escape(exercise.number)}</td>"
            f'<td style="text-align:left">{escape(exercise.title)}</td>'
            f"<td>{'★' * exercise.stars}</td>"
            f'<td style="text-align:left">{_done(entry)}</td></tr>'
            for exercise, entry in self.rows
        )
        head = "<tr><th></th><th>exercise</th><th></th><th></th><th></th></tr>"
        problem = f"<p>{escape(self.problem)}</p>" if self.problem else ""
        return f"{problem}<table>{head}{rows}</table><p>{self.points} of {self.total} points</p>"


def progress() -> Progress:
    """List what you have tried and solved so far, from the file beside the notebook."""
    known = entries()
    rows = [(exercise, known.get(exercise.number, Entry())) for exercise in exercises()]
    return Progress(rows, progress_file.problem())


def _mark(entry: Entry) -> str:
    return "✓" if entry.right else "·" if entry.tries else " "


def _done(entry: Entry) -> str:
    tries = f"{entry.tries} tr{'y' if entry.tries == 1 else 'ies'}" if entry.tries else ""
    hints = counted(entry.hints, "hint") if entry.hints else ""
    return ", ".join(part for part in (tries, hints, "solution seen" * entry.solution) if part)
