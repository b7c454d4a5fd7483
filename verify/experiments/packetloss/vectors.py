"""Test vectors: reduction and broadcast over links that lose packets, and what follows from them."""

from collections.abc import Iterator

import numpy as np

from commbounds.collectives.packetloss import Bernoulli, GilbertElliott, Replicas, fresh_replicas, layout
from commbounds.verify.experiments.packetloss.definitions import DEFINITIONS
from commbounds.verify.vectors.case import VectorCase, VectorSubject
from commbounds.verify.vectors.collectives import SIZES, case_of, held_to, ranks
from commbounds.verify.vectors.inputs import mask


def _lossy_cases(broadcast: bool) -> Iterator[VectorCase]:
    for P, n, dtype, why in SIZES:
        for packet in (None, 1):
            arrived = mask(81 + P, (P, P, layout(n, P, packet).packets))
            stack = ranks(P, n, dtype, 82)
            inputs = {"replicas": stack, "owned": ranks(1, n, dtype, 83)[0]} if broadcast else {"stack": stack}
            given = {} if packet is None else {"packet": packet}
            yield case_of(why, inputs, given, {"arrived": arrived})
    stack, none = ranks(3, 4, "float32", 84), np.zeros((3, 3, 1), np.bool_)
    if broadcast:
        yield case_of("Nothing arrives: all copies but the owners' are stale.",
                      {"replicas": stack, "owned": ranks(1, 4, "float32", 85)[0]}, {}, {"arrived": none},
                      about="all lost")  # fmt: skip
        return
    for more in ({"estimator": "arrivals"}, {"estimator": "owner"}, {"estimator": "expected", "p": 0.25}):
        yield case_of("Nothing arrives.", {"stack": stack}, more, {"arrived": none}, about="all lost")
        yield case_of("Some of it arrives.", {"stack": stack}, more, {"arrived": mask(86, (3, 3, 1))}, about="some")
    yield case_of("p belongs to one estimator only.", {"stack": stack}, {"p": 0.25}, {"arrived": none}, refused=True)


def _step_cases() -> Iterator[VectorCase]:
    for P, n, dtype, why in SIZES:
        stack = ranks(P, n, dtype, 87)
        state = Replicas(ranks(P, n, dtype, 88), np.arange(P * n, dtype=np.int64).reshape(P, n) % 3)
        masks = {"reduce_arrived": mask(89, (P, P, 1)), "broadcast_arrived": mask(90, (P, P, 1))}
        yield case_of(why, {"gradients": stack, "state": state}, {"rate": 0.5}, masks)
    masks = {"reduce_arrived": mask(91, (3, 3, 2)), "broadcast_arrived": mask(92, (3, 3, 2))}
    more = {"rate": 0.25, "packet": 2, "estimator": "expected", "p": 0.25}
    inputs = {"gradients": ranks(3, 8, "float32", 93), "state": fresh_replicas(ranks(1, 8, "float32", 94)[0], 3)}
    yield case_of("Packets, and the estimator that divides by what arrives on average.", inputs, more, masks)


_SOURCE = {"generator": "splitmix64 at (seed, trial, stream, step, link)"}


def _training_cases() -> Iterator[VectorCase]:
    for P, n, loss, more, why in (
        (1, 3, Bernoulli(0.5), {}, "One worker keeps everything."),
        (2, 4, Bernoulli(0.25), {}, "Independent losses in both halves."),
        (3, 7, Bernoulli(0.25), {"packet": 2}, "Packets of two words."),
        (4, 4, Bernoulli(0.5, shared=True), {}, "All receivers of a packet share its fate."),
        (5, 3, GilbertElliott(0.25, 0.5), {}, "Losses in bursts; some shards are empty."),
        (3, 5, Bernoulli(0.25), {"estimator": "expected"}, "The estimator that divides by what arrives on average."),
        (3, 5, Bernoulli(1.0), {"estimator": "owner"}, "Everything is lost: owners go on alone."),
        (3, 5, Bernoulli(0.25), {"broadcast_only": True}, "Losses in the second half only."),
    ):
        state = fresh_replicas(ranks(1, n, "float32", 95)[0], P)
        name = ", ".join([f"P={P}, n={n}, {loss}", *(f"{key}={value}" for key, value in more.items())])
        parameters = {"gradient": "identity", "loss": loss, "steps": 3, "rate": 0.5, **more}
        yield VectorCase(name, why, {"state": state}, parameters, {"seed": 5, "trial": 2, **_SOURCE})


def _drift_cases() -> Iterator[VectorCase]:
    for workers, loss, rho, why in (
        (2, Bernoulli(0.5), 0.0, "One receiver: no pairs."),
        (3, Bernoulli(0.25), 0.0, "Two receivers."),
        (4, Bernoulli(0.25), 0.5, "Correlated updates; an odd number of receivers."),
        (5, Bernoulli(1.0), 1.0, "Nothing ever arrives, and updates are constant."),
        (5, Bernoulli(0.0), -1.0, "Nothing is lost, and updates alternate."),
        (66, Bernoulli(0.5, shared=True), 0.0, "More receivers than bits of a word share every packet's fate."),
        (65, GilbertElliott(0.25, 0.5), 0.0, "Losses in bursts; exactly one word of receivers."),
    ):
        given = {"workers": workers, "steps": 20, "loss": loss, "trials": 2, "rho": rho}
        yield VectorCase(
            f"workers={workers}, {loss}, rho={rho}", why, {}, given, {"seed": 3, "generator": "splitmix64"}
        )


def _stale_cases() -> Iterator[VectorCase]:
    for receivers, p, why in (
        (1, 0.5, "One receiver."), (3, 0.0, "Nothing is lost."), (3, 1.0, "Everything is lost."),
        (64, 0.75, "Exactly one word of receivers."), (70, 0.5, "One word and six receivers."),
    ):  # fmt: skip
        given = {"receivers": receivers, "steps": 12, "loss": Bernoulli(p), "trials": 3}
        yield VectorCase(f"receivers={receivers}, p={p}", why, {}, given, {"seed": 4, "generator": "splitmix64"})


def subjects() -> list[VectorSubject]:
    """What has vectors here."""
    return [
        *held_to(
            DEFINITIONS,
            lossy_reduce_scatter=lambda: _lossy_cases(False),
            lossy_broadcast=lambda: _lossy_cases(True),
            lossy_step=_step_cases,
            lossy_training=_training_cases,
        ),
        *held_to(DEFINITIONS, "", drift_trials=_drift_cases, staleness_trials=_stale_cases),
    ]
