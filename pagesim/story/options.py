"""Which configuration an option belongs to."""

from dataclasses import fields
from typing import Any

from pagesim.errors import UsageError


def shared_out(options: dict[str, Any], *kinds: type) -> list[dict[str, Any]]:
    """The options of each of these dataclasses. UsageError for one that none of them has."""
    names = [{field.name for field in fields(kind)} for kind in kinds]
    for name in options:
        if not any(name in own for own in names):
            known = ", ".join(sorted(set().union(*names)))
            raise UsageError(f"there is no option {name!r}; this engine has {known}")
    return [{name: options[name] for name in own & options.keys()} for own in names]
