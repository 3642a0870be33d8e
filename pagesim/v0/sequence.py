"""Sequences and their groups: the tokens, and how many of them are computed.

Source: vLLM 0.6.4.post1, ``vllm/sequence.py``: only what blocks and scheduling need.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from collections.abc import Sequence as Tokens
from dataclasses import dataclass
from typing import Any

from pagesim.checks import Natural, Positive, check_a, check_int, check_token_ids, checked
from pagesim.errors import UsageError
from pagesim.v0.block.common import cdiv


@dataclass(frozen=True, slots=True)
class Logprob:
    """How likely a sampled token was. The simulator passes it on and never reads it."""

    logprob: float
    rank: int | None = None
    decoded_token: str | None = None


class SequenceStatus(enum.IntEnum):
    """The status of a sequence; everything after SWAPPED is finished."""

    WAITING = 0
    RUNNING = 1
    SWAPPED = 2
    FINISHED_STOPPED = 3
    FINISHED_LENGTH_CAPPED = 4
    FINISHED_ABORTED = 5
    FINISHED_IGNORED = 6

    @staticmethod
    def is_finished(status: SequenceStatus) -> bool:
        """Whether this status means that the sequence will not run again."""
        return status > SequenceStatus.SWAPPED


class SequenceStage(enum.Enum):
    """Whether the present tokens are still being computed, or one new token at a time."""

    PREFILL = enum.auto()
    DECODE = enum.auto()


class SequenceData:
    """The tokens of a sequence, prompt first, and how many have their keys and values cached."""

    __slots__ = ("_num_prompt_tokens", "num_computed_tokens", "stage", "token_ids")

    def __init__(self, prompt_token_ids: list[int]) -> None:
        self.token_ids = prompt_token_ids
        """Prompt and output in one live list; do not change it."""
        self._num_prompt_tokens = len(prompt_token_ids)
        self.num_computed_tokens = 0
        """The number of tokens whose keys and values are in the cache; do not change it."""
        self.stage = SequenceStage.PREFILL
        """PREFILL until everything is computed, then DECODE; do not change it."""

    @property
    def prompt_token_ids(self) -> tuple[int, ...]:
        """The tokens of the prompt."""
        return tuple(self.token_ids[: self._num_prompt_tokens])

    @property
    def output_token_ids(self) -> tuple[int, ...]:
        """The tokens that were generated."""
        return tuple(self.token_ids[self._num_prompt_tokens :])

    def get_len(self) -> int:
        """Return the number of tokens of prompt and output."""
        return len(self.token_ids)

    def get_prompt_len(self) -> int:
        """Return the number of tokens in the prompt."""
        return self._num_prompt_tokens

    def get_output_len(self) -> int:
        """Return the number of tokens generated."""
        return len(self.token_ids) - self._num_prompt_tokens

    def get_token_ids(self) -> list[int]:
        """Return prompt and output in one live list; do not change it."""
        return self.token_ids

    def get_num_computed_tokens(self) -> int:
        """Return the number of tokens whose keys and values are in the cache."""
        return self.num_computed_tokens

    def get_num_uncomputed_tokens(self) -> int:
        """Return the number of tokens whose keys and values are yet to be computed."""
        return len(self.token_ids) - self.num_computed_tokens

    def append_token_id(self, token_id: int) -> None:
        """Add a generated token that is known to be an int; see `Sequence.append_token_id`."""
        self.token_ids.append(token_id)

    def update_num_computed_tokens(self, num_new_computed_tokens: int) -> None:
        """Mark the next tokens as computed; UsageError if fewer remain."""
        self.check_computable(num_new_computed_tokens)
        self.num_computed_tokens += num_new_computed_tokens
        if self.num_computed_tokens == len(self.token_ids):
            self.stage = SequenceStage.DECODE

    def check_computable(self, num_new_computed_tokens: int, whose: str = "") -> None:
        """UsageError if fewer tokens remain to be computed."""
        check_int("num_new_computed_tokens", num_new_computed_tokens, 0)
        if num_new_computed_tokens > (left := self.get_num_uncomputed_tokens()):
            wanted = f"{num_new_computed_tokens} more tokens{whose}"
            raise UsageError(f"{wanted} cannot be computed: {left} are left")

    def reset_state_for_recompute(self) -> None:
        """Forget what was computed: prompt and output are prefilled again."""
        self.num_computed_tokens = 0
        self.stage = SequenceStage.PREFILL

    def copy(self) -> SequenceData:
        """A copy with the same tokens and progress, which continues independently."""
        data = SequenceData(self.token_ids.copy())
        data._num_prompt_tokens = self._num_prompt_tokens
        data.num_computed_tokens = self.num_computed_tokens
        data.stage = self.stage
        return data


class Sequence:
    """One continuation of one prompt.

    ``inputs`` is a list of token ids, or vLLM's ``{"type": "token", "prompt_token_ids": [...]}``.
    """

    __slots__ = ("block_size", "data", "inputs", "seq_id", "status")

    @checked
    def __init__(
        self, seq_id: Natural, inputs: Mapping[str, Any] | Tokens[int], block_size: Positive
    ) -> None:
        self.seq_id, self.block_size = seq_id, block_size
        if isinstance(inputs, Mapping):
            if "prompt_token_ids" not in inputs:
                raise UsageError(f"inputs must have 'prompt_token_ids', not only {list(inputs)}")
            prompt = check_token_ids("prompt_token_ids", inputs["prompt_token_ids"])
        else:
            prompt = check_token_ids("inputs", inputs)
        self.inputs = inputs
        self.data = SequenceData(prompt)
        self.status = SequenceStatus.WAITING

    @property
    def prompt_token_ids(self) -> tuple[int, ...]:
        """The tokens of the prompt."""
        return self.data.prompt_token_ids

    @property
    def n_blocks(self) -> int:
        """The number of blocks that the present tokens need; the last may be partly filled."""
        return cdiv(self.get_len(), self.block_size)

    def append_token_id(self, token_id: int, logprobs: Mapping[int, Logprob]) -> None:
        """Add a generated token; ``logprobs`` must contain it, as the sampler's output does."""
        if type(token_id) is not int:
            raise TypeError(f"token_id must be an int, not {token_id!r}")
        if not isinstance(logprobs, Mapping):
            raise TypeError(f"logprobs must be a dict of tokens, not {logprobs!r}")
        if token_id not in logprobs:
            raise UsageError(f"logprobs must contain the token {token_id}: {{{token_id}: Logprob}}")
        self.data.token_ids.append(token_id)

    def get_len(self) -> int:
        """Return the number of tokens of prompt and output."""
        return len(self.data.token_ids)

    def get_prompt_len(self) -> int:
        """Return the number of tokens in the prompt."""
        return self.data.get_prompt_len()

    def get_output_len(self) -> int:
        """Return the number of tokens generated."""
        return self.data.get_output_len()

    def get_token_ids(self) -> list[int]:
        """Return prompt and output in one live list; do not change it."""
        return self.data.token_ids

    def get_last_token_id(self) -> int:
        """Return the newest token; UsageError if there is none."""
        if not self.data.token_ids:
            raise UsageError(f"sequence {self.seq_id} has no token yet: append one first")
        return self.data.token_ids[-1]

    def get_output_token_ids(self) -> tuple[int, ...]:
        """Return the tokens generated."""
        return self.data.output_token_ids

    def get_num_computed_tokens(self) -> int:
        """Return the number of tokens whose keys and values are in the cache."""
        return self.data.get_num_computed_tokens()

    def get_num_new_tokens(self) -> int:
        """Return the number of tokens still to compute: 1 when decoding, else all that remain."""
        if self.data.stage is SequenceStage.DECODE:
            return 1
        return self.data.get_num_uncomputed_tokens()

    def is_finished(self) -> bool:
        """Whether the sequence will not run again."""
        return SequenceStatus.is_finished(self.status)

    def is_prefill(self) -> bool:
        """Whether the sequence is in its prefill."""
        return self.data.stage is SequenceStage.PREFILL

    def fork(self, new_seq_id: int) -> Sequence:
        """Make a sequence with the same tokens, progress and status under another id."""
        child = Sequence(new_seq_id, (), self.block_size)
        child.inputs = self.inputs
        child.data = self.data.copy()
        child.status = self.status
        return child

    def reset_state_for_recompute(self) -> None:
        """Forget what was computed but keep the tokens, as preemption by recomputation does."""
        self.data.reset_state_for_recompute()

    def __repr__(self) -> str:
        return f"Sequence(seq_id={self.seq_id}, status={self.status.name}, len={self.get_len()})"


