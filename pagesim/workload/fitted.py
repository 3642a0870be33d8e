"""Request streams with the lengths of real traffic, drawn from summaries of published data.

A summary (``data/*.json``) counts the requests with prompts and answers of about each length, and
has the mean arrival rate and the source of the data; ``pagesim fit`` makes one. A draw picks a cell
of that table and a length in it: the means of a long stream are within 1 % of the data's. Arrivals
are a Poisson process; the bursts of the data and the common prefixes of its prompts are lost.

As in :mod:`pagesim.workload.synthetic`, a longer stream begins with the shorter one.
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from pagesim.checks import check_int
from pagesim.files.jsonl import JsonObject
from pagesim.workload.request import Workload
from pagesim.workload.synthetic import Lengths, generators, requests_of

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary of a data set: a table of lengths, the arrival rate, and the source.

    ``counts[i, j]`` requests have ``prompt_edges[i] ≤ prompt < prompt_edges[i + 1]`` and an answer
    between ``output_edges[j]`` and ``[j + 1]``. ``requests_per_s`` is None if all came at once.
    """

    name: str
    source: str
    licence: str
    requests: int
    requests_per_s: float | None
    mean_prompt: float
    mean_output: float
    prompt_edges: tuple[int, ...]
    output_edges: tuple[int, ...]
    counts: tuple[tuple[int, ...], ...]

    def to_json(self) -> str:
        """The summary as a file: one line for each field and for each row of the table."""
        fields = {name: getattr(self, name) for name in self.__slots__ if name != "counts"}
        lines = [f" {json.dumps(name)}: {json.dumps(value)},\n" for name, value in fields.items()]
        rows = ",\n".join("  " + json.dumps(row, separators=(",", ":")) for row in self.counts)
        return "{\n" + "".join(lines) + f' "counts": [\n{rows}\n ]\n}}\n'

    @classmethod
    def from_json(cls, text: str) -> "Summary":
        """What :meth:`to_json` wrote."""
        fields: JsonObject = json.loads(text)
        edges = {name: tuple(fields[name]) for name in ("prompt_edges", "output_edges")}
        return cls(**fields | edges | {"counts": tuple(map(tuple, fields["counts"]))})

    def draw(self, n: int, seed: int = 0, rate: float | None = None) -> Workload:
        """``n`` requests like those of the data, at ``rate`` a second or the rate of the data."""
        check_int("n", n, minimum=1)
        of_cells, of_prompts, of_outputs, of_arrivals = generators(seed, 4)
        counts: Counts = np.array(self.counts, dtype=np.int64)
        chosen = of_cells.integers(counts.sum(), size=n)
        cells = np.searchsorted(np.cumsum(counts), chosen, side="right")
        rows, columns = np.divmod(cells, counts.shape[1])
        prompts = _within(of_prompts, self.prompt_edges, rows)
        outputs = _within(of_outputs, self.output_edges, columns)
        rate = self.requests_per_s if rate is None else rate
        source = f"drawn with seed {seed} from the lengths of {self.source}"
        return Workload(
            f"{self.name}-like", source, requests_of(prompts, outputs, of_arrivals, rate)
        )


def sharegpt_like(n: int, seed: int = 0, rate: float | None = None) -> Workload:
    """Draw first turns of ShareGPT chats: about 136 prompt and 472 output tokens, 2 a second."""
    return summary("sharegpt").draw(n, seed, rate)


def azure_conv_like(n: int, seed: int = 0, rate: float | None = None) -> Workload:
    """Draw conversations of a cloud: about 1,155 prompt and 211 output tokens, 5.5 a second."""
    return summary("azure_conv").draw(n, seed, rate)


def mooncake_like(n: int, seed: int = 0, rate: float | None = None) -> Workload:
    """Draw requests with long contexts: about 13,517 prompt and 350 output tokens, 3 a second."""
    return summary("mooncake").draw(n, seed, rate)


@cache
def summary(name: str) -> Summary:
    """The summary in ``data/`` with this name."""
    file = files("pagesim.workload").joinpath("data", f"{name}.json")
    return Summary.from_json(file.read_text(encoding="utf-8"))


def _within(generator: np.random.Generator, edges: tuple[int, ...], cells: Counts) -> Lengths:
    """A whole number from each of ``cells``, drawn uniformly."""
    bounds = np.array(edges)
    return generator.integers(bounds[cells], bounds[cells + 1])
