"""Rounds of the column, whose ranks are run in lockstep, beside their programs elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from commbounds.collectives.lowcomm import COLLECTIVES
from commbounds.collectives.ranks import Communicator
from commbounds.collectives.traffic import Traffic
from commbounds.verify.pairing import Pairing, RankCase, RankResult

Options = Mapping[str, Any]


def _stacks(P: int, rows: int) -> Iterator[tuple[Options, Any]]:
    """Vectors, or rows of vectors, of both dtypes; the same at every call."""
    rng = np.random.default_rng([P, rows, 41])
    for width, dtype in ((2, np.float64), (3, np.float32)):
        shape = (P, width * P) if rows == 1 else (P, rows, width * P)
        yield {"dtype": np.dtype(dtype).name, "width": width}, rng.standard_normal(shape).astype(dtype)


def _cases(rows: int, choices: Callable[[int], list[Options]]) -> Callable[[int], Iterator[RankCase]]:
    def cases(P: int) -> Iterator[RankCase]:
        for chosen in choices(P):
            for given, stack in _stacks(P, rows):
                yield RankCase({**given, **chosen}, stack)

    return cases


def _options(case: RankCase) -> dict[str, Any]:
    """What a round is given beside the stack, made from the settings alone."""
    given = {name: value for name, value in case.settings.items() if name not in ("dtype", "width", "begun")}
    if "begun" in case.settings:
        rng = np.random.default_rng([case.settings["begun"], len(case.stack)])
        n, dtype = case.stack.shape[-1], case.stack.dtype
        given |= {name: rng.standard_normal((1, n))[0].astype(dtype) for name in ("anchor", "momentum")}
    return given


def _paired(name: str, rows: int, choices: Callable[[int], list[Options]]) -> Pairing:
    collective: Any = COLLECTIVES[name]

    def named(result: Any) -> RankResult:
        return vars(result) if hasattr(result, "anchor") else {"result": result}

    def together(case: RankCase) -> tuple[list[RankResult], Traffic]:
        result, traffic = collective(case.stack, **_options(case))
        fields = named(result)
        return [{key: value[rank] for key, value in fields.items()} for rank in range(len(case.stack))], traffic

    def alone(comm: Communicator, case: RankCase) -> RankResult:
        return named(collective.on_rank(comm, case.stack[comm.rank], **_options(case)))

    return Pairing(name, _cases(rows, choices), together, alone)


def _outer(_P: int) -> list[Options]:
    return [
        {"begun": 1},
        {"begun": 2, "rule": "heavy-ball", "outer_lr": 1.0},
        {"begun": 3, "start": 1, "blend": 0.5, "direction": "local - anchor"},
    ]


def _pairs(P: int) -> list[Options]:
    return [
        {
            "order": np.random.default_rng([seed, P]).permutation(P).tolist(),
            "momentum": seed / 4,
            "pull": 1.0 - seed / 4,
        }
        for seed in range(3)
    ]


def _quorums(P: int) -> list[Options]:
    tokens = np.arange(1, P + 1).tolist()
    masks = [None, np.arange(P) % 2 == 0, np.arange(P) > 0, np.zeros(P, np.bool_)]
    return [
        {"tokens": tokens, "arrived": mask, "divisor": divisor}
        for mask, divisor in zip(masks, ("arrived", "expected", "arrived", "arrived"), strict=True)
    ]


def _ways(P: int) -> list[Options]:
    node = next(X for X in (2, 3, 1) if P % X == 0)
    return [
        {"step": 0.125, "bits": 6, "way": "one-hop", "node": node},
        {"step": 0.125, "bits": 6, "way": "hierarchical", "node": node},
        {"step": 0.5, "bits": 3, "way": "hierarchical", "node": node, "reorder": False},
        {"step": 0.125, "bits": 6, "way": "ring"},
    ]


PAIRINGS: tuple[Pairing, ...] = (
    _paired(
        "demo_round",
        2,
        lambda P: [{"k": 1, "chunk": P}, {"k": 1, "chunk": 1, "share": "ranks", "signed": True, "beta": 0.5}],
    ),
    _paired("diloco_round", 1, _outer),
    _paired(
        "loco_round",
        2,
        lambda P: [{"step": 0.25, "kept": 0.125}, {"step": 0.5, "bits": 2, "fresh": 1.0, "reset": True}],
    ),
    _paired("noloco_round", 3, _pairs),
    _paired("quantised_reduce_scatter", 1, _ways),
    _paired("quorum_merge", 1, _quorums),
    _paired(
        "sparseloco_round",
        2,
        lambda P: [{"k": 1, "chunk": 2}, {"k": P, "chunk": P + 1, "beta": 1.0, "bins": 4, "share": "senders"}],
    ),
)