class SequenceGroup:
    """The sequences of one request: one since vLLM 0.6.4, and more only after a fork.

    As in vLLM, the first sequence alone decides the group's status, and whether it is prefilling
    or finished. So an engine frees a member that finishes (`Scheduler.free_seq`) and, unless it is
    the last, takes it out with :meth:`remove`. The group with the smaller ``priority``, then the
    smaller ``arrival_time``, is more urgent. Encoder/decoder groups are not simulated.
    """

    def __init__(
        self,
        request_id: str,
        seqs: list[Sequence],
        arrival_time: float = 0.0,
        sampling_params: Any = None,
        *,
        encoder_seq: Sequence | None = None,
        priority: int = 0,
    ) -> None:
        if encoder_seq is not None:
            raise NotImplementedError(
                "pagesim simulates decoder-only models: a group with an encoder_seq "
                "(cross-attention block tables) is outside its scope"
            )
        if not seqs:
            raise UsageError(f"seqs of group {request_id!r} is empty: it needs a sequence")
        for seq in seqs:
            if not isinstance(seq, Sequence):
                raise TypeError(f"seqs of group {request_id!r} must be Sequences, not {seq!r}")
        self.request_id = request_id
        self.seqs = list(seqs)
        self.seqs_dict = {seq.seq_id: seq for seq in self.seqs}
        if len(self.seqs_dict) != len(self.seqs):
            raise UsageError(f"seqs of group {request_id!r} must have distinct ids")
        if type(priority) is not int:
            raise TypeError(f"priority of group {request_id!r} must be an int, not {priority!r}")
        self.arrival_time = arrival_time
        self.priority = priority
        self.sampling_params = sampling_params
        self.is_single_seq = len(self.seqs) == 1

    def add(self, seq: Sequence) -> None:
        """Add a fork. UsageError if the group already has a sequence with its id."""
        check_a("seq", seq, Sequence)
        if seq.seq_id in self.seqs_dict:
            raise UsageError(f"group {self.request_id!r} already has a sequence {seq.seq_id}")
        self.seqs_dict[seq.seq_id] = seq
        self.seqs.append(seq)
        self.is_single_seq = False

    def remove(self, seq_id: int) -> None:
        """Take out a member that finished before the others; the last one always stays."""
        if seq_id not in self.seqs_dict:
            raise UsageError(f"group {self.request_id!r} has no sequence {seq_id!r}")
        if len(self.seqs) == 1:
            raise UsageError(
                f"sequence {seq_id} is the last of group {self.request_id!r}: it stays, because "
                f"it decides whether the group is finished"
            )
        self.seqs.remove(self.seqs_dict.pop(seq_id))
        self.is_single_seq = len(self.seqs) == 1

    @property
    def first_seq(self) -> Sequence:
        """The sequence that decides the group's status."""
        return self.seqs[0]

    def get_seqs(self, status: SequenceStatus | None = None) -> list[Sequence]:
        """Return all sequences if ``status`` is None or the status of the first one, else [].

        The list is the group's own; do not change it.
        """
        if status is None or self.seqs[0].status is status:
            return self.seqs
        return []

    def num_seqs(self, status: SequenceStatus | None = None) -> int:
        """Return the number of sequences that :meth:`get_seqs` returns."""
        return len(self.get_seqs(status))

    def get_unfinished_seqs(self) -> list[Sequence]:
        """Return the sequences that may still run."""
        return [seq for seq in self.seqs if not seq.is_finished()]

    def get_finished_seqs(self) -> list[Sequence]:
        """Return the sequences that will not run again."""
        return [seq for seq in self.seqs if seq.is_finished()]

    def get_max_num_running_seqs(self) -> int:
        """Return how much the group counts against ``max_num_seqs``: 1, or 0 when finished."""
        return 0 if self.is_finished() else 1

    def get_num_uncomputed_tokens(self) -> int:
        """Return the number of tokens of the unfinished sequences that are yet to be computed."""
        return sum(seq.data.get_num_uncomputed_tokens() for seq in self.get_unfinished_seqs())

    def update_num_computed_tokens(self, num_new_computed_tokens: int) -> None:
        """Mark the next tokens of every unfinished sequence as computed; on an error, mark none."""
        for seq in self.get_unfinished_seqs():
            seq.data.check_computable(num_new_computed_tokens, f" of sequence {seq.seq_id}")
        for seq in self.get_unfinished_seqs():
            seq.data.update_num_computed_tokens(num_new_computed_tokens)

    def is_finished(self) -> bool:
        """Whether the first sequence will not run again."""
        return self.first_seq.is_finished()

    def is_prefill(self) -> bool:
        """Whether the first sequence is still being prefilled."""
        return self.first_seq.is_prefill()

    def is_encoder_decoder(self) -> bool:
        """False: pagesim simulates decoder-only models."""
        return False

    def __repr__(self) -> str:
        return f"SequenceGroup(request_id={self.request_id!r}, seqs={self.seqs})"
