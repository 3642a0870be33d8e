"""A real browser for these tests, or the reason why there is none.

PAGESIM_E2E=required (as .ci/run sets it) makes a failure of whatever would be skipped.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.e2e import browser
from tests.e2e.browser import Page
from tests.e2e.lab import Lab

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver

SCREENSHOTS = Path(__file__).parent / "screenshots"
REQUIRED = os.environ.get("PAGESIM_E2E") == "required"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(pytest.mark.e2e)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if REQUIRED and report.skipped:
        reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"PAGESIM_E2E=required, and this would be left out: {reason}"
    return report


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebDriver]:
    """One browser for all tests; each gets a tab of its own."""
    if reason := browser.missing():
        pytest.skip(reason)
    driver = browser.start(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()


@pytest.fixture
def page(chromium: WebDriver, tmp_path: Path) -> Iterator[Page]:
    """A fresh tab: no step kept from another test, light and without motion, no log of before."""
    first = chromium.current_window_handle
    chromium.switch_to.new_window("tab")
    tab = Page(chromium, SCREENSHOTS, tmp_path)
    # A tab that does not believe it has the focus gives none to what is in it.
    chromium.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})
    tab.dark(False)
    tab.still()
    tab.forget()
    tab.console()
    tab.requests()
    yield tab
    chromium.close()
    chromium.switch_to.window(first)


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory, chromium: WebDriver) -> Iterator[Lab]:
    """JupyterLab with the committed chapters, and no settings of the person who runs this."""
    from tests.e2e import lab as jupyter

    if reason := jupyter.missing():
        pytest.skip(reason)
    with jupyter.serve(tmp_path_factory.mktemp("lab")) as served:
        yield served
