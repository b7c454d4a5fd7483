"""Recipes: objects shaped like those of well-known packages, as subjects of the conformance kit, in a line each.

    from bitsandbytes.functional import dequantize_blockwise, quantize_blockwise
    from commbounds import recipes
    from commbounds.verify import conformance as cf

    subject = recipes.quantizer(quantize_blockwise, dequantize_blockwise, [cf.SignSymmetric()])

None of the packages is imported here: what is judged is the object that is handed in. All subjects take float32 vectors
unless an option says otherwise; ``**options`` are those of `commbounds.verify.conformance.Codec`, ``Stateful`` or
``AllReduce``. Where a package draws from the global generators of torch, numpy or Python, these are put in a state that
follows from the seed for the time of the call, and then put back: `seeded`.
"""

import inspect
import warnings
from collections.abc import Callable, Sequence
from functools import cache, partial, wraps
from typing import Any

from commbounds.verify.conformance.claim import SubjectClaim
from commbounds.verify.conformance.ddp import torch_ddp_hook
from commbounds.verify.conformance.generators import with_seed
from commbounds.verify.conformance.launched import launched as launched
from commbounds.verify.conformance.subject import AllReduce, Codec, Stateful, Subject
from commbounds.verify.conformance.tensors import on_torch

Claims = Sequence[SubjectClaim]
_PARAMETER = "gradient"
"""What a tensor is called where a package wants a name."""


# --- randomness --------------------------------------------------------------------------------------------------


