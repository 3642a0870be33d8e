"""Chapter 6."""

from tests.notebooks.try_it.line import Lines, Try

LINES: Lines = {
    1: (
        "In section 1, give the CPU 2 blocks.",
        [
            Try(
                (1,),
                {
                    "trip": {
                        "cpu_blocks=4": "cpu_blocks=2",
                        "went = s0.swap_out()\n": (
                            "print('may it leave?', story.manager.can_swap_out(s0.group))\n"
                            "went = s0.swap_out()\n"
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
                        "    s1 = s0.fork()\n": (
                            "    s1 = s0.fork()\n    s0.write([0])\n    s1.write([1])\n"
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
