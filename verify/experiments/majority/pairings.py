"""The ranks of a majority vote beside the vote in one process."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.collectives.majority import WAYS, ZEROS, majority_vote
from commbounds.collectives.ranks import Communicator
from commbounds.collectives.traffic import Traffic
from commbounds.verify import pairing

Array = NDArray[Any]


def _telling(P: int) -> Iterator[pairing.RankCase]:
    """Ties, zeros of both signs, lengths about a byte and below P, both dtypes; every way and every rule."""
    rng = np.random.default_rng([P, 7])
    stacks: dict[str, Array] = {
        "small integers": rng.integers(-1, 2, (P, 17)).astype(np.float64),
        "cancelling": np.outer((-1.0) ** np.arange(P), np.ones(8)).astype(np.float32),
        "fewer entries than ranks": rng.standard_normal((P, max(1, P - 1))),
        "negative zeros": -np.zeros((P, 9), np.float32),
    }
    for (name, stack), way, zeros in itertools.product(stacks.items(), WAYS, ZEROS):
        yield pairing.RankCase({"input": name, "n": stack.shape[1], "way": way, "zeros": zeros}, stack)


def _tossed(case: pairing.RankCase) -> dict[str, Any]:
    given = {key: case.settings[key] for key in ("way", "zeros")}
    return given | ({"rng": np.random.default_rng(5)} if given["zeros"] == "coin" else {})


def _in_one_process(case: pairing.RankCase) -> tuple[list[pairing.RankResult], Traffic]:
    votes, traffic = majority_vote(case.stack, **_tossed(case))
    return [{"vote": vote} for vote in votes], traffic


def _on_rank(comm: Communicator, case: pairing.RankCase) -> pairing.RankResult:
    return {"vote": majority_vote.on_rank(comm, case.stack[comm.rank], **_tossed(case))}


PAIRINGS = (pairing.Pairing("majority_vote", _telling, _in_one_process, _on_rank),)
