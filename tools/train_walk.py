"""Trains the model in `walk/`: minutes on one thread of a CPU.

    python -m tools.train_walk --out FOLDER    (--small: half a minute, 26 places)

The task is only learnt from small to large. Maps of 62 facts teach nothing: there are 62 places to
look at, and no reason yet to prefer one. With four or five facts a model soon finds that looking
two tokens back helps; so the maps start there, and grow by a quarter whenever it is right on 93 %
of the tokens. Half of the batches stay short, so that nothing is unlearnt.

The same seed gives the same file, bit for bit, on one kind of processor; another rounds otherwise.

Some of the maps branch. There the target is not one token but all ways on, equally likely: else a
model learns to be sure, and sampling leaves the map.
"""

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention
from tqdm import tqdm

from pagesim.kernels.tiny_llm import maps
from pagesim.kernels.tiny_llm.checkpoint import save
from pagesim.kernels.tiny_llm.config import Config, shapes
from pagesim.kernels.tiny_llm.model import Model
from tools.walk_exam import examine, fresh_walks

FEWEST, LEARNING_RATE, WARM_UP = 4, 3e-3, 50
WIDEN_AT, FINISH_AT = 0.93, 0.98


@dataclass(frozen=True, slots=True)
class Recipe:
    """What is trained, and on what: maps of up to `places` facts, a share of which branch.

    last_steps: how many follow, at a falling learning rate, once the widest maps are learnt.
    tokens: about so many in a batch.
    """

    config: Config
    places: int = maps.NUM_PLACES
    branching: float = 0.4
    last_steps: int = 3000
    tokens: int = 2048
    most_steps: int = 10_000


def llama(hidden: int, inner: int, theta: float) -> Config:
    """Two layers, 4 query and 2 KV heads of 16: one layer cannot learn the task."""
    sizes = (2, hidden, inner, 4, 2, 16, maps.NUM_TOKENS)
    eos = (maps.STOP,)
    return Config("llama", *sizes, 1e-5, theta, tie_word_embeddings=True, eos_token_id=eos)


WALK = Recipe(llama(64, 128, theta=1e5))
SMALL = Recipe(llama(32, 64, theta=1e4), places=26, branching=0, last_steps=600, tokens=1024)


