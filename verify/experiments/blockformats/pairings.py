"""The ranks of the block formats' all-reduces beside their sums in one process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.collectives.blockformats import (
    EVEN_TABLE,
    ROUNDINGS,
    UNEVEN_TABLE,
    Thinned,
    homomorphic_allreduce,
    multihop_allreduce,
    requantised_allreduce,
    table_allreduce,
)
from commbounds.collectives.ranks import Communicator
from commbounds.collectives.traffic import Traffic
from commbounds.compressors.blockformats import NVFP4, Microscaling, StochasticMicroscaling, StochasticNVFP4
from commbounds.verify.pairing import Pairing, RankCase, RankResult

Array = NDArray[Any]
_QUANTISERS = {
    "MXFP4": Microscaling(),
    "MXFP6, short blocks": Microscaling("e3m2", 3, "rceil"),
    "MXINT8": Microscaling("int8", 5, "even"),
    "NVFP4": NVFP4(4),
    "stochastic MXFP8": StochasticMicroscaling("e4m3", 4, "three_quarters"),
    "stochastic NVFP4": StochasticNVFP4(3, "up"),
}


def _stacks(P: int) -> dict[str, Array]:
    rng = np.random.default_rng([P, 11])
    return {
        "normal": rng.standard_normal((P, 37)).astype(np.float32),
        "ties": rng.integers(-3, 4, (P, 13)).astype(np.float64) / 2,
        "fewer entries than ranks": rng.standard_normal((P, max(1, P - 1))),
        "zeros": np.zeros((P, 6), np.float32),
    }


def _requantised(P: int) -> Iterator[RankCase]:
    for turn, (name, stack) in enumerate(_stacks(P).items()):
        for number, quantiser in enumerate(_QUANTISERS):
            if name == "normal" or number % 3 == turn % 3:
                schedule = ("ring", "direct")[(number + turn) % 2]
                yield RankCase({"input": name, "quantiser": quantiser, "schedule": schedule}, stack)


def _of_format(case: RankCase) -> dict[str, Any]:
    quantiser = _QUANTISERS[case.settings["quantiser"]]
    given = {"quantiser": quantiser, "schedule": case.settings["schedule"]}
    return given | ({"rng": np.random.default_rng(5)} if quantiser.randomised else {})


def _codes(P: int) -> Iterator[RankCase]:
    for turn, (name, stack) in enumerate(_stacks(P).items()):
        for number, rounding in enumerate(ROUNDINGS):
            width, block = ((4, 32), (2, 3), (9, 5))[(number + turn) % 3]
            yield RankCase({"input": name, "width": width, "block": block, "rounding": rounding}, stack)


def _of_codes(case: RankCase) -> dict[str, Any]:
    given: Mapping[str, Any] = {key: case.settings[key] for key in ("width", "block", "rounding")}
    return {**given, "rng": np.random.default_rng(6)}


_TABLES = {"uneven": UNEVEN_TABLE, "even": EVEN_TABLE, "short": (0, 1, 3, 4)}
_HOPPING: dict[str, Any] = {**_QUANTISERS, "thinned": Thinned(0.25)}


def _tabled(P: int) -> Iterator[RankCase]:
    for turn, (name, stack) in enumerate(_stacks(P).items()):
        for number, table in enumerate(_TABLES):
            settings: dict[str, Any] = {"rotated": (number + turn) % 3 != 1, "fine": (None, 1000, 3)[number]}
            if (number + turn) % 3 == 2:
                settings["reach"] = 1.5
            yield RankCase({"input": name, "table": table, **settings}, stack)


def _of_table(case: RankCase) -> dict[str, Any]:
    given = {key: value for key, value in case.settings.items() if key in ("rotated", "fine", "reach")}
    return {**given, "table": _TABLES[case.settings["table"]], "rng": np.random.default_rng(7)}


def _hopping(P: int) -> Iterator[RankCase]:
    for turn, (name, stack) in enumerate(_stacks(P).items()):
        for number, quantiser in enumerate(_HOPPING):
            if number % 3 == turn % 3:
                topology = "butterfly" if P & (P - 1) == 0 and number % 2 else "ring"
                yield RankCase({"input": name, "quantiser": quantiser, "topology": topology}, stack)


def _of_hops(case: RankCase) -> dict[str, Any]:
    quantiser = _HOPPING[case.settings["quantiser"]]
    given: dict[str, Any] = {"quantiser": quantiser, "topology": case.settings["topology"]}
    return given | ({"rng": np.random.default_rng(8)} if quantiser.randomised else {})


def _paired(name: str, collective: Any, cases: Any, arguments: Any) -> Pairing:
    def in_one_process(case: RankCase) -> tuple[list[RankResult], Traffic]:
        sums, traffic = collective(case.stack, **arguments(case))
        return [{"sums": row} for row in sums], traffic

    def on_rank(comm: Communicator, case: RankCase) -> RankResult:
        return {"sums": collective.on_rank(comm, case.stack[comm.rank], **arguments(case))}

    return Pairing(name, cases, in_one_process, on_rank)


PAIRINGS = (
    _paired("requantised_allreduce", requantised_allreduce, _requantised, _of_format),
    _paired("homomorphic_allreduce", homomorphic_allreduce, _codes, _of_codes),
    _paired("table_allreduce", table_allreduce, _tabled, _of_table),
    _paired("multihop_allreduce", multihop_allreduce, _hopping, _of_hops),
)
