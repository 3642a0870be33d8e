"""# g24 Memory for layers that do not exist

V1 · sizing

The rarest kind of layer decides how many layers a group has, and the places that stay empty in
other groups cost memory.

## Expected
A model of 50 layers, 20 with full attention and 30 with a window, takes memory for 50 layers.

## What happens
The groups have 20, 15 and 15 layers, and each has 20 places: 10 of 60 places are empty, and vLLM
logs a waste of 33.33 %, which is 10 of the 30 window layers. With 10 and 52 layers, there are seven
groups of 10 places, 8 of them empty. With 12 and 13, there are two groups of 13 places.

## Why
All groups draw from one pool, so a block must have the same number of bytes in each group, and so
the same number of layers. vLLM takes the number of layers of the rarest kind. It takes the number
of the most frequent kind instead only if this is less than 1.5 times as large. It does not search
for the number that wastes least: groups of 10 would waste nothing for 20 and 30 layers.

## What to do
Nothing for a given model: expect room for fewer tokens than the bytes of its layers suggest.
`pagesim size` prints the empty places of a model and what they cost. If you add a draft model, look
at its layers: one layer of a kind of its own makes all groups small.

## Threads
* [vllm#51742](https://github.com/vllm-project/vllm/pull/51742): a draft model brought one layer of
  another kind, and 46 layers became 46 groups.
* [vllm#49472](https://github.com/vllm-project/vllm/pull/49472): proposes to weigh empty places
  against the number of groups.
"""

from pagesim.quirks.scene import Scene
from pagesim.sizing.kv_cache_groups import get_kv_cache_groups, padding_of
from pagesim.sizing.kv_cache_spec import FullAttentionSpec, SlidingWindowSpec


def scenario() -> Scene:
    full = FullAttentionSpec(16, 8, 128)
    window = SlidingWindowSpec(16, 8, 128, sliding_window=1024)
    sizes, wasted = {}, {}
    for frequent, rare in ((30, 20), (52, 10), (13, 12)):
        kinds = [full] * rare + [window] * frequent
        groups = get_kv_cache_groups({f"layers.{i}": kind for i, kind in enumerate(kinds)})
        sizes[f"{rare} and {frequent}"] = [len(group.layer_names) for group in groups]
        wasted[f"{rare} and {frequent}"] = [round(one.percent, 2) for one in padding_of(groups)]
    return Scene(layers_in_each_group=sizes, logged_waste_in_percent=wasted)


ANSWER = {
    "layers_in_each_group": {
        "20 and 30": [20, 15, 15],
        "10 and 52": [10, 9, 9, 9, 9, 8, 8],
        "12 and 13": [12, 13],
    },
    "logged_waste_in_percent": {"20 and 30": [33.33], "10 and 52": [15.38], "12 and 13": [8.33]},
}
