"""Which configuration an option belongs to, and what is taken if there is none."""

from dataclasses import fields
from typing import Any

from pagesim.errors import UsageError

Options = dict[str, Any]
"""Fields of an engine's configurations, or of its requests, by name."""


def shared_out(options: Options, *kinds: type) -> list[Options]:
    """The options of each of these dataclasses. UsageError for one that none of them has."""
    names = [{field.name for field in fields(kind)} for kind in kinds]
    for name in options:
        if not any(name in own for own in names):
            known = ", ".join(sorted(set().union(*names)))
            raise UsageError(f"there is no option {name!r}; this engine has {known}")
    return [{name: options[name] for name in own & options.keys()} for own in names]


def roomy(limits: Options, is_chunked: bool) -> Options:
    """The limits of a scheduler; what is not given is as large as the others allow."""
    budget = limits.get("max_num_batched_tokens", 8_192)
    most = budget if isinstance(budget, int) else 8_192  # the scheduler says what is wrong
    sizes = {"max_num_seqs": min(256, most), "max_model_len": 8_192 if is_chunked else most}
    return {"max_num_batched_tokens": budget, **sizes} | limits