def seeded(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` of arrays, which draws from global generators, as a function of arrays and a seed.

    Parameters
    ----------
    function : callable (x) -> y
        Draws from the generators of torch, numpy (``numpy.random.rand`` and its like) or Python.

    Returns
    -------
    callable (x, seed) -> y
        Before the call all three are put in a state that depends on the seed alone, behind it back where they were.
    """

    @wraps(function)
    def roundtrip(x: Any, seed: int) -> Any:
        return with_seed(seed, function, x)

    del roundtrip.__wrapped__  # the signature is another one
    return roundtrip


# --- functions of tensors ----------------------------------------------------------------------------------------


def torch_function(function: Callable[..., Any], claims: Claims = (), **options: Any) -> Codec:
    """``Codec(on_torch(function), claims)``, which is to be written in place of it; deprecated.

    Parameters
    ----------
    function : callable (tensor) -> tensor
        As of `on_torch`.
    claims : sequence of SubjectClaim
        About a `Codec`.
    **options
        As of `Codec`.
    """
    warnings.warn("torch_function(f, claims) is Codec(on_torch(f), claims)", DeprecationWarning, stacklevel=2)
    return Codec(on_torch(function), claims, **{"name": _name(function), **options})


def stochastic_rounding(rounding: Callable[..., Any], claims: Claims = (), **options: Any) -> Codec:
    """A rounding to a narrower format, as torchao's ``_fp32_to_bf16_sr``: what comes out is widened again.

    Parameters
    ----------
    rounding : callable (tensor) -> tensor
        Of any dtype; its result is converted to that of the input, which has to hold it.
    claims : sequence of SubjectClaim
        About a `Codec`: ``Unbiased()``, and ``AbsoluteError`` of one step.
    **options
        As of `Codec`.
    """

    def widened(x: Any) -> Any:
        return rounding(x).to(x.dtype)

    return Codec(on_torch(widened), claims, **{"name": _name(rounding), **options})


def quantizer(
    quantize: Callable[..., Any], dequantize: Callable[..., Any], claims: Claims = (), **options: Any
) -> Codec:
    """A pair of functions, as bitsandbytes' ``quantize_blockwise`` and ``dequantize_blockwise``, or its 4-bit ones.

    Parameters
    ----------
    quantize : callable (tensor) -> tuple, or one object
        Codes and what belongs to them: ``partial(quantize_blockwise, blocksize=64)``.
    dequantize : callable
        Called with these, ``dequantize(*codes_and_state)``; of the tensor's shape and dtype.
    claims : sequence of SubjectClaim
        About a `Codec`. `Bits` counts the tensors among what `quantize` returns, and of a state with these attributes
        ``absmax``, ``offset`` and those of ``state2``: a codebook is known beforehand.
    **options
        As of `Codec`.
    """

    def message(x: Any) -> tuple[Any, ...]:
        made = quantize(x)
        return made if isinstance(made, tuple) else (made,)

    def roundtrip(x: Any, seed: int) -> Any:
        return with_seed(seed, lambda: dequantize(*message(x)))

    def bits(x: Any, seed: int) -> int:
        return with_seed(seed, lambda: _payload(message(x)))  # type: ignore[no-any-return]

    return Codec(on_torch(roundtrip), claims, **{"name": _name(quantize), "bits": on_torch(bits), **options})


def _payload(parts: Any) -> int:
    """Bits of all tensors in tuples, lists, and the states of quantisers."""
    if hasattr(parts, "element_size"):
        return 8 * int(parts.numel()) * int(parts.element_size())
    if isinstance(parts, tuple | list):
        return sum(map(_payload, parts))
    return sum(_payload(getattr(parts, name, None)) for name in ("absmax", "offset", "state2")) if parts else 0


# --- hivemind ----------------------------------------------------------------------------------------------------


def hivemind_compression(
    compression: Any, claims: Claims = (), *, info: Callable[[Any], Any] | None = None, **options: Any
) -> Codec:
    """A compression of hivemind, as ``Uniform8BitQuantization()``: to a message of protobuf, and back.

    Parameters
    ----------
    compression : object with ``compress(tensor, info, allow_inplace)`` and ``extract(message)``
        See ``hivemind.compression.CompressionBase``.
    claims : sequence of SubjectClaim
        About a `Codec`. `Bits` counts the message's ``buffer``.
    info : callable (tensor) -> object, or None
        What describes the tensor; None for hivemind's ``CompressionInfo.from_tensor``.
    **options
        As of `Codec`.

    Raises
    ------
    ModuleNotFoundError
        hivemind is not installed, and no `info` given.
    """
    if info is None:
        from hivemind.compression import CompressionInfo

        info = CompressionInfo.from_tensor
    about = info

    def compressed(x: Any) -> Any:
        return compression.compress(x, about(x), allow_inplace=False)

    def roundtrip(x: Any, seed: int) -> Any:
        return with_seed(seed, lambda: compression.extract(compressed(x)))

    def bits(x: Any, seed: int) -> int:
        return with_seed(seed, lambda: 8 * len(compressed(x).buffer))  # type: ignore[no-any-return]

    return Codec(on_torch(roundtrip), claims, **{"name": _name(compression), "bits": on_torch(bits), **options})


# --- GRACE -------------------------------------------------------------------------------------------------------


def grace_compressor(compressor: Any, claims: Claims = (), **options: Any) -> Codec:
    """A compressor of GRACE, and of the many that are made like it.

    Parameters
    ----------
    compressor : object with ``compress(tensor, name) -> (tensors, context)`` and ``decompress(tensors, context)``
        Used for all calls: one that remembers something between them fails "order of calls does not matter".
    claims : sequence of SubjectClaim
        About a `Codec`. `Bits` counts the tensors that are sent; the context is known to both sides.
    **options
        As of `Codec`.
    """

    def roundtrip(x: Any, seed: int) -> Any:
        return with_seed(seed, lambda: compressor.decompress(*compressor.compress(x, _PARAMETER)))

    def bits(x: Any, seed: int) -> int:
        return with_seed(seed, lambda: _payload(compressor.compress(x, _PARAMETER)[0]))  # type: ignore[no-any-return]

    return Codec(on_torch(roundtrip), claims, **{"name": _name(compressor), "bits": on_torch(bits), **options})


class _Grace:
    """A compressor and a memory of GRACE, called as its communicators call them."""

    def __init__(self, compressor: Any, memory: Any, seed: int) -> None:
        self._compressor, self._memory, self._seed = compressor, memory, seed
        self._steps = 0

    def __call__(self, x: Any) -> Any:
        self._steps += 1
        return with_seed((self._seed + 0x9E3779B9 * self._steps) % 2**31, self._step, x)

    def _step(self, x: Any) -> Any:
        compressor, memory = self._compressor, self._memory
        corrected = memory.compensate(x, _PARAMETER)
        sent, context = compressor.compress(corrected, _PARAMETER)
        memory.update(corrected, _PARAMETER, compressor, sent, context)
        return compressor.decompress(sent, context)

    @property
    def residual(self) -> Any:
        """What the memory holds for the tensor; None where it holds none under ``residuals``."""
        return getattr(self._memory, "residuals", {}).get(_PARAMETER)


def grace_feedback(make: Callable[[], tuple[Any, Any]], claims: Claims = (), **options: Any) -> Stateful:
    """A compressor of GRACE with one of its memories, on one worker.

    Parameters
    ----------
    make : callable () -> (compressor, memory)
        New ones; the memory has ``compensate(tensor, name)`` and ``update(tensor, name, compressor, tensors, context)``
        and may have ``residuals``, a dictionary by name.
    claims : sequence of SubjectClaim
        About a `Stateful`: ``Telescopes()``, ``MemoryBounded()``, ``RecoversAfterZero()``.
    **options
        As of `Stateful`.
    """

    def factory(seed: int) -> _Grace:
        compressor, memory = with_seed(seed, make)
        return _Grace(compressor, memory, seed)

    return Stateful(on_torch(factory), claims, **{"name": _name(make), **options})


# --- aggregators -------------------------------------------------------------------------------------------------


class _Aggregator:
    """An aggregator of one tensor, made at the first; its gradient buffer keeps what was not sent."""

    def __init__(self, make: Callable[[Any], Any], seed: int) -> None:
        self._make, self._seed = make, seed
        self._aggregator: Any = None
        self.residual: Any = None

    def __call__(self, x: Any) -> Any:
        if self._aggregator is None:
            self._aggregator = with_seed(self._seed, self._make, [x])
        buffer = x.clone() if self.residual is None else x + self.residual
        (sent,) = self._aggregator.aggregate([buffer])
        self.residual = buffer
        return sent


def aggregator(make: Callable[[Any], Any], claims: Claims = (), **options: Any) -> Stateful:
    """An aggregator as epfml's PowerSGD has them: it leaves in the gradients what it did not send.

    Parameters
    ----------
    make : callable (list of one tensor) -> object with ``aggregate(gradients) -> list of tensors``
        A new one for parameters of these shapes; ``lambda like: PowerSGD(like, Config(rank=1))``. Its process is the
        only one: the mean is its own gradient.
    claims : sequence of SubjectClaim
        About a `Stateful`.
    **options
        As of `Stateful`; ``shape`` is "matrix" unless given.
    """

    def factory(seed: int) -> _Aggregator:
        return _Aggregator(make, seed)

    return Stateful(on_torch(factory), claims, **{"name": _name(make), "shape": "matrix", **options})


# --- all-reduces -------------------------------------------------------------------------------------------------


def _no_state(_seed: int) -> None:
    """The state of a hook that needs none; for torch's own, None stands for the default process group."""


def torch_hook(
    hook: Callable[..., Any],
    claims: Claims = (),
    make_state: Callable[[int], Any] = _no_state,
    *,
    wrapper: Callable[..., Any] | None = None,
    **options: Any,
) -> Subject:
    """A communication hook of torch's DistributedDataParallel, on real process groups (gloo).

    Parameters
    ----------
    hook : callable (state, bucket) -> Future
        Importable: a function of a module.
    claims : sequence of SubjectClaim
        About an `AllReduce`, ``Averages()`` and ``RanksAgree()``; or, with ``stateful=True``, about a `Stateful`.
    make_state : callable (seed) -> state
        Importable; none is needed unless given.
    wrapper : callable (hook) -> hook, or None
        ``fp16_compress_wrapper`` and its like, whose result no other process could import.
    **options
        As of `torch_ddp_hook`.

    Raises
    ------
    ModuleNotFoundError
        torch is not installed.
    ValueError
        A function cannot be imported by other processes.
    """
    name = {"name": _name(hook) if wrapper is None else f"{_name(wrapper)}({_name(hook)})"}
    called = hook if wrapper is None else partial(_wrapped, wrapper, hook)
    return torch_ddp_hook(called, make_state, claims, **{**name, **options})


def _wrapped(wrapper: Callable[..., Any], hook: Callable[..., Any], state: Any, bucket: Any) -> Any:
    return wrapper(hook)(state, bucket)


def inplace_allreduce(all_reduce: Callable[..., Any], claims: Claims = (), **options: Any) -> AllReduce:
    """An all-reduce that leaves its result in the tensor, as ``torch.distributed.all_reduce``, ``deepspeed.comm``'s.

    Parameters
    ----------
    all_reduce : callable (tensor) -> anything
        Importable; called by every rank of a process group (gloo). What it returns is not looked at, so it must not
        return before it is done.
    claims : sequence of SubjectClaim
        About an `AllReduce`: ``Sums()``, ``RanksAgree()``.
    **options
        As of `torch_ddp_hook`.
    """
    made = torch_ddp_hook(partial(_in_place, all_reduce), _no_state, claims, **{"name": _name(all_reduce), **options})
    assert isinstance(made, AllReduce)
    return made


def _in_place(all_reduce: Callable[..., Any], _state: Any, bucket: Any) -> Any:
    buffer = bucket.buffer()
    all_reduce(buffer)
    return _done(buffer)


def _done(tensor: Any) -> Any:
    """A future that holds the tensor."""
    import torch

    future: Any = torch.futures.Future()
    future.set_result(tensor)
    return future


class _Errors:
    """A backend of DeepSpeed, and the errors that it is given to keep."""

    def __init__(self, make_backend: Callable[[], Any], _seed: int) -> None:
        self.backend, self.worker, self.server, self.entries = _backend(make_backend), None, None, 0


@cache
def _backend(make: Callable[[], Any]) -> Any:
    """One a process: it makes a group of its own."""
    return make()


_ALIGNED = 8
"""Entries that DeepSpeed pads every rank's part to a multiple of: their signs fill a byte."""


def _compressed(errors: Any, bucket: Any) -> Any:
    import torch
    from torch import distributed

    buffer, P = bucket.buffer(), distributed.get_world_size()
    if errors.worker is None:
        part = -(-buffer.numel() // (P * _ALIGNED)) * _ALIGNED
        errors.worker = torch.zeros(P * part, dtype=buffer.dtype)
        errors.server = torch.zeros(part, dtype=buffer.dtype)
        errors.entries = buffer.numel()
    rank = distributed.get_rank()
    return _done(errors.backend.compressed_allreduce(buffer, errors.worker, errors.server, rank))


def _kept(errors: Any) -> Any:
    """What a rank keeps: its own error, and P times that of the mean in the part that it serves."""
    from torch import distributed

    if errors.worker is None:
        return None
    held, P, rank = errors.worker.clone(), distributed.get_world_size(), distributed.get_rank()
    part = errors.server.numel()
    held[rank * part : (rank + 1) * part] += P * errors.server
    return held[: errors.entries]


def deepspeed_allreduce(
    make_backend: Callable[[], Any], claims: Claims = (), *, stateful: bool = False, **options: Any
) -> Subject:
    """A compressed all-reduce of DeepSpeed's shape: the mean, with an error that a worker keeps, and a server's.

    Parameters
    ----------
    make_backend : callable () -> object with ``compressed_allreduce(buffer, worker_error, server_error, local_rank)``
        Importable; called once by every process of a process group (gloo). The buffer is one rank's vector, the errors
        are made as DeepSpeed's optimisers make them: zeros, of a multiple of 8 entries a rank.
    claims : sequence of SubjectClaim
        About an `AllReduce`: ``RanksAgree()``; or, with `stateful`, about a `Stateful`: ``Telescopes()``.
    stateful : bool
        Whether the errors live through many steps. What is then shown as residual is the mean of the worker errors,
        and the server errors.
    **options
        As of `torch_ddp_hook`.
    """
    options = {"name": _name(make_backend), "residual": _kept if stateful else None, **options}
    return torch_ddp_hook(_compressed, partial(_Errors, make_backend), claims, stateful=stateful, **options)


# --- names -------------------------------------------------------------------------------------------------------


def _name(thing: Any) -> str:
    """What it is called: by its own name, that of the function that it calls, or that of its class."""
    while isinstance(thing, partial):
        thing = thing.func
    named = inspect.isroutine(thing) or inspect.isclass(thing)
    return str(thing.__name__) if named else type(thing).__name__
