"""What the tests may cost: CPU seconds of all and of each file, as `make test` runs them.

Machines differ, so a second here is what ``for i in range(20_000_000): pass`` takes. Whoever goes
beyond the budget makes the run fail, and what is slow is named: cut examples, or move the long part
to `make nightly`. Of files with many cases, `make test` runs a fifth.
"""

import os
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

TOTAL, FILE = 360, 10
"""Seconds for all tests, and for one file of them."""

THINNED = {
    f"tests/{name}.py"
    for name in (
        *("cache/test_byte_proof_v1", "cache/test_byte_proof_v1_groups", "decision/test_decision"),
        *("cache/test_byte_proof_v1_offload", "cache/test_byte_proof", "exercises/test_answers"),
        *("exercises/grading/test_exercises", "exercises/test_beside", "exercises/test_told"),
        *("exercises/test_notebooks", "exercises/test_registry", "explain/test_hostile"),
        *("explain/test_log_reading", "figures/test_book", "figures/test_every_figure"),
        *("figures/test_sources", "figures/test_pool_map", "figures/test_block_layout"),
        *("generation/test_engine", "generation/test_groups", "generation/test_tier"),
        *("kernels/attention/test_fuzz", "kernels/attention/test_null_blocks"),
        *("kernels/attention/test_numerics", "kernels/attention/test_partitions"),
        *("kernels/attention/test_traps", "kernels/attention/test_unified_step"),
        *("kernels/attention/test_windows", "kernels/simt/test_attention"),
        *("kernels/tiny_llm/test_by_hand", "kernels/tiny_llm/test_config_json"),
        *("kernels/tiny_llm/test_windows", "kernels/xray/test_xray", "kit/test_check"),
        *("kit/test_traps", "replay/test_record_vllm", "replay/test_replay"),
        *("simulation/test_metrics", "simulation/test_observed", "simulation/test_paged_v1_groups"),
        *("timeline/test_heard", "timeline/test_hostile_files", "timeline/test_recorders"),
        *("timeline/test_states", "v1/test_groups", "v1/test_recorded", "v1/test_recordings"),
        *("studies/test_watermark", "studies/test_group_hits", "studies/test_engines"),
        *("studies/test_crossover", "studies/test_second_tier", "studies/test_paper"),
        *("commands/test_generate", "commands/test_grade", "commands/test_interrupts"),
        *("commands/test_explain", "commands/test_waste", "exercises/grading/test_inside"),
        *("exercises/grading/test_report", "exercises/grading/test_frames", "kernels/test_backend"),
        *("exercises/test_mutants", "figures/test_display", "figures/test_film"),
        *("kernels/tiny_llm/test_train", "lint/test_language", "notebooks/test_site"),
        *("notebooks/test_slides", "timeline/test_memory", "workload/test_synthetic"),
        *("workload/test_token_ids", "test_questions"),
    )
}
"""Files with many cases: `make test` runs every fifth one, and `make nightly` all of them."""

EVERY = 5
NOISE = 1.5
"""A busy machine measures so many times as much: all tests 316 and 447, one file 8 and 12."""


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

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Of each test in one of the files with many cases, keep every fifth."""
        cases, left_out = Counter[str](), list[pytest.Item]()
        for item in items:
            file = item.nodeid.split("::")[0]
            if file in THINNED and hasattr(item, "callspec"):
                name = f"{file} {getattr(item, 'originalname', '')}"
                cases[name] += 1
                left_out += [item] if cases[name] % EVERY != 1 else []
        gone = {id(item) for item in left_out}
        items[:] = [item for item in items if id(item) not in gone]
        config.hook.pytest_deselected(items=left_out)

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
        if self.over() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return result

    def over(self) -> list[str]:
        """What is beyond the budget, in words."""
        slow = []
        for name, seconds in sorted(self.files.items()):
            cost = seconds / self.second
            if cost > FILE * NOISE:
                slow.append(f"{name}: {cost:.1f} s of {FILE}")
        total = self.all / self.second
        return slow + [f"all tests: {total:.0f} s of {TOTAL}"] * (total > TOTAL * NOISE)

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
