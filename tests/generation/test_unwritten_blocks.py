"""vLLM 0.6.4 answers wrongly if chunks, prefix caching and a preemption half-way meet; V1 does not.

A prompt gets all its blocks when it is admitted. With prefix caching V0 gives every full block its
hash at once, and counts all of them as computed after the first chunk, though later chunks fill
most of them. If the request is preempted between two chunks, its blocks are freed as they are. When
it comes back it finds them, skips what was never computed, and reads what others left there.
"""

from dataclasses import replace

from pagesim.kernels.tiny_llm import maps
from tests.generation.serving import Setting, engine_on, served, walks

BOTH = Setting("recompute", caching=True, budget=64)
POOL = 41
ASKED = {"count": 40, "facts": (13, 27), "most": 30}


def test_the_shadow_names_exactly_the_requests_that_v0_answers_wrongly() -> None:
    given, setting = walks(**ASKED), replace(BOTH, blocks=POOL)
    server = setting.v0()
    engine = engine_on(server, setting)
    answers = given.asked_of(engine)
    wrong = given.wrong(answers)
    assert len(wrong) > 3
    assert {misread.answer for misread in engine.misread} == set(wrong)
    assert setting.nothing_leaks(server)
    first = answers[wrong[0]]
    print(maps.decode(first.tokens), "should be", maps.decode(given.answers[first.id][0]))


def test_either_of_the_two_alone_is_right() -> None:
    given = walks(**ASKED)
    for alone in (replace(BOTH, budget=None), replace(BOTH, caching=False)):
        setting = replace(alone, blocks=POOL)
        assert served(given, setting, setting.v0()).preemptions > 0


def test_v1_does_not_have_it() -> None:
    """V1 gives a block its hash when the step that fills it is scheduled."""
    given, setting = walks(**ASKED), replace(BOTH, blocks=29)
    assert served(given, setting, setting.v1()).preemptions > 5
