"""ARC-Top-K, all ranks at once, beside its rank program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds import collectives
from commbounds.collectives.ranks import Communicator
from commbounds.collectives.traffic import Traffic
from commbounds.verify.experiments.arctopk.definitions import DEFINITIONS
from commbounds.verify.pairing import Pairing, RankCase, RankResult, on_definition
from commbounds.verify.space import LeftOut

Stack = NDArray[Any]

_OPTIONS: tuple[Mapping[str, Any], ...] = (
    {"rank": 2, "seed": 1},
    {"rank": 3, "seed": 2, "agree": False},
    {"rank": 1, "seed": 3, "sketch_format": "bfloat16", "allreduce": "recursive_doubling"},
    {"rank": 4, "V": 4, "sketch_format": "float32", "allreduce": "butterfly"},
    {"rank": 2, "V": 5, "agree": False, "allreduce": "rabenseifner"},
)
"""V is the seed of a matrix that is given, seed that of a generator which draws it."""


def _stacks(P: int) -> Iterator[tuple[str, Stack, int]]:
    """Few small stacks with a K each, by name; draws are the same at every call."""
    rng = np.random.default_rng([P, 9])
    spread = rng.standard_normal((P, 9, 5)) * 10.0 ** rng.integers(-4, 5, (P, 9, 1))  # scores depend on the order
    yield "spread", spread.astype(np.float32), 4
    yield "spread", spread, 4
    ties = rng.permuted(np.tile(rng.standard_normal((P, 1)), 20), axis=0)  # rows tie but for the rounding of their sums
    yield "near ties", ties[:, :, np.newaxis].astype(np.float32), 8
    yield "long rows", rng.standard_normal((P, 4, 300)).astype(np.float32), 2  # more than the lanes of a sketch
    yield "a vector", rng.standard_normal((P, 17, 1)), 5
    yield "equal rows", np.ones((P, 6, 3), np.float32), 2
    yield "zeros", np.zeros((P, 3, 2)), 1
    yield "cancelling", np.tile(np.arange(1.0, 9.0).reshape(4, 2), (P, 1, 1)) * (-1.0) ** np.arange(P)[:, None, None], 4
    yield "one entry", rng.standard_normal((P, 1, 1)).astype(np.float32), 1


def _cases(P: int) -> Iterator[RankCase]:
    """The first stacks with all options, the others with one each in turn."""
    for turn, (name, stack, K) in enumerate(_stacks(P)):
        for chosen in _OPTIONS if name in ("spread", "near ties") else [_OPTIONS[turn % len(_OPTIONS)]]:
            yield RankCase({"input": name, "dtype": stack.dtype.name, "K": K, **chosen}, stack)


def _arguments(case: RankCase) -> dict[str, Any]:
    """What the collective is given beside the gradients, made from the settings alone."""
    settings = case.settings
    given = {name: settings[name] for name in ("K", "rank", "agree", "sketch_format") if name in settings}
    if "allreduce" in settings:
        given["allreduce"] = getattr(collectives, f"{settings['allreduce']}_allreduce")
    if "V" in settings:
        given["sketch"] = np.random.default_rng(settings["V"]).standard_normal((case.stack.shape[2], settings["rank"]))
    else:
        given["rng"] = np.random.default_rng(settings["seed"])
    return given


def _in_one_process(case: RankCase) -> tuple[list[RankResult], Traffic]:
    result, traffic = collectives.arctopk_allreduce(case.stack, **_arguments(case))
    return _parts(result, len(case.stack)), traffic


def _on_rank(comm: Communicator, case: RankCase) -> RankResult:
    return vars(collectives.arctopk_allreduce.on_rank(comm, case.stack[comm.rank], **_arguments(case)))


def _parts(result: collectives.ArcResult, P: int) -> list[RankResult]:
    parts = zip(result.mean, result.rows, result.scores, strict=True)
    return [{"mean": mean, "rows": rows, "scores": scores} for mean, rows, scores in parts]


PAIRINGS: tuple[Pairing, ...] = (
    on_definition(
        Pairing("arctopk_allreduce", _cases, _in_one_process, _on_rank),
        DEFINITIONS["arctopk_allreduce"],
        _parts,
        vars,
        LeftOut("gradients that are refused", lambda data: data in ("NaN", "overflow")),
    ),
)
