"""The explorer: controls from ranges, another run on a change, and words for what does not fit."""

import builtins
import sys
from collections.abc import Callable
from typing import Any

import pytest

import pagesim
from pagesim import Timeline, UsageError
from pagesim.lesson.explore import explore
from tests.timeline.scenes import told

widgets = pytest.importorskip("ipywidgets")


def scenario(
    block_size: int = 4, blocks: int = 8, share: float = 0.5, ends: bool = True
) -> Timeline:
    story = pagesim.Story(gpu_blocks=blocks, block_size=block_size)
    writer = story.arrive(range(1 + int(share * 20)))
    if ends:
        writer.leave()
    return story.run


def controls(box: Any) -> dict[str, Any]:
    return {child.description: child for child in box.children if child.description}


def player(box: Any) -> str:
    return next(child.value for child in box.children if "iframe" in str(child.value))


def message(box: Any) -> str:
    return "".join(c.value for c in box.children if str(c.value).startswith("<div role="))


def test_each_kind_of_range_has_its_control() -> None:
    box = explore(scenario, block_size=[2, 4], blocks=(4, 16, 4), share=(0.0, 1.0), ends=False)
    kinds = {name: type(control).__name__ for name, control in controls(box).items()}
    sliders = {"blocks": "IntSlider", "share": "FloatSlider"}
    assert kinds == sliders | {"block_size": "Dropdown", "ends": "Checkbox"}
    blocks, share = controls(box)["blocks"], controls(box)["share"]
    assert (blocks.min, blocks.max, blocks.step) == (4, 16, 4)
    assert (share.min, share.max, share.step) == (0.0, 1.0, 0.01)
    assert not blocks.continuous_update, "a drag runs the scenario once"


def test_controls_begin_at_the_functions_defaults() -> None:
    box = explore(scenario, block_size=[2, 4], blocks=(4, 16), share=(0, 1, 0.25), ends=False)
    values = {name: control.value for name, control in controls(box).items()}
    assert values == {"block_size": 4, "blocks": 8, "share": 0.5, "ends": True}


def test_without_defaults_they_begin_at_the_front() -> None:
    def bare(blocks: int, size: int, ends: bool) -> Timeline:
        return scenario(size, blocks, ends=ends)

    box = explore(bare, blocks=(6, 9), size=[2, 4], ends=True)
    values = {name: control.value for name, control in controls(box).items()}
    assert values == {"blocks": 6, "size": 2, "ends": True}


def test_a_text_is_a_field_in_which_a_reader_writes() -> None:
    def two(sentence: str = "Alice was beginning") -> Timeline:
        return told(sentence, gpu_blocks=4, block_size=2)

    box = explore(two, sentence="another one")
    field = controls(box)["sentence"]
    assert (type(field).__name__, field.value) == ("Text", "Alice was beginning")
    assert not field.continuous_update, "a word is not run letter by letter"
    before = player(box)
    field.value = "Call me Ishmael <"
    assert player(box) != before and message(box) == ""
    with pytest.raises(UsageError, match="sentence: the default 3 is not a text"):
        explore(lambda sentence=3: two(str(sentence)), sentence="one")


def test_a_change_runs_the_scenario_again() -> None:
    calls: list[int] = []

    def counted(blocks: int = 8) -> Timeline:
        calls.append(blocks)
        return scenario(blocks=blocks)

    box = explore(counted, blocks=(4, 16))
    before = player(box)
    controls(box)["blocks"].value = 12
    assert calls == [8, 12]
    assert player(box) != before
    controls(box)["blocks"].value = 8
    assert player(box) == before, "the same parameters show the same page"


def test_keywords_of_any_name_are_welcome_where_the_function_takes_them() -> None:
    def open_minded(**given: int) -> Timeline:
        return scenario(**given)

    assert controls(explore(open_minded, blocks=(4, 16)))["blocks"].value == 4


