"""A model without training: an induction circuit whose weights a function sets.

The walk on a map (`maps`) needs one look-up a token: "I stand at k; find the fact `k>c;`; answer
c." Two layers of attention suffice, and no MLP. Each layer adds to the *residual stream*, the
vector that goes with a token from the embedding to the logits. Here every place in it has a name:

    place       holds                                    set by
      0 …  65   which token this is: one of 66 is 1      embedding
     66 …  72   its id in binary, each bit +1 or -1      embedding
     73         +1 if the token is ">", else -1          embedding
     74         always 1                                 embedding
     75 …  81   the bits of the token two before         layer 0, head 0
     82         whether the token before is ">"          layer 0, head 1
     83 … 145   the answer: "." or one of 62 places      layer 1

**Layer 0 knows where: attention by position.** The key of every token is the same: a 1 in each
pair of RoPE. Turned to position s, pair i is a clock hand at the angle s·wᵢ. The query of head 0
is the same hands, set back by two positions: at t they stand at (t - 2)·wᵢ. Query and key agree in
all hands only if s = t - 2. So each token copies the bits of the token two before it; head 1 is set
back by one and copies whether that token is ">". After this layer the token c of `k>c;` says:
"my fact begins with k, and an arrow led to me".

    k  >  c  ;               token c's own view:  two before: k    just before: >

**Layer 1 knows what: attention by content.** The query at k is "k's bits, and an arrow"; the key of
c is what layer 0 told it, "k's bits, and an arrow". All eight numbers agree at c only; elsewhere at
least one is wrong. Without the arrow the token after `;` would also match: it too has k two before.
The value of c is c itself, and becomes the answer.

**Two kinds of RoPE pairs.** The first pair turns by 1 radian a position, the last ones hardly at
all, and theta sets how slowly. Clocks need fast hands. Content must not turn: its eight numbers lie
in the eight slowest pairs, and theta is chosen so that the fastest of these turns `DRIFT` radians
in the whole context. That is the only limit to a context's length.

Scores are large enough that the wrong keys together weigh less than 1e-9: a softmax that looks at
one token, exactly. Where a place has several facts, each gets the same weight, and sampling draws
its ways evenly: the odds of two facts at opposite ends of the longest context differ by 2 %.
"""

from __future__ import annotations

from itertools import accumulate

import torch

from pagesim.kernels.tiny_llm.config import Config, shapes
from pagesim.kernels.tiny_llm.maps import ARROW, NUM_TOKENS, STOP
from pagesim.kernels.tiny_llm.model import Model, frequencies

HEAD_DIM, BITS = 64, 7
PAIRS = HEAD_DIM // 2
DRIFT = 0.005
# Places in the residual stream.
TOKEN = slice(0, NUM_TOKENS)
ID = slice(TOKEN.stop, TOKEN.stop + BITS)
IS_ARROW, ONE = ID.stop, ID.stop + 1
SOURCE = slice(ONE + 1, ONE + 1 + BITS)
BEHIND_ARROW = SOURCE.stop
NUM_ANSWERS = NUM_TOKENS - STOP
ANSWER = slice(BEHIND_ARROW + 1, BEHIND_ARROW + 1 + NUM_ANSWERS)
HIDDEN = 160
# Where a head keeps content: one number in each of its eight slowest pairs.
CONTENT = slice(PAIRS - BITS - 1, PAIRS)
CLOCK, MATCH, LOGIT = 400.0, 200.0, 60.0


def by_hand(max_tokens: int = 4096, window: int = 0) -> Model:
    """Make the circuit as a Llama of two layers, exact for contexts up to `max_tokens` tokens.

    window: how many tokens layer 0 sees, 0 = all. It looks back by two, so it needs three.
    """
    if max_tokens < 1:
        raise ValueError(f"max_tokens = {max_tokens}: a context has at least one token")
    config = Config(
        model_type="llama",
        num_hidden_layers=2,
        hidden_size=HIDDEN,
        intermediate_size=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=HEAD_DIM,
        vocab_size=NUM_TOKENS,
        rope_theta=(max_tokens / DRIFT) ** (PAIRS / CONTENT.start),
        eos_token_id=(STOP,),
        sliding_windows=(window, 0) if window else (),
    )
    weights = {name: torch.zeros(shape) for name, shape in shapes(config).items()}
    ids = torch.arange(NUM_TOKENS)
    embeddings = weights["model.embed_tokens.weight"]
    embeddings[:, TOKEN] = torch.eye(NUM_TOKENS)
    embeddings[:, ID] = (ids[:, None] >> torch.arange(BITS) & 1) * 2.0 - 1
    embeddings[:, IS_ARROW] = (ids == ARROW) * 2.0 - 1
    embeddings[:, ONE] = 1
    _look_back(config, weights)
    _look_up(weights)
    weights["lm_head.weight"][STOP:, ANSWER] = LOGIT * torch.eye(NUM_ANSWERS)
    # A norm divides by √(sum of squares / HIDDEN); these weights multiply by it again.
    added = {"layers.0.input_layernorm": 1 + BITS + 1 + 1, "layers.1.input_layernorm": BITS + 1}
    for name, squares in zip((*added, "norm"), accumulate((*added.values(), 1)), strict=True):
        weights[f"model.{name}.weight"].fill_((squares / HIDDEN) ** 0.5)
    return Model(config, weights)


def _look_back(config: Config, weights: dict[str, torch.Tensor]) -> None:
    """Layer 0: head 0 fetches the bits of the token two before, head 1 the arrow just before."""
    q, k, v, o = _projections(weights, layer=0)
    k[:PAIRS, ONE] = 1
    for head, back in enumerate((2, 1)):
        angle = -back * frequencies(config)
        q[head, :PAIRS, ONE] = CLOCK * angle.cos().float()
        q[head, PAIRS:, ONE] = CLOCK * angle.sin().float()
    v[:BITS, ID] = torch.eye(BITS)
    v[BITS, IS_ARROW] = 1
    o[SOURCE, 0, :BITS] = torch.eye(BITS)
    o[BEHIND_ARROW, 1, BITS] = 1


def _look_up(weights: dict[str, torch.Tensor]) -> None:
    """Layer 1: head 0 finds the fact of the token at hand and fetches where it leads."""
    q, k, v, o = _projections(weights, layer=1)
    bits = slice(CONTENT.start, CONTENT.start + BITS)
    q[0, bits, ID] = MATCH * torch.eye(BITS)
    k[bits, SOURCE] = torch.eye(BITS)
    q[0, bits.stop, ONE] = MATCH
    k[bits.stop, BEHIND_ARROW] = 1
    v[:NUM_ANSWERS, TOKEN.start + STOP : TOKEN.stop] = torch.eye(NUM_ANSWERS)
    o[ANSWER, 0, :NUM_ANSWERS] = torch.eye(NUM_ANSWERS)


def _projections(weights: dict[str, torch.Tensor], layer: int) -> list[torch.Tensor]:
    """A layer's q [heads, D, hidden], k and v [D, hidden] and o [hidden, heads, D], to be set."""
    q, k, v, o = (weights[f"model.layers.{layer}.self_attn.{x}_proj.weight"] for x in "qkvo")
    return [q.view(-1, HEAD_DIM, HIDDEN), k, v, o.view(HIDDEN, -1, HEAD_DIM)]
