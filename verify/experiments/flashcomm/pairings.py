"""Quantised all-reduces, whose ranks are run in lockstep, beside their programs elsewhere, which send real bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds import collectives
from commbounds.collectives.ranks import Communicator
from commbounds.collectives.traffic import Traffic
from commbounds.compressors import GroupQuantizer, StochasticGroupQuantizer
from commbounds.verify.pairing import Pairing, RankCase, RankResult

Options = Mapping[str, Any]

_QUANTISERS: tuple[Options, ...] = (
    {"width": 4, "group": 8},
    {"width": 3, "group": 5, "metadata": "float16", "spikes": True},
    {"width": 7, "group": 4, "metadata": "bfloat16", "repaired": True},
    {"width": 5, "group": 3, "scale": "log2", "zero": "integer"},
    {"width": 6, "group": 128, "metadata": "float16", "quantise_with": "exact"},
    {"width": 2, "group": 4, "metadata": "float64", "seed": 5},
    {"width": 8, "group": 1, "zero": "clamped"},
)
"""A quantiser each; stochastic where there is a seed."""


def _stacks(P: int) -> Iterator[tuple[str, NDArray[Any]]]:
    """Few small stacks by name; draws are the same at every call."""
    rng = np.random.default_rng([P, 3])
    yield "normal", rng.standard_normal((P, 37)).astype(np.float32)
    yield "normal", rng.standard_normal((P, 22))
    yield "ties", rng.integers(-2, 3, (P, 13)).astype(np.float32)
    yield "zeros of both signs", np.copysign(np.zeros((P, 6)), rng.standard_normal((P, 6)))
    yield "fewer entries than ranks", rng.standard_normal((P, max(1, P - 1))).astype(np.float32)
    yield "one entry", rng.standard_normal((P, 1))
    yield "equal entries", np.full((P, 9), 0.1, np.float32)


def _cases(choices: Callable[[int], list[Options]]) -> Callable[[int], Iterator[RankCase]]:
    """The first stack with every quantiser, the others with one each; the collective's own options in turn."""

    def cases(P: int) -> Iterator[RankCase]:
        given = choices(P)
        stacks = list(_stacks(P))
        pairs = [(stacks[0], quantiser) for quantiser in _QUANTISERS]
        pairs += [(stack, _QUANTISERS[turn % len(_QUANTISERS)]) for turn, stack in enumerate(stacks[1:], 1)]
        for turn in range(max(len(pairs), len(given))):
            (name, stack), quantiser = pairs[turn % len(pairs)]
            chosen = given[turn % len(given)]
            yield RankCase({"input": name, "dtype": stack.dtype.name, **quantiser, **chosen}, stack)

    return cases


def _quantiser(settings: Options) -> GroupQuantizer:
    kind = StochasticGroupQuantizer if {"seed", "draws"} & set(settings) else GroupQuantizer
    return kind(**{name: settings[name] for name in GroupQuantizer.__dataclass_fields__ if name in settings})


def _arguments(case: RankCase) -> dict[str, Any]:
    """What a collective is given beside the vectors, made from the settings alone."""
    settings = case.settings
    given: dict[str, Any] = {"quantiser": _quantiser(settings)}
    given |= {name: settings[name] for name in ("node", "both_read_both", "owner_reads_its_code") if name in settings}
    if "second" in settings:
        given["second"] = GroupQuantizer(settings["second"], 6, "float16")
    if "draws" in settings:
        n, dtype = case.stack.shape[1], case.stack.dtype

        def draw(stage: int, rank: int) -> NDArray[Any]:
            own: NDArray[Any] = np.random.default_rng([settings["draws"], stage, rank]).random(n, dtype.type)
            return own

        given["draw"] = draw
    elif "seed" in settings:
        given["rng"] = np.random.default_rng(settings["seed"])
    return given


def _paired(name: str, choices: Callable[[int], list[Options]]) -> Pairing:
    collective = collectives.COLLECTIVES[name]

    def in_one_process(case: RankCase) -> tuple[list[RankResult], Traffic]:
        result, traffic = collective(case.stack, **_arguments(case))
        P = len(case.stack)
        return [{"values": result.values[rank], "sent": result.moves[:, rank]} for rank in range(P)], traffic

    def on_rank(comm: Communicator, case: RankCase) -> RankResult:
        return dict(vars(collective.on_rank(comm, case.stack[comm.rank], **_arguments(case))))

    return Pairing(name, _cases(choices), in_one_process, on_rank)


def _nothing_else(P: int) -> list[Options]:
    return [{}]


def _twostep(P: int) -> list[Options]:
    return [{}, {"second": 3}, {"owner_reads_its_code": False}, {"draws": 11, "zero": "float"}]


def _hierarchical(P: int) -> list[Options]:
    nodes = [node for node in range(1, P + 1) if P % node == 0]
    return [{"node": node, "both_read_both": both} for both in (True, False) for node in nodes]


PAIRINGS: tuple[Pairing, ...] = (
    _paired("twostep_quantised_allreduce", _twostep),
    _paired("ring_quantised_allreduce", _nothing_else),
    _paired("oneshot_quantised_allreduce", _nothing_else),
    _paired("hierarchical_quantised_allreduce", _hierarchical),
)
