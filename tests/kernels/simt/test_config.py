"""The constants: the case that articles work out, other sizes, and sizes that cannot be."""

import pytest

from pagesim.kernels.simt import Config, explain

WORKED = Config(head_size=128, block_size=16, num_threads=128, element_bytes=2)


def test_the_worked_case() -> None:
    c = WORKED
    assert (c.num_warps, c.num_thread_groups, c.num_tokens_per_thread_group) == (4, 64, 1)
    assert (c.num_vecs, c.num_elems_per_thread, c.num_rows_per_iter) == (32, 64, 16)
    assert c.x == c.thread_group_size * c.vec_size


# By hand from the formulas: group, vec, vecs a thread, x, V vec, V vecs a row, rows a thread (inner
# iterations a block, and accs of a thread).
BY_HAND = {
    WORKED: (2, 4, 16, 8, 8, 2, 8),
    Config(64, 8): (4, 2, 8, 8, 8, 1, 2),
    Config(80, 32): (1, 8, 10, 8, 8, 4, 10),
    Config(128, 16, element_bytes=4): (2, 2, 32, 4, 4, 4, 16),
    Config(128, 16, quantized=True): (2, 4, 16, 16, 8, 2, 8),
    Config(96, 64, 256): (1, 8, 12, 8, 8, 8, 24),
    Config(32, 1): (32, 1, 1, 8, 1, 1, 1),
}


@pytest.mark.parametrize("config", BY_HAND, ids=str)
def test_all_sizes(config: Config) -> None:
    assert BY_HAND[config] == (
        config.thread_group_size,
        config.vec_size,
        config.num_vecs_per_thread,
        config.x,
        config.v_vec_size,
        config.num_v_vecs_per_row,
        config.num_rows_per_thread,
    )


def test_shared_memory_holds_the_logits_or_half_of_the_outputs() -> None:
    assert WORKED.shared_bytes(1000) == 4 * 1008
    assert WORKED.shared_bytes(10) == 4 * 128 * 2


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((128, 24), "block_size = 24: it must be a power of two"),
        ((128, 512), "block_size = 512: it must be at most 256 with elements of 2"),
        ((128, 16, 96), "num_threads = 96: it must be 32, 64"),
        ((128, 16, 100), "num_threads = 100"),
        ((128, 16, 2048), "num_threads = 2048"),
        ((100, 16), "head_size = 100: it must be a multiple of 8 here"),
        ((120, 16, 128, 2, True), "head_size = 120: it must be a multiple of 16 here"),
        ((0, 16), "head_size = 0"),
        ((128, 16, 128, 1), "element_bytes = 1"),
    ],
)
def test_sizes_that_cannot_be(sizes: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Config(*sizes)


def test_explain_shows_each_formula_with_its_numbers() -> None:
    lines = explain(WORKED).splitlines()
    assert lines[0] == "head_size 128, block_size 16, 128 threads, 2-byte query, 2-byte cache"
    found = {line[:21].strip(): line[21:].split("=")[0].strip() for line in lines[1:]}
    values = {line[:21].strip(): int(line.split("= ")[1].split()[0]) for line in lines[1:]}
    assert found["VEC_SIZE"] == "max(16 / (2 · 2), 1)"
    assert values["NUM_VECS_PER_THREAD"] == 16
    assert values["vecs of a head"] == 32
    assert values["NUM_ROWS_PER_THREAD"] == 8
