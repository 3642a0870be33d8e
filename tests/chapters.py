"""Which chapters rely on what is tested here: `-m ch03` selects the tests of chapter 3.

A folder speaks for all in it, unless a folder or file in it speaks for itself. A test may name
further chapters with a mark of its own.
"""

from pathlib import Path

import pytest

CHAPTERS = {
    "cache": "ch05",
    "cache/test_byte_proof_v1.py": "ch09",
    "cache/test_metadata_v1.py": "ch09",
    "cache/test_slot_mapping.py": "ch02",
    "generation": "ch16",
    "kernels": "ch03",
    "kernels/attention/test_plan.py": "ch03 ch15",
    "kernels/attention/test_unified_step.py": "ch09",
    "kernels/gate": "ch02 ch03",
    "kernels/simt": "ch14",
    "kernels/test_backend.py": "ch00 ch03",
    "kernels/test_block_copy.py": "ch02",
    "kernels/test_cache_write.py": "ch02",
    "kernels/test_fp8.py": "ch02",
    "kernels/test_pool.py": "ch05",
    "kernels/tiny_llm": "ch16",
    "kernels/xray": "ch02 ch03",
    "replay": "ch09",
    "replay/test_replay.py": "ch02 ch07",
    "simulation": "ch01",
    "simulation/test_fast_forward_v1.py": "ch09",
    "simulation/test_limits.py": "ch09",
    "simulation/test_paged_v1.py": "ch09",
    "sizing": "ch08",
    "studies": "ch01",
    "studies/test_engines.py": "ch09",
    "studies/test_prefix_hits.py": "ch06",
    "v0": "ch02",
    "v0/scheduling": "ch07",
    "v1": "ch07",
    "v1/test_request.py": "ch06",
    "workload": "ch01",
    "workload/test_token_ids.py": "ch06",
}
TESTS = Path(__file__).parent


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.path.is_relative_to(TESTS):
        place = item.path.relative_to(TESTS)
        named = (CHAPTERS.get(each.as_posix()) for each in (place, *place.parents))
        for chapter in next(filter(None, named), "").split():
            item.add_marker(chapter)
