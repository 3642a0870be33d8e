"""A file of tests that takes too long is named, and makes a run fail in which all else passed."""

import subprocess
import sys
from pathlib import Path

from tests import budget

ROOT = Path(__file__).parents[1]
TEST = """
import time
from tests import budget

budget.FILE = 0.05

def test_it():
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass
"""


def test_a_file_beyond_its_part_fails_the_run(tmp_path: Path) -> None:
    """That one within it passes is what every `make test` shows."""
    (tmp_path / "test_it.py").write_text(TEST)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.budget", str(tmp_path)]
    done = subprocess.run(
        [*command, "--rootdir", str(tmp_path), "--confcutdir", str(tmp_path), "-c", "/dev/null"],
        cwd=ROOT,
        env={"PAGESIM_BUDGET": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "beyond the budget: test_it.py" in done.stdout and "1 passed" in done.stdout


def test_what_all_of_them_may_take() -> None:
    spent = budget.Budget.__new__(budget.Budget)
    most = 2 * budget.NOISE * budget.FILE
    spent.files, spent.seconds = budget.Counter(a=most - 0.1, b=most + 0.1), [1.0, 3.0]
    spent.all = 2 * budget.NOISE * budget.TOTAL
    assert [line.split(":")[0] for line in spent.over(budget.NOISE)] == ["b"]
    spent.all += 1
    assert [line.split(":")[0] for line in spent.over(budget.NOISE)] == ["b", "all tests"]
    assert [line.split(":")[0] for line in spent.over()] == ["a", "b", "all tests"]
