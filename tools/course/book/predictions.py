"""A prediction without Python: a field for each part, compared with the committed answer."""

import ast
import json
import re
from dataclasses import dataclass
from html import escape, unescape

_ANSWER = re.compile(r'<details class="answer">.*?the answer: (.*?)\n', re.DOTALL)
_PART = re.compile(r"(?:^|, )([^:,\[\]]+): (.*?)(?=, [^:,\[\]]+: |$)")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a cell asks for: a name, the parts of the answer (one without a name), the tolerance."""

    name: str
    parts: tuple[str, ...]
    within: float


def asked(source: str) -> Asked | None:
    """What the cell with this code asks for; None if it asks nothing."""
    for call in ast.walk(ast.parse(source)):
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "pagesim.predict":
            name, mine, *_ = call.args
            keys = mine.keys if isinstance(mine, ast.Dict) else []
            parts = tuple(str(ast.literal_eval(key)) for key in keys if key is not None)
            if isinstance(mine, ast.Call):  # dict.fromkeys(…): the answer names them
                parts = ("?",)
            given = [word.value for word in call.keywords if word.arg == "within"]
            return Asked(
                str(ast.literal_eval(name)), parts, ast.literal_eval(given[0]) if given else 0.0
            )
    return None


def answer_in(html: str) -> str | None:
    """The answer that an output shows when it is opened; None if it is no answer."""
    found = _ANSWER.search(html)
    return unescape(found[1]) if found else None


def parts_of(question: Asked, answer: str) -> dict[str, str]:
    """The answer to each part, by its name; one without parts has the name ""."""
    if not question.parts:
        return {"": answer}
    if question.parts == ("?",):
        return dict(_PART.findall(answer))
    starts = [answer.index(f"{part}: ") for part in question.parts]
    ends = [*(start - 2 for start in starts[1:]), len(answer)]
    spans = zip(question.parts, starts, ends, strict=True)
    return {part: answer[start + len(part) + 2 : end] for part, start, end in spans}


def form(question: Asked, answer: str) -> str:
    """The fields, a button, and a place for the verdict."""
    rows = []
    for part, truth in parts_of(question, answer).items():
        label = escape(part or "Your prediction")
        hint = "a list, such as 1, 2, 3" if truth.startswith(("[", "{")) else ""
        rows.append(
            f'<label><span>{label}</span><input type="text" autocomplete="off" spellcheck="false" '
            f'placeholder="{hint}" data-answer="{escape(truth)}"></label>'
        )
    facts = escape(json.dumps({"name": question.name, "within": question.within}))
    return (
        f'<form class="predict" data-asked="{facts}">{"".join(rows)}'
        '<button type="submit">Compare</button><output></output></form>'
    )
