"""`pagesim.explore(scenario, block_size=[4, 8, 16], ...)`: controls that change a run.

The controls are ipywidgets, which are imported only when needed. The player knows nothing of them:
a change makes a new run, and a new player replaces the old one. Where there are no controls (a
static page, no ipywidgets, no kernel), the first picture is shown.
"""

import inspect
import math
from collections.abc import Callable
from html import escape
from importlib import import_module
from inspect import Parameter
from typing import Any

from pagesim.errors import UsageError
from pagesim.files.jsonl import JsonObject
from pagesim.lesson.captured import Captured
from pagesim.player.notebook import LOOKS

# A new player begins at the step of the old one, if its reader has left the one it opened at. The
# page stores that step, which it learns through the two documented hooks of the player.
_KEEP_STEP = """(frame => {
  const view = frame.contentWindow, key = 'pagesim-explore:KEY';
  const ready = () => {
    const player = view.pagesimPlayer;
    if (!player) { if (frame.isConnected) setTimeout(ready, 20); return; }
    const kept = sessionStorage.getItem(key);
    if (kept !== null) player.goto(Math.min(Number(kept), player.steps));
    new view.MutationObserver(() => sessionStorage.setItem(key, player.step)).observe(
      view.document.querySelector('.pagesim-player'), {attributeFilter: ['data-step']});
  };
  ready();
})(this)"""

# JupyterLab treats a key pressed on a slider as a command: x would cut the cell. It ignores keys on
# an element that has the attribute itself (its parent's does not count), so every element that gets
# the focus also gets the attribute. A style's load event fires when the controls are in the page.
_CLASS = "pagesim-explorer"
_KEEP_KEYS = (
    f"<style onload=\"this.closest('.{_CLASS}')?.addEventListener('focusin', "
    "event => event.target.setAttribute('data-lm-suppress-shortcuts', ''))\">"
    # ipywidgets draws a list's arrow in black, whatever the theme.
    f"[data-jp-theme-light='false'] .{_CLASS} select{{background-image:url(\"data:image/svg+xml,"
    "%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 18 18'%3E"
    "%3Cpath d='M5 7l4 4 4-4z' fill='%23ccc'/%3E%3C/svg%3E\")}</style>" + LOOKS
)


Scenario = Callable[..., Any]
"""Returns a Timeline, or prints and displays."""
Knob = tuple[str, JsonObject]
"""The class of an ipywidgets control, and what it is made with."""


class Still:
    """What stands there without ipywidgets: the first picture, and what to install."""

    def __init__(self, html: str) -> None:
        self.html = html

    def _repr_html_(self) -> str:
        return f'{self.html}<p>To turn the knobs: <code>pip install "pagesim[lab]"</code></p>'


def explore(scenario: Scenario, **ranges: Any) -> Any:
    """Show controls for the parameters of ``scenario``; each change runs the scenario again.

    ``scenario(**parameters)`` returns a ``Timeline``, or prints or displays something. The range of
    a parameter is ``(low, high)`` or ``(low, high, step)`` of ints or floats, a list of choices, a
    bool, or a text that the reader may replace. Its control begins at the function's own default;
    without a default, it begins at ``low``, the first choice, the bool or the text itself. An
    exception in the scenario is shown as one line. Returns an ipywidgets ``VBox``, which a static
    page shows as the picture of the defaults; without ipywidgets, returns a `Still` of that
    picture. Raises UsageError for a range or a parameter that does not fit.
    """
    defaults = _defaults(scenario, ranges)
    knobs = {
        name: _knob(name, choice, defaults.get(name, Parameter.empty))
        for name, choice in ranges.items()
    }
    still = _shown(scenario, {name: look["value"] for name, (_, look) in knobs.items()})
    try:
        widgets: Any = import_module("ipywidgets")
    except ImportError:
        return Still(still)
    return _box(widgets, scenario, knobs, still)


def _box(widgets: Any, scenario: Scenario, knobs: dict[str, Knob], still: str) -> Any:
    """The controls above the picture."""

    class Controls(widgets.VBox):  # type: ignore[misc]
        def _repr_mimebundle_(self, **given: Any) -> JsonObject:
            bundle: JsonObject = super()._repr_mimebundle_(**given)
            return {**bundle, "text/plain": f"Controls for {', '.join(knobs)}", "text/html": still}

    controls = {name: getattr(widgets, kind)(**look) for name, (kind, look) in knobs.items()}
    picture = widgets.HTML(layout={"width": "100%", "margin": "0"})
    keys = widgets.HTML(_KEEP_KEYS, layout={"display": "none"})
    box = Controls([*controls.values(), picture, keys])
    box.add_class(_CLASS)
    picture.value = _keeping_step(still, box.model_id)

    def update(_change: object = None) -> None:
        html = _shown(scenario, {name: control.value for name, control in controls.items()})
        picture.value = _keeping_step(html, box.model_id)

    for control in controls.values():
        control.observe(update, names="value")
    return box


