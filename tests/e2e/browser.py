"""Headless Chromium, and a page that has the player in it. selenium is imported when it is used."""

from __future__ import annotations

import importlib.util
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver
    from selenium.webdriver.remote.webelement import WebElement

    from pagesim import Timeline
    from pagesim.timeline.pair import Compared

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",  # in a container everything runs as root
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Else no file may ask a server on this machine, and a test of what is refused shows nothing.
    "--disable-features=LocalNetworkAccessChecks",
    "--hide-scrollbars",
    "--window-size=1400,1200",
)
LOOK = "".join(
    Path(__file__).with_name(name).read_text(encoding="utf-8")
    for name in ("look_where.js", "look_what.js")
)
PATIENCE = 30.0
"""Seconds until something that must come is given up: long, for a slow machine is no failure."""


def missing() -> str | None:
    """Why no browser can be driven here, or None."""
    if importlib.util.find_spec("selenium") is None:
        return 'selenium is not installed: pip install "pagesim[test]"'
    if browser() is None:
        return f"none of {', '.join(BROWSERS)} is installed: make e2e-setup"
    if shutil.which("chromedriver") is None:
        return "chromedriver is not installed: make e2e-setup"
    return None


def browser() -> str | None:
    """The browser's path, or None."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def start(profile: Path, *more: str) -> WebDriver:
    """A fresh headless browser that logs its console and its network; ``more`` flags may follow."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = browser() or ""
    for flag in (*FLAGS, *more, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # An explicit driver: selenium would ask the network for one.
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_script_timeout(PATIENCE * 2)
    return driver


def corner(picture: WebElement) -> float:
    """How bright an element's lower right corner is drawn, from 0 to 1."""
    from matplotlib.image import imread

    pixels = imread(io.BytesIO(picture.screenshot_as_png))
    return float(pixels[-3, -3, :3].mean())


class Page:
    """One tab; inside it the player is found by the hooks that player.js documents."""

    def __init__(self, driver: WebDriver, screenshots: Path, files: Path) -> None:
        self.driver, self.screenshots, self.files = driver, screenshots, files
        self._preferred: dict[str, str] = {}

    # -- getting there ---------------------------------------------------------------------------

    def open(self, path: Path, address: str = "step=0") -> Page:
        """Open a file by file://, with the logs emptied before, and wait for the player."""
        self.console()
        self.requests()
        self.driver.get("about:blank")  # else only the address would change
        self.driver.get(f"{path.as_uri()}#{address}")
        return self.ready()

    def show(
        self, run: Timeline | Compared, step: int | None = None, address: str = "step=0"
    ) -> Page:
        """Open a run as one file, at a step if one is named."""
        run.to_html(self.files / "run.html")
        self.open(self.files / "run.html", address)
        if step is not None:
            self.go(step)
        return self

    def ready(self) -> Page:
        """Wait until the player has mounted, or said why it cannot."""
        self.wait(".pagesim-player[data-ready]")
        return self

    def wait(self, css: str) -> WebElement:
        """The first element that matches, as soon as it is there."""
        from selenium.webdriver.support.ui import WebDriverWait

        found = WebDriverWait(self.driver, PATIENCE).until(lambda _: self.all(css), css)
        return found[0]

    def themed(self, name: str) -> None:
        """Wait until the player is light, or dark."""
        self.wait(f'.pagesim-player[data-theme="{name}"]')

    def until(self, script: str, *arguments: Any) -> Any:
        """Wait until a script returns something true, and return that."""
        from selenium.webdriver.support.ui import WebDriverWait

        wait = WebDriverWait(self.driver, PATIENCE)
        return wait.until(lambda _: self.js(script, *arguments), script)

    def frame(self, css: str) -> Page:
        """Go into an iframe; `top` comes back."""
        element = self.wait(css)
        self.js("arguments[0].scrollIntoView({block: 'center'})", element)
        self.driver.switch_to.frame(element)
        return self

    def players(self) -> Iterator[Page]:
        """Go into the player of each frame, one after another."""
        for number in range(len(self.all("iframe.pagesim-frame"))):
            frame = self.all("iframe.pagesim-frame")[number]
            self.js("arguments[0].scrollIntoView({block: 'start'})", frame)
            self.driver.switch_to.frame(frame)
            yield self.ready()
            self.top()

    def top(self) -> Page:
        """Leave all iframes."""
        self.driver.switch_to.default_content()
        return self

    # -- looking ---------------------------------------------------------------------------------

    def js(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def look(self, name: str, *arguments: Any) -> Any:
        """What a function of look_where.js or look_what.js returns."""
        return self.js(f"{LOOK}\nreturn {name}(...arguments)", *arguments)

    def all(self, css: str) -> list[WebElement]:
        from selenium.webdriver.common.by import By

        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def one(self, css: str) -> WebElement:
        from selenium.webdriver.common.by import By

        return self.driver.find_element(By.CSS_SELECTOR, css)

    def text(self, css: str) -> str:
        """What an element says, hidden or not, as the DOM has it."""
        return str(self.js("return document.querySelector(arguments[0]).textContent", css))

    def data(self, name: str) -> str | None:
        """A data attribute of the player's root."""
        return self.one(".pagesim-player").get_attribute(f"data-{name}")

    @property
    def step(self) -> int:
        return int(self.data("step") or -1)

    def state(self) -> dict[str, Any]:
        """The player's state in the shape of FORMAT.md."""
        return self.js("return pagesimPlayer.state()")

    def picture(self) -> tuple[str, str, bytes]:
        """All there is to see of a step, when nothing moves: markup, what is said, and pixels."""
        self.still()
        self.until("return document.getAnimations().length === 0")
        stage = self.js("return document.querySelector('.ps-stage').outerHTML")
        sentence = self.js("return document.querySelector('.ps-said').outerHTML")
        return stage, sentence, self.one(".ps-stage").screenshot_as_png

    def shot(self, name: str) -> None:
        """Save what is on the screen, for people to look at."""
        self.screenshots.mkdir(exist_ok=True)
        self.driver.save_screenshot(str(self.screenshots / f"{name}.png"))

    # -- acting ----------------------------------------------------------------------------------

    def click(self, action: str) -> None:
        """Press one of the player's buttons."""
        self.one(f'[data-action="{action}"]').click()

    def unfold(self) -> None:
        """Open the players of a race that is shown alone."""
        if self.all('.pagesim-pair[data-folded="true"]'):
            self.click("pair-fold")

    @property
    def steps(self) -> list[int]:
        """The step of each player: a linked page has two, and none while it is folded."""
        return self.js("return (window.pagesimPlayers ?? []).map((player) => player.step)")

    def turn(self, way: str) -> list[int]:
        """Press `next` or `prev`, which two linked players have together; the steps then.

        A run alone has made one step, and of two linked runs at least one is elsewhere. In a race
        the time is, whether or not the players below it are open.
        """
        time = "return document.querySelector('.pagesim-pair:has(.ps-race)')?.dataset.step"
        before, at = self.steps, self.js(time)
        self.click(f"pair-{way}" if self.all(".pagesim-pair") else way)
        turned = {"next": 1, "prev": -1}[way]
        if at is not None:
            assert int(self.js(time)) == int(at) + turned
        else:
            assert self.steps != before if len(before) == 2 else self.steps == [before[0] + turned]
        return self.steps

    def key(self, name: str, css: str = ".pagesim-player") -> None:
        """Press a key (a character, or selenium's name of one, as ARROW_RIGHT) on an element."""
        from selenium.webdriver.common.keys import Keys

        self.one(css).send_keys(getattr(Keys, name, name))

    def go(self, step: int) -> None:
        """Type a number into *go to step*."""
        self.fill(".ps-goto", f"{step}")

    def fill(self, css: str, text: str) -> None:
        """Write a text into a field that is emptied before, and press Enter."""
        self.one(css).clear()
        self.one(css).send_keys(text)
        self.key("ENTER", css)

    def choose(self, block: int) -> None:
        """Click a block in its pool."""
        self.one(f'.ps-stage [data-block="{block}"] .edge').click()

    def still(self) -> None:
        """As for people who want no motion: what has moved is painted a hair differently."""
        self._prefer("prefers-reduced-motion", "reduce")

    def moving(self) -> None:
        """As for everyone else."""
        self._prefer("prefers-reduced-motion", "no-preference")

    def _prefer(self, name: str, value: str) -> None:
        self._preferred[name] = value
        features = [{"name": name, "value": value} for name, value in self._preferred.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def forget(self) -> None:
        """Empty what files on the disk have stored: scores of other tests."""
        clear = {"origin": "file://", "storageTypes": "local_storage"}
        self.driver.execute_cdp_cmd("Storage.clearDataForOrigin", clear)

    def size(self, width: int, height: int) -> None:
        """How large the window is within, in pixels."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def dark(self, on: bool = True) -> None:
        """What the system prefers, as the page is told."""
        self._prefer("prefers-color-scheme", "dark" if on else "light")

    # -- what happened behind the page -----------------------------------------------------------

    def console(self) -> list[str]:
        """Errors on the console since it was last asked."""
        entries: list[dict[str, Any]] = self.driver.get_log("browser")
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]

    def shifted(self) -> float:
        """How much of what is shown has moved by itself since the page was opened: its CLS."""
        script = """const done = arguments[0];
            new PerformanceObserver((list) =>
              done(list.getEntries().reduce((sum, entry) => sum + entry.value, 0))
            ).observe({ type: "layout-shift", buffered: true });
            setTimeout(() => done(0), 500);"""
        return float(self.driver.execute_async_script(script))

    def requests(self) -> list[str]:
        """Addresses that were asked for since this was last asked."""
        messages = [json.loads(entry["message"])["message"] for entry in self._performance()]
        wanted = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
        return [params["request"]["url"] for params in wanted]

    def _performance(self) -> list[dict[str, Any]]:
        return self.driver.get_log("performance")
