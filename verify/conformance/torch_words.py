"""A call with given random numbers: numpy's and Python's generators, and torch's operations where they are done."""

import contextlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from commbounds.array_types import Array, Floats
from commbounds.verify.conformance.random_words import DOUBLE, SINGLE, Pool, within


@dataclass(frozen=True)
class Drawn:
    """What a call drew: how many fresh numbers, as what kinds, and what was drawn that could not be given."""

    drawn: int
    kinds: int
    refused: str


def answered(function: Callable[..., Any], x: Array, seed: int, uniforms: Floats, spare: int) -> tuple[Any, Drawn]:
    """What `function` returns for input and seed, inside `intercepted`, and what it drew.

    Parameters
    ----------
    uniforms : (m,) float64
        In [0, 1): the leading 53 bits of the first m words.
    spare : int
        Seed of the words behind these.
    """
    pool = Pool((uniforms * 2.0**53).astype(np.uint64) << np.uint64(11), spare)

    def called() -> Any:
        with given_tensors(pool):
            return function(x, seed)

    answer = within(pool, called)
    return answer, Drawn(pool.drawn, pool.kinds, pool.refused)


def prepare() -> None:
    """Import what giving words to torch needs, if torch is loaded: seconds, which are no part of a call's time limit.

    An alarm amid that import leaves half of it behind, and the next call begins it again.
    """
    if "torch" in sys.modules:
        _mode()


def given_tensors(pool: Pool) -> contextlib.AbstractContextManager[Any]:
    """While it is open, torch's uniform numbers come from the pool; nothing where torch is not loaded.

    Uniforms have the grid that torch gives them: 53 bits for float64, 24 for float32, 11 for float16, 8 for bfloat16.
    Bernoulli variables are u < p. A generator in a state that it has been in before begins again. What else is random
    is left to torch, and noted in `pool.refused`.
    """
    return contextlib.nullcontext() if "torch" not in sys.modules else _mode()(pool)


@cache
def _mode() -> Any:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    digits = {torch.float64: 53, torch.float32: 24, torch.float16: 11, torch.bfloat16: 8}
    aten = torch.ops.aten

    @cache
    def draws(func: Any) -> bool:
        return torch.Tag.nondeterministic_seeded in func.tags

    class GivenTensors(TorchDispatchMode):  # type: ignore[misc]
        def __init__(self, pool: Pool) -> None:
            super().__init__()
            self._pool = pool

        def __torch_dispatch__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
            options = kwargs or {}
            if not draws(func):
                return func(*args, **options)
            generator = options.get("generator")
            source = torch.default_generator if generator is None else generator
            before = source.get_state().numpy().tobytes()
            result = func(*args, **options)  # torch's generator goes on as ever
            ours = self._made(func, before, result, args, options)
            if ours is None:
                self._pool.refused = self._pool.refused or f"torch's {func.name().partition('.')[0]}"
                return result
            return result.copy_(ours)

        def _uniforms(self, key: bytes, like: Any, bits: int) -> Any:
            words = self._pool.taken(("torch", key), like.numel(), DOUBLE if bits == 53 else SINGLE)
            wide = (words >> np.uint64(64 - bits)).astype(np.float64) * 2.0**-bits
            return torch.from_numpy(wide).reshape(like.shape)

        def _made(self, func: Any, key: bytes, result: Any, args: Any, options: Any) -> Any:
            packet = func.overloadpacket
            if packet in (aten.rand, aten.rand_like):
                return self._uniforms(key, result, digits[result.dtype])
            if packet is aten.uniform_:
                low = args[1] if len(args) > 1 else options.get("from", 0.0)
                high = args[2] if len(args) > 2 else options.get("to", 1.0)
                return low + (high - low) * self._uniforms(key, result, digits[result.dtype])
            if func in (aten.bernoulli.default, aten.bernoulli.p, aten.bernoulli_.float, aten.bernoulli_.Tensor):
                p = args[0] if func is aten.bernoulli.default else args[1] if len(args) > 1 else options.get("p", 0.5)
                return self._uniforms(key, result, 53) < (p.double() if isinstance(p, torch.Tensor) else p)
            if packet is aten.randint:
                low, high = (0, args[0]) if "low" not in func._overloadname else args[:2]
                return low + torch.floor((high - low) * self._uniforms(key, result, 53))
            return None

    with GivenTensors(Pool(np.empty(0, np.uint64), 0)):
        torch.empty(0)  # what is dispatched first imports much
    return GivenTensors
