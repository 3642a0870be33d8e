"""Chapter 6."""

# ruff: noqa: E501 (the chapter's words and source are quoted as they are)
from tests.notebooks.try_it.line import Lines, Try

LINES: Lines = {
    1: (
        "In section 1, give the CPU 2 blocks.",
        [
            Try(
                (1,),
                {
                    "trip": {
                        "num_cpu_blocks=4": "num_cpu_blocks=2",
                        "    went = manager.swap_out(s0)\n": (
                            "    print('may it leave?', manager.can_swap_out(s0))\n"
                            "    went = manager.swap_out(s0)\n"
                        ),
                    }
                },
                shows=r"may it leave\? False",
                raises="NoFreeBlocksError",
            )
        ],
    ),
    2: (
        "In section 3, append one token to both before swapping",
        [
            Try(
                (3,),
                {
                    "shared": {
                        '    print("on the GPU:   tables", tables(manager, group))\n    pairs = manager.swap_out': (
                            "    for token_id, sequence in enumerate(group.seqs):\n"
                            "        append_token(manager, sequence, token_id)\n"
                            '    print("on the GPU:   tables", tables(manager, group))\n'
                            "    pairs = manager.swap_out"
                        )
                    }
                },
                shows=r"(?s)afterwards: 6.*afterwards: 4",
            )
        ],
    ),
    3: (
        "In section 4, leave out `engine.swap_in(came)`.",
        [
            Try(
                (4,),
                {"round-trip": {"engine.swap_in(came)\n": ""}},
                shows="every bit the same: False",
            )
        ],
    ),
}
