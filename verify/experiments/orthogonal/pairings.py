"""Orthogonalised updates, all ranks in one process beside every rank by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.collectives.orthogonal import RIGHT, dion_update, ef21_muon, muon_update
from commbounds.collectives.ranks import Communicator
from commbounds.collectives.traffic import Traffic
from commbounds.verify.pairing import Pairing, RankCase, RankResult

Array = NDArray[Any]


def _stacks(P: int) -> Iterator[tuple[dict[str, Any], Array]]:
    rng = np.random.default_rng([P, 61])
    for m, n, dtype in ((2, 3, "float64"), (4, 2, "float32"), (1, 1, "float32"), (3, 5, "float32")):
        yield {"m": m, "n": n, "dtype": dtype}, rng.standard_normal((P, m, n)).astype(dtype)


def _muon_cases(P: int) -> Iterator[RankCase]:
    for given, stack in _stacks(P):
        for steps, iteration in ((5, "muon"), (2, "cubic"), (0, "muon"), (9, "polar_express")):
            yield RankCase({**given, "steps": steps, "iteration": iteration, "arithmetic": "dtype"}, stack)
        yield RankCase({**given, "steps": 5, "iteration": "muon", "arithmetic": "bfloat16"}, stack)


def _muon_options(case: RankCase) -> dict[str, Any]:
    return {name: case.settings[name] for name in ("steps", "iteration", "arithmetic")}


def _muon(case: RankCase) -> tuple[list[RankResult], Traffic]:
    update, traffic = muon_update(case.stack, **_muon_options(case))
    return [{"update": own} for own in update], traffic


def _muon_on_rank(comm: Communicator, case: RankCase) -> RankResult:
    return {"update": muon_update.on_rank(comm, case.stack[comm.rank], **_muon_options(case))}


def _dion_cases(P: int) -> Iterator[RankCase]:
    for given, stack in _stacks(P):
        for r in sorted({1, min(stack.shape[1:])}):
            for mu, right in zip((0.0, 0.95), RIGHT, strict=True):
                yield RankCase({**given, "r": r, "mu": mu, "right": right}, stack)


def _dion_options(case: RankCase) -> dict[str, Any]:
    rng = np.random.default_rng([7, *case.stack.shape])
    momentum = rng.standard_normal(case.stack.shape).astype(case.stack.dtype)
    basis = rng.standard_normal((case.stack.shape[2], case.settings["r"])).astype(case.stack.dtype)
    return {"momentum": momentum, "basis": basis, **{name: case.settings[name] for name in ("mu", "right")}}


def _dion(case: RankCase) -> tuple[list[RankResult], Traffic]:
    state, traffic = dion_update(case.stack, **_dion_options(case))
    whole = zip(state.update, state.momentum, strict=True)
    return [{"update": update, "momentum": kept, "basis": state.basis} for update, kept in whole], traffic


def _dion_on_rank(comm: Communicator, case: RankCase) -> RankResult:
    return dict(dion_update.on_rank(comm, case.stack[comm.rank], **_dion_options(case))._asdict())


def _ef21_cases(P: int) -> Iterator[RankCase]:
    for given, stack in _stacks(P):
        for k in sorted({1, stack[0].size // 2 + 1, stack[0].size}):
            yield RankCase({**given, "k": min(k, stack[0].size)}, stack)


def _ef21_options(case: RankCase) -> dict[str, Any]:
    rng = np.random.default_rng([8, *case.stack.shape])
    own = rng.standard_normal(case.stack.shape).astype(case.stack.dtype)
    return {"own": own, "estimate": own.mean(axis=0), "k": case.settings["k"], "steps": 2}


def _ef21(case: RankCase) -> tuple[list[RankResult], Traffic]:
    state, traffic = ef21_muon(case.stack, **_ef21_options(case))
    return [dict(zip(state._fields, parts, strict=True)) for parts in zip(*state, strict=True)], traffic


def _ef21_on_rank(comm: Communicator, case: RankCase) -> RankResult:
    return dict(ef21_muon.on_rank(comm, case.stack[comm.rank], **_ef21_options(case))._asdict())


PAIRINGS = (
    Pairing("muon_update", _muon_cases, _muon, _muon_on_rank),
    Pairing("ef21_muon", _ef21_cases, _ef21, _ef21_on_rank),
    Pairing("dion_update", _dion_cases, _dion, _dion_on_rank),
)
