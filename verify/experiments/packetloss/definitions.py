"""Averaging and training over links that lose packets, beside their definitions: the spaces of their cases."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from commbounds.array_types import Array, Mask
from commbounds.collectives.packetloss import Bernoulli, GilbertElliott, Replicas, fresh_replicas
from commbounds.verify.data import stack_of
from commbounds.verify.definition import Definition, Given, called, chosen
from commbounds.verify.definitions import packetloss
from commbounds.verify.differences import Said, plain
from commbounds.verify.space import RANKS, TILES, Of, Space, sizes
from commbounds.verify.vectors.collectives import special_stacks
from commbounds.verify.vectors.numbers import Record

PACKETS = (None, 1, 2, 5)
LOST = (0.4, 0.0, 1.0)
IN_PACKETS = (
    Of("two full packets a part", lambda P, packet: 2 * P * (packet or 2)),
    Of("three packets a part, one of them short", lambda P, packet: 3 * P * (packet or 1) - P + 1),
)
FEW = (1, Of("max(P - 1, 1)", lambda P: max(P - 1, 1)), Of("3 P + 1", lambda P: 3 * P + 1), *IN_PACKETS)
"""Numbers of entries, where many rounds are run."""


def _arrived(rng: np.random.Generator, P: int, n: int, packet: int | None, lost: float) -> Mask:
    longest = -(-n // P)
    return np.asarray(rng.random((P, P, 1 if packet is None else -(-longest // packet))) >= lost)


# --- halves, and a step ------------------------------------------------------------------------------------------


def _reduce(
    P: int, n: int, data: str, dtype: str, estimator: str | None, p: float, packet: int | None, lost: float, seed: int
) -> Given:
    arrived = _arrived(np.random.default_rng(seed), P, n, packet, lost)
    options = chosen(estimator=estimator, p=p if estimator == "expected" else None, packet=packet)
    return Given({"stack": stack_of(data, P, n, dtype, seed)}, options, {"arrived": arrived})


def _reduced(implementation: Any, given: Given) -> Said:
    found, traffic = implementation(**given.inputs, **given.parameters, **given.randomness)
    return {"result": Record("Reduced", vars(found)), "traffic": traffic}


def _unfit(given: Given) -> list[Given]:
    """The estimator that needs p without one, or with one that is out of range, and others with one."""
    wrong: list[dict[str, Any]] = [{"estimator": "expected", "p": p} for p in (None, 1.0, 1.5, -0.1)]
    wrong += [{"estimator": "owner", "p": 0.5}, {"p": 0.0}]
    return [replace(given, parameters={**given.parameters, **options}) for options in wrong]


def _special() -> list[Given]:
    stacks = [stack for _, stack, flags in special_stacks() if "refused" not in flags]
    stacks.append(np.array([[5e-324], [1e-323]]))  # whose sum, and no power of two less, is a float
    cases = [Given({"stack": stack}, {}, {"arrived": np.ones((len(stack),) * 2 + (1,), np.bool_)}) for stack in stacks]
    return [*cases, *_unfit(_reduce(3, 7, "normal", "float32", None, 0.25, None, 0.4, 1))]


REDUCE = (
    Space(
        _reduce,
        {
            "P": RANKS,
            "packet": PACKETS,
            "n": (*sizes(16), *IN_PACKETS),
            "data": ("opposed", "normal", "of all sizes", "sparse", "zeros", "subnormal", "over"),
            "dtype": ("float32", "float64"),
            "estimator": (None, "arrivals", "owner", "expected"),
            "p": (0.25, 0.0, 0.3),
            "lost": LOST,
        },
        options=("n", "dtype", "estimator", "packet"),
    )
    .without("infinite in float32.", lambda data, dtype: data == "over" and dtype == "float32")
    .hidden_by(packet=(3, 4, 6, 7), n=TILES)
    .search(P=(1, 12), n=(1, 40), packet=(1, 12))
)


def _broadcast(P: int, n: int, data: str, dtype: str, packet: int | None, lost: float, seed: int) -> Given:
    arrived = _arrived(np.random.default_rng(seed), P, n, packet, lost)
    inputs = {"replicas": stack_of(data, P, n, dtype, seed), "owned": stack_of(data, 2, n, dtype, seed + 1)[1]}
    return Given(inputs, chosen(packet=packet), {"arrived": arrived})


BROADCAST = Space(
    _broadcast,
    {
        "P": RANKS,
        "packet": PACKETS,
        "n": (*sizes(16), *IN_PACKETS),
        "data": ("opposed", "normal", "of all sizes", "sparse", "zeros", "subnormal"),
        "dtype": ("float32", "float64"),
        "lost": LOST,
    },
    options=("n", "dtype", "packet"),
    hiding={"packet": (3, 4, 6, 7), "n": TILES},
).search(P=(1, 12), n=(1, 40), packet=(1, 12))


def _state(rng: np.random.Generator, P: int, n: int, dtype: str, step: int, **states: Any) -> Replicas:
    """Replicas that have drifted apart."""
    return Replicas(rng.standard_normal((P, n)).astype(dtype), rng.integers(0, 5, (P, n)), step, **states)


def _step(
    P: int, n: int, data: str, dtype: str, estimator: str | None, p: float, packet: int | None, lost: float,
    rate: float, step: int, seed: int,
) -> Given:  # fmt: skip
    rng = np.random.default_rng(seed)
    masks = {name: _arrived(rng, P, n, packet, lost) for name in ("reduce_arrived", "broadcast_arrived")}
    links = {name: rng.random(P) < 0.5 if step else None for name in ("reduce_state", "broadcast_state")}
    inputs = {"state": _state(rng, P, n, dtype, step, **links), "gradients": stack_of(data, P, n, dtype, seed)}
    options = chosen(rate=rate, estimator=estimator, p=p if estimator == "expected" else None, packet=packet)
    return Given(inputs, options, masks)


STEP = Space(
    _step,
    {
        "P": RANKS,
        "packet": PACKETS,
        "n": (*sizes(16), *IN_PACKETS),
        "data": ("opposed", "normal", "of all sizes", "sparse", "zeros", "subnormal"),
        "dtype": ("float32", "float64"),
        "estimator": (None, "arrivals", "owner", "expected"),
        "p": (0.25, 0.3),
        "lost": LOST,
        "rate": (0.5, 0.1, 0.0, -0.3, 1e308, 1),
        "step": (0, 3, 100),
    },
    options=("n", "dtype", "estimator", "packet"),
    hiding={"packet": (3, 4, 6, 7), "n": TILES, "step": (1, 2, 7)},
).search(P=(1, 12), n=(1, 40), packet=(1, 12))

# --- training ----------------------------------------------------------------------------------------------------

LOSSES: Mapping[str, Any] = {
    "independent": Bernoulli(0.4),
    "shared": Bernoulli(0.3, shared=True),
    "all": Bernoulli(1.0),
    "none": Bernoulli(0.0),
    "bursts": GilbertElliott(0.3, 0.4),
    "shared bursts": GilbertElliott(0.2, 0.5, shared=True),
    "surely bad": GilbertElliott(1.0, 0.5),
    "for ever": GilbertElliott(0.3, 0.0),
    "surely good": GilbertElliott(0.5, 1.0),
}
GRADIENTS: Mapping[str, Callable[[int, Array], Array]] = {
    "moving": lambda step, x: x - (step + np.arange(len(x), dtype=x.dtype))[:, None],
    "identity": lambda _step, x: x,
}
"""(step, replicas) -> gradients, by name."""


def _training(
    P: int, n: int, dtype: str, gradient: str, loss: str, rounds: int, rate: float, estimator: str | None,
    packet: int | None, trial: int | None, broadcast_only: bool | None, step: int, watched: bool | None, seed: int,
) -> Given:  # fmt: skip
    rng, process = np.random.default_rng(seed), LOSSES[loss]
    packets = _arrived(rng, P, n, packet, 0.0).shape[2]
    links = {}
    if step > 2 and isinstance(process, GilbertElliott):
        receivers = 1 if process.shared else P
        for name, count in (("reduce_state", P * P * packets), ("broadcast_state", P * receivers * packets)):
            links[name] = rng.random(count) < 0.5
    options = chosen(gradient=gradient, loss=process, steps=rounds, rate=rate, estimator=estimator, packet=packet,
                     broadcast_only=broadcast_only, watched=watched)  # fmt: skip
    drawn = {} if trial is None else {"seed": 2**40 * seed + 7, "trial": trial}
    return Given({"state": _state(rng, P, n, dtype, step, **links)}, options, drawn)


def _trained(implementation: Any, given: Given) -> Said:
    options = {**given.parameters, **given.randomness}
    options.pop("generator", None)
    seen: list[Said] = []
    watched = options.pop("watched", False)
    if watched:
        options["observe"] = lambda state, update: seen.append({"state": plain(state), "update": update})
    gradient, inputs, begun = GRADIENTS[options.pop("gradient")], given.inputs, {}
    if "row" in inputs:
        begun = {"start": fresh_replicas(inputs["row"], options.pop("workers"))}
        inputs = {"state": begun["start"]}
    state, traffic = implementation(**inputs, **options, gradient=gradient)
    return {"state": state, "traffic": traffic, **begun} | ({"seen": seen} if watched else {})


TRAINING = (
    Space(
        _training,
        {
            "P": RANKS,
            "packet": (None, 1, 2),
            "n": FEW,
            "dtype": ("float32", "float64"),
            "gradient": tuple(GRADIENTS),
            "loss": tuple(LOSSES),
            "rounds": (0, 1, 3, 5),
            "rate": (0.5, 0.1),
            "estimator": (None, "arrivals", "owner", "expected"),
            "trial": (None, 0, 3),
            "broadcast_only": (None, False, True),
            "step": (0, 2, 100),
            "watched": (None, True),
        },
        options=("n", "loss", "estimator", "packet", "broadcast_only", "step"),
    )
    .without(
        "where everything is lost, nothing can be divided by what arrives",
        lambda loss, estimator: estimator == "expected" and loss in ("all", "for ever"),
    )
    .hidden_by(rounds=(34,), n=TILES[1::2], packet=(3, 4, 5), step=(31, 63))
    .search(P=(1, 6), rounds=(0, 6))
)


def _from_one_row() -> list[Given]:
    """Replicas that begin as one row, which need not be contiguous."""
    rows = np.array([1.0, -0.0, 0.1, 5e-324]), stack_of("normal", 1, 9)[0][::-2]
    options = {"gradient": "moving", "loss": LOSSES["independent"], "steps": 2, "rate": 0.5}
    return [Given({"row": row}, {"workers": workers, **options}, {"seed": 1}) for row in rows for workers in (1, 3)]


def _as_likely_as_drawn() -> list[Given]:
    """Losses whose probability is the very number that a link draws: a packet gets lost below it, and not at it."""
    state, found = Replicas(np.array([[1.0, 2.0], [3.0, 5.0]]), np.zeros((2, 2), np.int64), 0), []
    for stream in (0, 1):  # the link from the first worker to the second
        seed = next(s for s in range(10**5) if (drawn := packetloss.draw(s, 0, stream, 1)) >> 63 and drawn % 2**11 == 0)
        loss = Bernoulli(packetloss.draw(seed, 0, stream, 1) / 2**64)
        options = {"gradient": "identity", "loss": loss, "steps": 1, "rate": 0.5}
        found.append(Given({"state": state}, options, {"seed": seed}))
    return found


# --- trials ------------------------------------------------------------------------------------------------------


def _drift(workers: int, rounds: int, loss: str, trials: int | None, rho: float | None, seed: int) -> Given:
    drawn = {} if seed % 5 == 0 else {"seed": 2**64 - 1 - seed}
    return Given({}, chosen(workers=workers, steps=rounds, loss=LOSSES[loss], trials=trials, rho=rho), drawn)


def _seeded(given: Given) -> dict[str, Any]:
    return {name: value for name, value in given.randomness.items() if name == "seed"}


def _drifted(implementation: Any, given: Given) -> Said:
    return {"drift": implementation(**given.parameters, **_seeded(given))}


WORKERS = (*range(2, 10), 33, 64, 65, 66, 67, 129, 130)
DRIFT = Space(
    _drift,
    {
        "workers": WORKERS,
        "rounds": (1, 2, 5, 9),
        "loss": tuple(LOSSES),
        "trials": (None, 1, 3),
        "rho": (None, 0.5, 0.0, -0.25, 1.0, -1.0),
    },
).search(workers=(2, 70))


def _staleness(receivers: int, rounds: int, p: float, trials: int | None, seed: int) -> Given:
    drawn = {} if seed % 5 == 0 else {"seed": 2**64 - 1 - seed}
    return Given({}, chosen(receivers=receivers, steps=rounds, loss=Bernoulli(p), trials=trials), drawn)


def _stale(implementation: Any, given: Given) -> Said:
    largest, smallest = implementation(**given.parameters, **_seeded(given))
    shared = [Bernoulli(0.5).shared, GilbertElliott(0.5, 0.5).shared]
    return {"largest": largest, "smallest": smallest, "shared by default": shared}


STALE = Space(
    _staleness,
    {
        "receivers": (*range(1, 10), 32, 63, 64, 65, 70, 127, 128, 129, 130),
        "rounds": (1, 2, 5, 12),
        "p": (0.5, 0.0, 1.0, 0.1, 0.9, 2.0**-10),
        "trials": (None, 1, 3),
    },
).search(receivers=(1, 140))
STALE = STALE.including(*STALE.every(receivers=(1, 2, 9), rounds=(12,), p=(0.5, 0.9), trials=(3,)))

_FROM_ZERO = Given({}, {"workers": 130, "steps": 9, "loss": Bernoulli(0.4)}, {"seed": 5295129468930455499})
"""Its losses are drawn with a key of zero."""
DEFINITIONS = {
    "lossy_reduce_scatter": Definition(REDUCE, _reduced, packetloss.lossy_reduced, examples=_special),
    "lossy_broadcast": Definition(BROADCAST, called("result", "traffic"), packetloss.lossy_heard),
    "lossy_step": Definition(
        STEP,
        called("state", "update", "traffic"),
        packetloss.stepped,
        examples=lambda: _unfit(_step(3, 7, "normal", "float32", None, 0.25, None, 0.4, 0.5, 3, 1)),
    ),
    "lossy_training": Definition(
        TRAINING,
        _trained,
        packetloss.trained,
        examples=lambda: [*_from_one_row(), *_as_likely_as_drawn()],
        refused=dict.fromkeys(("seed", "trial"), (-1, 2**64)),
        takes_seed=True,
    ),
    "drift_trials": Definition(DRIFT, _drifted, packetloss.drifted, examples=lambda: [_FROM_ZERO], takes_seed=True),
    "staleness_trials": Definition(STALE, _stale, packetloss.stale, takes_seed=True),
}
