"""A block as a plain record, the queue of free blocks, and the hash of what a block holds.

Source: vLLM 0.33.0, ``vllm/v1/core/kv_cache_utils.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from marshal import dumps
from typing import Any

from pagesim.checks import check_int, explained
from pagesim.errors import UsageError

BlockHash = bytes
"""The SHA-256 of a block's tokens and of all tokens before them."""

NONE_HASH: BlockHash = sha256(b"pagesim.v1").digest()
"""What stands in front of a first block: a fixed seed, so that hashes are the same everywhere."""

MARSHAL_VERSION = 2
"""The last one whose bytes depend on the values alone."""


def hash_block_tokens(
    parent_block_hash: BlockHash | None,
    curr_block_token_ids: list[int],
    extra_keys: tuple[Any, ...] | None = None,
) -> BlockHash:
    """The hash of a full block: equal if and only if the tokens up to its end are, and the keys."""
    content = (parent_block_hash or NONE_HASH, curr_block_token_ids, extra_keys)
    try:
        return sha256(dumps(content, MARSHAL_VERSION)).digest()
    except ValueError:  # not one of Python's own types
        raise TypeError(
            "parent_block_hash, curr_block_token_ids and extra_keys must consist of numbers, "
            f"texts and bytes, not {content}"
        ) from None


def check_group_id(name: str, value: int) -> int:
    """`check_int` for the id of a group, which is four bytes of a key."""
    if check_int(name, value, 0) >= 1 << 32:
        raise UsageError(f"{name} must be less than {1 << 32}, not {value}")
    return value


class BlockHashWithGroupId(bytes):
    """The key of a cached block: the hash of its content, and the group whose block it is.

    It unpacks into both. In group 0 it equals the hash; in others, four bytes follow.
    """

    block_hash: BlockHash
    group_id: int

    def __new__(cls, block_hash: BlockHash, group_id: int) -> BlockHashWithGroupId:
        suffix = group_id.to_bytes(4) if group_id else b""
        key = super().__new__(cls, block_hash + suffix)
        key.block_hash, key.group_id = block_hash, group_id
        return key

    def __iter__(self) -> Iterator[Any]:
        return iter((self.block_hash, self.group_id))

    def __repr__(self) -> str:
        return f"BlockHashWithGroupId({self.block_hash.hex()[:8]}…, {self.group_id})"


@explained
def make_block_hash_with_group_id(block_hash: BlockHash, group_id: int) -> BlockHashWithGroupId:
    """The key of a block of this group."""
    return BlockHashWithGroupId(block_hash, check_group_id("group_id", group_id))


@explained
def get_block_hash(key: BlockHashWithGroupId) -> BlockHash:
    """The hash in a key."""
    return key.block_hash


@explained
def get_group_id(key: BlockHashWithGroupId) -> int:
    """The group in a key."""
    return key.group_id


class BlockHashListWithBlockSize(list[BlockHash]):
    """The hashes of larger blocks: a hash covers all tokens before its end, so some are left out.

    UsageError unless ``target_block_size`` is a multiple of ``hash_block_size``.
    """

    def __init__(
        self, block_hashes: Sequence[BlockHash], hash_block_size: int, target_block_size: int
    ) -> None:
        check_int("hash_block_size", hash_block_size, 1)
        if check_int("target_block_size", target_block_size, 1) % hash_block_size:
            raise UsageError(
                f"target_block_size must be a multiple of hash_block_size ({hash_block_size}), "
                f"not {target_block_size}"
            )
        scale_factor = target_block_size // hash_block_size
        super().__init__(block_hashes[scale_factor - 1 :: scale_factor])


