"""Gossip and push-sum, all ranks at once, beside their rank programs."""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt
from typing import Any

import numpy as np

from commbounds import collectives
from commbounds.collectives.gossip.mixing import TOPOLOGIES, push_sum_on_rank
from commbounds.collectives.ranks import Communicator
from commbounds.collectives.traffic import Traffic
from commbounds.verify.definition import Given, call_of
from commbounds.verify.experiments.gossip.definitions import DEFINITIONS
from commbounds.verify.experiments.moshpit.pairings import spread_stacks
from commbounds.verify.pairing import Pairing, RankCase, RankResult, on_definition, on_rows


def _topologies(P: int) -> list[str]:
    """Those that exist for P peers."""
    missing = {"torus"} if isqrt(P) ** 2 != P else set()
    return [name for name in TOPOLOGIES if name not in missing | ({"two-peer"} if P == 2 else set())]


def _gossip_cases(P: int) -> Iterator[RankCase]:
    """Every topology without failures of peers and links and with, whatever is done about them."""
    stacks = list(spread_stacks(P, 31))
    for turn, topology in enumerate(_topologies(P)):
        for i, (failures, missing) in enumerate(((None, "self"), (3, "self"), (4, "renormalise"))):
            given, stack = stacks[(turn + i) % len(stacks)]
            chosen = {"topology": topology, "rounds": 3, "start": turn, "failures": failures, "missing": missing}
            yield RankCase({**given, **chosen}, stack)
    given, stack = stacks[0]
    yield RankCase({**given, "topology": "ring", "rounds": 0, "start": 0, "failures": None, "missing": "self"}, stack)


def _gossip_arguments(case: RankCase) -> tuple[tuple[str, int], dict[str, Any]]:
    given, rounds = case.settings, case.settings["rounds"]
    seed = given["failures"]
    options = {"start": given["start"], "missing": given["missing"]}
    if seed is not None:
        rng, P = np.random.default_rng([seed, 2]), len(case.stack)
        options["alive"] = rng.random((rounds, P)) < 0.7
        shapes = [TOPOLOGIES[given["topology"]](P, given["start"] + t).shape for t in range(rounds)]
        options["delivered"] = [rng.random(shape) < 0.8 for shape in shapes]
    return (given["topology"], rounds), options


def _gossip(case: RankCase) -> tuple[list[RankResult], Traffic]:
    arguments, options = _gossip_arguments(case)
    result, traffic = collectives.gossip(case.stack, *arguments, **options)
    return [{"result": own} for own in result], traffic


def _gossip_on_rank(comm: Communicator, case: RankCase) -> RankResult:
    arguments, options = _gossip_arguments(case)
    return {"result": collectives.gossip.on_rank(comm, case.stack[comm.rank], *arguments, **options)}


def _push_cases(P: int) -> Iterator[RankCase]:
    """Every topology whose links work all, in part or not at all."""
    stacks = list(spread_stacks(P, 32))
    for turn, topology in enumerate(_topologies(P)):
        for i, (works, lost) in enumerate(((1.0, "kept"), (0.7, "kept"), (0.7, "gone"), (0.0, "kept"))):
            given, stack = stacks[(turn + i) % len(stacks)]
            chosen = {"topology": topology, "rounds": 3, "start": turn, "works": works, "lost": lost}
            yield RankCase({**given, **chosen, "weights": "drawn" if i % 2 else "one"}, stack)


def _push_arguments(case: RankCase) -> tuple[tuple[str, int], list[float], dict[str, Any]]:
    given, P, rounds = case.settings, len(case.stack), case.settings["rounds"]
    rng = np.random.default_rng([33, P])
    weights = [1.0] * P if given["weights"] == "one" else (rng.random(P) + 0.1).tolist()
    shapes = [TOPOLOGIES[given["topology"]](P, given["start"] + t).shape for t in range(rounds)]
    delivered = None if given["works"] == 1.0 else [rng.random(shape) < given["works"] for shape in shapes]
    options = {"start": given["start"], "delivered": delivered, "lost": given["lost"]}
    return (given["topology"], rounds), weights, options


def _push(case: RankCase) -> tuple[list[RankResult], Traffic]:
    arguments, weights, options = _push_arguments(case)
    (sums, held), traffic = collectives.push_sum(case.stack, *arguments, weights, **options)
    return [{"sum": own, "weight": weight} for own, weight in zip(sums, held, strict=True)], traffic


def _push_on_rank(comm: Communicator, case: RankCase) -> RankResult:
    arguments, weights, options = _push_arguments(case)
    total, weight = push_sum_on_rank(comm, case.stack[comm.rank], *arguments, weights[comm.rank], **options)
    return {"sum": total, "weight": weight}


def _pushed(given: Given) -> tuple[list[RankResult], Traffic]:
    (sums, held), traffic = collectives.push_sum(**call_of(DEFINITIONS["push_sum"], given))
    return [{"sum": own, "weight": weight} for own, weight in zip(sums, held, strict=True)], traffic


def _pushed_on_rank(comm: Communicator, given: Given) -> RankResult:
    settings = dict(call_of(DEFINITIONS["push_sum"], given))
    stack, weights = settings.pop("stack"), settings.pop("weights", None)
    own = {} if weights is None else {"weight": weights[comm.rank]}
    total, weight = push_sum_on_rank(comm, stack[comm.rank], **settings, **own)
    return {"sum": total, "weight": weight}


PAIRINGS: tuple[Pairing, ...] = (
    on_definition(
        Pairing("gossip", _gossip_cases, _gossip, _gossip_on_rank),
        DEFINITIONS["gossip"],
        lambda result, _P: [{"result": own} for own in result],
        lambda result: {"result": result},
    ),
    on_rows(
        Pairing("push_sum", _push_cases, _push, _push_on_rank),
        DEFINITIONS["push_sum"].space,
        _pushed,
        _pushed_on_rank,
    ),
)
