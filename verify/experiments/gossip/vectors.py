"""Test vectors: gossip, push-sum, and all-reduce with restarts."""

from collections.abc import Iterator

from commbounds.verify.experiments.gossip.definitions import DEFINITIONS
from commbounds.verify.vectors.case import VectorCase, VectorSubject
from commbounds.verify.vectors.collectives import SIZES, case_of, full_sizes, held_to, ranks
from commbounds.verify.vectors.inputs import array, mask


def _restart_cases() -> Iterator[VectorCase]:
    yield from full_sizes(key=72)
    stack = ranks(3, 4, "float32", 72)
    for about, rows, why in (
        ("second attempt", [[1, 0, 1], [1, 1, 1]], "A peer fails in the first attempt."),
        ("no attempt", [[1, 0, 1], [0, 1, 1]], "No attempt succeeds: the vectors stay as they are."),
    ):
        yield case_of(why, {"stack": stack}, {}, {"alive": array(rows, "bool")}, about=about)


def _gossip_cases() -> Iterator[VectorCase]:
    for topology in ("ring", "exponential", "one-peer"):
        for P, n, dtype, why in SIZES:
            yield case_of(why, {"stack": ranks(P, n, dtype, 74)}, {"topology": topology, "rounds": 2})
    for N, topology, why in ((4, "torus", "Two rows of two: neighbours come twice."), (9, "torus", "Three by three."),
                             (3, "two-peer", "Two shifts a round."), (8, "two-peer", "Shifts in turn.")):  # fmt: skip
        yield case_of(why, {"stack": ranks(N, 3, "float32", 75)}, {"topology": topology, "rounds": 2})
    for missing in ("self", "renormalise"):
        given = {"topology": "exponential", "rounds": 2, "start": 1, "missing": missing}
        yield case_of("Peers that fail.", {"stack": ranks(5, 3, "float32", 76)}, given,
                      {"alive": mask(77, (2, 5))}, about="failures")  # fmt: skip
    yield case_of("A torus needs a square number.", {"stack": ranks(3, 2, "float32")}, {"topology": "torus"},
                  refused=True)  # fmt: skip


def _push_cases() -> Iterator[VectorCase]:
    for topology in ("one-peer", "ring"):
        for P, n, dtype, why in SIZES:
            yield case_of(why, {"stack": ranks(P, n, dtype, 78)}, {"topology": topology, "rounds": 2})
    for lost in ("kept", "gone"):
        works = [mask(79 + t, (4, 2), 0.6) for t in range(2)]
        given = {"topology": "exponential", "rounds": 2, "lost": lost}
        yield case_of("Links that break.", {"stack": ranks(4, 3, "float32", 79)}, given, {"delivered": works},
                      about="broken links")  # fmt: skip
    weights = {"topology": "one-peer", "rounds": 1, "weights": array([1.0, 0.5, 2.0], "float64")}
    yield case_of("Weights from rounds before.", {"stack": ranks(3, 2, "float32", 80)}, weights, about="weights")


def subjects() -> list[VectorSubject]:
    """What has vectors here."""
    return held_to(DEFINITIONS, allreduce_with_restarts=_restart_cases, gossip=_gossip_cases, push_sum=_push_cases)
