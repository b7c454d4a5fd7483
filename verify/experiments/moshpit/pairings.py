"""Averages in groups, all ranks at once, beside their rank programs: a rank is given its vector, and what all know."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds import collectives
from commbounds.collectives import initial_keys
from commbounds.collectives.moshpit.sgd import moshpit_sgd_on_rank
from commbounds.collectives.ranks import Communicator
from commbounds.collectives.traffic import Traffic
from commbounds.verify.definition import Given
from commbounds.verify.experiments.moshpit.definitions import DEFINITIONS, GRADIENTS
from commbounds.verify.experiments.moshpit.drawn_rounds import DrawnRounds, drawn_rounds
from commbounds.verify.pairing import Pairing, RankCase, RankResult, on_definition, on_rows
from commbounds.verify.space import LeftOut

Array = NDArray[Any]
Settings = Mapping[str, Any]


def spread_stacks(P: int, seed: int) -> Iterator[tuple[Settings, Array]]:
    """Small stacks of both dtypes, longer than `P` and shorter, the same at every call.

    Their sums show their order: in every other column what two ranks hold cancels, and leaves what the others hold, or
    what is left of it.
    """
    rng = np.random.default_rng([P, seed])
    for n, dtype in ((3 * P + 1, np.float64), (max(1, P - 1), np.float32), (2 * P + 1, np.float32)):
        stack = rng.standard_normal((P, n)) * 10.0 ** rng.integers(-6, 7, (P, n))
        stack[0, ::2] *= 1e12
        stack[P // 2, ::2] = -stack[0, ::2]
        yield {"dtype": np.dtype(dtype).name, "n": n}, stack.astype(dtype)


def _cases(options: Callable[[int], list[Settings]], seed: int) -> Callable[[int], Iterator[RankCase]]:
    """Every choice of options with one of the stacks, in turn."""

    def cases(P: int) -> Iterator[RankCase]:
        stacks = list(spread_stacks(P, seed))
        for turn, chosen in enumerate(options(P)):
            given, stack = stacks[turn % len(stacks)]
            yield RankCase({**given, **chosen}, stack)

    return cases


def _mask(case: RankCase, rounds: int) -> NDArray[np.bool_] | None:
    """Who is there in which round: drawn from the seed that the settings name, or everybody."""
    seed = case.settings["failures"]
    return None if seed is None else np.random.default_rng([seed, 1]).random((rounds, len(case.stack))) < 0.7


# --- one average in groups --------------------------------------------------------------------------------------------


def _groupings(P: int) -> list[Settings]:
    """One group of all, groups of two, of every third, nobody in company; ranks that sit out, ranks that only give."""
    ranks = np.arange(P)
    labels = [ranks * 0, ranks * 0, ranks // 2, ranks % 3, ranks, ranks[::-1] // 2 - 1, ranks * 0]
    gets = [ranks >= 0, ranks >= 0, ranks >= 0, ranks % 2 == 0, ranks >= 0, ranks >= 1, ranks < 0]
    return [{"groups": g.tolist(), "receives": r.tolist()} for g, r in zip(labels, gets, strict=True)]


def _group_average(case: RankCase) -> tuple[list[RankResult], Traffic]:
    given = case.settings
    result, traffic = collectives.group_average(case.stack, given["groups"], receives=given["receives"])
    return [{"result": own} for own in result], traffic


def _group_average_on_rank(comm: Communicator, case: RankCase) -> RankResult:
    given = case.settings
    own = case.stack[comm.rank]
    return {"result": collectives.group_average.on_rank(comm, own, given["groups"], receives=given["receives"])}


# --- Moshpit all-reduce and its grid ----------------------------------------------------------------------------------


def _dimensions(P: int, M: int) -> int:
    """The least number of dimensions, 2 or more, in which P peers have room."""
    return next(d for d in range(2, 8) if M**d >= P)


def _rounds(P: int) -> list[Settings]:
    return [
        {"M": 2, "rounds": 3, "slots": "rank", "failures": None, "rule": "skip"},
        {"M": 3, "rounds": 2, "slots": "sample", "failures": None, "rule": "skip"},
        {"M": 2, "rounds": 4, "slots": "sample", "failures": 3, "rule": "skip"},
        {"M": 3, "rounds": 3, "slots": "sample", "failures": 4, "rule": "abort"},
        {"M": P, "rounds": 1, "slots": "rank", "failures": 5, "rule": "skip"},
        {"M": 4, "rounds": 0, "slots": "rank", "failures": None, "rule": "skip"},
    ]


def _moshpit_arguments(case: RankCase) -> tuple[tuple[Any, ...], dict[str, Any]]:
    given, P = case.settings, len(case.stack)
    M, rounds = given["M"], given["rounds"]
    keys = initial_keys(P, M, _dimensions(P, M) if M < P else 1)
    options = {"slots": given["slots"], "alive": _mask(case, rounds), "rule": given["rule"]}
    return (keys, M, rounds, np.random.default_rng(7)), options


def _moshpit(case: RankCase) -> tuple[list[RankResult], Traffic]:
    arguments, options = _moshpit_arguments(case)
    (result, keys), traffic = collectives.moshpit(case.stack, *arguments, **options)
    return [{"result": own, "keys": keys} for own in result], traffic


def _moshpit_on_rank(comm: Communicator, case: RankCase) -> RankResult:
    arguments, options = _moshpit_arguments(case)
    result, keys = collectives.moshpit.on_rank(comm, case.stack[comm.rank], *arguments, **options)
    return {"result": result, "keys": keys}


def _lines(P: int) -> list[Settings]:
    return [
        {"M": 2, "rounds": 3, "start": 0, "failures": None, "rule": "skip"},
        {"M": 3, "rounds": 3, "start": 1, "failures": 3, "rule": "skip"},
        {"M": 3, "rounds": 3, "start": 0, "failures": 4, "rule": "abort"},
        {"M": 2, "rounds": 0, "start": 0, "failures": None, "rule": "skip"},
    ]


def _grid_arguments(case: RankCase) -> tuple[tuple[Any, ...], dict[str, Any]]:
    given, P = case.settings, len(case.stack)
    M = given["M"]
    d = _dimensions(P, M)
    places = np.random.default_rng(11).permutation(M**d)[:P]
    cells = np.column_stack([places // M**j % M for j in range(d)])
    options = {"start": given["start"], "alive": _mask(case, given["rounds"]), "rule": given["rule"]}
    return (cells, M, given["rounds"]), options


def _grid(case: RankCase) -> tuple[list[RankResult], Traffic]:
    arguments, options = _grid_arguments(case)
    result, traffic = collectives.grid_average(case.stack, *arguments, **options)
    return [{"result": own} for own in result], traffic


def _grid_on_rank(comm: Communicator, case: RankCase) -> RankResult:
    arguments, options = _grid_arguments(case)
    return {"result": collectives.grid_average.on_rank(comm, case.stack[comm.rank], *arguments, **options)}


# --- groups at random -------------------------------------------------------------------------------------------------


def _readings(P: int) -> list[Settings]:
    """Every reading but "slots", which copies vectors from peer to peer without counting it."""
    names = ("cut", "blocks", "occupied", "labels", "partitions")
    usual = {"rounds": 2, "failures": None, "rule": "skip", "some get": False}
    failing: list[Settings] = [
        {"reading": "cut", "r": 1, "rounds": 3, "failures": 3, "rule": "skip", "some get": True},
        {"reading": "labels", "r": max(1, P - 1), "rounds": 3, "failures": 4, "rule": "abort", "some get": False},
    ]
    return [*({"reading": name, "r": min(P, 2), **usual} for name in names), *failing]


def _random_arguments(case: RankCase) -> tuple[tuple[Any, ...], dict[str, Any]]:
    given = case.settings
    gets = np.random.default_rng([15]).random((given["rounds"], len(case.stack))) < 0.5 if given["some get"] else None
    options = {name: given[name] for name in ("reading", "rule")}
    options |= {"alive": _mask(case, given["rounds"]), "receives": gets}
    return (given["r"], given["rounds"], np.random.default_rng(14)), options


def _random_groups(case: RankCase) -> tuple[list[RankResult], Traffic]:
    arguments, options = _random_arguments(case)
    result, traffic = collectives.random_groups(case.stack, *arguments, **options)
    return [{"result": own} for own in result], traffic


def _random_groups_on_rank(comm: Communicator, case: RankCase) -> RankResult:
    arguments, options = _random_arguments(case)
    return {"result": collectives.random_groups.on_rank(comm, case.stack[comm.rank], *arguments, **options)}


def _sides(P: int) -> list[Settings]:
    return [
        {"M": 2, "rounds": 3, "failures": None},
        {"M": 3, "rounds": 3, "failures": 3},
        {"M": P + 1, "rounds": 1, "failures": None},
        {"M": 2, "rounds": 0, "failures": None},
    ]


def _regrouping_arguments(case: RankCase) -> tuple[tuple[Any, ...], dict[str, Any]]:
    M, rounds = case.settings["M"], case.settings["rounds"]
    return (M, rounds, np.random.default_rng(16)), {"alive": _mask(case, rounds)}


def _regrouping(case: RankCase) -> tuple[list[RankResult], Traffic]:
    arguments, options = _regrouping_arguments(case)
    result, traffic = collectives.regrouping(case.stack, *arguments, **options)
    return [{"result": own} for own in result], traffic


def _regrouping_on_rank(comm: Communicator, case: RankCase) -> RankResult:
    arguments, options = _regrouping_arguments(case)
    return {"result": collectives.regrouping.on_rank(comm, case.stack[comm.rank], *arguments, **options)}


# --- Moshpit SGD ------------------------------------------------------------------------------------------------------


def _runs(P: int) -> list[Settings]:
    return [
        {"steps": 4, "period": 1, "rounds": 2, "gamma": 0.25},
        {"steps": 5, "period": 2, "rounds": 2, "gamma": 0.1},
        {"steps": 1, "period": 2, "rounds": 1, "gamma": 0.5},
        {"steps": 0, "period": 1, "rounds": 1, "gamma": 0.5},
    ]


def _slope(points: Array) -> Array:
    """An elementwise gradient: of one point, or of all in a stack."""
    return np.asarray(points * points.dtype.type(0.75) - points.dtype.type(0.125))


def _sgd_arguments(case: RankCase) -> tuple[Array, int, list[list[Array]]]:
    given, P = case.settings, len(case.stack)
    rng = np.random.default_rng([13, P])
    noise = rng.standard_normal((given["steps"], *case.stack.shape))
    averages = given["steps"] // given["period"]
    groups = [[rng.integers(-1, 2, P) for _ in range(given["rounds"])] for _ in range(averages)]
    return noise, given["period"], groups


def _sgd(case: RankCase) -> tuple[list[RankResult], Traffic]:
    path, traffic = collectives.moshpit_sgd(case.stack, _slope, case.settings["gamma"], *_sgd_arguments(case))
    return [{"points": own, "means": path.means, "spreads": path.spreads} for own in path.points], traffic


def _sgd_on_rank(comm: Communicator, case: RankCase) -> RankResult:
    noise, period, groups = _sgd_arguments(case)
    own, mine = case.stack[comm.rank], noise[:, comm.rank]
    return vars(moshpit_sgd_on_rank(comm, own, _slope, case.settings["gamma"], mine, period, groups))


# --- starting again ---------------------------------------------------------------------------------------------------


def _attempts(P: int) -> list[Settings]:
    return [
        {"p": 0.0, "cap": 3, "failures": None},
        {"p": 1.0, "cap": 3, "failures": None},
        {"p": 0.3, "cap": 40, "failures": None},
        {"p": 0.0, "cap": 6, "failures": 3},
    ]


def _restart_arguments(case: RankCase) -> tuple[tuple[Any, ...], dict[str, Any]]:
    given = case.settings
    return (given["p"], given["cap"], np.random.default_rng(17)), {"alive": _mask(case, given["cap"])}


def _restarts(case: RankCase) -> tuple[list[RankResult], Traffic]:
    arguments, options = _restart_arguments(case)
    (result, attempts, done), traffic = collectives.allreduce_with_restarts(case.stack, *arguments, **options)
    return [{"result": own, "attempts": attempts, "done": done} for own in result], traffic


def _restarts_on_rank(comm: Communicator, case: RankCase) -> RankResult:
    arguments, options = _restart_arguments(case)
    result, attempts, done = collectives.allreduce_with_restarts.on_rank(
        comm, case.stack[comm.rank], *arguments, **options
    )
    return {"result": result, "attempts": attempts, "done": done}


# --- many trials ------------------------------------------------------------------------------------------------------


def _trial_cases(P: int) -> Iterator[RankCase]:
    """Trials of every kind. No group has more than two members, so that all that is computed is exact."""
    stack = np.random.default_rng([P, 28]).integers(-50, 51, (P, 3)).astype(np.float64)
    stack[-1] -= stack.sum(axis=0)  # the mean is zero
    grid = {"M": 2, "d": _dimensions(P, 2)}
    usual = {"rounds": 4, "seed": 18, "first": 3, "p": 0.0, "rule": "skip"}
    for chosen in (
        {"kind": "random", "M": -(-P // 2), "d": 1},
        {"kind": "random", "M": -(-P // 2), "d": 1, "p": 0.3},
        {"kind": "random", "M": -(-P // 2), "d": 1, "p": 0.3, "rule": "abort"},
        {"kind": "fixed", **grid},
        {"kind": "fixed", **grid, "p": 0.3},
        {"kind": "fixed", **grid, "p": 0.3, "rule": "abort", "first": 0},
        {"kind": "keys", **grid},
    ):
        yield RankCase({"n": 3, **usual, **chosen}, stack)


def _drawn(case: RankCase) -> DrawnRounds:
    """What the trial draws, made again from the settings."""
    given = case.settings
    options = {name: given[name] for name in ("d", "p", "first")}
    return drawn_rounds(len(case.stack), given["kind"], given["M"], given["rounds"], given["seed"], **options)


def _trial(case: RankCase) -> tuple[list[RankResult], Traffic]:
    """`group_trials` counts nothing: the traffic is that of the averages which its draws ask for."""
    given, drawn = case.settings, _drawn(case)
    options = {name: given[name] for name in ("d", "p", "rule", "first")}
    (found,) = collectives.group_trials(
        case.stack, given["kind"], given["M"], given["rounds"], 1, given["seed"], **options
    )
    held, keys, phases = case.stack, drawn.cells[:, :-1], {}
    for t in range(given["rounds"]):
        average, arguments, settings = drawn.call(given["kind"], t, keys, given["rule"])
        held, phases[f"round {t + 1}"] = average(held, *arguments, **settings)
        if given["kind"] == "keys":
            held, keys = held
    return [{"distortions": found}] * len(case.stack), Traffic.of_phases(phases)


def _trial_on_rank(comm: Communicator, case: RankCase) -> RankResult:
    """The distortion is seen from outside, by what ranks tell."""
    given, drawn = case.settings, _drawn(case)
    held, keys = case.stack[comm.rank], drawn.cells[:, :-1]
    distortions = []
    for t in range(given["rounds"]):
        average, arguments, settings = drawn.call(given["kind"], t, keys, given["rule"])
        with comm.within(f"round {t + 1}"):
            held = average.on_rank(comm, held, *arguments, **settings)
        if given["kind"] == "keys":
            held, keys = held
        distortions.append(collectives.distortion(comm.allgather_object(held)))
    return {"distortions": np.array(distortions)}


# --- on the rows of the definitions -----------------------------------------------------------------------------------


def _local_sgd(given: Given) -> tuple[list[RankResult], Traffic]:
    gradient = GRADIENTS[given.parameters["gradient"]]
    path, traffic = collectives.moshpit_sgd(**given.inputs, **{**given.parameters, "gradient": gradient})
    return [{"points": own, "means": path.means, "spreads": path.spreads} for own in path.points], traffic


def _local_sgd_on_rank(comm: Communicator, given: Given) -> RankResult:
    """The gradient that all peers have at their points, of a stack that has this rank's point in every row."""
    options = dict(given.parameters)
    of_all, (P, _) = GRADIENTS[options.pop("gradient")], given.inputs["points"].shape
    own, noise = given.inputs["points"][comm.rank], given.inputs["noise"][:, comm.rank]

    def gradient(point: Array) -> Array:
        return np.asarray(of_all(np.tile(point, (P, 1)))[comm.rank])

    return vars(moshpit_sgd_on_rank(comm, own, gradient, noise=noise, **options))


