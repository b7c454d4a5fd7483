"""Sketches, all ranks in one process beside every rank by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.collectives.ranks import Communicator
from commbounds.collectives.sketched import fetchsgd_step, sketched_sum, sketched_topk
from commbounds.collectives.traffic import Traffic
from commbounds.verify.experiments.sketched.hashings import drawn_hashes
from commbounds.verify.pairing import Pairing, RankCase, RankResult

Array = NDArray[Any]


def _stacks(P: int) -> Iterator[tuple[dict[str, Any], Array]]:
    rng = np.random.default_rng([P, 67])
    for n, rows, cells, dtype in (
        (1, 1, 1, "float64"),
        (7, 3, 4, "float32"),
        (12, 2, 3, "float64"),
        (5, 1, 9, "float32"),
    ):
        yield {"n": n, "rows": rows, "cells": cells}, rng.standard_normal((P, n)).astype(dtype)


def _hashed(case: RankCase) -> tuple[Array, Array]:
    s = case.settings
    return drawn_hashes(s["n"], s["rows"], s["cells"], 5)


def _sums(P: int) -> Iterator[RankCase]:
    for given, stack in _stacks(P):
        for k in sorted({1, given["n"]}):
            for middle in ("mean", "lower"):
                yield RankCase({**given, "k": k, "middle": middle}, stack)


def _sum_options(case: RankCase) -> tuple[Any, ...]:
    s = case.settings
    return (*_hashed(case), s["cells"], s["k"], s["middle"])


def _sum(case: RankCase) -> tuple[list[RankResult], Traffic]:
    total, traffic = sketched_sum(case.stack, *_sum_options(case))
    return [{"total": own} for own in total], traffic


def _sum_on_rank(comm: Communicator, case: RankCase) -> RankResult:
    return {"total": sketched_sum.on_rank(comm, case.stack[comm.rank], *_sum_options(case))}


def _rounds(P: int) -> Iterator[RankCase]:
    for given, stack in _stacks(P):
        for candidates in sorted({1, (given["n"] + 1) // 2, given["n"]}):
            for k in sorted({1, candidates}):
                yield RankCase({**given, "k": k, "candidates": candidates}, stack)


def _round_options(case: RankCase) -> tuple[Any, ...]:
    s = case.settings
    return (*_hashed(case), s["cells"], s["k"], s["candidates"])


def _round(case: RankCase) -> tuple[list[RankResult], Traffic]:
    total, traffic = sketched_topk(case.stack, *_round_options(case))
    return [{"total": own} for own in total], traffic


def _round_on_rank(comm: Communicator, case: RankCase) -> RankResult:
    return {"total": sketched_topk.on_rank(comm, case.stack[comm.rank], *_round_options(case))}


def _steps(P: int) -> Iterator[RankCase]:
    for given, stack in _stacks(P):
        for forget in ("zero", "subtract"):
            for rho in (0.0, 0.9):
                yield RankCase({**given, "k": (given["n"] + 1) // 2, "rho": rho, "forget": forget}, stack)


def _step_options(case: RankCase) -> tuple[Any, ...]:
    s = case.settings
    rng = np.random.default_rng(11)
    state = (rng.standard_normal((s["rows"], s["cells"])).astype(case.stack.dtype) for _ in range(2))
    return (*state, *_hashed(case), s["k"], s["rho"], s["forget"])


def _step(case: RankCase) -> tuple[list[RankResult], Traffic]:
    state, traffic = fetchsgd_step(case.stack, *_step_options(case))
    return [{"update": own, "momentum": state.momentum, "error": state.error} for own in state.update], traffic


def _step_on_rank(comm: Communicator, case: RankCase) -> RankResult:
    return dict(fetchsgd_step.on_rank(comm, case.stack[comm.rank], *_step_options(case))._asdict())


PAIRINGS = (
    Pairing("sketched_sum", _sums, _sum, _sum_on_rank),
    Pairing("sketched_topk", _rounds, _round, _round_on_rank),
    Pairing("fetchsgd_step", _steps, _step, _step_on_rank),
)
