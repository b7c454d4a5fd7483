"""Gradients of a real training run, as package data: what compressors meet in practice.

A multilayer perceptron 64-32-10 (ReLU, cross-entropy, 2410 parameters) is trained on scikit-learn's bundled
handwritten digits by 8 workers that average their mini-batch gradients. The trace holds every worker's gradient at
4 consecutive steps, early and late in training, with the training images dealt out at random ("iid") or sorted by
label before they are dealt ("by label"). `commbounds.verify.make_gradients` made it.

Pixels at the rim of the images are always dark and some hidden units are silent, so part of every gradient is
exactly zero, as in larger networks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from commbounds.array_types import Array, Floats, Integers

SHARDINGS = ("iid", "by label")
"""How the training images are dealt to the workers."""
PHASES = ("early", "late")
"""When in training the gradients were taken."""
KINDS = ("iid, early", "iid, late", "by label, early", "by label, late")
"""Sharding and phase in one string, as findings and figures name them."""
LAYERS: Mapping[str, tuple[slice, tuple[int, ...]]] = MappingProxyType(
    {
        "weights 1": (slice(0, 2048), (64, 32)),
        "biases 1": (slice(2048, 2080), (32,)),
        "weights 2": (slice(2080, 2400), (32, 10)),
        "biases 2": (slice(2400, 2410), (10,)),
    }
)
"""Where each layer lies in a flat gradient, and its shape (inputs, outputs)."""


@dataclass(frozen=True)
class Trace:
    """The recorded training run.

    Parameters
    ----------
    vectors : mapping of str to (4, 8, 2410) float32
        Flat gradients by step and worker, for each of `KINDS`; read-only.
    steps : mapping of str to (4,) int64
        At which steps of training they were taken, counted from 0.
    loss : mapping of str to (4,) float64
        Mean cross-entropy, in nats, over all training images before those steps.
    """

    vectors: Mapping[str, NDArray[np.float32]]
    steps: Mapping[str, Integers]
    loss: Mapping[str, Floats]


@cache
def trace() -> Trace:
    """Gradients, steps and losses of the recorded run, read from the package at the first call.

    Examples
    --------
    >>> from commbounds.verify import gradients
    >>> gradients.trace().vectors["iid, early"].shape
    (4, 8, 2410)
    """
    with files("commbounds.verify").joinpath("gradients.npz").open("rb") as file, np.load(file) as stored:

        def arrays(prefix: str) -> Mapping[str, Array]:
            found = {kind: stored[f"{prefix}: {kind}"] for kind in KINDS}
            for array in found.values():
                array.flags.writeable = False
            return MappingProxyType(found)

        return Trace(vectors=arrays("gradients"), steps=arrays("steps"), loss=arrays("loss"))


def vectors(sharding: str, phase: str) -> NDArray[np.float32]:
    """Flat gradients of one kind.

    Parameters
    ----------
    sharding : str
        One of `SHARDINGS`.
    phase : str
        One of `PHASES`.

    Returns
    -------
    (4, 8, 2410) float32
        By step and worker; read-only.

    Raises
    ------
    ValueError
        No such sharding or phase.
    """
    if sharding not in SHARDINGS:
        raise ValueError(f"sharding must be one of {', '.join(map(repr, SHARDINGS))}, got {sharding!r}")
    if phase not in PHASES:
        raise ValueError(f"phase must be one of {', '.join(map(repr, PHASES))}, got {phase!r}")
    return trace().vectors[f"{sharding}, {phase}"]


def layer(name: str, sharding: str, phase: str) -> NDArray[np.float32]:
    """Gradients of one layer in its own shape.

    Parameters
    ----------
    name : str
        One of `LAYERS`.
    sharding, phase : str
        As in `vectors`.

    Returns
    -------
    (4, 8, inputs, outputs) or (4, 8, outputs) float32
        By step and worker; read-only.

    Raises
    ------
    ValueError
        No such layer, sharding or phase.
    """
    if name not in LAYERS:
        raise ValueError(f"name must be one of {', '.join(map(repr, LAYERS))}, got {name!r}")
    where, shape = LAYERS[name]
    flat = vectors(sharding, phase)[..., where]
    result = np.ascontiguousarray(flat).reshape(*flat.shape[:-1], *shape)
    result.flags.writeable = False
    return result


def matrices(sharding: str, phase: str) -> NDArray[np.float32]:
    """Gradients of the first layer's weights: (4, 8, 64, 32) float32 by step and worker, read-only."""
    return layer("weights 1", sharding, phase)
