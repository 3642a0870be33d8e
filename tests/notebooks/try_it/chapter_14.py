"""Chapter 14."""

from tests.notebooks.try_it.line import Lines, Try

LINES: Lines = {
    1: (
        "`simt.explain(simt.Config(head_size=64, block_size=8))`",
        [
            Try(
                (1,),
                then="print(simt.explain(simt.Config(head_size=64, block_size=8)))",
                shows=r"THREAD_GROUP_SIZE .* = 4",
            )
        ],
    ),
    2: (
        "`block.key_steps[0].partial`",
        [
            Try(
                (3, 4),
                then="""
key, q0 = keys[0], args[0][0, 0].astype(np.float64)
pieces = (q0 * key).reshape(-1, block.config.vec_size)  # vec by vec
for lane in (0, 1):
    product = pieces[lane :: block.config.thread_group_size].sum()
    print(f"{block.key_steps[0].partial[0, lane]:.3f} {product:.3f}")
    assert np.isclose(block.key_steps[0].partial[0, lane], product, atol=1e-3)
""",
            )
        ],
    ),
    3: (
        "`simt.explain(simt.Config(head_size=128, block_size=16, quantized=True))`",
        [
            Try(
                (1,),
                then="print(simt.explain(simt.Config(128, 16, quantized=True)))",
                shows=r"(?m)^x +16 / 1 += 16",
            )
        ],
    ),
}
