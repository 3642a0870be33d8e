"""All quirks: found as files, and read when they are asked for."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from pagesim.errors import UsageError
from pagesim.files.jsonl import JsonObject
from pagesim.quirks import page, telling
from pagesim.quirks.page import Page
from pagesim.quirks.scene import Scene
from pagesim.timeline.pair import Compared, compare
from pagesim.timeline.run import Timeline

_FOLDERS = ("v0", "v1", "groups", "tier")


@dataclass(frozen=True, slots=True)
class Quirk:
    """A page, its scene, and what the scene finds."""

    page: Page
    scenario: Callable[[], Scene]
    answer: JsonObject

    @property
    def quirk_id(self) -> str:
        """Such as "q18"."""
        return self.page.quirk_id

    @property
    def source(self) -> str:
        """The scene as one reads it."""
        return inspect.getsource(self.scenario)

    def beside(self) -> "Quirk | None":
        """The same scene on the other engine, if there is one."""
        return get(self.page.beside) if self.page.beside else None

    def played(self) -> Timeline | Compared | None:
        """The scene in the player, beside its twin if it has one; None if nothing was recorded."""
        run = self.scenario().run
        if run is None:
            return None
        twin = self.beside()
        other = twin and twin.scenario().run
        if twin is None or other is None:
            return run.annotate(title=f"{self.quirk_id} {self.page.title}")
        return compare(run, other, titles=(_named(self), _named(twin)))

    def to_html(self, path: str | Path) -> None:
        """Write a page that plays the scene. UsageError for one that has no blocks to show."""
        played = self.played()
        if played is None:
            raise UsageError(f"{self.quirk_id} is arithmetic: it has no run to play")
        played.to_html(path)

    def _repr_html_(self) -> str:
        played = self.played()
        return telling.html(self.page) + ("" if played is None else played._repr_html_())

    def __repr__(self) -> str:
        return f"<{self.quirk_id} {self.page.title}>"


def _named(quirk: Quirk) -> str:
    return f"{quirk.page.engine}: {quirk.quirk_id} {quirk.page.title}"


@functools.cache
def quirks() -> tuple[Quirk, ...]:
    """Every quirk: those of V0, of V1, of several groups, and of the second tier."""
    return tuple(_read(name) for name in _modules().values())


def get(quirk_id: str) -> Quirk:
    """The quirk with an id such as "q18". UsageError if there is none."""
    names = _modules()
    if quirk_id not in names:
        raise UsageError(f"there is no quirk {quirk_id!r:.40}; `pagesim quirks` lists all of them")
    return _read(names[quirk_id])


@functools.cache
def _modules() -> dict[str, str]:
    """The names of the modules by id."""
    here = Path(__file__).parent
    files = [file for folder in _FOLDERS for file in sorted((here / folder).glob("[a-z][0-9]*.py"))]
    return {file.stem[:3]: f"pagesim.quirks.{file.parent.name}.{file.stem}" for file in files}


@functools.cache
def _read(name: str) -> Quirk:
    module = import_module(name)
    quirk = Quirk(page.read(module.__doc__ or "", name), module.scenario, module.ANSWER)
    if f".{quirk.quirk_id}_" not in name:
        raise UsageError(f"{name}: the file must be named after the id, {quirk.quirk_id}")
    return quirk