class KVCacheBlock:
    """One block of the pool, with its owners, its content and its neighbours in the free queue.

    ``key``, by which the pool finds the block, is None unless the block is cached; its hash covers
    the first ``block_hash_num_tokens`` tokens of a request. The neighbours ``prev_free_block`` and
    ``next_free_block`` are None unless the block is in the free queue.
    """

    __slots__ = (
        "block_hash_num_tokens",
        "block_id",
        "is_null",
        "key",
        "next_free_block",
        "prev_free_block",
        "ref_cnt",
    )

    def __init__(self, block_id: int) -> None:
        if type(block_id) is not int:
            raise TypeError(f"block_id must be an int, not {block_id!r}")
        self.block_id = block_id
        self.ref_cnt = 0
        self.is_null = False
        self.key: BlockHash | None = None
        self.block_hash_num_tokens = 0
        self.prev_free_block: Any = None
        self.next_free_block: Any = None

    @property
    def block_hash(self) -> BlockHashWithGroupId | None:
        """The hash of the block's content and its group, if it is cached."""
        if self.key is None or isinstance(self.key, BlockHashWithGroupId):
            return self.key
        return BlockHashWithGroupId(self.key, 0)

    def set_block_hash(self, block_hash: BlockHash, num_tokens: int = 0) -> None:
        """Set the hash of the block's content. UsageError if the block already has one."""
        if self.key is not None:
            raise UsageError(f"block {self.block_id} already has a hash: call reset_hash() first")
        self.key, self.block_hash_num_tokens = block_hash, num_tokens

    def reset_hash(self) -> None:
        """Remove the hash, so that the block's content can no longer be found."""
        self.key, self.block_hash_num_tokens = None, 0

    def __repr__(self) -> str:
        return f"KVCacheBlock({self.block_id}, ref_cnt={self.ref_cnt})"


class FreeKVCacheBlockQueue:
    """The free blocks, in the order in which they will be taken.

    The queue is a linked list through the blocks themselves, because a hit takes a block out of the
    middle; a deque would have to search for it.
    """

    @explained
    def __init__(self, blocks: Iterable[KVCacheBlock]) -> None:
        self.num_free_blocks = 0
        # Two sentinels, so that each block in the queue has both neighbours.
        self.fake_free_list_head = KVCacheBlock(-1)
        self.fake_free_list_tail = KVCacheBlock(-1)
        self.fake_free_list_head.next_free_block = self.fake_free_list_tail
        self.fake_free_list_tail.prev_free_block = self.fake_free_list_head
        self.append_n(list(blocks))

    def popleft(self) -> KVCacheBlock:
        """Take the first block. ValueError if there is none."""
        if not self.num_free_blocks:
            raise ValueError("no block is free")
        return self.popleft_n(1)[0]

    @explained
    def popleft_n(self, n: int) -> list[KVCacheBlock]:
        """Take the first ``n`` blocks, in order. AssertionError if fewer are free."""
        if not 0 <= n <= self.num_free_blocks:
            raise AssertionError(f"{n} blocks cannot be taken: {self.num_free_blocks} are free")
        taken = []
        block = self.fake_free_list_head.next_free_block
        for _ in range(n):
            taken.append(block)
            following = block.next_free_block
            block.prev_free_block = block.next_free_block = None
            block = following
        self.fake_free_list_head.next_free_block = block
        block.prev_free_block = self.fake_free_list_head
        self.num_free_blocks -= n
        return taken

    @explained
    def remove(self, block: KVCacheBlock) -> None:
        """Take a block from any position. RuntimeError if it is not in the queue."""
        before, after = block.prev_free_block, block.next_free_block
        if before is None or after is None:
            raise RuntimeError(f"block {block.block_id} is not in the free queue")
        before.next_free_block, after.prev_free_block = after, before
        block.prev_free_block = block.next_free_block = None
        self.num_free_blocks -= 1

    @explained
    def append(self, block: KVCacheBlock) -> None:
        """Put a block at the back."""
        self.append_n([block])

    @explained
    def append_n(self, blocks: Sequence[KVCacheBlock]) -> None:
        """Put blocks at the back, in order: the last of them becomes the last of the queue."""
        self._insert(self.fake_free_list_tail.prev_free_block, blocks)

    @explained
    def prepend_n(self, blocks: Sequence[KVCacheBlock]) -> None:
        """Put blocks at the front, in order: the first of them becomes the first of the queue."""
        self._insert(self.fake_free_list_head, blocks)

    def _insert(self, before: KVCacheBlock, blocks: Sequence[KVCacheBlock]) -> None:
        for block in blocks:
            if block.next_free_block is not None:
                raise UsageError(f"block {block.block_id} is in the free queue already")
        if len(set(blocks)) < len(blocks):
            raise UsageError(f"a block can be freed only once, but one occurs twice in {blocks}")
        after = before.next_free_block
        for block in blocks:
            before.next_free_block, block.prev_free_block = block, before
            before = block
        before.next_free_block, after.prev_free_block = after, before
        self.num_free_blocks += len(blocks)

    def get_all_free_blocks(self) -> list[KVCacheBlock]:
        """Return all blocks of the queue, front to back."""
        blocks, block = [], self.fake_free_list_head.next_free_block
        while block is not self.fake_free_list_tail:
            blocks.append(block)
            block = block.next_free_block
        return blocks
