"""Sequences and groups: tokens, progress, and what a group lets its first member answer."""

from typing import Any

import numpy as np
import pytest

from pagesim import Logprob, Sequence, SequenceGroup, SequenceStatus, UsageError
from pagesim.v0.sequence import SequenceStage


def new_seq(seq_id: int = 1, num_tokens: int = 5) -> Sequence:
    return Sequence(seq_id, list(range(num_tokens)), 4)


def test_a_prompt_is_a_list_or_a_dict_like_vllms() -> None:
    for inputs in ([1, 2, 3], {"type": "token", "prompt_token_ids": [1, 2, 3]}):
        seq = Sequence(7, inputs, 4)
        assert seq.prompt_token_ids == (1, 2, 3)
        assert (seq.get_len(), seq.get_prompt_len(), seq.get_output_len()) == (3, 3, 0)
        assert seq.status is SequenceStatus.WAITING


def test_the_prompt_is_a_copy() -> None:
    prompt = [1, 2]
    seq = Sequence(1, prompt, 4)
    prompt.append(3)
    assert seq.get_token_ids() == [1, 2]


def test_generated_tokens_follow_the_prompt() -> None:
    seq = new_seq()
    seq.append_token_id(9, {9: Logprob(-0.5)})
    assert seq.get_token_ids() == [0, 1, 2, 3, 4, 9]
    assert (seq.get_last_token_id(), seq.get_output_len(), seq.n_blocks) == (9, 1, 2)
    assert (seq.prompt_token_ids, seq.get_output_token_ids()) == ((0, 1, 2, 3, 4), (9,))


def test_progress_through_prefill_and_decode() -> None:
    seq = new_seq()
    assert (seq.is_prefill(), seq.get_num_new_tokens()) == (True, 5)
    seq.data.update_num_computed_tokens(3)
    assert (seq.is_prefill(), seq.get_num_new_tokens()) == (True, 2)
    seq.data.update_num_computed_tokens(2)
    assert seq.data.stage is SequenceStage.DECODE
    seq.append_token_id(9, {9: Logprob(0.0)})
    assert (seq.get_num_new_tokens(), seq.data.get_num_uncomputed_tokens()) == (1, 1)
    seq.reset_state_for_recompute()
    # The recomputation prefills what was generated, too.
    assert (seq.is_prefill(), seq.get_num_new_tokens(), seq.get_output_len()) == (True, 6, 1)
    assert seq.get_num_computed_tokens() == 0


def test_a_fork_goes_on_by_itself() -> None:
    seq = new_seq()
    seq.data.update_num_computed_tokens(5)
    seq.status = SequenceStatus.RUNNING
    child = seq.fork(2)
    child.append_token_id(8, {8: Logprob(0.0)})
    child.data.update_num_computed_tokens(1)
    assert (seq.get_len(), seq.get_num_computed_tokens()) == (5, 5)
    assert (child.seq_id, child.get_len(), child.status) == (2, 6, SequenceStatus.RUNNING)
    assert (child.get_prompt_len(), child.data.stage) == (5, SequenceStage.DECODE)


def test_statuses_are_ordered_and_the_last_four_are_final() -> None:
    names = [status.name for status in SequenceStatus]
    assert names[:3] == ["WAITING", "RUNNING", "SWAPPED"]
    assert [s for s in SequenceStatus if not SequenceStatus.is_finished(s)] == [0, 1, 2]
    assert names[3:] == [
        f"FINISHED_{why}" for why in ("STOPPED", "LENGTH_CAPPED", "ABORTED", "IGNORED")
    ]


def test_a_group_is_what_its_first_member_is() -> None:
    first, second = new_seq(1), new_seq(2)
    group = SequenceGroup("request", [first, second], arrival_time=2.5)
    assert group.seqs_dict == {1: first, 2: second}
    assert (group.arrival_time, group.is_single_seq, group.first_seq) == (2.5, False, first)
    second.status = SequenceStatus.FINISHED_STOPPED
    assert not group.is_finished()
    assert (group.get_unfinished_seqs(), group.get_finished_seqs()) == ([first], [second])
    assert (group.get_max_num_running_seqs(), group.num_seqs(SequenceStatus.WAITING)) == (1, 2)
    first.status = SequenceStatus.FINISHED_STOPPED
    assert (group.is_finished(), group.get_max_num_running_seqs()) == (True, 0)
    assert group.get_seqs(SequenceStatus.WAITING) == []
    assert group.get_seqs() == [first, second]


