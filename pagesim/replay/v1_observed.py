"""The operations of a recording of a KV cache manager whose events and metrics are observed.

They are those of a KV cache manager, and a clock that stands still unless the recording moves it.
"""

from random import Random
from typing import Any

from pagesim import v1
from pagesim.files.jsonl import JsonObject
from pagesim.replay.v1 import KVCacheManagerPlayer
from pagesim.v1.kv_events import KVCacheEvent


class ObservedManagerPlayer(KVCacheManagerPlayer):
    """Requests on one KV cache manager, what a router hears of it, and what its blocks live."""

    def start(self, config: JsonObject) -> None:
        config, self.now = dict(config), 0
        rate, rng = config.pop("sample_rate"), Random(config.pop("rng_seed", 0)).random
        self.collector = None
        if rate is not None:
            self.collector = v1.KVCacheMetricsCollector(rate, clock=lambda: self.now, rng=rng)
        super().start(config | {"metrics_collector": self.collector})

    def state(self) -> JsonObject:
        if self.collector is None:
            return super().state()
        return super().state() | {"sampled": sorted(self.collector.block_metrics)}

    def op_tick(self, ns: int) -> None:
        self.now += ns

    def op_events(self) -> list[JsonObject]:
        return [event_row(event, self.labels) for event in self.manager.take_events()]

    def op_metrics(self) -> list[list[Any]]:
        return [
            [
                round(event.lifetime_seconds, 9),
                round(event.idle_seconds, 9),
                [round(gap, 9) for gap in event.reuse_gaps_seconds],
            ]
            for event in (self.collector.drain_events() if self.collector else ())
        ]


def event_row(event: KVCacheEvent, labels: dict[Any, str]) -> JsonObject:
    """An event as a recording has it, with the names of contents."""
    row: JsonObject = {"type": type(event).__name__}
    if isinstance(event, v1.AllBlocksCleared):
        return row
    row["hashes"] = [labels[block_hash] for block_hash in event.block_hashes]
    row |= {"medium": event.medium, "group": event.group_idx}
    if isinstance(event, v1.BlockRemoved):
        return row
    parent = event.parent_block_hash
    row["parent"] = None if parent is None else labels[parent]
    row |= {"tokens": event.token_ids, "block_size": event.block_size}
    if event.extra_keys is not None:
        row["extra_keys"] = [keys and list(keys) for keys in event.extra_keys]
    if event.kv_cache_spec_kind is not None:
        row |= {"kind": event.kv_cache_spec_kind, "window": event.kv_cache_spec_sliding_window}
    return row
