"""The global random generators of Python, numpy and torch: their states, before and after."""

import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np


def states() -> dict[str, Any]:
    """The state of every global generator that is loaded."""
    found: dict[str, Any] = {"random": random.getstate(), "numpy": np.random.get_state(legacy=False)}  # noqa: NPY002
    torch = sys.modules.get("torch")
    if torch is not None:
        found["torch"] = torch.get_rng_state().clone()
    return found


def fingerprints(found: dict[str, Any]) -> dict[str, Any]:
    """What tells states apart, by the generator's name: equal where they are the same."""
    legacy = found["numpy"]
    prints = {
        "random": found["random"],
        "numpy": (legacy["state"]["key"].tobytes(), legacy["state"]["pos"], legacy["has_gauss"]),
    }
    if "torch" in found:
        prints["torch"] = found["torch"].numpy().tobytes()
    return prints


def put(number: int) -> None:
    """Put every global generator in a state that depends on `number` alone."""
    random.seed(number)
    np.random.seed(number)  # noqa: NPY002  this is the generator that must not be used
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(number)


def with_seed(seed: int, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns while the global generators are as `seed` says; they are put back behind the call."""
    kept = states()
    try:
        put(seed)
        return function(*arguments)
    finally:
        restored(kept)


def restored(found: dict[str, Any]) -> None:
    """Put the generators back in the states that `states` found."""
    random.setstate(found["random"])
    np.random.set_state(found["numpy"])  # noqa: NPY002
    if "torch" in found:
        sys.modules["torch"].set_rng_state(found["torch"])
