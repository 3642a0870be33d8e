"""Continuous batching: the loop around a server that decides, a cache that holds, and a model.

    engine = Engine(model, server, cache)          # server: V0 or V1, as in `simulate`
    engine.add(prompt, SamplingParams(max_tokens=20))
    answers = engine.run()

A step:

    server.schedule()     who computes, in which blocks
    move()                blocks that are swapped out, copied, swapped in
    server.batch()        tokens, positions, slots and tables of the step
    forward()             the model, whose attention writes and reads pages
    server.commit()       the sampled tokens; answers that end leave at once

A second tier of V1 copies blocks beside the steps: the server calls `transfer` when a copy begins,
and a copy ends in the step in which it begins.

Samples of one prompt share its pages. V0 forks the sequence once the prompt is computed; V1, as
in vLLM, has a request for each sample, and they find the prompt in the prefix cache.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

import torch
from torch import Tensor

from pagesim.cache import AttentionMetadata, CacheEngine
from pagesim.cache.cache_engine import BlockMoves
from pagesim.kernels.tiny_llm.model import Model
from pagesim.kernels.tiny_llm.paged_attend import BACKENDS, Backend, of_step
from pagesim.kernels.tiny_llm.sampling import SamplingParams, checked_prompt, draw, extend
from pagesim.v1.transfers import TransferJob
from pagesim.workload import Request


class Token(NamedTuple):
    """A token sampled in a step, and the sample of the answer that it belongs to."""

    answer: int
    sample: int
    token: int


@dataclass
class Answer:
    """What became of a request.

    samples has the tokens of each sample, as far as they are known. Beams are known when they are
    complete; they come with the likeliest first, and `scores` has the sum of the log probabilities
    of each. state is "unfinished", "finished", "ignored" (the request can never be served) or
    "stuck" (no step continues it); `why` explains the last two.
    """

    id: int
    prompt: tuple[int, ...]
    params: SamplingParams
    samples: list[list[int]] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    state: str = "unfinished"
    why: str = ""

    @property
    def tokens(self) -> list[int]:
        """The tokens of the first sample, or of the best beam; [] if there is none."""
        return self.samples[0] if self.samples else []

    def add_beam(self, score: float, tokens: list[int]) -> None:
        """Insert a complete beam by its score."""
        place = sum(other >= score for other in self.scores)
        self.scores.insert(place, score)
        self.samples.insert(place, tokens)


@dataclass
class Sequence:
    """A sequence that a server runs: a sample of an answer, or a beam with its score so far."""

    answer: Answer
    sample: int
    tokens: list[int]
    score: float = 0.0


class Engine:
    """Answers prompts with a model over pages.

    server is a `PagedServing`. The GPU pool of cache has the server's blocks and the model's
    layers. backend is a name of `paged_attend.BACKENDS`, or a function that makes an `attend` from
    the pool and a step's metadata.
    """

    def __init__(
        self, model: Model, server: Any, cache: CacheEngine, backend: str | Backend = "torch"
    ) -> None:
        if isinstance(backend, str) and backend not in BACKENDS:
            raise ValueError(f"backend must be one of {', '.join(BACKENDS)}, not {backend!r}")
        self.model, self.server, self.cache = model, server, cache
        server.copy_with(self.transfer)
        self.backend = BACKENDS[backend] if isinstance(backend, str) else backend
        self.answers: list[Answer] = []
        self.steps = self.preemptions = 0
        self._new_id = count().__next__
        self._sequences: dict[int, Sequence] = {}
        """Those that are not finished, by the server's id."""

    def add(
        self, prompt: Iterable[int], params: SamplingParams | None = None, name: str | None = None
    ) -> int:
        """Queue a prompt and return the number of its answer; ValueError for unknown tokens.

        A request that can never be served is "ignored" at once, and its answer says why.
        """
        prompt = checked_prompt(prompt, self.model.config.vocab_size)
        params = SamplingParams() if params is None else params
        if not isinstance(params, SamplingParams):
            raise TypeError(f"params must be SamplingParams, not {params!r}")
        params = params.with_stop(self.model.config.eos_token_id)
        if params.beams and not self.server.can_fork:
            raise ValueError(
                f"beams = {params.beams}: this server cannot fork a sequence. As in vLLM V1, a "
                f"beam search is not the engine's task; use V0, or n samples"
            )
        answer = Answer(len(self.answers), prompt, params)
        members, forks = params.beams or params.n, self.server.can_fork
        answer.samples += [] if params.beams else [[] for _ in range(members)]
        for sample in range(1 if forks else members):
            row = self._new_id()
            unique = f"{name or answer.id}" + ("" if forks or members == 1 else f".{sample}")
            request = Request(unique, 0.0, len(prompt), params.max_tokens, token_ids=prompt)
            if not self.server.add(row, request, **({"samples": members} if forks else {})):
                answer.state, answer.why = "ignored", self.server.why_not(row)
                break
            tokens = [] if params.beams else answer.samples[sample]
            self._sequences[row] = Sequence(answer, sample, tokens)
        self.answers.append(answer)
        return answer.id

    def run(self) -> list[Answer]:
        """Step until every answer is finished, ignored or stuck."""
        while self.step() is not None:
            pass
        return self.answers

    def step(self) -> list[Token] | None:
        """Run one step and return the tokens that it sampled, or None if no request can continue.

        The tokens of a beam are included even if the beam is given up later. ArithmeticError if
        logits are not finite, because nothing can be sampled from them.
        """
        decided = self.server.schedule(float(self.steps))
        if decided is None:
            for row in list(self._sequences):
                self._give_up(row, "stuck")
            return None
        self.steps += 1
        self.preemptions += len(tuple(decided.preempted))
        for row in decided.ignored:
            self._give_up(row, "ignored")
        if decided.usage is None:  # nothing is computed or moved
            return []
        self.move(self.server.moves)
        batch = self.server.batch()
        tokens = {}
        if batch.seq_ids:
            logits = self.forward(batch)
            self._check_finite(batch.sample_ids, logits)
            tokens = self.sample(batch.sample_ids, logits)
        ended = [seq_id for seq_id, token in tokens.items() if self._append(seq_id, token)]
        self.server.commit(tokens, ended)
        sampled = [(self._sequences[seq_id], token) for seq_id, token in tokens.items()]
        for seq_id in ended:
            self._finish(seq_id)
        return [Token(s.answer.id, s.sample, token) for s, token in sampled]

    def move(self, moves: BlockMoves) -> None:
        """Move the blocks of a step: those that are swapped out, copied and swapped in."""
        self.cache.execute(moves)

    def transfer(self, job: TransferJob) -> None:
        """Store chunks of blocks in V1's second tier, or load them."""
        self.cache.transfer(job)

    def forward(self, batch: AttentionMetadata) -> Tensor:
        """Compute the logits [n, vocab] of the tokens of a step that are sampled from."""
        device = self.model.head.device
        tokens, positions, rows = (
            torch.from_numpy(array).to(device)
            for array in (batch.input_tokens, batch.input_positions, batch.sample_rows)
        )
        attend = of_step(self.backend, self.cache.gpu, batch, self.model.config.windows)
        with torch.inference_mode():
            hidden = self.model(tokens, positions, attend)
            return self.model.logits(hidden[rows])

    def _check_finite(self, ids: Iterable[int], logits: Tensor) -> None:
        if not logits.isfinite().all():
            (at, *_) = (~logits.isfinite().all(-1)).nonzero().flatten().tolist()
            wider = "; use float32 or bfloat16" if logits.dtype == torch.float16 else ""
            raise ArithmeticError(
                f"the logits of answer {self._sequences[list(ids)[at]].answer.id} are not "
                "finite: a weight or a cached key or value is not finite, or a number was too "
                f"large for {logits.dtype}{wider}"
            )

    def sample(self, ids: Iterable[int], logits: Tensor) -> dict[int, int]:
        """Sample the next token of each sequence, and of those that fork from it here."""
        tokens: dict[int, int] = {}
        beams: dict[int, dict[int, Tensor]] = {}
        for seq_id, row, likeliest in zip(ids, logits, logits.argmax(-1).tolist(), strict=True):
            answer = self._sequences[seq_id].answer
            if answer.params.beams:
                beams.setdefault(answer.id, {})[seq_id] = row
            elif answer.params.temperature == 0:
                tokens |= dict.fromkeys(self._fork_samples(seq_id), likeliest)
            else:
                for i in self._fork_samples(seq_id):
                    sample, position = self._sequences[i].sample, len(self._sequences[i].tokens)
                    tokens[i] = draw(row, answer.params, sample, position)
        for number, rows in beams.items():
            tokens |= self._search(self.answers[number], rows)
        return tokens

    def _fork_samples(self, seq_id: int) -> list[int]:
        """A sequence and, once its prompt is computed, the samples that fork from it."""
        parent, ids = self._sequences[seq_id], [seq_id]
        if self.server.can_fork and not parent.tokens:
            for sample, tokens in enumerate(parent.answer.samples[1:], 1):
                ids.append(self._fork(seq_id, Sequence(parent.answer, sample, tokens)))
        return ids

    def _fork(self, seq_id: int, child: Sequence) -> int:
        new_id = self._new_id()
        self.server.fork(seq_id, new_id)
        self._sequences[new_id] = child
        return new_id

    def _search(self, answer: Answer, rows: dict[int, Tensor]) -> dict[int, int]:
        """A step of a beam search, from the logits of the beams; the new token of each.

        A beam's best continuation goes on in its sequence, the others fork from it. A beam without
        one is dropped first, so that its place and its blocks are free for a fork. If no beam goes
        on, all answers are known, and any last token will do.
        """
        ids, params = list(rows), answer.params
        beams = [self._sequences[i] for i in ids]
        grown: dict[int, list[Sequence]] = {i: [] for i in ids}
        scores, width = [beam.score for beam in beams], params.beams - len(answer.samples)
        for score, i, token in extend(scores, torch.stack([*rows.values()]), width):
            tokens = [*beams[i].tokens, token]
            if params.ends(tokens):
                answer.add_beam(score, tokens)
            else:
                grown[ids[i]].append(Sequence(answer, 0, tokens, score))
        if not any(grown.values()):
            return dict.fromkeys(ids, params.stop[0] if params.stop else 0)
        for i in [i for i in ids if not grown[i]]:
            self.server.drop(i)
            del self._sequences[i], grown[i]
        for i, (_, *others) in list(grown.items()):
            for other in others:
                grown[self._fork(i, other)] = [other]
        self._sequences |= {i: best for i, (best, *_) in grown.items()}
        # `step` appends the tokens, here as everywhere.
        return {i: best.tokens.pop() for i, (best, *_) in grown.items()}

    def _append(self, seq_id: int, token: int) -> bool:
        """Add a token to a sequence; whether it was the last."""
        sequence = self._sequences[seq_id]
        sequence.tokens.append(token)
        return sequence.answer.params.ends(sequence.tokens)

    def _finish(self, seq_id: int) -> None:
        answer = self._sequences.pop(seq_id).answer
        if not any(sequence.answer is answer for sequence in self._sequences.values()):
            answer.state = "finished"

    def _give_up(self, row: int, state: str) -> None:
        if row in self._sequences:
            answer = self._sequences[row].answer
            answer.state, answer.why = state, self.server.why_not(row)
            self._sequences = {i: s for i, s in self._sequences.items() if s.answer is not answer}
