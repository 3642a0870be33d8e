"""What runs on this machine and what is missing: the findings of `pagesim doctor`.

Torch and Triton are not imported here. Their versions come from the installed metadata, and kernels
are tried in a child process, so that a crashing driver ends only the child.
"""

import json
import platform
import shutil
import subprocess
import sys
import webbrowser
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from pagesim.files.jsonl import JsonObject

Status = Literal["ok", "note", "missing"]

ROOT = Path(__file__).resolve().parents[2]
"""The folder that holds pagesim: a checkout or site-packages."""

MINIMUM = {
    "numpy": (2, 0),
    "matplotlib": (3, 9),
    "torch": (2, 11),
    "triton": (3, 6),
    "jupyterlab": (4, 4),
}
"""The oldest versions that work, as in pyproject.toml (a test compares them)."""

PROBE_TIMEOUT_S = 120.0
"""Far more than it takes to import torch from a cold disk and compile a first kernel."""

BROWSERS = ("firefox", "google-chrome", "chromium", "chromium-browser", "microsoft-edge", "safari")

Probe = Callable[[], "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report: what was examined, its status, and the command that fixes it."""

    name: str
    status: Status
    detail: str
    remedy: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """All findings in order. `kernels` is the answer of the child process, if it gave one."""

    findings: tuple[Finding, ...]
    kernels: JsonObject | None

    @property
    def ok(self) -> bool:
        """Whether the course can run: nothing it needs is missing."""
        return all(finding.status != "missing" for finding in self.findings)

    def as_dict(self) -> JsonObject:
        """For --json: {"ok", "findings": [{"name", "status", "detail", "remedy"}], "kernels"}."""
        return {"ok": self.ok, **asdict(self), "findings": list(map(asdict, self.findings))}


def examine(probe: Probe | None = None) -> Report:
    """Examine everything the course needs; `probe` replaces the child process in tests."""
    findings = [
        Finding("python", "ok", f"{platform.python_version()} on {platform.system()}"),
        look_at_package("numpy"),
        look_at_package("matplotlib"),
        look_at_package("torch", extra="kernels"),
        look_at_triton(),
        look_at_package("jupyterlab", extra="lab"),
    ]
    answer = None
    if any(finding.name == "torch" and finding.status == "missing" for finding in findings):
        findings.append(Finding("probe", "note", "not run: kernels need torch"))
    else:
        finding, answer = try_kernels(probe or start_probe)
        findings.append(finding)
    findings.append(look_for_browser())
    return Report(tuple(findings), answer)


def install_command(extra: str | None) -> str:
    """The command that installs an extra: from this checkout with its pins, or from the index."""
    name = f"[{extra}]" if extra else ""
    if all((ROOT / file).is_file() for file in ("constraints.txt", "pyproject.toml")):
        return f'pip install -e ".{name}" -c constraints.txt'
    return f'pip install "pagesim{name}"'


def installed_version(name: str) -> str | None:
    """The installed version, found without importing the package; None if there is none."""
    if find_spec(name) is None:
        return None
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def look_at_package(name: str, extra: str | None = None) -> Finding:
    """Is a needed package installed and recent enough?"""
    version = installed_version(name)
    wanted = ".".join(map(str, MINIMUM[name]))
    if version is None:
        return Finding(name, "missing", f"not installed; needs {wanted}+", install_command(extra))
    if _release(version) < MINIMUM[name]:
        detail = f"{version} is too old; needs {wanted}+"
        return Finding(name, "missing", detail, install_command(extra))
    return Finding(name, "ok", version)


def look_at_triton() -> Finding:
    """Triton is optional: without it, the kernels fall back to the NumPy reference."""
    found = look_at_package("triton", extra="kernels")
    if found.status == "ok":
        return found
    instead = "kernels will answer through the NumPy reference"
    if sys.platform == "linux":
        return Finding("triton", "note", f"{found.detail}; {instead}", found.remedy)
    return Finding("triton", "note", f"not offered for {platform.system()}; {instead}")


def start_probe() -> subprocess.CompletedProcess[str]:
    """Run the ten-line kernel in a child process. Raises TimeoutExpired, OSError."""
    return subprocess.run(
        [sys.executable, "-m", "pagesim.kernels.backend", "--json"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=PROBE_TIMEOUT_S,
        check=False,
    )


def try_kernels(probe: Probe) -> tuple[Finding, JsonObject | None]:
    """One line for the child's answer, or for the way it ended."""
    remedy = install_command("kernels")
    try:
        done = probe()
    except subprocess.TimeoutExpired as error:
        detail = f"the test kernel gave no answer within {error.timeout:.0f} s"
        return Finding("probe", "missing", detail), None
    except OSError as error:
        return Finding("probe", "missing", f"the child did not start: {error}", remedy), None
    answer = _last_object(done.stdout)
    if answer is None:
        detail = f"the child ended with {done.returncode} and no answer"
        if words := done.stderr.strip():
            detail += f" ({words.splitlines()[-1]})"
        return Finding("probe", "missing", detail, remedy), None
    how = f"{answer.get('mode')} on {answer.get('device')}: {answer.get('reason')}"
    if answer.get("ok") is not True:
        detail = f"{how}; the test kernel failed: {answer.get('probe')}"
        return Finding("probe", "missing", detail, remedy), answer
    return Finding("probe", "ok", how), answer


def look_for_browser() -> Finding:
    """JupyterLab opens a browser if it can; otherwise its address can be opened elsewhere."""
    try:
        return Finding("browser", "ok", webbrowser.get().name)
    except webbrowser.Error:
        path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path:
        return Finding("browser", "ok", path)
    return Finding("browser", "note", "none found; open the address that JupyterLab prints")


def _release(version: str) -> tuple[int, ...]:
    """The leading numbers: "2.13.0+cpu" gives (2, 13)."""
    numbers = version.split("+", 1)[0].split(".")[:2]
    return tuple(int("".join(filter(str.isdigit, number)) or 0) for number in numbers)


def _last_object(text: str) -> JsonObject | None:
    """The last line that is a JSON object: libraries may have printed something before it."""
    for line in reversed(text.splitlines()):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            return value
    return None