def _rows(result: Array, P: int) -> list[RankResult]:
    return [{"result": own} for own in result]


def _rows_and_keys(found: tuple[Array, Array], P: int) -> list[RankResult]:
    return [{"result": own, "keys": found[1]} for own in found[0]]


def _on_definition(pairing: Pairing, *left_out: LeftOut) -> Pairing:
    keyed = pairing.name == "moshpit"
    of_one = (lambda found: {"result": found[0], "keys": found[1]}) if keyed else (lambda found: {"result": found})
    return on_definition(
        pairing, DEFINITIONS[pairing.name], _rows_and_keys if keyed else _rows, of_one, *left_out
    )  # fmt: skip


PAIRINGS: tuple[Pairing, ...] = (
    _on_definition(Pairing("group_average", _cases(_groupings, 21), _group_average, _group_average_on_rank)),
    _on_definition(Pairing("grid_average", _cases(_lines, 22), _grid, _grid_on_rank)),
    _on_definition(Pairing("moshpit", _cases(_rounds, 23), _moshpit, _moshpit_on_rank)),
    _on_definition(
        Pairing("random_groups", _cases(_readings, 26), _random_groups, _random_groups_on_rank),
        LeftOut("what fills slots is not counted", lambda reading: reading == "slots"),
        LeftOut("choices that are refused", lambda choices: choices == "refused"),
    ),
    _on_definition(Pairing("regrouping", _cases(_sides, 27), _regrouping, _regrouping_on_rank)),
    on_rows(
        Pairing("moshpit_sgd", _cases(_runs, 24), _sgd, _sgd_on_rank),
        DEFINITIONS["moshpit_sgd"].space,
        _local_sgd,
        _local_sgd_on_rank,
    ),
    Pairing("allreduce_with_restarts", _cases(_attempts, 25), _restarts, _restarts_on_rank),
    Pairing("group_trials", _trial_cases, _trial, _trial_on_rank),
)