def test_a_group_computes_with_all_unfinished_members_or_none() -> None:
    long, short, done = new_seq(1, 5), new_seq(2, 2), new_seq(3, 1)
    done.status = SequenceStatus.FINISHED_ABORTED
    group = SequenceGroup("request", [long, short, done])
    assert group.get_num_uncomputed_tokens() == 7
    with pytest.raises(UsageError, match=r"3 more tokens of sequence 2 .*: 2 are left"):
        group.update_num_computed_tokens(3)
    assert [seq.get_num_computed_tokens() for seq in group.seqs] == [0, 0, 0]
    group.update_num_computed_tokens(2)
    assert [seq.get_num_computed_tokens() for seq in group.seqs] == [2, 2, 0]
    assert (group.is_prefill(), group.is_encoder_decoder()) == (True, False)


def test_encoder_decoder_groups_are_outside() -> None:
    with pytest.raises(NotImplementedError, match="encoder_seq"):
        SequenceGroup("request", [new_seq()], encoder_seq=new_seq(2))


BAD_CALLS: list[tuple[Any, type[Exception], str]] = [
    (lambda: Sequence("1", [1], 4), TypeError, "seq_id.*'1'"),
    (lambda: Sequence(-1, [1], 4), UsageError, "seq_id.*-1"),
    (lambda: Sequence(1, [1], 0), UsageError, "block_size.*0"),
    (lambda: Sequence(1, [1], 4.0), TypeError, r"block_size.*4\.0"),
    (lambda: Sequence(1, "12", 4), TypeError, "inputs.*'12'"),
    (lambda: Sequence(1, None, 4), TypeError, "inputs.*None"),
    (lambda: Sequence(1, [1, None], 4), TypeError, r"inputs\[1\].*None"),
    (lambda: Sequence(1, [True], 4), TypeError, r"inputs\[0\].*True"),
    (lambda: Sequence(1, [1.5], 4), TypeError, r"inputs\[0\].*1\.5"),
    (lambda: Sequence(1, [np.int32(3)], 4), TypeError, r"inputs\[0\].*int32"),
    (lambda: Sequence(1, {"prompt": [1]}, 4), UsageError, "prompt_token_ids.*'prompt'"),
    (lambda: Sequence(1, {"prompt_token_ids": "1"}, 4), TypeError, "prompt_token_ids.*'1'"),
    (lambda: SequenceGroup("r", []), UsageError, "seqs of group 'r' is empty"),
    (lambda: SequenceGroup("r", [new_seq(), new_seq()]), UsageError, "distinct"),
    (lambda: SequenceGroup("r", [new_seq(), 3]), TypeError, "seqs of group 'r'.*3"),
    (lambda: SequenceGroup("r", "ab"), TypeError, "seqs of group 'r'.*'a'"),
    (lambda: Sequence(1, [], 4).get_last_token_id(), UsageError, "sequence 1 has no token"),
    (lambda: new_seq().fork("2"), TypeError, "seq_id.*'2'"),
]


@pytest.mark.parametrize(("call", "error", "shown"), BAD_CALLS)
def test_bad_sequences_and_groups(call: Any, error: type[Exception], shown: str) -> None:
    with pytest.raises(error, match=shown) as caught:
        call()
    assert type(caught.value) is error


@pytest.mark.parametrize(
    ("token", "logprobs", "error", "shown"),
    [
        ("9", {"9": Logprob(0.0)}, TypeError, "token_id.*'9'"),
        (True, {True: Logprob(0.0)}, TypeError, "token_id.*True"),
        (np.int64(9), {9: Logprob(0.0)}, TypeError, "token_id.*9"),
        (9, {8: Logprob(0.0)}, UsageError, "logprobs.*9"),
        (9, None, TypeError, "logprobs.*None"),
    ],
)
def test_bad_tokens_are_not_appended(
    token: Any, logprobs: Any, error: type[Exception], shown: str
) -> None:
    seq = new_seq()
    with pytest.raises(error, match=shown):
        seq.append_token_id(token, logprobs)
    assert seq.get_len() == 5


@pytest.mark.parametrize(("count", "error"), [(6, UsageError), (-1, UsageError), (1.0, TypeError)])
def test_more_cannot_be_computed_than_there_is(count: Any, error: type[Exception]) -> None:
    seq = new_seq()
    for call in (
        seq.data.update_num_computed_tokens,
        SequenceGroup("r", [seq]).update_num_computed_tokens,
    ):
        with pytest.raises(error, match=str(count)):
            call(count)
    assert (seq.get_num_computed_tokens(), seq.data.stage) == (0, SequenceStage.PREFILL)
