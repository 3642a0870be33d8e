"""The page of a quirk: Markdown in the docstring of its module."""

import re
from dataclasses import dataclass

from pagesim.errors import UsageError

ENGINES = {"V0": "0.6.4.post1", "V1": "0.33.0"}
"""The engines, and the releases of vLLM that have them."""

SUBJECTS = (
    *("blocks", "sharing", "prefix caching", "eviction", "sliding window"),
    *("swapping", "scheduling", "preemption", "chunked prefill", "watermark", "priority"),
    *("groups", "states", "sizing", "second tier", "events and metrics", "asynchronous"),
)
"""What quirks are about."""

_SECTIONS = ("Expected", "What happens", "Why", "What to do", "Threads")
_TITLE = re.compile(r"# ([a-z]\d\d) (.+)")
_THREAD = re.compile(r"\[(.+?)\]\((https://\S+)\): (.+)")


@dataclass(frozen=True, slots=True)
class Thread:
    """A public thread in which somebody met a quirk, or mended it."""

    name: str
    link: str
    what: str


@dataclass(frozen=True, slots=True)
class Page:
    """What a page says. ``beside`` is the id of the same scene on the other engine, or empty."""

    quirk_id: str
    title: str
    engine: str
    subject: str
    beside: str
    is_mended: bool
    claim: str
    expected: str
    what_happens: str
    why: str
    what_to_do: str
    threads: tuple[Thread, ...]

    @property
    def release(self) -> str:
        """The release of vLLM that does this."""
        return ENGINES[self.engine]


def read(text: str, file: str) -> Page:
    """The page that a docstring is. UsageError says where one is wrong, and how it is right."""
    head, *parts = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
    sections = dict(zip(parts[::2], map(_paragraphs, parts[1::2]), strict=True))
    if tuple(sections) != _SECTIONS:
        raise UsageError(f"{file}: the sections must be {', '.join(_SECTIONS)}, in this order")
    title, line, claim, *more = [*_paragraphs(head).split("\n\n"), "", ""][:4]
    named = _TITLE.fullmatch(title)
    if named is None:
        raise UsageError(f"{file}: the title must be like `# w08 A head that never fits`")
    engine, subject, *notes = [*line.split(" · "), ""]
    if engine not in ENGINES or subject not in SUBJECTS:
        raise UsageError(
            f"{file}: the second line must be an engine and a subject, like `V1 · scheduling`, not "
            f"{line!r}; the subjects are {', '.join(SUBJECTS)}"
        )
    beside = next((note.removeprefix("beside ") for note in notes if "beside " in note), "")
    if not claim or more != [""]:
        raise UsageError(f"{file}: between the second line and the sections comes one paragraph")
    expected, what_happens, why, what_to_do = (sections[name] for name in _SECTIONS[:-1])
    return Page(
        quirk_id=named[1],
        title=named[2],
        engine=engine,
        subject=subject,
        beside=beside,
        is_mended="mended" in notes,
        claim=claim,
        expected=expected,
        what_happens=what_happens,
        why=why,
        what_to_do=what_to_do,
        threads=tuple(_threads(sections["Threads"], file)),
    )


def _paragraphs(text: str) -> str:
    """The text with one line per paragraph or item."""
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n", text.strip())]
    return "\n\n".join(re.sub(r" \* (?=\[)", "\n* ", paragraph) for paragraph in paragraphs)


def _threads(text: str, file: str) -> list[Thread]:
    if text == "None found.":
        return []
    items = [_THREAD.fullmatch(item.removeprefix("* ")) for item in text.split("\n") if item]
    if None in items:
        raise UsageError(
            f"{file}: threads must be like `* [vllm#1](https://…): what was met there.`, or "
            "`None found.`"
        )
    return [Thread(*item.groups()) for item in items if item]
