"""The manager of the second tier does what vLLM's did, and refuses the rest."""

from pathlib import Path
from typing import Any

import pytest

from pagesim.v1 import CPUOffloadingManager, ReqContext
from tests.replay.recordings import DATA, lines_of

RECORDINGS = sorted((DATA / "v1_offload").glob("offload_manager-*.jsonl.gz"))


def state_of(manager: CPUOffloadingManager) -> dict[str, Any]:
    """As a recording has it."""
    chunks = {key: [chunk.chunk_id, chunk.ref_cnt] for key, chunk in manager.policy.chunks.items()}
    counts = {} if manager.counts is None else {"tracker": [*map(list, manager.counts.items())]}
    policy: dict[str, Any] = dict(manager.policy.state())
    if "target" in policy:
        policy["target"] = round(policy["target"], 9)
    return {"chunks": chunks, **policy, **counts}


class Player:
    """Does what a line of a recording says."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.reset(config)

    def reset(self, config: dict[str, Any]) -> None:
        self.manager = CPUOffloadingManager(**config)
        self.contexts: dict[str, ReqContext] = {}

    def play(self, op: str, args: dict[str, Any]) -> Any:
        if op in ("reset", "context", "positions", "finish", "events", "stats", "reset_cache"):
            return getattr(self, op)(**args)
        args["req_context"] = self.contexts[args.pop("request")]
        got: Any = getattr(self.manager, op)(**args)
        if op == "prepare_load":
            return got.block_ids
        if op == "lookup":
            return got.name
        if op != "prepare_store":
            return got
        if got is None:
            return {"refused": True}
        chunks = got.store_spec.block_ids
        return {"store": got.keys_to_store, "chunks": chunks, "evicted": got.evicted_keys}

    def context(self, request: str) -> None:
        self.contexts[request] = ReqContext(request)
        self.manager.on_new_request(self.contexts[request])

    def positions(self, request: str, keys: list[tuple[str, int]]) -> None:
        for key, end in keys:
            self.contexts[request].set_offload_key_position(key, end)

    def finish(self, request: str) -> None:
        self.manager.on_request_finished(self.contexts[request])

    def reset_cache(self) -> None:
        self.manager.reset_cache()

    def events(self) -> list[Any]:
        names = {(False, False): "stored", (True, False): "removed", (True, True): "failed"}
        events = self.manager.take_events()
        assert {event.medium for event in events} <= {"CPU"}
        return [[names[event.removed, event.metadata_only], event.keys] for event in events]

    def stats(self) -> dict[str, Any]:
        stats = self.manager.get_stats()
        return {k: round(v, 9) if isinstance(v, float) else v for k, v in stats.items()}


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name.split(".")[0])
def test_a_recording_of_vllm_replays(path: Path) -> None:
    header, *lines = lines_of(path)
    player = Player(header["config"])
    for line in lines:
        if "error" in line:
            with pytest.raises(AssertionError):
                player.play(line["op"], line["args"])
        else:
            assert player.play(line["op"], line["args"]) == line.get("ret"), line
        assert state_of(player.manager) == line["state"], line
    assert len(lines) > 300


def test_all_kinds_of_managers_are_recorded() -> None:
    assert len(RECORDINGS) == 8
