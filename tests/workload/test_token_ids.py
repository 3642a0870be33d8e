"""Token ids in a request file: prefix caching works from it."""

import json
from pathlib import Path
from typing import Any

import pytest

from pagesim import UsageError
from pagesim.simulation import simulate
from pagesim.workload import Request, WorkloadError, load
from tests.simulation.ledger import Clock

HEAD = "arrival_s,prompt_tokens,output_tokens,token_ids\n"
ALIKE, OTHER = list(range(64)), list(range(100, 164))
"""Both have 64 tokens; a request with the first ones finds four blocks of another one's."""


def as_csv(folder: Path, *prompts: list[int]) -> Path:
    rows = [f"{i},{len(ids)},4,{' '.join(map(str, ids))}\n" for i, ids in enumerate(prompts)]
    path = folder / "t.csv"
    path.write_text(HEAD + "".join(rows))
    return path


def as_jsonl(folder: Path, *prompts: list[int]) -> Path:
    rows = [
        json.dumps({"arrival_s": i, "output_tokens": 4, "token_ids": ids})
        for i, ids in enumerate(prompts)
    ]
    path = folder / "t.jsonl"
    path.write_text("\n".join(rows))
    return path


@pytest.mark.parametrize("write", [as_csv, as_jsonl])
def test_prompts_that_begin_alike_share_blocks(tmp_path: Path, write: Any) -> None:
    prompts = ([*ALIKE, 7], [*ALIKE, 8, 9], [*OTHER, 7])
    stream = load(write(tmp_path, *prompts))
    assert [request.token_ids for request in stream] == [tuple(ids) for ids in prompts]
    assert [request.prompt_tokens for request in stream] == [65, 66, 65]
    clock = Clock()
    simulate(stream, enable_prefix_caching=True, cost_model=clock, progress=False)
    assert [prefill for prefill, *_ in clock.asked if prefill] == [65, 2, 65]  # 4 blocks are found


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("0,3,1,1 2", r"t\.csv:2: column token_ids must be 3 ids.* 2\)"),
        ("0,2,1,1 -2", r"t\.csv:2: column token_ids .* -2\]"),
        ("0,2,1,1 x", r"t\.csv:2: column token_ids .* 'x'\]"),
        ({"token_ids": []}, r"t\.jsonl:1: column token_ids must be 1 or more"),
        ({"token_ids": "1 2"}, r"t\.jsonl:1: column token_ids .* '1 2'"),
        ({}, r"t\.jsonl:1: column prompt_tokens"),
        ({"prompt_tokens": 2, "token_ids": [1, 2], "hash_ids_512": [0]}, ":1: .*token_ids must be"),
        ({"prompt_tokens": 2, "token_ids": [1]}, ":1: column token_ids must be 2"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, row: str | dict[str, object], message: str) -> None:
    path = tmp_path / ("t.csv" if isinstance(row, str) else "t.jsonl")
    line = {"arrival_s": 0, "output_tokens": 1}
    path.write_text(f"{HEAD}{row}\n" if isinstance(row, str) else json.dumps(line | row))
    with pytest.raises(WorkloadError, match=message):
        load(path)


def test_a_request_checks_its_tokens() -> None:
    with pytest.raises(
        UsageError, match="token_ids must be 3 ids, as many as prompt_tokens, not 2"
    ):
        Request("a", 0.0, 3, 1, token_ids=(1, 2))
    with pytest.raises(UsageError, match="give one of hash_ids and token_ids"):
        Request("a", 0.0, 2, 1, (0,), (1, 2))
