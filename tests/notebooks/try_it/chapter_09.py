"""Chapter 9."""

from tests.notebooks.try_it.line import Lines, Try

LINES: Lines = {
    1: (
        "twelve tokens",
        [
            Try(
                (1,),
                {"queue": {"of sitting by": "of sitting by her sister"}},
                then=(
                    "print('queue', *queues[1].at(2).lists.values())\n"
                    "print('evicted', *queues[1][queues[1].find(kind='evict')[0]].effects)"
                ),
                shows=r"queue \(4, 5, 6, 7, 3, 2, 1\)\nevicted .*Effect\(kind='evict', block=3",
            )
        ],
    ),
    2: (
        "0.05",
        [
            Try(
                (3,),
                {"swap-azure": {'"watermark": 0.01': f'"watermark": {watermark}'}},
                shows=rf"with a watermark +0 +0 +0 +{steps} ",
            )
            for watermark, steps in ((0.05, "2,213"), (0.5, "4,107"))
        ],
    ),
    3: (
        "halve the window",
        [Try((5,), {"null": {"window = 8": "window = 4"}}, shows=r"\[0, 0, 0, 0, ")],
    ),
}
