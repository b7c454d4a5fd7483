"""The same jobs in numpy and torch, as one would write them there: what the kernels are timed against."""

import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba import get_num_threads

from commbounds.array_types import Array
from commbounds.verify.stopwatch import Stopwatch, timed


def torch_module() -> Any:
    """The torch module, on as many threads as the kernels; None where it is not installed."""
    if importlib.util.find_spec("torch") is None:
        return None
    torch = importlib.import_module("torch")
    torch.set_num_threads(get_num_threads())
    return torch


def _argpartitioned(keys: Callable[[Array], Array], x: Array, k: int) -> tuple[Array, Array]:
    indices = np.argpartition(keys(x), x.size - k)[x.size - k :]
    return indices, x[indices]


def _partitioned(x: Array, k: int) -> tuple[Array, Array]:
    magnitudes = np.abs(x)
    level = np.partition(magnitudes, x.size - k)[x.size - k]
    above = np.flatnonzero(magnitudes > level)
    indices = np.concatenate((above, np.flatnonzero(magnitudes == level)[: k - above.size]))
    return indices, x[indices]


def _keys(x: Array) -> Array:
    return x.view(np.int32) & np.int32(2**31 - 1)


def top_k_peers(x: Array, k: int) -> dict[str, Stopwatch]:
    """Indices and values of the k entries of largest magnitude, in any order."""
    peers = {
        "numpy argpartition": timed(partial(_argpartitioned, np.abs, x, k)),
        "numpy argpartition of bit patterns": timed(partial(_argpartitioned, _keys, x, k)),
        "numpy partition": timed(partial(_partitioned, x, k)),
    }
    if torch := torch_module():
        given = torch.from_numpy(x)

        def top_k() -> Any:
            indices = torch.topk(given.abs(), k, sorted=False).indices
            return indices, given[indices]

        peers["torch.topk"] = timed(top_k)
    return peers


def _numpy_qsgd(x: Array, levels: int, rng: np.random.Generator) -> Array:
    norm = np.linalg.norm(x)
    ideal = np.abs(x) * (levels / norm)
    low = np.floor(ideal)
    codes = (np.sign(x) * (low + (rng.random(x.size, x.dtype) < ideal - low))).astype(np.int8)
    decoded: Array = codes * np.float32(norm / levels)
    return decoded


def _torch_qsgd(torch: Any, x: Any, levels: int) -> Any:
    norm = torch.linalg.vector_norm(x)
    ideal = x.abs() * (levels / norm)
    low = ideal.floor()
    codes = (x.sign() * (low + (torch.rand_like(x) < ideal - low))).to(torch.int8)
    return codes * (norm / levels)


def qsgd_peers(x: Array, levels: int, rng: np.random.Generator) -> dict[str, Stopwatch]:
    """Stochastic rounding to int8 codes of the l2 norm, and back."""
    peers = {"numpy": timed(lambda: _numpy_qsgd(x, levels, rng))}
    if torch := torch_module():
        peers["torch"] = timed(partial(_torch_qsgd, torch, torch.from_numpy(x), levels))
    return peers


def rand_k_peers(x: Array, k: int, rng: np.random.Generator) -> dict[str, Stopwatch]:
    """Ascending indices of k random entries, and their values times n/k."""

    def chosen() -> tuple[Array, Array]:
        indices = np.sort(rng.choice(x.size, k, replace=False, shuffle=False))
        return indices, x[indices] * x.dtype.type(x.size / k)

    return {"numpy sorted choice": timed(chosen)}
