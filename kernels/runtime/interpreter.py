"""Triton's interpreter, without the work that it repeats.

Before a kernel runs, the interpreter replaces the functions of `triton.language`, and with every
call of a helper it does so again: a third of the time of our kernels. Here a launch does it once.
Each operation also makes a table of all dtypes to look one up. Here each is looked up once.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any


def patch_once() -> None:
    """Let a launch do the repeated work once; another interpreter is left as it is."""
    interpreter: Any = import_module("triton.runtime.interpreter")
    if not {"_patch_lang", "_LangPatchScope", "_get_np_dtype"} <= vars(interpreter).keys():
        return
    patch, look_up = interpreter._patch_lang, interpreter._get_np_dtype
    scope: Any = interpreter._LangPatchScope
    language = import_module("triton.language")
    patched: set[int] = set()
    dtypes: dict[str, Any] = {}

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

    def np_dtype(kind: Any) -> Any:
        name = kind.scalar.name
        if name not in dtypes:
            dtypes[name] = look_up(kind)
        return dtypes[name]

    interpreter._LangPatchScope, interpreter._patch_lang = Scope, patch_lang
    interpreter._get_np_dtype = np_dtype
