"""When copies between a GPU and the memory of its host end: a clock beside the model's.

Copies run beside the kernels. A step does not wait for them, and they do not slow it down; it waits
only if it must not begin before a copy has ended, because the copy's blocks are needed at once.
"""

from pagesim.sizing.link import Link


class LinkClock:
    """Two queues, one for each direction; or one for both, if the directions share the link.

    A copy begins when it is submitted, or when all that were submitted before it in its queue have
    ended, if that is later.
    """

    def __init__(self, link: Link) -> None:
        self.link = link
        self._free_at = {True: 0.0, False: 0.0}

    def submit(self, now: float, num_bytes: float, *, out: bool) -> float:
        """Queue a copy at the time ``now``; returns when it ends."""
        begins = max(now, self.free_at(out=out))
        self._free_at[out or self.link.share] = begins + self.link.seconds(num_bytes, out=out)
        return self.free_at(out=out)

    def free_at(self, *, out: bool) -> float:
        """When everything that has been submitted in a direction is over."""
        return self._free_at[out or self.link.share]
