"""What one list of blocks for all layers wastes, where some layers need less than others.

A layer with a window needs the blocks of its window, a layer with cross-attention only an image's
tokens, and the layers beside it only the text's. One block table for all layers keeps everything
for each of them. The share of this that no layer needs is the waste in `FOUND`; a group of layers
for each kind has none of it.

    python -m pagesim.studies.group_waste          the shares, and how many sequences fit

Zhang et al., Jenga (SOSP '25, arXiv 2503.18292), give such shares. The preprint's section 3.2 has
the formula and the mean tokens for Llama 3.2 Vision, and names the most for Gemma 2 and Ministral.
The 73.6 % for Gemma 3 on a Mooncake trace are quoted from a summary of the later version: which
part of the trace it used and how it took the mean was not checked.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median

from pagesim.simulation.groups import blocks_of, groups_of
from pagesim.sizing import ModelSpec
from pagesim.sizing.amount import GIB
from pagesim.sizing.kv_cache_spec import FullAttentionSpec, KVCacheSpec, SlidingWindowSpec
from pagesim.studies.paper import Comparison
from pagesim.workload import mooncake_conversation

SOURCE = "Zhang et al., Jenga, SOSP '25, arXiv 2503.18292"

BLOCK_SIZE = 16

FULL = FullAttentionSpec(BLOCK_SIZE)

PUBLISHED = {"Llama 3.2 Vision": 79.6, "Gemma 2": 25.0, "Ministral": 56.25, "Gemma 3": 73.6}
"""Percent of the memory of uniform pages that no layer needs."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Layers by kind: how many of them attend to all tokens, and how many have a window."""

    full: int
    windowed: int
    window: int

    def waste(self, num_tokens: int) -> float:
        """Percent of the blocks of all layers that a sequence of so many tokens does not need."""
        sliding = SlidingWindowSpec(BLOCK_SIZE, sliding_window=self.window)
        uniform = (self.full + self.windowed) * blocks_held(FULL, num_tokens)
        needed = self.full * blocks_held(FULL, num_tokens)
        needed += self.windowed * blocks_held(sliding, num_tokens)
        return 100 * (1 - needed / uniform)


GEMMA_2 = Layout(21, 21, 4096)
MINISTRAL = Layout(9, 27, 32_768)
GEMMA_3 = Layout(8, 40, 1024)
"""Gemma 2 9B with its 8,192 tokens; Ministral 8B with its 131,072; Gemma 3 12B."""

TEXT, IMAGE = 43, 6193
"""Mean tokens of a request in MMMU-pro, by the preprint."""


def blocks_held(spec: KVCacheSpec, num_tokens: int) -> int:
    """Blocks of a sequence in a group between two steps, when those behind a window are free."""
    window = spec.sliding_window if isinstance(spec, SlidingWindowSpec) else num_tokens + 1
    skipped = max(num_tokens - window + 1, 0) // spec.block_size
    return -(-num_tokens // spec.block_size) - skipped


def cross_attention(text: int = TEXT, image: int = IMAGE) -> float:
    """Percent wasted by Llama 3.2 11B Vision: 32 layers keep the text, 8 the image."""
    return 100 * (1 - (32 * text + 8 * image) / (40 * (text + image)))


@cache
def gemma_3() -> Mapping[str, float]:
    """Percent wasted on Mooncake's conversations at their ends, by how the mean is taken."""
    lengths = [request.total_tokens for request in mooncake_conversation()]
    wasted = {tokens: GEMMA_3.waste(tokens) for tokens in set(lengths)}
    memory = sum(blocks_held(FULL, tokens) for tokens in lengths)
    lost = sum(wasted[tokens] * blocks_held(FULL, tokens) for tokens in lengths)
    return {
        "Gemma 3, mean": sum(wasted[tokens] for tokens in lengths) / len(lengths),
        "Gemma 3, median": GEMMA_3.waste(round(median(lengths))),
        "Gemma 3, memory": lost / memory,
    }


def figure() -> Comparison:
    """The shares beside those that Jenga gives."""
    ours = {
        "Llama 3.2 Vision": cross_attention(),
        "Gemma 2": GEMMA_2.waste(8_192),
        "Ministral": MINISTRAL.waste(131_072),
        **gemma_3(),
    }
    published = {name: ("Gemma 3" if name.startswith("Gemma 3") else name) for name in ours}
    return Comparison(
        "Memory that uniform pages waste",
        "% of the pages of all layers",
        {name: {"waste": value} for name, value in ours.items()},
        {name: {"waste": PUBLISHED[published[name]]} for name in ours},
        "Blocks of 16 tokens. Gemma 2 and Ministral at their longest sequence, Gemma 3 12B at the "
        "ends of 1,000 conversations of Mooncake: the mean share, the share of the median "
        "conversation, and the share of the memory of all. Llama 3.2 Vision by the paper's "
        "formula, on its mean request in MMMU-pro.",
        "The 73.6 % for Gemma 3 are quoted from a summary; the part of the trace and the kind of "
        "mean were not checked.",
        SOURCE,
    )


LOGGED = {
    "gemma-3-27b": (1.909, 32_768),
    "gemma-3-12b": (2.733, 32_768),
    "gpt-oss-20b": (5.920, 131_072),
}
"""The maximum concurrency that vLLM 0.33.0 computes with 20 GiB, and for how many tokens."""

UNIFORM = {"gpt-oss-20b": 3.333}
"""The same with --disable-hybrid-kv-cache-manager."""

IN_FLIGHT = 2 * 8_192
"""Tokens that vLLM reserves room for behind a window: two steps of 8,192."""


def concurrency(model: str, gib: int = 20, uniform: bool = False) -> float:
    """How many sequences of the length in `LOGGED` fit at once, as vLLM logs it."""
    spec, longest = ModelSpec.preset(model), LOGGED[model][1]
    groups: Sequence[KVCacheSpec]
    groups, layers = groups_of(spec, BLOCK_SIZE)
    if uniform:
        groups, layers = [FULL], (spec.num_layers,)
    slots = gib * GIB // spec.kv_bytes_per_token
    each = sum(group.blocks_for(longest, IN_FLIGHT) for group in groups)
    return blocks_of(slots, groups, layers) / each


def report() -> Iterator[str]:
    """The lines of the tables."""
    found = figure()
    yield f"{found.title}: {found.unit}"
    yield f"{'':<20}{'ours':>8}{'published':>11}"
    for name, row in found.ours.items():
        yield f"{name:<20}{row['waste']:>8.1f}{found.published[name]['waste']:>11.1f}"
    yield f"{found.method} {found.calibration} Published: {found.source}."
    yield ""
    yield "Sequences that fit into 20 GiB, and vLLM 0.33.0's own numbers"
    yield f"{'':<14}{'tokens':>9}{'groups':>9}{'vLLM':>8}{'uniform':>9}{'vLLM':>8}"
    for model, (logged, longest) in LOGGED.items():
        plain = f"{UNIFORM[model]:.3f}" if model in UNIFORM else "-"
        yield (
            f"{model:<14}{longest:>9,}{concurrency(model):>9.3f}{logged:>8.3f}"
            f"{concurrency(model, uniform=True):>9.3f}{plain:>8}"
        )


def main() -> None:
    """Print the tables."""
    for line in report():
        print(line)


if __name__ == "__main__":
    main()
