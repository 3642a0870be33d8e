"""What pagesim does where NumPy, tqdm, matplotlib and click are not there; run in a child process.

Prints one JSON object: what it found, and the file that it saved, to be compared with those of a
process that has them all.
"""

import hashlib
import importlib.abc
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

HIDDEN = {
    "numpy",
    "tqdm",
    "matplotlib",
    "click",
    "filelock",
    "torch",
    "triton",
    "IPython",
    "ipywidgets",
}


class Hide(importlib.abc.MetaPathFinder):
    """Finds none of the hidden modules, before any other finder does."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> None:
        if name.split(".", 1)[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def recorded() -> Any:
    """A scheduler that admits, preempts to the CPU, brings back and finishes, with a cache."""
    import pagesim

    scheduler = pagesim.Scheduler(
        pagesim.SchedulerConfig(64, 8, 64, preemption_mode="swap"),
        pagesim.CacheConfig(4, 8, 8, enable_prefix_caching=True, watermark=0.0),
        clock=lambda: 0.0,
    )
    with pagesim.record(scheduler) as run:
        for i in range(3):
            seq = pagesim.Sequence(i, [1, 2, 3, 4, i, i, i], 4)
            scheduler.add_seq_group(pagesim.SequenceGroup(f"r{i}", [seq]))
        for _ in range(12):
            _, outputs, _ = scheduler.schedule()
            for given in outputs.scheduled_seq_groups:
                (seq,) = given.seq_group.seqs
                seq.data.update_num_computed_tokens(given.token_chunk_size)
                seq.append_token_id(9, {9: pagesim.Logprob(0.0)})
                if seq.get_output_len() == 8:
                    seq.status = pagesim.SequenceStatus.FINISHED_STOPPED
            scheduler.free_finished_seq_groups()
    return run


def found(folder: Path) -> dict[str, Any]:
    """What is to be the same with and without."""
    import pagesim

    run, path = recorded(), folder / "run.jsonl"
    run.save(path)
    run.to_html(folder / "run.html")
    again = pagesim.load(path)
    story = pagesim.Story(gpu_blocks=8, cpu_blocks=8)
    alice = story.arrive("Alice was beginning to get", name="alice")
    alice.fork().write("very tired")
    alice.swap_out()
    alice.leave()
    searches = [run.find(block=b) for b in range(16)] + [run.find(sequence=i) for i in range(3)]
    searches += [run.find(kind=kind) for kind in ("take", "move", "hit", "preempt", "schedule")]
    return {
        "events": len(run),
        "loaded": [again.at(i) == run.at(i) for i in range(len(run) + 1)],
        "searches": searches,
        "story": [event.caption for event in story.run],
        "file": hashlib.sha256(path.read_bytes()).hexdigest(),
        "page": hashlib.sha256((folder / "run.html").read_bytes()).hexdigest(),
        "output": len(run._repr_html_()),
    }


def main() -> None:
    sys.meta_path.insert(0, Hide())
    facts = found(Path(sys.argv[1]))
    there = sorted(HIDDEN & {name.split(".", 1)[0] for name in sys.modules})
    print(json.dumps({"found": facts, "there": there}))


if __name__ == "__main__":
    main()
