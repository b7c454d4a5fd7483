"""Compression with memory, all ranks in one process beside every rank by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.collectives.ranks import Communicator
from commbounds.collectives.traffic import Traffic
from commbounds.collectives.variance_reduced import COLLECTIVES, padded_size
from commbounds.verify.experiments.moshpit.pairings import spread_stacks
from commbounds.verify.pairing import Pairing, RankCase, RankResult

Array = NDArray[Any]
Options = dict[str, Any]


def _beside(case: RankCase, what: int) -> Array:
    """Further rows, like those of the case."""
    rng = np.random.default_rng([what, *case.stack.shape])
    return np.asarray(rng.standard_normal(case.stack.shape), case.stack.dtype)


def _chosen(case: RankCase) -> Options:
    """Entries drawn by a seed, or the largest."""
    if case.settings["keep"] == "largest":
        return {"keep": "largest"}
    return {"keep": "random", "rng": np.random.default_rng(case.settings["seed"])}


def _diana(case: RankCase) -> Options:
    shifts = _beside(case, 1)
    state = {"shifts": shifts, "mean": shifts.mean(axis=0)}
    return {**state, "k": case.settings["k"], "weight": case.settings["weight"], **_chosen(case)}


def _tracking(case: RankCase) -> Options:
    own = _beside(case, 2)
    return {"previous": _beside(case, 1), "own": own, "estimate": own.mean(axis=0), "k": case.settings["k"]}


def _marina(case: RankCase) -> Options:
    given = _tracking(case)
    del given["own"]
    return {**given, "full": case.settings["full"], **_chosen(case)}


def _dasha(case: RankCase) -> Options:
    return {**_tracking(case), "weight": case.settings["weight"], **_chosen(case)}


def _lazy(case: RankCase) -> Options:
    return {**_tracking(case), "trigger": case.settings["trigger"], **_chosen(case)}


def _primal(case: RankCase) -> Options:
    weights, model = _beside(case, 1)[0], _beside(case, 2)[0]
    return {"weights": weights, "model": model, "k": case.settings["k"], "step_size": 0.125}


def _onebit_of(case: RankCase) -> Options:
    return _onebit(case.settings, case)


def _onebit(settings: Mapping[str, Any], case: RankCase) -> Options:
    state = {"momentum": _beside(case, 1)[0], "worker_errors": _beside(case, 2), "server_errors": _beside(case, 3)[0]}
    return {**state, "beta": settings["beta"], "scale": settings["scale"]}


def _zeroone_gradient(case: RankCase) -> Options:
    given = _onebit({**case.settings, "beta": 0.75, "scale": "norm"}, case)
    return {**given, "variance": _beside(case, 4)[0] ** 2, "clock": case.settings["clock"], "kappa": 2}


def _zeroone_local(case: RankCase) -> Options:
    given = _onebit({**case.settings, "beta": 0.75, "scale": "mean"}, case)
    rows = {"momentum": _beside(case, 1), "weights": _beside(case, 5), "moved": _beside(case, 6)}
    more = {"elapsed": [0.25], "average": case.settings["average"], "step_size": 0.125, "decay": 0.5}
    return {**given, **rows, "variance": _beside(case, 4)[0] ** 2, **more}


def _layers(case: RankCase) -> list[int]:
    n = case.stack.shape[1]
    return [n // 3, n - n // 3] if n > 2 else [n]


def _lamb_warmup(case: RankCase) -> Options:
    layers = _layers(case)
    state = {"weights": _beside(case, 1)[0], "momentum": _beside(case, 2)[0], "variance": _beside(case, 3)[0] ** 2}
    more = {"trust": np.full(len(layers), 0.25), "layers": layers, "beta": 0.75, "decay": case.settings["decay"]}
    return {**state, **more}


def _onebit_lamb(case: RankCase) -> Options:
    (P, n), layers, dtype = case.stack.shape, _layers(case), case.stack.dtype
    m = padded_size(n, P)
    rng = np.random.default_rng([7, P, n])
    state = {"weights": _beside(case, 1)[0], "variance": _beside(case, 2)[0] ** 2, "fresh": _beside(case, 3)[0] ** 2}
    for name, shape in (("momentum", (m,)), ("worker_errors", (P, m)), ("server_errors", (m,))):
        state[name] = np.asarray(rng.standard_normal(shape), dtype)
    ratios = {"coefficients": 0.5, "trust": 0.75, "factors": 1.0}
    more = {name: value * (1.0 + np.arange(len(layers))) for name, value in ratios.items()}
    return {**state, **more, "layers": layers, "beta": 0.75, "decay": case.settings["decay"]}


def _cases(*options: Options) -> Callable[[int], Iterator[RankCase]]:
    def cases(P: int) -> Iterator[RankCase]:
        for given, stack in spread_stacks(P, 41):
            for chosen in options:
                k = max(1, stack.shape[1] // 3)
                yield RankCase({**given, "k": k, "seed": 5, **chosen}, stack)

    return cases


_SHARED = ("mean", "variance", "clock", "elapsed", "trust", "fresh", "factors")
"""Parts of a result that all ranks have."""


def _own(result: Any, rank: int) -> RankResult:
    """What a rank has of the results of all."""
    if not hasattr(result, "_asdict"):
        return {"estimate": result[rank]}
    found = {}
    for name, part in result._asdict().items():
        if name == "server_errors":
            part = np.array_split(part, len(result.momentum))[rank]
        elif name not in _SHARED:
            part = part[rank]
        found[name] = part
    return found


def _together(name: str, options: Callable[[RankCase], Options], case: RankCase) -> tuple[list[RankResult], Traffic]:
    result, traffic = COLLECTIVES[name](case.stack, **options(case))
    if name == "primal_step":
        return [{"model": model} for model in result.model], traffic
    return [_own(result, rank) for rank in range(len(case.stack))], traffic


def _apart(name: str, options: Callable[[RankCase], Options], comm: Communicator, case: RankCase) -> RankResult:
    found = COLLECTIVES[name].on_rank(comm, case.stack[comm.rank], **options(case))
    if not hasattr(found, "_asdict"):
        return {"estimate": found}
    parts: dict[str, Any] = found._asdict()
    if name == "primal_step":
        del parts["weights"]  # the server's alone
    return parts


def _pairing(name: str, options: Callable[[RankCase], Options], *settings: Options) -> Pairing:
    return Pairing(name, _cases(*settings), partial(_together, name, options), partial(_apart, name, options))


_KEEP = ({"keep": "random"}, {"keep": "largest"})

PAIRINGS = (
    _pairing("diana_step", _diana, *({"weight": 0.375, **keep} for keep in _KEEP)),
    _pairing("marina_step", _marina, *({"full": full, **_KEEP[0]} for full in (True, False))),
    _pairing("dasha_step", _dasha, *({"weight": 0.3, **keep} for keep in _KEEP)),
    _pairing("lazy_step", _lazy, *({"trigger": trigger, **keep} for trigger in (0.0, 1.0, 1e6) for keep in _KEEP)),
    _pairing("primal_step", _primal, {}),
    _pairing(
        "onebit_momentum", _onebit_of, *({"beta": beta, "scale": s} for beta in (0.0, 0.9) for s in ("norm", "mean"))
    ),
    _pairing("zeroone_gradient", _zeroone_gradient, *({"clock": [t, 2, 1]} for t in (4, 5))),
    _pairing("zeroone_local", _zeroone_local, *({"average": average} for average in (True, False))),
    _pairing("lamb_warmup", _lamb_warmup, *({"decay": decay} for decay in (0.0, 0.5))),
    _pairing("onebit_lamb", _onebit_lamb, *({"decay": decay} for decay in (0.0, 0.5))),
)
