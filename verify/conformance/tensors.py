"""Adapters: functions of torch tensors, or of arrays that speak DLPack, as functions of numpy arrays."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from commbounds.array_types import Array
from commbounds.compressors.base import shown
from commbounds.verify.conformance.generators import with_seed

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def on_torch(function: Callable[..., Any], device: str = "cpu") -> Callable[..., Any]:
    """`function` of torch tensors, as a function of numpy arrays.

    Parameters
    ----------
    function : callable
        ``roundtrip(x, seed)``, ``run(stack, seed)``, a step, or a factory of steps: arrays among its arguments become
        tensors, tensors that it returns become arrays (in tuples too), and a callable that it returns is adapted. Of
        ``roundtrip(x)`` and ``run(stack)``, which take no seed, the global generators of torch, numpy and Python are
        put in a state that follows from the seed for the time of the call.
    device : str
        Where the tensors live.

    Returns
    -------
    callable
        With the same signature, and a seed if it has none; bfloat16 tensors are arrays of ``ml_dtypes.bfloat16``. What
        the function does to its input is done to the caller's array.

    Raises
    ------
    ModuleNotFoundError
        At the first call, if torch is not installed: ``pip install 'commbounds[torch]'``.
    """
    return _adapted(function, lambda x: tensor_of(x).to(device), array_of)


def tensor_of(x: Array) -> Any:
    """The tensor that shares the memory of `x`; of a copy where nobody may write, or tensors have no such strides."""
    import torch

    if not x.flags.writeable or any(stride < 0 for stride in x.strides):
        x = x.copy()
    if x.dtype == _BFLOAT16:
        return torch.from_numpy(x.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(x)


def array_of(y: Any) -> Any:
    """The array of a tensor's values, wherever it lives; anything else as it is."""
    import torch

    if not isinstance(y, torch.Tensor):
        return y
    plain = y.detach().cpu()
    return plain.view(torch.int16).numpy().view(_BFLOAT16) if plain.dtype == torch.bfloat16 else plain.numpy()


def on_arrays(function: Callable[..., Any], namespace: Any) -> Callable[..., Any]:
    """`function` of arrays of an array library, as a function of numpy arrays; they are handed over by DLPack.

    Parameters
    ----------
    function : callable
        As for `on_torch`.
    namespace : module
        With a ``from_dlpack``, as the array API standard has it: ``array_api_strict``, ``jax.numpy``, ``cupy``...

    Returns
    -------
    callable
        With the same signature.
    """
    if not callable(function):
        raise TypeError(f"function must be callable, got {shown(function)}")
    if not callable(getattr(namespace, "from_dlpack", None)):
        raise TypeError(f"namespace must have a function from_dlpack, got {shown(namespace)}")
    return _adapted(function, namespace.from_dlpack, lambda y: np.from_dlpack(y) if hasattr(y, "__dlpack__") else y)


def _adapted(function: Callable[..., Any], to: Callable[[Any], Any], back: Callable[[Any], Any]) -> Callable[..., Any]:
    def there(value: Any) -> Any:
        return to(value) if isinstance(value, np.ndarray) else value

    def home(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(home(part) for part in value)
        if not isinstance(value, np.ndarray) and callable(value) and not hasattr(value, "__dlpack__"):
            return _Step(value, _adapted(value, to, back), home)
        return back(value)

    alone = _takes_one(function)

    @functools.wraps(function, updated=())  # the signature too: it tells whether uniforms can be handed in
    def adapted(*arguments: Any, **options: Any) -> Any:
        if alone and len(arguments) == 2:
            return home(with_seed(arguments[1], function, there(arguments[0])))
        return home(function(*map(there, arguments), **{name: there(value) for name, value in options.items()}))

    if alone:
        adapted.__signature__ = inspect.signature(lambda x, seed=None: x)  # type: ignore[attr-defined]
    return adapted


def _takes_one(function: Callable[..., Any]) -> bool:
    """Whether it has to be given one argument, and has no place for a seed or for uniforms."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:  # a builtin without one, as torch's functions of tensors are
        return True
    except TypeError:
        return False
    if any(p.kind is p.VAR_POSITIONAL or p.name in ("seed", "rng", "uniforms") for p in parameters[1:]):
        return False
    return sum(p.default is p.empty and p.kind is not p.VAR_KEYWORD for p in parameters) == 1


class _Step:
    """A step that a factory made, adapted; its residual is the original's."""

    def __init__(self, original: Any, adapted: Callable[..., Any], home: Callable[[Any], Any]) -> None:
        self._original, self._adapted, self._home = original, adapted, home

    def __call__(self, x: Array) -> Any:
        return self._adapted(x)

    def __getattr__(self, name: str) -> Any:
        if name != "residual":
            raise AttributeError(name)
        value = self._original.residual
        return self._home(value() if callable(value) and not hasattr(value, "__dlpack__") else value)