def _defaults(scenario: Scenario, ranges: JsonObject) -> JsonObject:
    """The function's defaults; UsageError if its parameters and the ranges do not match."""
    if not callable(scenario):
        raise UsageError(f"scenario must be a function that returns a run, not {scenario!r:.80}")
    parameters = inspect.signature(scenario).parameters
    named = {
        name: parameter
        for name, parameter in parameters.items()
        if parameter.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    }
    any_name = any(p.kind is Parameter.VAR_KEYWORD for p in parameters.values())
    for name in ranges:
        if name not in named and not any_name:
            known = ", ".join(named) or "none"
            raise UsageError(f"{name} is not a parameter of the scenario; it has: {known}")
    for name, parameter in parameters.items():
        fixed = parameter.default is Parameter.empty
        if parameter.kind is Parameter.POSITIONAL_ONLY and fixed:
            raise UsageError(f"{name} is positional-only, but explore passes it by name")
        if name in named and fixed and name not in ranges:
            raise UsageError(f"{name} has no default: give it a range, as in {name}=(1, 8)")
    return {name: parameter.default for name, parameter in named.items()}


def _knob(name: str, choice: Any, default: Any) -> Knob:
    """The control for one parameter; UsageError for a bad range or a default outside it."""
    look: JsonObject = {"description": name, "style": {"description_width": "initial"}}
    given = default is not Parameter.empty
    if isinstance(choice, bool):
        return "Checkbox", look | {"value": bool(default) if given else choice, "indent": False}
    if isinstance(choice, str):
        if given and not isinstance(default, str):
            raise UsageError(
                f"{name}: the default {default!r:.80} is not a text, but its range is one"
            )
        wide = {"continuous_update": False, "layout": {"width": "60ch", "max_width": "95%"}}
        return "Text", look | wide | {"value": default if given else choice}
    if isinstance(choice, list):
        if not choice:
            raise UsageError(f"{name}: a list of choices needs at least one")
        if given and default not in choice:
            raise UsageError(f"{name}: the default {default!r} is not among {choice!r:.80}")
        options = [(str(value), value) for value in choice]
        return "Dropdown", look | {"options": options, "value": default if given else choice[0]}
    low, high, step = _numbers(name, choice)
    value = default if given else low
    if not _is_number(value) or not low <= value <= high:
        raise UsageError(f"{name}: the default {value!r} is not between {low} and {high}")
    look |= {"min": low, "max": high, "step": step, "value": value, "continuous_update": False}
    if isinstance(low, int) and isinstance(value, int):
        return "IntSlider", look
    return "FloatSlider", look | {"readout_format": ".3g"}


def _numbers(name: str, choice: Any) -> tuple[float, float, float]:
    """Low, high and step of a range: ints if all are ints; the default step of floats is 1 %."""
    fits = isinstance(choice, tuple) and len(choice) in (2, 3) and all(map(_is_number, choice))
    if not fits:
        raise UsageError(
            f"{name} must be (low, high), (low, high, step), a list of choices, a bool or a text, "
            f"not {choice!r:.80}"
        )
    low, high, *rest = choice
    whole = all(isinstance(number, int) for number in choice)
    if not low < high:
        raise UsageError(f"{name}: low must be below high, not {low} and {high}")
    step = rest[0] if rest else 1 if whole else (high - low) / 100
    if not 0 < step <= high - low:
        raise UsageError(f"{name}: the step must be above 0 and at most {high - low}, not {step}")
    return (low, high, step) if whole else (float(low), float(high), float(step))


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _shown(scenario: Scenario, given: JsonObject) -> str:
    """What the scenario prints, displays and returns, as HTML; or one line saying why not."""
    captured = Captured()
    try:
        with captured:
            run = scenario(**given)
        show = getattr(type(run), "_repr_html_", None)
        if show is not None:
            return "\n".join(filter(None, [captured.html(), show(run)]))
        if run is not None or not captured.html():
            raise TypeError(
                "the scenario must return a run, as pagesim.record gives, or print or display "
                f"something; it returned {run!r:.80}"
            )
        return captured.html()
    except Exception as error:
        return _line(error)


def _keeping_step(html: str, key: str) -> str:
    """HTML whose first player takes over the step of the one before it."""
    keep = escape(" ".join(_KEEP_STEP.replace("KEY", key).split()))
    return html.replace("<iframe ", f'<iframe onload="{keep}" ', 1)


def _line(error: Exception) -> str:
    """The error as one line of text that cannot become markup."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    if len(text) > 300:
        text = text[:299] + "…"
    # The notebook's own colours: they follow its theme.
    return f'<div role="alert" style="color:var(--jp-error-color0,#b00020)">{escape(text)}</div>'
