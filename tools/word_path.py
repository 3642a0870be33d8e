"""What the picture of chapter "Text" shows, from a run: python -m tools.word_path

The small model answers from its pages, once with a page set to zero. Writes
figures/data/word_path.json; needs torch.
"""

import json

import numpy as np

from pagesim.files.jsonl import JsonObject
from pagesim.generation import engine_on_pages
from pagesim.generation.engine import Engine
from pagesim.kernels import tiny_llm
from pagesim.kernels.tiny_llm import maps
from pagesim.simulation import Limits, Paged
from tools.course import ROOT

TARGET = ROOT / "figures" / "data" / "word_path.json"
SEED, START, DAMAGED, SIZE = 21, "park", "river > farm ;", 4


def run() -> JsonObject:
    """The facts of the prompt with their blocks, and the answer with and without the damage."""
    model = tiny_llm.walk("cpu")
    country = maps.make_map(np.random.default_rng(SEED), num_facts=16, chains=3)
    prompt = maps.prompt(country, maps.encode(START, words=True)[0])
    facts = [maps.decode(prompt[at : at + SIZE], words=True) for at in range(0, 16 * SIZE, SIZE)]
    answers, table = [], []
    for damaged in (None, facts.index(DAMAGED)):
        limits = Limits(max_model_len=512, max_num_seqs=8)
        engine: Engine = engine_on_pages(
            model, Paged(SIZE, watermark=0.0), blocks=20, limits=limits, backend="torch"
        )
        number = engine.add(prompt, tiny_llm.SamplingParams(max_tokens=8))
        engine.step()  # the prompt, and the first word
        table = list(engine.server.tables()[number])
        for cache in (*engine.cache.gpu.keys, *engine.cache.gpu.values):
            if damaged is not None:
                cache[table[damaged]] = 0
        engine.run()
        answers.append(maps.decode(engine.answers[number].tokens, words=True))
    return {
        "start": START,
        "facts": facts,
        "blocks": table[: len(facts)],
        "damaged": DAMAGED,
        "right": answers[0],
        "wrong": answers[1],
    }


if __name__ == "__main__":
    TARGET.write_text(json.dumps(run(), indent=1) + "\n", encoding="utf-8")
