"""Packet loss: draws through the implementation's own losses, for sequential tests."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from commbounds.array_types import Floats
from commbounds.collectives import Bernoulli, GilbertElliott, layout
from commbounds.theory import claims
from commbounds.verify import gradients
from commbounds.verify.finding import Series
from commbounds.verify.study import Stream

Loss = Bernoulli | GilbertElliott
_WORKERS, _STEPS = 9, 6
TRIALS = 5
"""Steps of a drawn drift trial: few, so that the range of a draw stays close to its mean."""


def _name(loss: Loss) -> str:
    return f"p = {loss.p}" if isinstance(loss, Bernoulli) else f"rate {loss.rate:.3g}, bursts of {1 / loss.recover:g}"


def _values(loss: Loss) -> dict[str, float]:
    chain = {} if isinstance(loss, Bernoulli) else {"recovery": loss.recover, "lossrate": loss.rate}
    return {"p": loss.rate, "sigma": 1.0, **chain}


def _lacks(broadcast: Any, loss: Loss, seed: int, trial: int) -> Floats:
    """(N shards, N - 1 receivers) updates that a receiver lacks of each shard after a few steps."""
    replicas, state = np.zeros((_WORKERS, _WORKERS)), None
    receivers = 1 if loss.shared else _WORKERS
    for step in range(_STEPS):
        lost, state = loss.lost((seed, trial, 1), step, _WORKERS * receivers, state)
        arrived = np.broadcast_to(~lost.reshape(_WORKERS, receivers, 1), (_WORKERS, _WORKERS, 1))
        replicas, _ = broadcast(replicas, np.full(_WORKERS, step + 1.0), arrived)
    others = ~np.eye(_WORKERS, dtype=bool)
    return np.asarray(_STEPS - replicas.T[others].reshape(_WORKERS, _WORKERS - 1))


def broadcast_streams(claim: str, what: str, losses: Sequence[Loss]) -> Callable[[Any], list[Stream]]:
    """Streams of receivers' staleness, of a pair's distance in versions, or of whether it differs.

    Parameters
    ----------
    claim : str
        Gives the mean.
    what : str
        "owner": staleness of every receiver; "pair": versions between disjoint pairs; "differ": whether they differ.
        With unit updates of its own in every step, a gap's squared norm is the number of updates in it.
    losses : sequence
        One stream each.
    """

    def streams(broadcast: Any) -> list[Stream]:
        def stream(loss: Loss) -> Stream:
            mean = float(claims()[claim].bound(elapsed=_STEPS, **_values(loss)))
            most = 1.0 if what == "differ" else float(_STEPS)

            def draw(rng: np.random.Generator, count: int) -> Floats:
                seed, kept = int(rng.integers(2**63)), 0
                drawn: list[Floats] = []
                while kept < count:
                    lacks = _lacks(broadcast, loss, seed, len(drawn))
                    gaps = np.abs(lacks[:, 0::2] - lacks[:, 1::2])
                    # receivers that share their fate are one
                    chosen = lacks[:, : 1 if loss.shared else None] if what == "owner" else gaps
                    seen = (chosen != 0 if what == "differ" else chosen).astype(np.float64).ravel()
                    drawn.append(seen)
                    kept += seen.size
                return np.concatenate(drawn)[:count] - mean

            return Stream(_name(loss), draw, -mean, most - mean, unit=mean, cost=8 if loss.shared else 2)

        return [stream(loss) for loss in losses]

    return streams


def drift_streams(claim: str, field: str, losses: Sequence[Loss]) -> Callable[[Any], list[Stream]]:
    """Streams of one field of `Drift`, averages over a few steps."""
    workers = 17

    def streams(trials: Any) -> list[Stream]:
        def stream(loss: Loss) -> Stream:
            values = {"elapsed": TRIALS, **_values(loss)}
            mean = float(claims()[claim].bound(**values))
            squares = (TRIALS + 1) * (2 * TRIALS + 1) / 6.0
            # gaps lie within the partial sums of up to s updates of size 1: their range is s at most, and the mean over
            # the n (n-1) / 2 pairs of a squared difference is largest with one half at either end: n s^2 / (2 (n-1))
            receivers = workers - 1
            most = {"differ": 1.0, "owner": squares, "pair": squares * receivers / (2 * (receivers - 1))}[field]

            def draw(rng: np.random.Generator, count: int) -> Floats:
                drift = trials(workers, TRIALS, loss, count, int(rng.integers(2**63)))
                return np.asarray(getattr(drift, field)) / mean - 1.0

            return Stream(_name(loss), draw, -1.0, most / mean - 1.0, cost=1, values=values)

        return [stream(loss) for loss in losses]

    return streams


def trial_curves(claim: str, field: str, chain: bool = False) -> Callable[[Any, int], list[Series]]:
    """The mean over many trials, over p or, for links in bursts with 10 % loss, over the chance to recover."""

    def curves(trials: Any, seed: int) -> list[Series]:
        places = [0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9] if chain else [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]
        losses: list[Loss] = [GilbertElliott(x / 9, x) if chain else Bernoulli(x) for x in places]
        bound = [float(claims()[claim].bound(elapsed=50, **_values(loss))) for loss in losses]
        mean = [float(np.mean(getattr(trials(33, 50, loss, 2000, seed), field))) for loss in losses]
        held = "50 steps, 2000 trials, 10 % loss" if chain else "50 steps, 2000 trials"
        return [Series(held, "recovery" if chain else "p", places, bound, mean)]

    return curves


def staleness_streams(claim: str, upper: bool) -> Callable[[Any], list[Stream]]:
    """Streams of the largest staleness among few and among many receivers."""
    steps = 60

    def streams(trials: Any) -> list[Stream]:
        def stream(receivers: int, p: float) -> Stream:
            bound = float(claims()[claim].bound(receivers=receivers, p=p, elapsed=steps))

            def draw(rng: np.random.Generator, count: int) -> Floats:
                largest, _ = trials(receivers, steps, Bernoulli(p), count, int(rng.integers(2**63)))
                # deviations whose mean is at most 0 where the claim holds
                return np.asarray(largest / bound - 1.0 if upper else (bound - largest) / steps)

            low, high = (-1.0, np.inf) if upper else (bound / steps - 1.0, bound / steps)
            return Stream(f"{receivers} receivers, p = {p}", draw, low, high, two_sided=False, cost=4)

        return [stream(8, 0.4), stream(1000, 0.4), stream(300, 0.1)]

    return streams


def recorded_streams(broadcast: Any) -> list[Stream]:
    """Streams of squared gaps over their law, with updates from four consecutive steps of training on the digits."""
    workers = 4
    updates = gradients.vectors("by label", "early").astype(np.float64).mean(axis=1)
    steps, n = updates.shape
    owner = layout(n, workers).owner
    shards = [owner == j for j in range(workers)]

    def stream(p: float) -> Stream:
        laws, most = [], 0.0
        powers = p ** (np.maximum.outer(np.arange(steps), np.arange(steps)) + 1)
        alone = np.multiply.outer(p ** (np.arange(steps) + 1), p ** (np.arange(steps) + 1))
        for shard in shards:
            newest_first = updates[::-1, shard]
            products = newest_first @ newest_first.T
            lagged, discounted = float((powers * products).sum()), float((alone * products).sum())
            law = float(claims()["packetloss.drift.given_updates"].bound(lagged=lagged, discounted=discounted))
            # a gap is the sum of the updates of consecutive ages
            gaps = [newest_first[a:b].sum(axis=0) for a in range(steps) for b in range(a + 1, steps + 1)]
            laws.append(law)
            most = max(most, max(float(gap @ gap) for gap in gaps) / law)

        def draw(rng: np.random.Generator, count: int) -> Floats:
            seed, drawn = int(rng.integers(2**63)), np.empty((-(-count // workers), workers))
            for run in range(len(drawn)):
                replicas, owned = np.zeros((workers, n)), np.zeros(n)
                for step, update in enumerate(updates):
                    owned = owned + update
                    lost, _ = Bernoulli(p).lost((seed, run, 1), step, workers**2, None)
                    replicas, _ = broadcast(replicas, owned, ~lost.reshape(workers, workers, 1))
                for j, (shard, law) in enumerate(zip(shards, laws, strict=True)):
                    first, second = [i for i in range(workers) if i != j][:2]
                    drawn[run, j] = float(np.square(replicas[first, shard] - replicas[second, shard]).sum()) / law
            return drawn.ravel()[:count] - 1.0

        return Stream(f"recorded updates, p = {p}", draw, -1.0, 1.001 * most - 1.0, cost=8)

    return [stream(0.4), stream(0.7)]
