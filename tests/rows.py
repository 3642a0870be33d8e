"""Values as a snapshot keeps them: fields and numbers, a line for each part that fits into one.

`assert rows(value) == snapshot` compares with the file in `__snapshots__` beside the test, which is
reviewed like code. `pytest --snapshot-update` writes it. Sentences do not belong there.
"""

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

WIDTH = 120


def rows(value: Any) -> Any:
    """Text where a value fits into a line, and containers of texts around it."""
    if is_dataclass(value) and not isinstance(value, type):
        value = {each.name: getattr(value, each.name) for each in fields(value)}
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.tolist()}"
    if len(repr(value)) <= WIDTH and not any(isinstance(part, np.ndarray) for part in parts(value)):
        return repr(value)
    if isinstance(value, dict):
        return {key: rows(part) for key, part in value.items()}
    return [rows(part) for part in value] if isinstance(value, list | tuple) else repr(value)


def parts(value: Any) -> list[Any]:
    """What a container has in it; nothing if it is none."""
    if isinstance(value, dict):
        return [*value.values()]
    return [*value] if isinstance(value, list | tuple) else []
