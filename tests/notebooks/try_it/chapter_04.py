"""Chapter 4."""

from tests.notebooks.try_it.line import Lines, Try

LINES: Lines = {
    1: (
        "In section 2, set `config = simt.Config(head_size=64, block_size=8)`",
        [
            Try(
                (2,),
                {"config": {"head_size=128, block_size=16": "head_size=64, block_size=8"}},
                shows=r"THREAD_GROUP_SIZE .* = 4",
            )
        ],
    ),
    2: (
        "In section 5, print `block.key_steps[0].partial` beside a NumPy product",
        [
            Try(
                (5,),
                then="""
key, q0 = keys[0], args[0][0, 0].astype(np.float64)
pieces = (q0 * key).reshape(-1, config.vec_size)  # vec by vec
for lane in (0, 1):
    product = pieces[lane :: config.thread_group_size].sum()
    print(f"{block.key_steps[0].partial[0, lane]:.3f} {product:.3f}")
    assert np.isclose(block.key_steps[0].partial[0, lane], product, atol=1e-3)
""",
            )
        ],
    ),
    3: (
        "`config = simt.Config(head_size=128, block_size=16, quantized=True)`",
        [
            Try(
                (2,),
                {"config": {"block_size=16)": "block_size=16, quantized=True)"}},
                shows=r"(?m)^x +16 / 1 += 16",
            )
        ],
    ),
}