def test_what_the_scenario_raises_is_one_line_of_text() -> None:
    def fails(blocks: int = 4) -> Timeline:
        if blocks > 5:
            raise ValueError("<img src=x onerror=alert(1)>\n\nsecond line")
        return scenario(blocks=blocks)

    box = explore(fails, blocks=(4, 16))
    assert message(box) == ""
    controls(box)["blocks"].value = 6
    assert "ValueError: &lt;img src=x onerror=alert(1)&gt; second line" in message(box)
    assert "<img" not in message(box) and "\n" not in message(box)
    assert all("iframe" not in str(child.value) for child in box.children), "no stale player"
    controls(box)["blocks"].value = 4
    assert message(box) == "" and "iframe" in player(box)


def test_a_scenario_that_returns_no_run_is_told() -> None:
    box = explore(lambda blocks=4: "nothing", blocks=(4, 16))
    assert "TypeError: the scenario must return a run" in message(box)
    box = explore(lambda blocks=4: Timeline, blocks=(4, 16))  # the class is no run either
    assert "must return a run" in message(box)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ((4,), "must be"),
        ((4, 5, 1, 1), "must be"),
        ("4-16", "is not a text"),
        ((4, "16"), "must be"),
        ((True, 16), "must be"),
        ((4, float("nan")), "must be"),
        ((4, float("inf")), "must be"),
        (None, "must be"),
        ((16, 4), "low must be below high"),
        ((8, 8), "low must be below high"),
        ((4, 16, 0), "step"),
        ((4, 16, -1), "step"),
        ((4, 16, 13), "step"),
        ([], "at least one"),
        ([2, 4], "default 8 is not among"),
        ((9, 16), "default 8 is not between"),
    ],
)
def test_a_bad_range_names_the_parameter(bad: object, words: str) -> None:
    with pytest.raises(UsageError, match=rf"^blocks\b.*{words}"):
        explore(scenario, blocks=bad)


def test_parameters_and_ranges_must_fit() -> None:
    message = "watermark is not a parameter of the scenario; it has: block"
    with pytest.raises(UsageError, match=message):
        explore(scenario, watermark=(0.0, 0.1))

    def needs(blocks: int, other: int) -> Timeline:
        raise NotImplementedError

    with pytest.raises(UsageError, match="other has no default: give it a range"):
        explore(needs, blocks=(4, 16))

    def by_place(blocks: int, /) -> Timeline:
        raise NotImplementedError

    with pytest.raises(UsageError, match="blocks"):
        explore(by_place)
    with pytest.raises(UsageError, match="scenario must be a function"):
        explore(scenario(), blocks=(4, 16))  # type: ignore[arg-type]


def test_a_static_page_shows_the_picture_of_the_defaults() -> None:
    """What nbconvert, GitHub and a reader without a kernel see: no widget, and nothing empty."""
    box = explore(scenario, blocks=(4, 16))
    bundle = box._repr_mimebundle_()
    assert bundle["text/html"] == scenario()._repr_html_()
    assert bundle["text/plain"] == "Controls for blocks"
    assert "application/vnd.jupyter.widget-view+json" in bundle
    controls(box)["blocks"].value = 12
    assert box._repr_mimebundle_()["text/html"] == scenario()._repr_html_(), "the same each time"


def test_without_ipywidgets_the_same_picture_stands_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    page = explore(scenario, blocks=(4, 16))._repr_html_()
    assert page.startswith(scenario()._repr_html_())
    assert 'pip install "pagesim[lab]"' in page
    with pytest.raises(UsageError, match="blocks"):
        explore(scenario, blocks=(16, 4))


def test_a_scenario_may_print_its_findings() -> None:
    def prints(block_size: int = 16) -> None:
        print(f"<{2048 // block_size}> entries")

    box = explore(prints, block_size=[8, 16])
    assert "<pre>&lt;128&gt; entries" in box._repr_mimebundle_()["text/html"]
    controls(box)["block_size"].value = 8
    assert any("&lt;256&gt; entries" in str(child.value) for child in box.children)


def test_importing_it_imports_no_ipywidgets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pagesim.lesson.explore")
    real: Callable[..., Any] = builtins.__import__

    def watched(name: str, *rest: Any) -> Any:
        assert not name.startswith("ipywidgets")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", watched)
    import pagesim.lesson.explore  # noqa: F401
