"""The keys and values that a recorded run carries are those in the pages."""

import pytest
import torch

from pagesim.cache import AttentionMetadata
from pagesim.generation import engine_on_pages
from pagesim.generation.shadow import ShadowedEngine
from pagesim.generation.vectors import shape_of
from pagesim.kernels import tiny_llm
from pagesim.simulation import Paged, PagedV1


class Watched(ShadowedEngine):
    """Keeps the slot of each token."""

    slots: dict[tuple[int, int], int]

    def forward(self, batch: AttentionMetadata) -> torch.Tensor:
        for row, name in enumerate(batch.seq_ids):
            for i in range(*batch.query_start_loc[row : row + 2].tolist()):
                self.slots[int(name), int(batch.input_positions[i])] = int(batch.slot_mapping[i])
        return super().forward(batch)


@pytest.mark.parametrize("policy", [Paged(4), PagedV1(4)], ids=["v0", "v1"])
def test_what_is_noted_is_in_the_slots(policy: Paged | PagedV1) -> None:
    model = tiny_llm.by_hand(64)
    engine = engine_on_pages(model, policy, blocks=40, engine=Watched)
    engine.slots, engine.vectors = {}, {}
    for prompt in ([4, 0, 5, 1, 2, 4], [6, 0, 7, 1]):
        engine.add(prompt, tiny_llm.SamplingParams(max_tokens=3, stop=()))
    engine.run()
    assert engine.vectors.keys() == engine.slots.keys() and len(engine.slots) > 12
    pool = engine.cache.gpu
    for place, slot in engine.slots.items():
        for layer in range(len(pool.keys)):
            for half, arrays in enumerate((pool.keys, pool.values)):
                noted = torch.tensor(engine.vectors[place][2 * layer + half])
                held = arrays[layer][slot // 4, slot % 4].flatten().float()
                assert torch.allclose(noted, held, rtol=0.006, atol=0), (place, layer, half)
    shape = shape_of("by-hand", engine)
    assert shape is not None
    assert (shape.layers, shape.kv_heads, shape.head_dim) == (
        len(pool.keys),
        model.config.num_key_value_heads,
        model.config.head_dim,
    )


def test_no_more_is_noted_than_a_file_has_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_llm.by_hand(64)
    each = 2 * model.config.num_key_value_heads * model.config.head_dim * len(model.config.windows)
    monkeypatch.setattr("pagesim.generation.vectors.MAX_VALUES", 3 * each)
    engine = engine_on_pages(model, Paged(4), blocks=40, engine=ShadowedEngine)
    engine.vectors = {}
    engine.add([4, 0, 5, 1, 2, 4], tiny_llm.SamplingParams(max_tokens=2))
    engine.run()
    assert list(engine.vectors) == [(0, 0), (0, 1), (0, 2)]
