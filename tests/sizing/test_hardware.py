"""Cards against what their memory bus and tensor cores can do; presets against each other."""

import pytest

from pagesim.errors import UsageError
from pagesim.sizing.hardware import _BILLIONS, CARDS, card, parameters, weight_bytes
from pagesim.sizing.presets import MODELS


@pytest.mark.parametrize(
    ("name", "bus_bits", "bits_per_second", "tensor_cores", "clock"),
    [("l4", 192, 12.5e9, 240, 2.04e9), ("rtx-4090", 384, 21e9, 512, 2.52e9)],
)
def test_what_bus_and_clock_allow(
    name: str, bus_bits: int, bits_per_second: float, tensor_cores: int, clock: float
) -> None:
    """A tensor core of Ada takes 64 (GeForce) or 128 (L4) products a cycle, sums in float32."""
    found, products = card(name.upper()), {"l4": 128, "rtx-4090": 64}[name]
    assert found.bytes_per_second == pytest.approx(bus_bits / 8 * bits_per_second, rel=1e-3)
    most = 2 * products * tensor_cores * clock
    assert 0.95 * most <= found.flops_per_second <= 1.001 * most


def test_every_card_moves_fewer_bytes_over_pcie_than_from_memory() -> None:
    for found in CARDS.values():
        assert found.swap_bytes_per_second < found.bytes_per_second / 9
        assert 24e9 <= found.memory_bytes < found.bytes_per_second


def test_parameters_are_those_of_presets_and_experts_are_part_of_all() -> None:
    assert _BILLIONS.keys() <= MODELS.keys()
    for name in _BILLIONS:
        everything, used = parameters(name)
        assert 0 < used <= everything
    with pytest.raises(UsageError, match="weights of 'deepseek-v3' are unknown"):
        parameters("deepseek-v3")
    assert weight_bytes("llama-2-7b", 2) == 2 * parameters("llama-2-7b")[0]
    assert weight_bytes("gpt-oss-20b", 2) < 20.91e9
