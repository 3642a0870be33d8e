"""6.2: what is said of a wrong block is true of the case."""

import random
import re

from pagesim import exercises
from pagesim.exercises.guard import Answer

EVICT = exercises.get("6.2")


def test_the_reason_agrees_with_the_list() -> None:
    """Every number in the reasons for every wrong block of every case."""
    kinds = set()
    for case in EVICT.cases(random.Random(0), False):
        (cached,) = case.args
        place = {block: number for number, (block, _, _) in enumerate(cached)}
        for yours, number in place.items():
            verdict = EVICT.judge(case, Answer(yours))
            if verdict is None:
                continue
            if later := re.search(
                r"Block (\d+) was used later than .* block (\d+)\. ", verdict.why
            ):
                stop, candidate = (cached[place[int(each)]] for each in later.groups())
                assert stop[2] > candidate[2] and place[stop[0]] > place[candidate[0]]
                assert number >= place[stop[0]]
                kinds.add("later")
            else:
                pairs = re.findall(r"(\d+)(?: ends a prefix of|,? one of) (\d+)", verdict.why)
                assert len(pairs) == 2, verdict.why
                assert all(cached[place[int(block)]][1] == int(n) for block, n in pairs)
                kinds.add("tokens")
    assert kinds == {"later", "tokens"}


def test_the_time_of_the_first_is_not_the_candidates() -> None:
    cached = [[5, 4, 2.0], [3, 4, 1.0], [0, 8, 1.0], [2, 12, 2.0]]
    cases = EVICT.cases(random.Random(0), False)
    case = next(case for case in cases if list(map(list, *case.args)) == cached)
    verdict = EVICT.judge(case, Answer(2))
    assert verdict is not None and "Block 2 was used later" in verdict.why
