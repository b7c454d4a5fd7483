"""Flash Communication: quantised all-reduce: the claims bound to their implementations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from commbounds.collectives.flashcomm.allreduce import twostep_quantised_allreduce
from commbounds.compressors import GroupQuantizer
from commbounds.compressors.flashcomm.wire import wire_bytes
from commbounds.theory import claims
from commbounds.verify import inputs
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.flashcomm.cases import rms, stack_cases, stacks
from commbounds.verify.experiments.flashcomm.metadata import METADATA
from commbounds.verify.experiments.flashcomm.planes_and_spikes import PLANES_AND_SPIKES
from commbounds.verify.experiments.flashcomm.quantiser import QUANTISER
from commbounds.verify.experiments.flashcomm.stochastic_quantiser import STOCHASTIC
from commbounds.verify.experiments.flashcomm.sums import ERRORS
from commbounds.verify.finding import Series
from commbounds.verify.study import Case, Outcome, Study, studies

Array = NDArray[Any]
Trial = Callable[[Any, Case], Outcome]
_T, _R, _O = "twostep_quantised_allreduce", "ring_quantised_allreduce", "oneshot_quantised_allreduce"
_H = "hierarchical_quantised_allreduce"
_WITHIN = 0.05
"""How far an approximate law may be off: independence of the errors is not exact. The measured means over 2^15 entries
scatter by 0.4 %."""
_ENTRIES = 1 << 15


# --- root mean squares -----------------------------------------------------------------------------------------------


def _normal_stack(case: Case) -> Array:
    s = case.settings
    return np.array([inputs.family("normal", _ENTRIES, s["seed"] + 100 * p, 1.0, np.float32) for p in range(s["P"])])


def _rms_of(allreduce: Any, stack: Array, *quantisers: GroupQuantizer) -> float:
    return rms(allreduce(stack, *quantisers)[0].values[0] - stack.astype(np.float64).sum(axis=0))


def _rms_ratio(allreduce: Any, case: Case) -> Outcome:
    stack, q = _normal_stack(case), GroupQuantizer(case.settings["width"])
    ratio = _rms_of(allreduce, stack, q) / rms(q(stack[0]) - stack[0].astype(np.float64))
    # of one rank nothing but that quantisation is left
    return Outcome(ratio, {"P": len(stack)}, _WITHIN * ratio if len(stack) > 1 else 0.0)


def _ring_over_twostep(ring: Any, case: Case) -> Outcome:
    stack, q = _normal_stack(case), GroupQuantizer(case.settings["width"])
    ratio = _rms_of(ring, stack, q) / _rms_of(twostep_quantised_allreduce, stack, q)
    return Outcome(ratio, {"P": len(stack)}, _WITHIN * ratio)


def _own_kept(stack: Array, q: GroupQuantizer) -> Array:
    """The two-step sum where owners add their own block as it is."""
    P, n = stack.shape
    total = np.empty(n)
    for j, block in enumerate(np.array_split(np.arange(n), P)):
        parts = [stack[p, block] if p == j else q(stack[p, block]) for p in range(P)]
        total[block] = q(np.sum(parts, axis=0))
    return total


def _ring_over_own_kept(ring: Any, case: Case) -> Outcome:
    stack, q = _normal_stack(case), GroupQuantizer(case.settings["width"])
    other = rms(_own_kept(stack, q) - stack.astype(np.float64).sum(axis=0))
    ratio = _rms_of(ring, stack, q) / other
    return Outcome(ratio, {"P": len(stack)}, _WITHIN * ratio)


def _mixed_ratio(allreduce: Any, case: Case) -> Outcome:
    stack, (first, second) = _normal_stack(case), case.settings["widths"]
    mixed = _rms_of(allreduce, stack, GroupQuantizer(first), GroupQuantizer(second))
    ratio = mixed / _rms_of(allreduce, stack, GroupQuantizer(6))
    return Outcome(ratio, {"P": len(stack)}, _WITHIN * ratio)


def _rms_cases(budget: Budget) -> Iterator[Case]:
    for P in (1, 2, 3, 5, 8, 16):
        for width in (4, 8):
            for seed in range(1 + 2 * budget.level):
                yield Case({"P": P, "width": width, "seed": seed, "group": 128})


def _mixed_cases(budget: Budget) -> Iterator[Case]:
    for P in (1, 2, 3, 5, 8):
        for widths in ((4, 8), (8, 4)):
            for seed in range(1 + 2 * budget.level):
                yield Case({"P": P, "widths": widths, "seed": seed, "group": 128})


def _rms_curves(name: str, trial: Trial, **options: Any) -> Any:
    def curves(allreduce: Any, seed: int) -> list[Series]:
        ranks, measured = [2, 3, 4, 6, 8, 16], []
        for P in ranks:
            case = Case({"P": P, "width": 4, "seed": seed % 1000, **options})
            measured.append(float(trial(allreduce, case).measured))
        bound = [float(claims()[name].bound(P=P)) for P in ranks]
        return [
            Series("2^15 normal entries, four bits, groups of 128", "P", [float(P) for P in ranks], bound, measured)
        ]

    return curves


def _rms_study(name: str, subject: str, trial: Trial = _rms_ratio, corpus: Any = _rms_cases, **options: Any) -> Study:
    return Study(name, subject, trial, corpus=corpus, curves=_rms_curves(name, trial, **options))


# --- agreement -------------------------------------------------------------------------------------------------------


def _disagreeing(**options: Any) -> Trial:
    def trial(allreduce: Any, case: Case) -> Outcome:
        s = case.settings
        more = {**options, "node": s["node"]} if "node" in s else options
        values = allreduce(case.array, GroupQuantizer(s["width"], s["group"], "float64"), **more)[0].values
        return Outcome(sum(row.tobytes() != values[0].tobytes() for row in values), {}, active=s["P"] > 1)

    return trial


def _noded(budget: Budget) -> Iterator[Case]:
    for node in (1, 2, 3):
        yield from stacks(budget, node=node)


def _agreement(name: str, subject: str, **options: Any) -> Study:
    def known(_allreduce: Any, _case: Case) -> dict[str, bool]:
        reads = bool(options.get("owner_reads_its_code", True))  # the ring has no other way
        return {"owner_reads": reads, "both_read_both": options.get("both_read_both", True)}

    noded = subject == _H
    return Study(
        name,
        subject,
        _disagreeing(**options),
        known=known,
        corpus=_noded if noded else stacks,
        cases=stack_cases(node=2) if noded else stack_cases(),
    )


# --- bytes and steps -------------------------------------------------------------------------------------------------


def _counted(what: str) -> Trial:
    def trial(allreduce: Any, case: Case) -> Outcome:
        P, n, width, group = (case.settings[name] for name in ("P", "n", "width", "group"))
        q, stack = GroupQuantizer(width, group, metadata="float16"), _steady(P, n)
        node = {"node": case.settings["node"]} if "node" in case.settings else {}
        result, traffic = allreduce(stack, q, **node)
        values = {"P": P, "coded_bytes": wire_bytes(q.compress(stack[0])).size}
        if what == "bridge":
            there, back = result.bridge_bytes(P // 2)
            return Outcome(there if there == back else -1, values)
        return Outcome(int(traffic.sent.max()) if what == "bytes" else traffic.steps, values)

    return trial


def _steady(P: int, n: int) -> Array:
    return np.linspace(-1, 1, P * n).astype(np.float32).reshape(P, n)


def _sizes(level: int, noded: bool = False) -> Iterator[Case]:
    for P in (*range(1, 9), 12, 16, *((24, 32) if level else ())):
        node = {"node": max(1, P // 2)} if noded else {}
        for width in (3, 8):
            for n in (8 * P, 24 * P, 8 * P + 5):  # the last is one that more than one rank does not divide
                yield Case({"P": P, "n": n, "width": width, "group": 8, **node})
        yield Case({"P": P, "n": 8 * P, "width": 2, "group": 4, **node})
        yield Case({"P": P, "n": 4 * P, "width": 2, "group": 4, **node})


def _noded_sizes(level: int) -> Iterator[Case]:
    yield from _sizes(level, noded=True)


def _count_curves(name: str, what: str, noded: bool) -> Any:
    def curves(allreduce: Any, _seed: int) -> list[Series]:
        ranks = [2, 4, 6, 8, 12, 16]
        nodes = [{"node": P // 2} if noded else {} for P in ranks]
        cases = [
            Case({"P": P, "n": 32 * P, "width": 4, "group": 8, **node}) for P, node in zip(ranks, nodes, strict=True)
        ]
        outcomes = [_counted(what)(allreduce, case) for case in cases]
        bound = [float(claims()[name].bound(**outcome.values)) for outcome in outcomes]
        measured = [float(outcome.measured) for outcome in outcomes]
        return [Series("four groups of 8 a block, four bits", "P", [float(P) for P in ranks], bound, measured)]

    return curves


def _count_study(name: str, subject: str, what: str) -> Study:
    return Study(
        name,
        subject,
        _counted(what),
        grid=_noded_sizes if subject == _H else _sizes,
        enumerated="P = 1 .. 8, 12, 16, several sizes and widths; bytes counted as they move",
        curves=_count_curves(name, what, subject == _H),
    )


EXPERIMENTS: dict[str, Study] = studies(
    *QUANTISER,
    *METADATA,
    *STOCHASTIC,
    *PLANES_AND_SPIKES,
    *ERRORS,
    _rms_study("flashcomm.twostep.rms", _T),
    _rms_study("flashcomm.ring.rms", _R),
    _rms_study("flashcomm.oneshot.rms", _O),
    _rms_study("flashcomm.ring.never_better", _R, _ring_over_twostep),
    _rms_study("flashcomm.ring.never_better_own_kept", _R, _ring_over_own_kept),
    _rms_study("flashcomm.twostep.mixed_widths", _T, _mixed_ratio, _mixed_cases, widths=(4, 8)),
    _agreement("flashcomm.twostep.agreement", _T),
    _agreement("flashcomm.twostep.agreement_of_owners", _T, owner_reads_its_code=False),
    _agreement("flashcomm.ring.agreement", _R),
    _agreement("flashcomm.hierarchical.agreement", _H),
    _agreement("flashcomm.hierarchical.agreement_of_sides", _H, both_read_both=False),
    _count_study("flashcomm.twostep.bytes", _T, "bytes"),
    _count_study("flashcomm.ring.bytes", _R, "bytes"),
    _count_study("flashcomm.oneshot.bytes", _O, "bytes"),
    _count_study("flashcomm.twostep.steps", _T, "steps"),
    _count_study("flashcomm.ring.steps", _R, "steps"),
    _count_study("flashcomm.twostep.bridge", _T, "bridge"),
    _count_study("flashcomm.ring.bridge", _R, "bridge"),
    _count_study("flashcomm.hierarchical.bridge", _H, "bridge"),
)
