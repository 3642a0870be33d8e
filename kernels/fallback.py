"""The kernels' answers where triton cannot give them: the NumPy reference, dressed as torch.

Launchers come here after all checks when `decision.decide().mode` is "reference"; `compare` uses
the same way into NumPy. NumPy has no bfloat16: numbers to compute with are widened (exactly) to
float32, numbers to move are taken as bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from kernels import decision, reference
from kernels.checks import Options


def to_numpy(tensor: torch.Tensor) -> NDArray[Any]:
    """A tensor's values as a NumPy array on the CPU, every value exactly as it was."""
    host = tensor.detach().cpu()
    return (host.float() if host.dtype == torch.bfloat16 else host).numpy()


def reference_arguments(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_tables: torch.Tensor,
    seq_lens: torch.Tensor,
    options: Options,
) -> tuple[tuple[NDArray[Any], ...], dict[str, Any]]:
    """Positional and keyword arguments for the reference, of a checked call.

    Only the blocks that the tables name come along, renumbered: a cache of many GiB stays put.
    """
    num_blocks, block_size = k_cache.shape[:2]
    tables, lengths = to_numpy(block_tables), to_numpy(seq_lens)
    # Entries past a sequence's end, and those a window has left behind, may be anything: give them
    # a block that exists, they are not read.
    sane = np.where((tables >= 0) & (tables < num_blocks), tables, 0)
    sane[:, -(-int(lengths.max(initial=0)) // block_size) :] = 0
    used, renumbered = np.unique(sane, return_inverse=True)
    if num_blocks == 0:
        used = used[:0]
    rows = torch.from_numpy(used.astype(np.int64)).to(k_cache.device)
    arrays = (
        to_numpy(q),
        to_numpy(k_cache[rows]),
        to_numpy(v_cache[rows]),
        renumbered.reshape(tables.shape),
        lengths,
    )
    keywords: dict[str, Any] = {
        "scale": options.scale,
        "sliding_window": options.sliding_window,
        "softcap": options.softcap,
    }
    for name in ("alibi_slopes", "k_scale", "v_scale"):
        tensor = getattr(options, name)
        keywords[name] = None if tensor is None else to_numpy(tensor)
    return arrays, keywords


def attention(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    block_tables: torch.Tensor,
    seq_lens: torch.Tensor,
    options: Options,
) -> torch.Tensor:
    """Decode attention by `reference.online_softmax_attention`, in q's dtype and on its device."""
    decision.announce_reference()
    arrays, keywords = reference_arguments(q, k_cache, v_cache, block_tables, seq_lens, options)
    out = reference.online_softmax_attention(*arrays, **keywords)
    return torch.from_numpy(out).to(q.dtype).to(q.device)


def reshape_and_cache(
    key: torch.Tensor,
    value: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    slot_mapping: torch.Tensor,
) -> None:
    """The cache write by `reference.reshape_and_cache`, in place and bit for bit."""
    decision.announce_reference()
    # On the CPU .cpu() is no copy, so NumPy writes straight into the cache.
    hosts = [tensor.detach().cpu() for tensor in (k_cache, v_cache)]
    keys, values = (_bits(tensor.detach().cpu()) for tensor in (key, value))
    reference.reshape_and_cache(
        keys, values, _bits(hosts[0]), _bits(hosts[1]), slot_mapping.cpu().numpy()
    )
    if k_cache.device.type != "cpu":
        k_cache.detach().copy_(hosts[0])
        v_cache.detach().copy_(hosts[1])


def _bits(host: torch.Tensor) -> NDArray[Any]:
    """The numbers as integers of the same width: a view, not a copy."""
    return host.view({2: torch.int16, 4: torch.int32}[host.element_size()]).numpy()
