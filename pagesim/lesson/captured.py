"""Captures what code prints and displays, as HTML to show elsewhere."""

import io
from contextlib import AbstractContextManager, redirect_stdout
from html import escape
from typing import Any


class Captured:
    """Collects what is printed and, in IPython, what is displayed; errors pass through."""

    def __init__(self) -> None:
        self._printed = io.StringIO()
        self._io: Any = None
        self._context: AbstractContextManager[Any]

    def __enter__(self) -> "Captured":
        if _in_ipython():
            from IPython.utils.capture import capture_output

            self._context = capture_output(stderr=False)
            self._io = self._context.__enter__()
        else:
            self._context = redirect_stdout(self._printed)
            self._context.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._context.__exit__(*raised)

    @property
    def text(self) -> str:
        """What was printed."""
        printed: str = self._printed.getvalue() if self._io is None else self._io.stdout
        return printed

    @property
    def pictures(self) -> list[str]:
        """What was displayed: its HTML, or its plain text as HTML."""
        shown = [] if self._io is None else [output.data for output in self._io.outputs]
        return [data.get("text/html") or _pre(data.get("text/plain", "")) for data in shown]

    def html(self, before: str = "") -> str:
        """``before`` and the printed lines, then the pictures."""
        return "\n".join([_pre(before + self.text), *self.pictures])


def display(value: object) -> None:
    """Show ``value`` in a notebook, print it elsewhere."""
    if _in_ipython():
        from IPython.display import display as show

        show(value)  # type: ignore[no-untyped-call]
    else:
        print(value, end="")


def _pre(text: str) -> str:
    return f"<pre>{escape(text)}</pre>" if text.strip() else ""


def _in_ipython() -> bool:
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return False
    return get_ipython() is not None
