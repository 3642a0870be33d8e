"""What the tests may cost: CPU seconds of all and of each file, as `make test` runs them.

Machines differ, so a second here is what ``for i in range(20_000_000): pass`` takes. What goes
beyond the budget is named, and what goes far beyond it fails: cut examples, or move the long part
to `make nightly`. Of files with many cases, `make test` runs a fifth: see `tests/thinned.py`.
"""

import os
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

TOTAL, FILE = 360, 10
"""Seconds for all tests, and for one file of them."""

NOISE = 2.5
"""What a busy machine may measure instead: of the same tests 316 and 551 have been seen, and 8 and
17 of one file. Beyond the budget a run says so; beyond so many times the budget it fails."""


def used() -> float:
    """CPU seconds of this process and of those it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def second() -> float:
    """CPU seconds here for one second of the budget, from a hundredth of it."""
    start = time.process_time()
    exec("for i in range(200_000): pass", {})
    return 100 * (time.process_time() - start)


class Budget:
    """Adds up what each file takes, over all workers."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.is_worker = hasattr(config, "workerinput")
        self.files: Counter[str] = Counter()
        self.seconds = [second()]
        self.all = 0.0

    @property
    def second(self) -> float:
        """What a second of the budget took, while the tests ran: a busy machine is slower."""
        return sum(self.seconds) / len(self.seconds)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        name = item.nodeid.split("::")[0]
        if name not in self.files:
            self.seconds.append(second())
        start = used()
        result = yield
        self.files[name] += used() - start  # type: ignore[assignment]
        return result

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """A worker of pytest-xdist has ended."""
        self.files.update(node.workeroutput["cpu"])
        self.seconds += node.workeroutput["seconds"]
        self.all += node.workeroutput["all"]

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        if self.is_worker:
            self.config.workeroutput.update(  # type: ignore[attr-defined]
                cpu=dict(self.files), all=used(), seconds=self.seconds
            )
            return (yield)
        result = yield
        # Workers have told what they used; as children they would count twice.
        self.all += time.process_time() if self.all else used()
        if self.over(NOISE) and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return result

    def over(self, noise: float = 1) -> list[str]:
        """What is beyond so many times the budget, in words."""
        slow = []
        for name, seconds in sorted(self.files.items()):
            cost = seconds / self.second
            if cost > FILE * noise:
                slow.append(f"{name}: {cost:.1f} s of {FILE}")
        total = self.all / self.second
        return slow + [f"all tests: {total:.0f} s of {TOTAL}"] * (total > TOTAL * noise)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("budget")
        total = f"{self.all / self.second:.0f} s of {TOTAL}"
        terminalreporter.line(f"{total}, in CPU seconds of which one takes {self.second:.2f} here")
        for line in self.over():
            terminalreporter.line(f"beyond the budget: {line}", red=True)
        if os.environ.get("PAGESIM_COSTS"):
            for name, cost in self.files.most_common(120):
                terminalreporter.line(f"{cost / self.second:6.1f} {name}")


def pytest_configure(config: pytest.Config) -> None:
    if "PAGESIM_BUDGET" in os.environ:
        config.pluginmanager.register(Budget(config))
