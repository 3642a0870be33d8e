"""What is so for all tests."""

import signal
import sys
import threading

# jsonschema, which nbformat imports, compiles a grammar of internationalized addresses: a second in
# each worker, for a check that no notebook asks for. Without the module it omits that check.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

# A script's `pytest &` ignores Ctrl-C, and so would all processes that tests start and interrupt.
in_main = threading.current_thread() is threading.main_thread()
if in_main and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
