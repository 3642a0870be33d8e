"""Triton's interpreter, without the work that it repeats.

Before a kernel runs, the interpreter replaces the functions of `triton.language`, and with every
call of a helper it does so again: a third of the time of our kernels. Here a launch does it once.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def patch_once() -> None:
    """Let a launch patch each module of the language once; another interpreter is left as it is."""
    interpreter: Any = import_module("triton.runtime.interpreter")
    if not {"_patch_lang", "_LangPatchScope"} <= vars(interpreter).keys():
        return
    patch: Any = interpreter._patch_lang
    scope: Any = interpreter._LangPatchScope
    language = import_module("triton.language")
    patched: set[int] = set()

    class Scope(scope):  # type: ignore[misc]
        def restore(self) -> None:
            """The end of a launch."""
            patched.clear()
            super().restore()

    def patch_lang(function: Callable[..., Any]) -> Any:
        values = function.__globals__.values()
        seen = {id(value) for value in values if value is language or value is language.core}
        if seen and seen <= patched:
            return Scope()
        made = patch(function)
        patched.update(seen)
        return made

    interpreter._LangPatchScope, interpreter._patch_lang = Scope, patch_lang
