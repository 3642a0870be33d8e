"""The link between a GPU and the memory of its host, over which blocks of the cache are copied."""

import math
from dataclasses import dataclass, replace

from pagesim.checks import check_bool, check_number
from pagesim.errors import UsageError
from pagesim.sizing.amount import parse_bytes


@dataclass(frozen=True, slots=True)
class Link:
    """How fast copies run from the GPU to the CPU (out) and back (in).

    A copy of ``n`` bytes takes ``latency_seconds`` and ``n`` divided by the bytes per second of its
    direction. The directions do not disturb each other unless they ``share`` the link: then it
    carries one copy at a time. UsageError or TypeError names the field and the value.
    """

    name: str
    out_bytes_per_second: float
    in_bytes_per_second: float
    latency_seconds: float = 0.0
    share: bool = False
    source: str = ""

    def __post_init__(self) -> None:
        for name in ("out_bytes_per_second", "in_bytes_per_second", "latency_seconds"):
            value, is_time = check_number(name, getattr(self, name)), name == "latency_seconds"
            if not (0 < value < math.inf or (value == 0 and is_time)):
                at_least = "at least 0" if is_time else "above 0"
                raise UsageError(f"{name} must be a number {at_least}, not {value!r}")
        check_bool("share", self.share)

    def seconds(self, num_bytes: float, *, out: bool) -> float:
        """The time of one copy on an idle link."""
        speed = self.out_bytes_per_second if out else self.in_bytes_per_second
        return self.latency_seconds + num_bytes / speed

    def times(self, number: float) -> "Link":
        """So many links side by side, for as many GPUs, each of which copies its own part."""
        out, back = self.out_bytes_per_second * number, self.in_bytes_per_second * number
        return replace(self, out_bytes_per_second=out, in_bytes_per_second=back)


def _pcie(generation: int, copied: float, peak: float, measured: str) -> dict[str, Link]:
    """What copies reach on 16 lanes, and what the lanes could carry."""
    name = f"pcie{generation}"
    lanes = f"PCIe {generation}.0, 16 lanes, 128 of every 130 bits are data"
    return {
        name: Link(name, copied, copied, source=f"a round number below nvbandwidth's: {measured}"),
        f"{name}-peak": Link(f"{name}-peak", peak, peak, source=lanes),
    }


LINKS: dict[str, Link] = {
    **_pcie(3, 12e9, 8e9 * 16 / 8 * 128 / 130, "12.4 GB/s in, 11.2 while others go out"),
    **_pcie(4, 25e9, 16e9 * 16 / 8 * 128 / 130, "26.0 GB/s in, 18.6 while others go out"),
    **_pcie(5, 50e9, 32e9 * 16 / 8 * 128 / 130, "55.6 GB/s in, 51.8 while others go out"),
    "nvlink-c2c": Link(
        "nvlink-c2c",
        297e9,
        375e9,
        share=True,
        source="measured on a GH200: arXiv 2407.07850; in both directions at once nvbandwidth gets "
        "160 GB/s each, together no more than in one",
    ),
    "nvlink-c2c-peak": Link(
        "nvlink-c2c-peak", 450e9, 450e9, source="NVIDIA's whitepaper of the GH200: 900 GB/s in all"
    ),
}
"""The known links, per GPU. Beside the megabytes of a prompt the latency of a copy, some
microseconds, does not matter: it is 0 here. PCIe's directions have lanes of their own and share
the memory of the host, which costs PCIe 4 a quarter of its speed when both are busy."""


def link_of(given: str | Link) -> Link:
    """A link by its name, or one of so many bytes per second each way, such as "25GB".

    UsageError lists the known names.
    """
    if isinstance(given, Link):
        return given
    if not isinstance(given, str):
        raise TypeError(f"link must be a Link, its name or its speed, not {given!r}")
    name = given.strip().lower()
    if name in LINKS:
        return LINKS[name]
    try:
        speed = parse_bytes("link", name.removesuffix("/s"))
    except UsageError:
        speed = None
    if speed is None or not speed.high:
        raise UsageError(
            f"link must be one of {', '.join(LINKS)}, or bytes per second such as 25GB, not "
            f"{given!r}"
        )
    mean = (speed.low + speed.high) / 2
    return Link(given.strip(), mean, mean)
