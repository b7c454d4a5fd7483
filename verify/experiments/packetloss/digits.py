"""A small network trained on handwritten digits by workers whose packets get lost: drift and accuracy, step by step.

The data are package data (`digits.npz`, which `commbounds.verify.make_digits` made), the network and its gradient are
those of the recorded gradients: a multilayer perceptron 64-32-10 with 2410 parameters.
"""

from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from commbounds.array_types import Floats, Integers
from commbounds.collectives import Bernoulli, GilbertElliott, Replicas, fresh_replicas, layout, lossy_training
from commbounds.verify.make_gradients import Shards, gradient, initial, loss_and_accuracy, shards

BATCH = 32
RATE = 0.2
_SEED = 2026


@cache
def dealt(sharding: str, workers: int) -> Shards:
    """The digits in `workers` equal parts: "iid" or "by label". `workers` divides 1440."""
    with files("commbounds.verify").joinpath("digits.npz").open("rb") as file, np.load(file) as stored:
        images, labels = stored["images"] / 16.0, stored["labels"].astype(np.int64)
    return shards(sharding, images, labels, workers)


@dataclass(frozen=True, eq=False)
class LossyRun:
    """What was seen of a run.

    Parameters
    ----------
    drift : (steps,) float64
        Squared distance of two replicas, summed over the shards that neither owns, averaged over all pairs.
    owner_drift : (steps,) float64
        Squared distance of a replica to the owners' values, summed over foreign shards, averaged over the workers.
    differ : (steps,) float64
        Share of the pairs and shards, not their own, whose versions differ.
    loss, accuracy : (steps,) float64
        Of the mean replica: mean cross-entropy on the training images in nats, share of test images recognised.
    spread : (steps,) float64
        Standard deviation over the workers of the test accuracy of their replicas.
    updates : (steps, n) float64
        What the owners added.
    """

    drift: Floats
    owner_drift: Floats
    differ: Floats
    loss: Floats
    accuracy: Floats
    spread: Floats
    updates: Floats = field(repr=False)


def _squared_drift(state: Replicas, owner: Integers) -> tuple[float, float, float]:
    """Mean squared distances of pairs and to owners, and the share of versions that differ."""
    copies, workers = state.parameters, len(state.parameters)
    owned = copies[owner, np.arange(copies.shape[1])]
    gaps = copies - owned
    to_owner = float((gaps**2).sum() / workers)
    pair, differ, counted = 0.0, 0, 0
    for j in range(workers):
        shard, others = owner == j, [i for i in range(workers) if i != j]
        rows, stale = gaps[others][:, shard], state.missed[others][:, shard][:, 0]
        # sum over pairs of ||a - b||^2 = n sum ||a||^2 - ||sum a||^2
        pair += float(len(rows) * (rows**2).sum() - (rows.sum(axis=0) ** 2).sum())
        differ += int((stale[:, None] != stale[None]).sum()) // 2
        counted += len(rows) * (len(rows) - 1) // 2
    return pair * 2 / (workers * (workers - 1)), to_owner, differ / counted


def lossy_run(
    loss: Bernoulli | GilbertElliott,
    workers: int = 8,
    steps: int = 200,
    *,
    sharding: str = "iid",
    estimator: str = "arrivals",
    seed: int = 0,
    every: int = 10,
) -> LossyRun:
    """Train for `steps` steps and watch.

    Parameters
    ----------
    loss : Bernoulli or GilbertElliott
        Of both halves of a step.
    workers : int
        At least 3, a divisor of 1440.
    steps : int
        At least 1.
    sharding : str
        How images are dealt: "iid" or "by label".
    estimator : str
        As in `lossy_reduce_scatter`.
    seed : int
        Of the losses; mini-batches are the same in all runs.
    every : int
        Steps between two looks at loss and accuracy, which are held in between.

    Returns
    -------
    LossyRun
    """
    data = dealt(sharding, workers)
    start = fresh_replicas(initial(), workers)
    owner = layout(start.parameters.shape[1], workers).owner
    seen: dict[str, list[Any]] = {name: [] for name in LossyRun.__dataclass_fields__}

    def stack(step: int, replicas: Floats) -> Floats:
        rng = np.random.default_rng([_SEED, step])
        batches = rng.integers(data.labels.shape[1], size=(workers, BATCH))
        return np.stack([gradient(replicas[w], data.images[w, i], data.labels[w, i]) for w, i in enumerate(batches)])

    def observe(state: Replicas, update: Floats) -> None:
        drift, owner_drift, differ = _squared_drift(state, owner)
        if state.step % every == 1 or every == 1 or state.step == steps:
            mean = state.parameters.mean(axis=0)
            seen["loss"].append(loss_and_accuracy(mean, data.images, data.labels)[0])
            tested = [
                loss_and_accuracy(row, data.test_images, data.test_labels)[1] for row in (mean, *state.parameters)
            ]
            seen["accuracy"].append(tested[0])
            seen["spread"].append(float(np.std(tested[1:])))
        else:
            for name in ("loss", "accuracy", "spread"):
                seen[name].append(seen[name][-1])
        for name, value in (("drift", drift), ("owner_drift", owner_drift), ("differ", differ), ("updates", update)):
            seen[name].append(value)

    lossy_training(start, stack, loss, steps, RATE, estimator=estimator, seed=seed, observe=observe)
    return LossyRun(**{name: np.array(values) for name, values in seen.items()})


def predicted_drift(updates: Floats, p: float) -> tuple[Floats, Floats]:
    """Expected squared gaps after every step if these (steps, n) updates were given: of a pair, and to the owner.

    For one shard that both receive. With x the gap to the owner, m = E x and q = E||x||^2, an update u makes
    m' = p (m + u) and q' = p (q + 2 <m, u> + ||u||^2); the pair's is 2 (q - ||m||^2). The book's law
    `packetloss.drift.given_updates` sums the same by ages.
    """
    mean, square = np.zeros(updates.shape[1]), 0.0
    pair, owner = np.empty(len(updates)), np.empty(len(updates))
    for t, update in enumerate(updates):
        square = p * (square + 2.0 * float(mean @ update) + float(update @ update))
        mean = p * (mean + update)
        owner[t] = square
        pair[t] = 2.0 * (square - float(mean @ mean))
    return pair, owner
