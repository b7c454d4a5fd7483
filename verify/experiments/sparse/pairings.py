"""Sparse all-reduces, whose ranks are run in lockstep, beside their programs elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds import collectives
from commbounds.collectives.ranks import Communicator
from commbounds.collectives.sparse.entries import SparseResult
from commbounds.collectives.sparse.gaussiank import GaussiankResult
from commbounds.collectives.traffic import Traffic
from commbounds.verify.pairing import Pairing, RankCase, RankResult

Stack = NDArray[Any]
Options = dict[str, Any]


def telling_stacks(P: int) -> Iterator[tuple[str, Stack, int]]:
    """Few small stacks with a k each, by name: what goes wrong with ties, zeros, cancelling, few or all entries.

    Draws are the same at every call.
    """
    rng = np.random.default_rng([P, 1])
    ties = rng.integers(-2, 3, (P, 13))
    few = np.zeros((P, 11))
    few[:, 3] = np.arange(P) + 1.0
    few[0, 7] = -1.0
    cancelling = np.outer((-1.0) ** np.arange(P), np.arange(1.0, 9.0))
    spread = rng.standard_normal((P, 40)) * 10.0 ** rng.integers(-6, 7, (P, 40))  # sums depend on their order
    yield "normal", rng.standard_normal((P, 37)).astype(np.float32), 5
    yield "spread", spread.astype(np.float32), 24
    yield "spread", spread, 12
    yield "ties", ties.astype(np.float64), 6
    yield "few nonzeros", few, 4
    yield "zeros", np.zeros((P, 5), np.float32), 2
    yield "cancelling", cancelling, 8
    yield "fewer entries than ranks", rng.standard_normal((P, max(1, P - 1))), 1


def _cases(options: Callable[[int, int, int], list[Options]]) -> Callable[[int], Iterator[RankCase]]:
    """Every stack with one of the options of its P, n and k in turn, and the random ones with all of them."""

    def cases(P: int) -> Iterator[RankCase]:
        for turn, (name, stack, k) in enumerate(telling_stacks(P)):
            given = options(P, stack.shape[1], k)
            for choice in given if name in ("normal", "spread") else [given[turn % len(given)]]:
                yield RankCase({"input": name, "dtype": stack.dtype.name, "n": stack.shape[1], "k": k, **choice}, stack)

    return cases


def _request(case: RankCase) -> tuple[int, Options]:
    chosen = {name: value for name, value in case.settings.items() if name not in ("input", "dtype", "n")}
    return chosen.pop("k"), chosen


def _by_rank(result: SparseResult) -> list[RankResult]:
    """What every rank would have of it, named as in `SparseRankResult`."""
    outcomes: list[dict[str, Any]] = [
        {"update": result.update, "residual": residual, "selected": selected}
        for residual, selected in zip(result.residual, result.selected, strict=True)
    ]
    if isinstance(result, GaussiankResult):
        for outcome, threshold in zip(outcomes, result.thresholds.tolist(), strict=True):
            outcome["threshold"] = threshold
    return list(outcomes)


def _paired(name: str, options: Callable[[int, int, int], list[Options]]) -> Pairing:
    collective = collectives.COLLECTIVES[name]

    def in_one_process(case: RankCase) -> tuple[list[RankResult], Traffic]:
        k, chosen = _request(case)
        result, traffic = collective(case.stack, k, **chosen)
        return _by_rank(result), traffic

    def on_rank(comm: Communicator, case: RankCase) -> RankResult:
        k, chosen = _request(case)
        return dict(vars(collective.on_rank(comm, case.stack[comm.rank], k, **chosen)))

    return Pairing(name, _cases(options), in_one_process, on_rank)


_GATHERS = ("ring", "bruck", "recursive-doubling")


def _topk_allgather(P: int, n: int, k: int) -> list[Options]:
    return [{"allgather": gather} for gather in _GATHERS]


def _topk_dsa(P: int, n: int, k: int) -> list[Options]:
    return [
        {"switch": "model", "allgather": "ring"},
        {"switch": "code", "allgather": "bruck"},
        {"switch": "never", "allgather": "recursive-doubling"},
    ]


def _gtopk(P: int, n: int, k: int) -> list[Options]:
    return [{"putback": putback} for putback in ("conserving", "published")]


def _gaussiank(P: int, n: int, k: int) -> list[Options]:
    return [
        {"adapt": adapt, "allgather": gather} for adapt, gather in zip(("none", "vgg", "lstm"), _GATHERS, strict=True)
    ]


def _spardl(P: int, n: int, k: int) -> list[Options]:
    """Every number of teams, both ways to agree, and the least and the most that b-sag may send."""
    chosen: list[Options] = []
    for d in (d for d in range(1, P + 1) if P % d == 0):
        h = k // (P // d)
        if d & (d - 1) == 0:
            chosen.append({"teams": d, "synchronise": "r-sag"})
        chosen.append({"teams": d, "synchronise": "b-sag", "sag_entries": None})
        if h >= 1 and d > 1:
            chosen.append({"teams": d, "synchronise": "b-sag", "sag_entries": -(-h // d)})
    return chosen


PAIRINGS: tuple[Pairing, ...] = (
    _paired("topk_allgather", _topk_allgather),
    _paired("topk_dsa", _topk_dsa),
    _paired("gtopk_allreduce", _gtopk),
    _paired("gaussiank_allreduce", _gaussiank),
    _paired("spardl_allreduce", _spardl),
)
