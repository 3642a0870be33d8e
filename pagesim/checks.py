"""Checks of arguments: each error names the argument, its value and what it should be."""

import functools
import inspect
import json
import reprlib
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import partial
from itertools import repeat
from types import NoneType, UnionType
from typing import Annotated, Any, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from pagesim.errors import UsageError

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
ONLY_INT = frozenset({int})
Hint = type | UnionType
"""What an annotation is when it is looked at."""
RAW = (AttributeError, IndexError, KeyError, TypeError)
"""What Python raises where a value is not what the code takes it for."""


def check_int(name: str, value: int | None, minimum: int) -> int:
    """``value`` if it is an int of at least ``minimum``; TypeError or UsageError if not."""
    if type(value) is not int:
        raise TypeError(f"{name} must be an int, not {value!r} ({type(value).__name__})")
    if value < minimum:
        raise UsageError(f"{name} must be at least {minimum}, not {value}")
    return value


def check_count(name: str, value: int, minimum: int) -> int:
    """:func:`check_int` for counts, which must fit into 64 bits."""
    if check_int(name, value, minimum) > sys.maxsize:
        raise UsageError(f"{name} must be at most {sys.maxsize}, not {value}")
    return value


def check_a(name: str, value: object, kind: type) -> None:
    """TypeError unless ``value`` is a ``kind``."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be a {kind.__name__}, not {value!r}")


def check_bool(name: str, value: T, *others: T) -> T:
    """``value`` if it is True or False, or one of ``others``; TypeError if not."""
    if not isinstance(value, bool) and all(value is not other for other in others):
        words = " or ".join(map(str, (True, False, *others)))
        raise TypeError(f"{name} must be {words}, not {value!r} ({type(value).__name__})")
    return value


def check_number(name: str, value: float | None) -> float:
    """``value`` if it is an int or a float; TypeError if not, UsageError if it is NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, not {value!r}")
    if value != value:
        raise UsageError(f"{name} must be a number, not {value}")
    return value


def check_fraction(name: str, value: float) -> float:
    """:func:`check_number`, and UsageError unless it is between 0 and 1."""
    if not 0.0 <= check_number(name, value) <= 1.0:
        raise UsageError(f"{name} must be between 0 and 1, not {value}")
    return value


def check_choice(name: str, value: str | None, known: tuple[str | None, ...]) -> str | None:
    """``value`` if it is one of those ``known``; UsageError if not."""
    if not isinstance(value, str | None) or value not in known:
        *first, last = [repr(each) for each in known]
        raise UsageError(f"{name} must be {', '.join(first)} or {last}, not {value!r}")
    return value


