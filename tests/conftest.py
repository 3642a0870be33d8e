"""What is so for all tests."""

import sys

# jsonschema, which nbformat imports, compiles a grammar of internationalized addresses: a second in
# each worker, for a check that no notebook asks for. Without the module it omits that check.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
