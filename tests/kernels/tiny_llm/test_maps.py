"""The task: maps, their prompts and answers, and their text."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagesim.kernels.tiny_llm import maps

SEEDS = st.integers(0, 2**32 - 1)
RNG = np.random.default_rng(0)


def test_a_prompt_states_the_facts_and_asks() -> None:
    a, k = maps.encode("ak")
    given = maps.Map(((a, k), (k, maps.STOP)), starts=(a,))
    assert maps.decode(maps.prompt(given, a)) == "a>k;k>.;?a"
    assert maps.decode(maps.answer(given, a)) == "k."


@settings(max_examples=50)
@given(seed=SEEDS, num_facts=st.integers(1, 62), chains=st.integers(1, 5))
def test_every_place_has_one_way_and_the_chains_cover_the_map(
    seed: int, num_facts: int, chains: int
) -> None:
    made = maps.make_map(np.random.default_rng(seed), num_facts, chains)
    sources = [source for source, _ in made.facts]
    assert len(sources) == len(set(sources)) == num_facts
    walks = [[start, *maps.answer(made, start)] for start in made.starts]
    assert len(walks) == min(chains, num_facts)
    assert sorted(place for walk in walks for place in walk[:-1]) == sorted(sources)
    assert all(maps.is_walk(made, walk[0], walk[1:]) for walk in walks)
    assert len(maps.prompt(made, made.starts[0])) == 4 * num_facts + 2


@settings(max_examples=50)
@given(seed=SEEDS, num_places=st.integers(4, 40))
def test_every_walk_on_a_branching_map_ends(seed: int, num_places: int) -> None:
    rng = np.random.default_rng(seed)
    made = maps.make_branching_map(rng, num_places)
    assert len(set(made.facts)) == len(made.facts)
    for start in made.starts:
        walk = [start]
        while walk[-1] != maps.STOP:
            walk.append(int(rng.choice(made.ways(walk[-1]))))
            assert len(walk) <= num_places + 1
        assert maps.is_walk(made, start, walk[1:])
        assert not maps.is_walk(made, start, walk[1:-1]), "it does not reach the end"
        assert not maps.is_walk(made, start, [start, *walk[1:]]), "no way leads back"


def test_some_places_branch() -> None:
    made = maps.make_branching_map(np.random.default_rng(0), 30)
    assert {len(made.ways(source)) for source, _ in made.facts} == {1, 2, 3}


def test_no_answer_is_token_0() -> None:
    made = maps.make_map(np.random.default_rng(0), 62)
    answers = {token for start in made.starts for token in maps.answer(made, start)}
    assert len(answers) == 63 - len(made.starts) and 0 not in answers


def test_letters_and_words_name_the_same_tokens() -> None:
    everything = list(range(maps.NUM_TOKENS))
    for words in (False, True):
        assert maps.encode(maps.decode(everything, words), words) == everything
    assert maps.encode("cave > lake ;", words=True) == maps.encode("l > K ;")
    assert maps.decode(maps.encode("l>K;"), words=True) == "cave > lake ;"


REFUSED: list[tuple[str, Callable[[], object]]] = [
    ("no token 66: .* 0 to 65", lambda: maps.decode([4, 66])),
    ("no token -1: .* 0 to 65", lambda: maps.decode([4, -1])),
    ("no fact that leads on from 'c'", lambda: maps.answer(maps.Map(((4, 6),), (4,)), 4)),
    ("the route from 'a' never ends", lambda: maps.answer(maps.Map(((4, 5), (5, 4)), (4,)), 4)),
    (r"'!' is not a letter of the maps; there are > ; \? \. a", lambda: maps.encode("a>k!")),
    ("'castle' is not a word", lambda: maps.encode("castle > lake ;", words=True)),
    ("a map cannot have 0 places out of 62", lambda: maps.make_map(RNG, 0, places=62)),
    ("a map cannot have 63 places out of 63", lambda: maps.make_map(RNG, 63, places=63)),
    ("a map cannot have 27 places out of 26", lambda: maps.make_map(RNG, 27, places=26)),
]


@pytest.mark.parametrize(("message", "call"), REFUSED)
def test_what_is_on_no_map_is_refused_by_name(message: str, call: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=message):
        call()
