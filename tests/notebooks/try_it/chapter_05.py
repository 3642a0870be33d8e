"""Chapter 5."""

from tests.notebooks.try_it.line import Lines, Try

ASKS_FIRST = {
    "    went = s0.swap_out()\n": (
        "    print('may it leave?', story.manager.can_swap_out(s0.group))\n"
        "    went = s0.swap_out()\n"
    ),
}

LINES: Lines = {
    1: (
        "`round_trip(cpu_blocks=2)`",
        [
            Try((1,), then="round_trip(cpu_blocks=2)", raises="NoFreeBlocksError"),
            Try(
                (1,),
                {"trip": ASKS_FIRST},
                then="try:\n    round_trip(cpu_blocks=2)\nexcept ValueError:\n    pass",
                shows=r"may it leave\? False",
            ),
        ],
    ),
    2: (
        "`s0.write([0])` and `s1.write([1])`",
        [
            Try(
                (3,),
                {
                    "shared-setup": {
                        "    s1 = s0.fork()\n": (
                            "    s1 = s0.fork()\n    s0.write([0])\n    s1.write([1])\n"
                        )
                    }
                },
                shows=r"on the CPU: 6, on the GPU: 6",
            )
        ],
    ),
    3: (
        "`engine.swap_in(back)`",
        [
            Try(
                (4,),
                {"round-trip-setup": {"engine.swap_in(back)\n": ""}},
                shows=r"the answer: 64\n",
            )
        ],
    ),
}
