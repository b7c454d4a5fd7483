"""Makes ``gradients.npz``: ``python -m commbounds.verify.make_gradients [FILE]``; needs scikit-learn.

Everything is computed in float64 and stored as float32. The run is deterministic: repeated anywhere, it differs
only by how the linear-algebra library orders its sums.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from commbounds.array_types import Floats, Integers
from commbounds.verify.gradients import LAYERS, SHARDINGS

SEED = 2026
WORKERS = 8
BATCH = 32
"""Images per worker and step."""
RATE = 0.2
"""Step size of plain stochastic gradient descent."""
STEPS = 400
EARLY = (4, 5, 6, 7)
LATE = (396, 397, 398, 399)


@dataclass(frozen=True)
class Shards:
    """Training images by worker, and the images kept for testing.

    Parameters
    ----------
    images : (workers, size, 64) float64
        Pixels in [0, 1].
    labels : (workers, size) int64
        Digits 0 to 9.
    test_images, test_labels : (357, 64) float64, (357,) int64
        The images that nobody trains on.
    """

    images: Floats
    labels: Integers
    test_images: Floats
    test_labels: Integers


@dataclass(frozen=True)
class TrainingRun:
    """A training run.

    Parameters
    ----------
    parameters : (2410,) float64
        After the last step.
    gradients : dict of int to (workers, 2410) float64
        Every worker's gradient at the steps that were to be recorded.
    loss : (steps + 1,) float64
        Mean cross-entropy over all training images before each step, and after the last.
    accuracy : float
        Share of the test images that are classified correctly at the end.
    """

    parameters: Floats
    gradients: dict[int, Floats]
    loss: Floats
    accuracy: float


def digits() -> tuple[Floats, Integers]:
    """scikit-learn's 1797 digits: images (1797, 64) in [0, 1] and their labels (1797,)."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    return np.asarray(images, dtype=np.float64) / 16, np.asarray(labels, dtype=np.int64)


def shards(sharding: str, images: Floats, labels: Integers, workers: int = WORKERS) -> Shards:
    """1440 images shuffled and dealt to `workers` in equal parts, sorted by label first when `sharding` says so.

    Raises
    ------
    ValueError
        `sharding` is neither "iid" nor "by label".
    """
    if sharding not in SHARDINGS:
        raise ValueError(f"sharding must be one of {', '.join(map(repr, SHARDINGS))}, got {sharding!r}")
    order = np.random.default_rng(SEED).permutation(len(labels))
    training, test = order[:1440], order[1440:]
    if sharding == "by label":
        training = training[np.argsort(labels[training], kind="stable")]
    dealt = training.reshape(workers, -1)
    return Shards(images[dealt], labels[dealt], images[test], labels[test])


def initial() -> Floats:
    """Parameters before the first step (2410,): weights normal with variance 2 / inputs, biases zero."""
    rng = np.random.default_rng(SEED)
    parameters = np.zeros(2410)
    for where, shape in LAYERS.values():
        if len(shape) == 2:
            parameters[where] = rng.standard_normal(shape[0] * shape[1]) * np.sqrt(2 / shape[0])
    return parameters


def _forward(parameters: Floats, images: Floats) -> tuple[Floats, Floats]:
    """Hidden activations (..., 32) and log-probabilities (..., 10)."""
    w1, b1, w2, b2 = (parameters[where].reshape(shape) for where, shape in LAYERS.values())
    hidden = np.maximum(images @ w1 + b1, 0.0)
    logits = hidden @ w2 + b2
    logits = logits - logits.max(axis=-1, keepdims=True)
    return hidden, logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def loss_and_accuracy(parameters: Floats, images: Floats, labels: Integers) -> tuple[float, float]:
    """Mean cross-entropy in nats and share of correct answers over images (..., 64) and labels (...)."""
    _, log_probabilities = _forward(parameters, images)
    chosen = np.take_along_axis(log_probabilities, labels[..., None], axis=-1)
    return float(-chosen.mean()), float((log_probabilities.argmax(axis=-1) == labels).mean())


def gradient(parameters: Floats, images: Floats, labels: Integers) -> Floats:
    """Gradient of one mini-batch's mean cross-entropy: (2410,) from images (batch, 64) and labels (batch,)."""
    hidden, log_probabilities = _forward(parameters, images)
    w2 = parameters[LAYERS["weights 2"][0]].reshape(LAYERS["weights 2"][1])
    error = (np.exp(log_probabilities) - np.eye(10)[labels]) / len(labels)
    back = (error @ w2.T) * (hidden > 0)
    return np.concatenate([(images.T @ back).ravel(), back.sum(axis=0), (hidden.T @ error).ravel(), error.sum(axis=0)])


def train(
    data: Shards,
    steps: int = STEPS,
    record: tuple[int, ...] = (),
    reduce: Callable[[Floats], Floats] = lambda stack: stack.mean(axis=0),
    start: Floats | None = None,
    rate: float = RATE,
) -> TrainingRun:
    """Outcome of synchronous gradient descent, ``parameters -= rate * reduce(gradients of all workers)``.

    Parameters
    ----------
    data : Shards
        Worker i draws its mini-batches from shard i.
    steps : int
        How many.
    record : tuple of int
        Steps at which to keep all workers' gradients.
    reduce : callable
        From the (workers, 2410) stack to the (2410,) update; the mean unless a compressor is put in between.
    start : (2410,) float64 or None
        Parameters to start from; `initial()` when None.
    rate : float
        Step size.

    Returns
    -------
    TrainingRun
        Deterministic given the arguments.
    """
    rng = np.random.default_rng(SEED)
    workers, size = data.labels.shape
    parameters = initial() if start is None else start.copy()
    kept: dict[int, Floats] = {}
    losses = np.empty(steps + 1)
    for step in range(steps):
        losses[step] = loss_and_accuracy(parameters, data.images, data.labels)[0]
        batches = rng.integers(size, size=(workers, BATCH))
        stack = np.stack([gradient(parameters, data.images[w, i], data.labels[w, i]) for w, i in enumerate(batches)])
        if step in record:
            kept[step] = stack
        parameters = parameters - rate * reduce(stack)
    losses[steps] = loss_and_accuracy(parameters, data.images, data.labels)[0]
    accuracy = loss_and_accuracy(parameters, data.test_images, data.test_labels)[1]
    return TrainingRun(parameters, kept, losses, accuracy)


def recorded(start: Floats | None = None) -> dict[str, NDArray[np.generic]]:
    """Arrays of the trace, under the names that they are stored by.

    Parameters
    ----------
    start : (2410,) float64 or None
        Parameters to start from; `initial()` when None.
    """
    images, labels = digits()
    arrays: dict[str, NDArray[np.generic]] = {}
    for sharding in SHARDINGS:
        run = train(shards(sharding, images, labels), record=EARLY + LATE, start=start)
        for phase, steps in (("early", EARLY), ("late", LATE)):
            kind = f"{sharding}, {phase}"
            arrays[f"gradients: {kind}"] = np.stack([run.gradients[s] for s in steps]).astype(np.float32)
            arrays[f"steps: {kind}"] = np.array(steps, dtype=np.int64)
            arrays[f"loss: {kind}"] = run.loss[list(steps)]
    return arrays


def main(arguments: list[str]) -> None:
    """Write the trace to the file named, or beside this module."""
    path = Path(arguments[0]) if arguments else Path(__file__).with_name("gradients.npz")
    arrays = recorded()
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
