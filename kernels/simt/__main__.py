"""Explain a configuration, or write its thread map for the figures.

python -m pagesim.kernels.simt --head-size 128 --block-size 16
python -m pagesim.kernels.simt --json figures/data/thread_map.json
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from pagesim.kernels.simt import Config, explain, thread_map


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the constants, or write the map to a file; 2 for sizes that the kernel cannot serve."""
    parser = argparse.ArgumentParser(
        prog="python -m pagesim.kernels.simt",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--head-size", type=int, default=128)
    parser.add_argument("--block-size", type=int, default=16)
    parser.add_argument("--num-threads", type=int, default=128)
    parser.add_argument("--element-bytes", type=int, default=2, help="of the query: 2 or 4")
    parser.add_argument("--quantized", action="store_true", help="the cache holds 8-bit numbers")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the thread map here")
    options = vars(parser.parse_args(arguments))
    target = options.pop("json")
    try:
        config = Config(**options)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    if target is None:
        print(explain(config))
        return 0
    target.parent.mkdir(parents=True, exist_ok=True)
    # Indented, but a list of numbers stays on one line, so that the file can be read.
    parts = [f"  {json.dumps(key)}: {_lines(value)}" for key, value in thread_map(config).items()]
    target.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
    print(f"wrote {target}")
    return 0


def _lines(value: object) -> str:
    if not isinstance(value, list) or not value or not isinstance(value[0], dict):
        return json.dumps(value)
    return "[\n" + ",\n".join(f"    {json.dumps(entry)}" for entry in value) + "\n  ]"


if __name__ == "__main__":
    sys.exit(main())
