"""The ranks of the column's collectives beside them in one process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.collectives.ranks import Communicator
from commbounds.collectives.shipped import COLLECTIVES
from commbounds.collectives.traffic import Traffic
from commbounds.verify import pairing

Given = Callable[[pairing.RankCase], dict[str, Any]]


def _cases(P: int) -> Iterator[pairing.RankCase]:
    """Both dtypes, one entry, fewer entries than ranks, ties, and zeros of both signs."""
    rng = np.random.default_rng([P, 11])
    stacks: dict[str, NDArray[Any]] = {
        "normal": rng.standard_normal((P, 18)),
        "single": rng.standard_normal((P, 12)).astype(np.float32),
        "one entry": rng.standard_normal((P, 1)),
        "fewer entries than ranks": rng.standard_normal((P, max(1, P - 1))),
        "ties": rng.integers(-1, 2, (P, 24)).astype(np.float64),
        "negative zeros": -np.zeros((P, 6), np.float32),
    }
    for name, stack in stacks.items():
        yield pairing.RankCase({"input": name, "n": stack.shape[1]}, stack)


def _drawn(case: pairing.RankCase) -> dict[str, Any]:
    return {"rng": np.random.default_rng(5)}


def _some(case: pairing.RankCase) -> dict[str, Any]:
    return {"k": -(-case.settings["n"] // 3), "rng": np.random.default_rng(6)}


def _steps(case: pairing.RankCase) -> dict[str, Any]:
    n = case.settings["n"]
    steps = next(s for s in (3, 2, 1) if n % s == 0)
    return {"steps": steps, "k": 1, "factor": 0.75, "masking": n % 2 == 0}


def _pairing(name: str, given: Given, found: Callable[[Any], pairing.RankResult]) -> pairing.Pairing:
    collective: Any = COLLECTIVES[name]

    def in_one_process(case: pairing.RankCase) -> tuple[list[pairing.RankResult], Traffic]:
        result, traffic = collective(case.stack, **given(case))
        return [found(own) for own in _parts(result, len(case.stack))], traffic

    def on_rank(comm: Communicator, case: pairing.RankCase) -> pairing.RankResult:
        return found(collective.on_rank(comm, case.stack[comm.rank], **given(case)))

    return pairing.Pairing(name, _cases, in_one_process, on_rank)


def _parts(result: Any, P: int) -> list[Any]:
    """What every rank ends with."""
    if isinstance(result, np.ndarray):
        return list(result)
    kind = type(result)
    return [kind(result.updates, result.momentum[p], result.accumulated[p]) for p in range(P)]


PAIRINGS = (
    _pairing("permk_mean", _drawn, lambda mean: {"mean": mean}),
    _pairing("shared_randk_mean", _some, lambda mean: {"mean": mean}),
    _pairing(
        "dgc_steps",
        _steps,
        lambda run: {"updates": run.updates, "momentum": run.momentum, "accumulated": run.accumulated},
    ),
)
