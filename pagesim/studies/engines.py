"""The same requests in V0 and in V1: how many run, what is found in the cache, what is preempted.

Prefix caching, chunked prefill and the engine's generation are told apart: V0 has the first two
only where they are asked for, V1 has both by default.

    python -m pagesim.studies.engines          Azure's lengths and Mooncake's requests

Azure's conversations are drawn from its lengths, since their text is not published: no two prompts
begin alike. Mooncake's are the first requests of the trace itself, with the hashes of their blocks.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pagesim.simulation import Limits, Paged, PagedV1, Policy, Roofline, Simulation, simulate
from pagesim.simulation.report import Cell
from pagesim.sizing import Pool
from pagesim.workload import Workload, azure_conv_like, mooncake_conversation

ENGINES: Mapping[str, Policy] = {
    "V0": Paged(),
    "V0 chunked": Paged(enable_chunked_prefill=True),
    "V0 caching": Paged(enable_prefix_caching=True),
    "V0 chunked, caching": Paged(enable_chunked_prefill=True, enable_prefix_caching=True),
    "V1 without caching": PagedV1(enable_prefix_caching=False),
    "V1": PagedV1(),
    "V1, watermark 1 %": PagedV1(watermark=0.01),
}
"""What is compared. V0 leaves 1 % of the pool free when it admits a request."""

CHUNKS = 2_048
"""Tokens of a step where prompts are computed in chunks; without, a step takes a whole prompt."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A workload, and the memory and the limits that all engines get."""

    workload: Workload
    pool: Pool
    limits: Limits
    clock: Roofline
    title: str


def settings(azure: int = 400, mooncake: int = 200) -> Iterator[Setting]:
    """As many requests of Azure's and of Mooncake's kind as are asked for."""
    clock = Roofline.for_model("llama-3.1-8b", "a100-40gb")
    words, small = "llama-3.1-8b on an A100-40GB", Pool.for_model("llama-3.1-8b", 8.0)
    lengths = azure_conv_like(azure, seed=0, rate=8.0)
    yield Setting(lengths, small, Limits(16_384), clock, f"{words}, 8 GiB for keys and values")
    whole = Pool.for_card("llama-3.1-8b", "a100-40gb")
    trace = mooncake_conversation().first(mooncake).at_rate(1.0)
    yield Setting(trace, whole, Limits(131_072), clock, f"{words}, all that the weights leave")


def served(setting: Setting, policy: Policy) -> Simulation:
    """The requests of a setting, served by one engine."""
    chunked = getattr(policy, "enable_chunked_prefill", False)
    return simulate(
        setting.workload,
        policy=policy,
        pool=setting.pool,
        limits=replace(setting.limits, max_num_batched_tokens=CHUNKS if chunked else None),
        cost_model=setting.clock,
        progress=False,
    )


HEAD = (
    *("engine", "served", "steps", "preempted", "hit", "refound", "batch", "held", "cached"),
    *("TTFT p50", "p99", "TPOT p50", "a token"),
)


def row(name: str, run: Simulation) -> tuple[Cell, ...]:
    """A line of the table: counts, tokens, means in time (in percent of the pool), and seconds."""
    summary, waste = run.summary(), run.waste.time_mean(0.0)
    latency = summary["latency"]
    first = latency["time_to_first_token"]
    return (
        *(name, summary["finished"], summary["iterations"], summary["preemptions"]),
        *(summary["hit_tokens"], summary["refound_tokens"], waste["batch"]),
        *(waste["token"] + waste["reserved"] + waste["internal"], waste.get("cached")),
        *(first["p50"], first["p99"], latency["time_per_output_token"]["p50"]),
        latency["normalized"]["mean"],
    )


def text(cell: Cell) -> str:
    """A cell as short text."""
    if cell is None:
        return "-"
    return f"{cell:.3g}" if isinstance(cell, float) else f"{cell:,}" if cell != str(cell) else cell


def main() -> None:
    """Print the tables."""
    for setting in settings():
        print(f"\n{setting.workload.summary()}\n{setting.title}, {setting.pool.slots:,} slots")
        print(f"{HEAD[0]:<21}" + "".join(f"{name:>10}" for name in HEAD[1:]))
        for name, policy in ENGINES.items():
            cells = row(name, served(setting, policy))
            print(f"{name:<21}" + "".join(f"{text(cell):>10}" for cell in cells[1:]), flush=True)


if __name__ == "__main__":
    main()
