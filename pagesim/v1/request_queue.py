"""The queue in which requests wait: first come, first served, or by priority.

Source: vLLM 0.33.0, ``vllm/v1/core/sched/request_queue.py``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Iterator
from heapq import heapify, heappop, heappush

from pagesim.journal.effects import Name
from pagesim.v1.request import Request


class FCFSRequestQueue(deque[Request]):
    """First come, first served."""

    def add_request(self, request: Request) -> None:
        """Let a request wait behind those that are there."""
        self.append(request)

    def peek_request(self) -> Request:
        """The request that is next."""
        return self[0]

    def pop_request(self) -> Request:
        """Take the request that is next."""
        return self.popleft()

    def prepend_request(self, request: Request) -> None:
        """Let a request wait in front of the others, where the policy allows it."""
        self.appendleft(request)

    def prepend_requests(self, requests: Iterable[Request]) -> None:
        """Put requests in front of the others, in this order, where the policy allows it."""
        self.extendleft(reversed(list(requests)))

    def remove_requests(self, requests: Container[Request]) -> None:
        """Take these requests from wherever they stand."""
        kept = [request for request in self if request not in requests]
        self.clear()
        self.extend(kept)


class PriorityRequestQueue:
    """The smallest priority first, then the earliest arrival, then the smallest id."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, float, bool, Name, Request]] = []

    def add_request(self, request: Request) -> None:
        name = request.request_id
        is_text = isinstance(name, str)  # a number is not compared with a text
        heappush(self._heap, (request.priority, request.arrival_time, is_text, name, request))

    def peek_request(self) -> Request:
        return self._heap[0][-1]

    def pop_request(self) -> Request:
        return heappop(self._heap)[-1]

    def prepend_request(self, request: Request) -> None:
        self.add_request(request)

    def prepend_requests(self, requests: Iterable[Request]) -> None:
        for request in requests:
            self.add_request(request)

    def remove_requests(self, requests: Container[Request]) -> None:
        self._heap = [entry for entry in self._heap if entry[-1] not in requests]
        heapify(self._heap)

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[Request]:
        return (entry[-1] for entry in sorted(self._heap))


RequestQueue = FCFSRequestQueue | PriorityRequestQueue
"""What a scheduler asks of the requests that wait. Iterating gives their order."""
