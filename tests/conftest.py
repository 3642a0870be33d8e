"""What is so for all tests."""

import gc
import os
import signal
import sys
import threading

# Hypothesis loads what calls itself its plugin: trio's, which imports trio in every process.
os.environ.setdefault("HYPOTHESIS_NO_PLUGINS", "1")

import tqdm.auto  # noqa: F401 (now: once a chapter's kernel is here, it would draw for notebooks)
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.budget", "tests.chapters", "tests.thinned"]

# Threads wait for each other in a loop: on a busy machine small products took ten times the CPU.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Where bytecode is not written, every worker and every process that a test starts compiles it all
# again, and pytest rewrites every assert: more than a tenth of what the tests cost.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# jsonschema, which nbformat imports, compiles a grammar of internationalized addresses: a second in
# each worker, for a check that no notebook asks for. Without the module it omits that check.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

# A script's `pytest &` ignores Ctrl-C, `nohup` the end of a terminal; so would all processes that
# tests start and interrupt.
if threading.current_thread() is threading.main_thread():
    for number, handler in (
        (signal.SIGINT, signal.default_int_handler),
        (getattr(signal, "SIGHUP", signal.SIGINT), signal.SIG_DFL),
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


# What is loaded to collect the tests stays: the garbage collector need not walk over it again and
# again.
gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)  # each full collection walks over torch and matplotlib
    gc.enable()


# A machine under load is no reason to fail.
settings.register_profile("pagesim", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("pagesim")
