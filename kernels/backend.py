"""How kernels run on this machine, and whether they do.

    from pagesim.kernels import backend
    backend.decide()      # Backend(mode="interpreted", reason="torch sees no …", device="cpu")
    backend.device()      # where to put tensors
    python -m pagesim.kernels.backend --json

The command runs a ten-line kernel and reports the result. `pagesim doctor` runs it as a child
process, so that a crash in a driver does not end the doctor.
"""

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module

from pagesim.kernels.runtime.mode import (
    INSTALL,
    Backend,
    CannotRunError,
    decide,
    device,
    load_triton,
)

__all__ = ["Backend", "CannotRunError", "decide", "device", "load_triton", "or_say_why", "report"]


@contextlib.contextmanager
def or_say_why() -> Iterator[None]:
    """Run a block that launches or examines a kernel; if it cannot run here, print why.

    The rest of the block is then skipped. Other errors pass through.
    """
    try:
        yield
    except CannotRunError as error:
        print(error)


def report() -> dict[str, str | bool | None]:
    """Return everything that `pagesim doctor` reports about kernels; never raises.

    Keys: mode, reason, device (as in `Backend`), torch and triton (versions or None), probe ("ok"
    or what went wrong) and ok (whether kernels, or the reference in their place, compute
    correctly).
    """
    result: dict[str, str | bool | None] = {"mode": None, "reason": "", "device": None}
    try:
        backend = decide()
        result.update(mode=backend.mode, reason=backend.reason, device=backend.device)
        result["torch"], result["triton"] = _version("torch"), _version("triton")
        if result["torch"] is None:
            result["probe"] = f"not run: {INSTALL}"
        else:
            result["probe"] = import_module("pagesim.kernels.runtime.probe").run_probe()
    except Exception as error:  # whatever a driver, a compiler or a broken wheel may raise
        result["probe"] = f"{type(error).__name__}: {error}".strip().splitlines()[0]
        result["reason"] = result["reason"] or "see probe"
    result["ok"] = result["probe"] == "ok"
    return {"torch": _version("torch"), "triton": _version("triton"), **result}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; exit code 0 if kernels (or the reference) answer rightly, else 1."""
    parser = argparse.ArgumentParser(
        prog="python -m pagesim.kernels.backend", description=main.__doc__
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    options = parser.parse_args(arguments)
    found = report()
    if options.json:
        print(json.dumps(found))
    else:
        print(f"{found['mode'] or 'no kernels'} on {found['device']}: {found['reason']}")
        versions = f"torch {found['torch']}, triton {found['triton']}"
        print(f"probe: {found['probe']} ({versions})")
    return 0 if found["ok"] else 1


def _version(name: str) -> str | None:
    try:
        return str(import_module(name).__version__)
    except Exception:  # not installed, or broken
        return None


if __name__ == "__main__":
    sys.exit(main())
