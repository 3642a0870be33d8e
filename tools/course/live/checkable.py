"""Which exercises can be checked with what the pages have? `files.checked` runs this without more.

Arguments: the folder of pagesim, and the numbers to try. It prints those that it could grade: the
right answer as a text, and a wrong one with its run.
"""

import json
import sys
from dataclasses import replace
from importlib import import_module
from itertools import islice
from typing import Any

CASES = 2
"""What an oracle imports, it imports in its first cases."""

folder, *numbers = sys.argv[1:]
sys.path.insert(0, folder)
inside: Any = import_module("inside")


def is_checkable(number: str) -> bool:
    """Whether nothing is missing here, and the right answer is right."""
    try:
        given = inside.exercise_of(number)
        few = replace(given, cases=lambda rng, hidden: islice(given.cases(rng, hidden), CASES))
        right = few.check(inside.answered(given, given.solution)[1])
        wrong = given.check(next(iter(given.wrong.values())))
        inside.page_of(wrong.pair or wrong.run)
        return bool(right)
    except ImportError:
        return False


print(json.dumps([*filter(is_checkable, numbers)]))