def train(recipe: Recipe, seed: int = 0) -> Model:
    """A trained model in float32; RuntimeError if most_steps are too few."""
    rng = np.random.default_rng(seed)
    weights = _initial(recipe.config, seed)
    model = Model(recipe.config, weights)
    optimizer = torch.optim.AdamW(weights.values(), LEARNING_RATE, betas=(0.9, 0.98))
    widest, accuracy, left = FEWEST + 1, 0.0, recipe.last_steps
    finishing = False
    bar = tqdm(total=recipe.most_steps, desc="training", unit="step", disable=None)
    for step in range(recipe.most_steps):
        bar.update()
        rate = min(1.0, (step + 1) / WARM_UP)
        if finishing:
            left -= 1
            rate = 0.02 + 0.98 * (1 + math.cos(math.pi * (1 - left / recipe.last_steps))) / 2
        for group in optimizer.param_groups:
            group["lr"] = rate * LEARNING_RATE
        narrowest = FEWEST if rng.random() < 0.5 else max(FEWEST, widest - 4)
        num_facts = int(rng.integers(narrowest, widest + 1))
        branching = widest > 8 and rng.random() < recipe.branching
        loss, right = _loss(model, *_batch(rng, recipe, num_facts, branching))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
        optimizer.step()
        if finishing and left == 0:
            bar.close()
            return Model(recipe.config, {name: w.detach() for name, w in weights.items()})
        if not branching and num_facts >= widest - 4:
            accuracy = 0.9 * accuracy + 0.1 * right
            bar.set_postfix(facts=widest, right=f"{accuracy:.2f}", refresh=False)
            finishing |= widest == recipe.places and accuracy > FINISH_AT
            if accuracy > WIDEN_AT and widest < recipe.places:
                widest = min(recipe.places, widest + max(2, widest // 4))
                accuracy *= 0.9
    bar.close()
    raise RuntimeError(
        f"{recipe.most_steps} steps were too few: maps of {widest} facts are not learnt"
    )


def _initial(config: Config, seed: int) -> dict[str, torch.Tensor]:
    """Random weights that keep the size of what they multiply; what layers add is halved."""
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for name, shape in shapes(config).items():
        if len(shape) == 1:
            weights[name] = torch.ones(shape)
        else:
            adds = name.endswith(("o_proj.weight", "down_proj.weight"))
            size = (0.5 if adds else 1.0) / math.sqrt(shape[1])
            weights[name] = size * torch.randn(shape, generator=generator)
    return {name: weight.requires_grad_() for name, weight in weights.items()}


def _batch(
    rng: np.random.Generator, recipe: Recipe, num_facts: int, branching: bool
) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids [B, T], and for each the chances of the next one [B, T, vocab]; 0 where unasked."""
    examples: list[tuple[list[int], dict[int, list[int]]]] = []
    budget = recipe.tokens
    chains = int(rng.integers(1, min(4, num_facts // 2) + 1))
    while budget > 0 or len(examples) < 4:
        if branching:
            made = maps.make_branching_map(rng, max(5, num_facts * 2 // 3), recipe.places)
            asked = rng.choice(made.starts, 2)
        else:
            made = maps.make_map(rng, num_facts, chains, recipe.places)
            asked = rng.permutation(made.starts)
        examples.append(_example(rng, made, asked.tolist()))
        budget -= len(examples[-1][0])
    longest = max(len(tokens) for tokens, _ in examples)
    ids = torch.full((len(examples), longest), maps.STOP)
    chances = torch.zeros(len(examples), longest, maps.NUM_TOKENS)
    for row, (tokens, ways) in enumerate(examples):
        ids[row, : len(tokens)] = torch.tensor(tokens)
        for position, ahead in ways.items():
            chances[row, position, ahead] = 1 / len(ahead)
    return ids, chances


def _example(
    rng: np.random.Generator, given: maps.Map, asked: Sequence[int]
) -> tuple[list[int], dict[int, list[int]]]:
    """A prompt with several questions and answers; by position of a place, the ways on from it."""
    ways: dict[int, list[int]] = {}
    for source, to in given.facts:
        ways.setdefault(source, []).append(to)
    tokens = maps.prompt(given, asked[0])[:-2]
    found = {}
    for place in asked:
        tokens += [maps.ASK, place]
        while tokens[-1] != maps.STOP:
            ahead = found[len(tokens) - 1] = ways[tokens[-1]]
            tokens.append(ahead[rng.integers(len(ahead))])
    return tokens, found


def _loss(model: Model, ids: torch.Tensor, chances: torch.Tensor) -> tuple[torch.Tensor, float]:
    """Mean cross-entropy of the asked tokens, and how many of their best guesses are ways on."""
    size, length = ids.shape

    def attend(layer: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        q, k, v = (x.unflatten(0, (size, length)).transpose(1, 2) for x in (q, k, v))
        out = scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return out.transpose(1, 2).flatten(0, 1)

    hidden = model(ids.flatten(), torch.arange(length).repeat(size), attend)
    wanted = chances.flatten(0, 1)
    asked = wanted.any(-1)
    wanted, logits = wanted[asked], model.logits(hidden[asked])
    loss = -(wanted * logits.log_softmax(-1)).sum(-1).mean()
    best = wanted.gather(1, logits.argmax(-1, keepdim=True))
    return loss, float((best > 0).float().mean())


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, save in float16, and examine what was saved on fresh maps."""
    parser = argparse.ArgumentParser(prog="python -m tools.train_walk", description=main.__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder of the model")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--small", action="store_true", help="dim 32, 26 places, no branching maps")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    recipe = SMALL if options.small else WALK
    model = train(recipe, options.seed)
    half = {name: weight.half() for name, weight in model.weights.items()}
    save(Model(model.config, half), options.out)
    exact = Model(model.config, {name: weight.float() for name, weight in half.items()})
    walks = fresh_walks(options.seed + 1, recipe.places, num_maps=40, places=recipe.places)
    marks = examine(exact, walks)
    print(f"{options.out}: {marks.right} of {marks.tokens} tokens right, margin {marks.margin:.1f}")


if __name__ == "__main__":
    main()
