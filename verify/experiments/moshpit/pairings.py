"""Averages in groups, all ranks at once, beside their rank programs: a rank is given its vector, and what all know."""

from typing import Any

import numpy as np

from commbounds import collectives
from commbounds.array_types import Array
from commbounds.collectives.moshpit.sgd import moshpit_sgd_on_rank
from commbounds.collectives.ranks import Communicator
from commbounds.collectives.traffic import Traffic
from commbounds.verify.definition import Given
from commbounds.verify.experiments.gossip.definitions import DEFINITIONS as OF_GOSSIP
from commbounds.verify.experiments.moshpit.definitions import DEFINITIONS, GRADIENTS
from commbounds.verify.experiments.moshpit.drawn_rounds import DrawnRounds, drawn_rounds
from commbounds.verify.pairing import RankResult, on_definition, on_rows
from commbounds.verify.space import RANKS, LeftOut, Space

# --- Moshpit SGD ------------------------------------------------------------------------------------------------------


def _sgd(given: Given) -> tuple[list[RankResult], Traffic]:
    gradient = GRADIENTS[given.parameters["gradient"]]
    path, traffic = collectives.moshpit_sgd(**given.inputs, **{**given.parameters, "gradient": gradient})
    return [{"points": own, "means": path.means, "spreads": path.spreads} for own in path.points], traffic


def _sgd_on_rank(comm: Communicator, given: Given) -> RankResult:
    """The gradient that all peers have at their points, of a stack that has this rank's point in every row."""
    options = dict(given.parameters)
    of_all, (P, _) = GRADIENTS[options.pop("gradient")], given.inputs["points"].shape
    own, noise = given.inputs["points"][comm.rank], given.inputs["noise"][:, comm.rank]

    def gradient(point: Array) -> Array:
        return np.asarray(of_all(np.tile(point, (P, 1)))[comm.rank])

    return vars(moshpit_sgd_on_rank(comm, own, gradient, noise=noise, **options))


# --- many trials ------------------------------------------------------------------------------------------------------


def _in_trial(P: int, kind: str, p: float, rule: str, rounds: int, first: int, seed: int) -> Given:
    """A trial in which no group has more than two members, so that all that is computed is exact."""
    stack = np.random.default_rng([P, seed]).integers(-50, 51, (P, 3)).astype(np.float64)
    stack[-1] -= stack.sum(axis=0)  # the mean is zero
    grid = {"M": -(-P // 2), "d": 1}
    if kind != "random":
        grid = {"M": 2, "d": next(d for d in range(2, 8) if 2**d >= P)}
    return Given({"stack": stack}, {"kind": kind, **grid, "rounds": rounds, "p": p, "rule": rule}, {"first": first})


_TRIALS = Space(
    _in_trial,
    {
        "P": RANKS,
        "kind": ("random", "fixed", "keys"),
        "p": (0.0, 0.3),
        "rule": ("skip", "abort"),
        "rounds": (4, 1),
        "first": (3, 0),
    },
).without("Failed peers leave more of one key than there are chunks.", lambda kind, p: kind == "keys" and p > 0)
_SEED = 18


def _drawn(given: Given) -> tuple[DrawnRounds, str, int, str]:
    """What the trial draws, made again; its kind, rounds and rule."""
    options = {**given.parameters, **given.randomness}
    kind, rounds, rule = (options.pop(name) for name in ("kind", "rounds", "rule"))
    return (
        drawn_rounds(len(given.inputs["stack"]), kind, options.pop("M"), rounds, _SEED, **options),
        kind,
        rounds,
        rule,
    )


def _trial(given: Given) -> tuple[list[RankResult], Traffic]:
    """`group_trials` counts nothing: the traffic is that of the averages which its draws ask for."""
    held, (drawn, kind, rounds, rule) = given.inputs["stack"], _drawn(given)
    found = collectives.group_trials(held, **given.parameters, **given.randomness, trials=1, seed=_SEED)
    keys, phases = drawn.cells[:, :-1], {}
    for t in range(rounds):
        average, arguments, settings = drawn.call(kind, t, keys, rule)
        held, phases[f"round {t + 1}"] = average(held, *arguments, **settings)
        if kind == "keys":
            held, keys = held
    return [{"distortions": found[0]}] * len(given.inputs["stack"]), Traffic.of_phases(phases)


def _trial_on_rank(comm: Communicator, given: Given) -> RankResult:
    """The distortion is seen from outside, by what ranks tell."""
    held, (drawn, kind, rounds, rule) = given.inputs["stack"][comm.rank], _drawn(given)
    keys, distortions = drawn.cells[:, :-1], []
    for t in range(rounds):
        average, arguments, settings = drawn.call(kind, t, keys, rule)
        with comm.within(f"round {t + 1}"):
            held = average.on_rank(comm, held, *arguments, **settings)
        if kind == "keys":
            held, keys = held
        distortions.append(collectives.distortion(comm.allgather_object(held)))
    return {"distortions": np.array(distortions)}


# --- one average ------------------------------------------------------------------------------------------------------


def _own_first(found: tuple[Any, ...], _P: int) -> list[RankResult]:
    """For every rank its row of the first, and all of the rest."""
    return [{"result": (own, *found[1:])} for own in found[0]]


PAIRINGS = (
    on_definition("group_average", DEFINITIONS["group_average"]),
    on_definition("grid_average", DEFINITIONS["grid_average"]),
    on_definition(
        "moshpit",
        DEFINITIONS["moshpit"],
        of_all=_own_first,
    ),
    on_definition(
        "random_groups",
        DEFINITIONS["random_groups"],
        LeftOut("what fills slots is not counted", lambda reading: reading == "slots"),
        LeftOut("choices that are refused", lambda choices: choices == "refused"),
    ),
    on_definition("regrouping", DEFINITIONS["regrouping"]),
    on_rows("moshpit_sgd", DEFINITIONS["moshpit_sgd"].space, _sgd, _sgd_on_rank),
    on_definition(
        "allreduce_with_restarts",
        OF_GOSSIP["allreduce_with_restarts"],
        of_all=_own_first,
    ),
    on_rows("group_trials", _TRIALS, _trial, _trial_on_rank),
)
