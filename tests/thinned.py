"""Of files with many cases, `make test` runs every fifth case, and `make rest` runs the others.

So `make test` stays quick, and the two together, as in `make check`, run every case once. Without
these two variables of the environment, pytest runs all cases.
"""

import os
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

import pytest

TEST, REST = "PAGESIM_BUDGET", "PAGESIM_REST"
"""The variables that `make test` and `make rest` set."""

THINNED = {
    f"tests/{name}.py"
    for name in (
        *("cache/test_byte_proof_v1", "cache/test_byte_proof_v1_groups", "decision/test_decision"),
        *("cache/test_byte_proof_v1_offload", "cache/test_byte_proof", "exercises/test_answers"),
        *("exercises/grading/test_exercises", "exercises/test_beside", "exercises/test_told"),
        *("exercises/test_notebooks", "exercises/test_registry", "explain/test_hostile"),
        *("explain/test_log_reading", "figures/test_book", "figures/test_every_figure"),
        *("figures/test_sources", "figures/test_pool_map", "figures/test_block_layout"),
        *("generation/test_engine", "generation/test_groups", "generation/test_tier"),
        *("kernels/attention/test_fuzz", "kernels/attention/test_null_blocks"),
        *("kernels/attention/test_numerics", "kernels/attention/test_partitions"),
        *("kernels/attention/test_traps", "kernels/attention/test_unified_step"),
        *("kernels/attention/test_windows", "kernels/simt/test_attention"),
        *("kernels/tiny_llm/test_by_hand", "kernels/tiny_llm/test_config_json"),
        *("kernels/tiny_llm/test_windows", "kernels/xray/test_xray", "kit/test_check"),
        *("kit/test_traps", "replay/test_record_vllm", "replay/test_replay"),
        *("simulation/test_metrics", "simulation/test_observed", "simulation/test_paged_v1_groups"),
        *("timeline/test_heard", "timeline/test_hostile_files", "timeline/test_recorders"),
        *("timeline/test_states", "v1/test_groups", "v1/test_recorded", "v1/test_recordings"),
        *("studies/test_watermark", "studies/test_group_hits", "studies/test_engines"),
        *("studies/test_crossover", "studies/test_second_tier", "studies/test_paper"),
        *("commands/test_generate", "commands/test_grade", "commands/test_interrupts"),
        *("commands/test_explain", "commands/test_waste", "exercises/grading/test_inside"),
        *("exercises/grading/test_report", "exercises/grading/test_frames", "kernels/test_backend"),
        *("exercises/test_mutants", "figures/test_display", "figures/test_film"),
        *("kernels/tiny_llm/test_train", "lint/test_language", "notebooks/test_site"),
        *("notebooks/test_slides", "timeline/test_memory", "workload/test_synthetic"),
        *("workload/test_token_ids", "test_questions", "player/test_bundle"),
    )
}
"""Files with many cases."""


EVERY = 5
ROOT = Path(__file__).parents[1]


def thinned(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """What `make test` leaves out: of each test in these files, all cases but every fifth."""
    cases, out = Counter[str](), list[pytest.Item]()
    for item in items:
        file = item.nodeid.split("::")[0]
        if file in THINNED and hasattr(item, "callspec"):
            name = f"{file} {getattr(item, 'originalname', '')}"
            cases[name] += 1
            out += [item] if cases[name] % EVERY != 1 else []
    return out


def chosen(
    items: Sequence[pytest.Item], variables: Collection[str]
) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Which of the collected cases run where these variables are set, and which do not."""
    if TEST not in variables and REST not in variables:
        return list(items), []
    out = thinned(items)
    gone = {id(item) for item in out}
    kept = [item for item in items if id(item) not in gone]
    return (out, kept) if REST in variables else (kept, out)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """`make rest` need not even import the other files."""
    if REST in os.environ and collection_path.is_file():
        return collection_path not in {ROOT / name for name in THINNED} or None
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items[:], others = chosen(items, os.environ)
    config.hook.pytest_deselected(items=others)
