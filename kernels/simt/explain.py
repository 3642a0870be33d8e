"""The constants of one configuration, each with the formula that a reader would work out."""

from pagesim.kernels.simt.config import Config


def explain(config: Config) -> str:
    """A table of the kernel's constants: name, formula with the numbers put in, value, meaning."""
    c = config
    es, group, vec = c.element_bytes, c.thread_group_size, c.vec_size
    per_row, per_iter = c.num_v_vecs_per_row, c.num_rows_per_iter
    # fmt: off
    rows = [
        ("NUM_WARPS", f"{c.num_threads} / 32", c.num_warps, "warp w takes blocks w, w + this, …"),
        ("THREAD_GROUP_SIZE", f"max(32 / {c.block_size}, 1)", group, "lanes that share a key"),
        ("VEC_SIZE", f"max(16 / ({group} · {es}), 1)", vec, "elements of K in one load"),
        ("vecs of a head", f"{c.head_size} / {vec}", c.num_vecs, "vec v goes to lane v mod group"),
        ("NUM_ELEMS_PER_THREAD", f"{c.head_size} / {group}", c.num_elems_per_thread,
         "elements of a key in one thread"),
        ("NUM_VECS_PER_THREAD", f"{c.num_elems_per_thread} / {vec}", c.num_vecs_per_thread,
         "loads of one thread per key"),
        ("tokens a group", f"ceil({c.block_size} / 32)", c.num_tokens_per_thread_group,
         "keys of a block per group"),
        ("x", f"16 / {c.cache_bytes}", c.x, "innermost axis of K's layout"),
        ("V_VEC_SIZE", f"min(16 / {es}, {c.block_size})", c.v_vec_size, "tokens of V in one load"),
        ("NUM_V_VECS_PER_ROW", f"{c.block_size} / {c.v_vec_size}", per_row,
         "lanes that share a row of V"),
        ("NUM_ROWS_PER_ITER", f"32 / {per_row}", per_iter, "rows of V in one load of a warp"),
        ("NUM_ROWS_PER_THREAD", f"ceil({c.head_size} / {per_iter})", c.num_rows_per_thread,
         "accs of a thread, loads per block"),
    ]
    # fmt: on
    head = (
        f"head_size {c.head_size}, block_size {c.block_size}, {c.num_threads} threads, "
        f"{es}-byte query, {c.cache_bytes}-byte cache"
    )
    width = max(len(formula) for _, formula, _, _ in rows)
    lines = [f"{n:<21}{f:<{width}} = {value:<5}{why}" for n, f, value, why in rows]
    return "\n".join([head, *lines])