def check_time(name: str, value: float) -> float:
    """``value`` if it is a number other than NaN; TypeError or UsageError if not."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, not {value!r} ({type(value).__name__})")
    if value != value:
        raise UsageError(f"{name} must be a time, not {value}, which cannot be compared")
    return value


def as_json(name: str, value: object) -> Any:
    """``value`` after a round trip through JSON; TypeError or UsageError if it cannot make it."""
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise (UsageError if isinstance(error, ValueError) else TypeError)(
            f"{name} is {value!r}, which JSON cannot represent ({error}): use None, bool, int, "
            "float, str, list or dict"
        ) from error


def check_token_ids(name: str, token_ids: int | Iterable[int]) -> list[int]:
    """A list with the tokens of ``token_ids``; TypeError unless each is an int.

    A NumPy array or a tensor is accepted by way of its ``tolist()``.
    """
    if not isinstance(token_ids, (list, tuple)) and (
        isinstance(token_ids, str | bytes) or not isinstance(token_ids, Iterable)
    ):
        raise TypeError(f"{name} must be a list of ints, not {token_ids!r}")
    tokens = list(token_ids)
    if tokens and not ONLY_INT.issuperset(map(type, tokens)):
        at, bad = next((i, t) for i, t in enumerate(tokens) if type(t) is not int)
        raise TypeError(f"{name}[{at}] must be an int, not {bad!r} ({type(bad).__name__})")
    return tokens


def check_status(name: str, status: Enum, expected: Enum) -> None:
    """UsageError unless the status of a request is the one that is expected."""
    if status is not expected:
        raise UsageError(f"{name} must be {expected.name}, not {status.name}")


def check_new_request(name: str, status: Enum, expected: Enum, num_tokens: int) -> None:
    """:func:`check_status`, and UsageError unless the request has a token."""
    check_status(name, status, expected)
    if not num_tokens:
        raise UsageError(f"the prompt of {name} is empty: it needs at least one token")


def check_token_budget(tokens: int, num_seqs: int, longest: int) -> None:
    """UsageError unless ``tokens`` a step suffice for ``longest``, and a token of each sequence.

    ``longest`` is a prompt that is computed in one step; 0 if prompts are cut.
    """
    if tokens < longest:
        raise UsageError(
            f"max_num_batched_tokens ({tokens}) must be at least max_model_len ({longest}): a "
            f"prompt is computed in one step. Raise it, lower max_model_len, or set "
            f"enable_chunked_prefill"
        )
    if tokens < num_seqs:
        raise UsageError(
            f"max_num_batched_tokens ({tokens}) must be at least max_num_seqs ({num_seqs}): each "
            f"sequence takes one token per step"
        )


# -- arguments and fields that are annotated with their check --------------------------------------

Natural = Annotated[int, partial(check_int, minimum=0)]
Positive = Annotated[int, partial(check_int, minimum=1)]
NaturalCount = Annotated[int, partial(check_count, minimum=0)]
PositiveCount = Annotated[int, partial(check_count, minimum=1)]
Flag = Annotated[bool, check_bool]
Fraction = Annotated[float, check_fraction]
Number = Annotated[float, check_number]
Time = Annotated[float, check_time]
Policy = Annotated[str, partial(check_choice, known=("fcfs", "priority"))]
Tokens = Annotated[Sequence[int], check_token_ids]


def checked(call: Callable[P, R]) -> Callable[P, R]:
    """Check the arguments that are annotated with a check, as `Natural` is, before a call begins.

    The call receives what the check returns. None is right where it may be given.
    """
    rows = list(_declared(call))

    @functools.wraps(call)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        given = list(args)
        for place, name, check, optional in rows:
            if place < len(given):
                if given[place] is not None or not optional:
                    given[place] = check(name, given[place])
            elif name in kwargs and not (optional and kwargs[name] is None):
                kwargs[name] = check(name, kwargs[name])
        return call(*given, **kwargs)  # type: ignore[arg-type]

    return guarded if rows else call


def _declared(call: Callable[..., Any]) -> Iterator[tuple[int, str, Callable[..., Any], bool]]:
    space = getattr(call, "__globals__", {})
    for place, (name, parameter) in enumerate(inspect.signature(call).parameters.items()):
        kinds = str(parameter.annotation).split(" | ")
        for kind in kinds:
            for check in getattr(space.get(kind), "__metadata__", ()):
                yield place, name, check, "None" in kinds


def check_fields(it: Any) -> None:
    """Check the fields of a dataclass that are annotated with a check; None may be left out."""
    hints = get_type_hints(type(it), include_extras=True)
    for name in (field.name for field in fields(it)):
        kinds, value = get_args(hints[name]), getattr(it, name)
        if value is None and NoneType in kinds:
            continue
        for check in (hints[name], *kinds):
            for call in getattr(check, "__metadata__", ()):
                call(name, value)


# -- the types of all arguments of a public call ---------------------------------------------------


def explained(call: Callable[P, R]) -> Callable[P, R]:
    """Make a public call raise TypeError by the name of an argument that is of a wrong type.

    Its annotations are the declaration. They are looked at only once Python has raised, so a right
    call pays nothing; hence a call must read what it is given before it changes anything.
    """

    @functools.wraps(call)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return call(*args, **kwargs)
        except RAW as error:
            raise explain(error, call, args, kwargs) from None

    return guarded


def explain(
    error: BaseException, call: Callable[..., Any], args: Collection[Any], kwargs: dict[str, Any]
) -> BaseException:
    """TypeError that names the argument of ``call`` that is of a wrong type; else ``error``."""
    if not isinstance(error, RAW):
        return error
    try:
        given = inspect.signature(call).bind(*args, **kwargs).arguments
        hints = get_type_hints(call)
    except (NameError, TypeError):  # too many arguments, or too few: Python says so itself
        return error
    for name, value in given.items():
        if wrong := misfit(name, value, hints.get(name, Any)):
            return TypeError(wrong)
    return error


def misfit(name: str, value: object, hint: Hint) -> str | None:
    """What is wrong with ``value``, or with one of its members; None if it is of type ``hint``."""
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    fitting = [kind for kind in kinds if _is_a(value, kind)]
    if not fitting:
        return f"{name} must be {_words(kinds)}, not {reprlib.repr(value)} ({type(value).__name__})"
    wrongs = [_misfit_inside(name, value, kind) for kind in fitting]
    return None if None in wrongs else wrongs[0]


def _is_a(value: object, kind: Hint) -> bool:
    kind = get_origin(kind) or kind
    if kind is Any or kind is None:
        return kind is Any or value is None
    if kind is int or kind is float:
        return isinstance(value, (int, kind)) and not isinstance(value, bool)
    if not isinstance(kind, type) or getattr(kind, "_is_protocol", False):
        return True  # it is asked for methods, not for a type
    if isinstance(value, str | bytes):  # no list of its letters
        return isinstance(value, kind) and (kind in (str, bytes) or not issubclass(kind, Iterable))
    return isinstance(value, kind) or (hasattr(value, "tolist") and issubclass(kind, Iterable))


def _misfit_inside(name: str, value: object, kind: Hint) -> str | None:
    inner: tuple[Any, ...] = get_args(kind)
    members: Iterable[tuple[str, Any, Any]] = ()
    if is_dataclass(value) and value is not kind:
        hints = get_type_hints(type(value))
        parts = [field.name for field in fields(value)]
        members = ((f"{name}.{part}", getattr(value, part), hints[part]) for part in parts)
    elif len(inner) == 2 and isinstance(value, Mapping):
        keys = ((f"a key of {name}", key, inner[0]) for key in value)
        members = (*keys, *((f"{name}[{k!r}]", each, inner[1]) for k, each in value.items()))
    elif inner and isinstance(value, Collection):
        is_row = get_origin(kind) is tuple and inner[-1] is not Ellipsis
        kinds = inner if is_row else repeat(inner[0])
        pairs = enumerate(zip(value, kinds, strict=False))
        members = ((f"{name}[{i}]", each, its) for i, (each, its) in pairs)
    return next((wrong for each in members if (wrong := misfit(*each))), None)


def _words(kinds: Iterable[Any]) -> str:
    names = {bool: "True or False", NoneType: "None"}
    words = []
    for kind in (get_origin(each) or each for each in kinds):
        its = getattr(kind, "__name__", str(kind))
        words.append(names.get(kind, f"{'an' if its[0] in 'aeiouAEIOU' else 'a'} {its}"))
    return " or ".join(words)
