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
Trial = Callable[[Any, Case], Outcome | None]
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
    return Outcome(ratio, {"P": len(stack)}, _WITHIN * ratio)


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
    for P in (2, 3, 4, 8, 16):
        for width in (4, 8):
            for seed in range(1 + 2 * budget.level):
                yield Case({"P": P, "width": width, "seed": seed, "group": 128})


def _mixed_cases(budget: Budget) -> Iterator[Case]:
    for P in (2, 4, 8):
        for widths in ((4, 8), (8, 4)):
            for seed in range(1 + 2 * budget.level):
                yield Case({"P": P, "widths": widths, "seed": seed, "group": 128})


def _rms_curves(name: str, trial: Trial, **options: Any) -> Any:
    def curves(allreduce: Any, seed: int) -> list[Series]:
        ranks, measured = [2, 3, 4, 6, 8, 16], []
        for P in ranks:
            outcome = trial(allreduce, Case({"P": P, "width": 4, "seed": seed % 1000, **options}))
            assert outcome is not None
            measured.append(float(outcome.measured))
        bound = [float(claims()[name].bound(P=P)) for P in ranks]
        return [
            Series("2^15 normal entries, four bits, groups of 128", "P", [float(P) for P in ranks], bound, measured)
        ]

    return curves


def _rms_study(name: str, subject: str, trial: Trial = _rms_ratio, corpus: Any = _rms_cases, **options: Any) -> Study:
    return Study(name, subject, trial, corpus=corpus, curves=_rms_curves(name, trial, **options))


# --- agreement -------------------------------------------------------------------------------------------------------


def _disagreeing(**options: Any) -> Trial:
    def trial(allreduce: Any, case: Case) -> Outcome | None:
        s, more = case.settings, dict(options)
        if "node" in s:
            if s["P"] % s["node"]:
                return None
            more["node"] = s["node"]
        values = allreduce(case.array, GroupQuantizer(s["width"], s["group"], "float64"), **more)[0].values
        return Outcome(sum(row.tobytes() != values[0].tobytes() for row in values), {})

    return trial


def _noded(budget: Budget) -> Iterator[Case]:
    for node in (1, 2, 3):
        yield from stacks(budget, node=node)


def _agreement(name: str, subject: str, **options: Any) -> Study:
    if subject == _H:
        return Study(name, subject, _disagreeing(**options), corpus=_noded, cases=stack_cases(node=2))
    return Study(name, subject, _disagreeing(**options), corpus=stacks, cases=stack_cases())


# --- bytes and steps -------------------------------------------------------------------------------------------------


def _counted(what: str) -> Trial:
    def trial(allreduce: Any, case: Case) -> Outcome | None:
        P, groups, width = (case.settings[name] for name in ("P", "groups", "width"))
        n, q = 8 * P * groups, GroupQuantizer(width, 8, metadata="float16")
        stack = np.linspace(-1, 1, P * n).astype(np.float32).reshape(P, n)
        node = {"node": P // 2} if "node" in case.settings else {}
        if what == "bridge" and P % 2:
            return None
        result, traffic = allreduce(stack, q, **node)
        values = {"P": P, "coded_bytes": wire_bytes(q.compress(stack[0])).size}
        if what == "bridge":
            there, back = result.bridge_bytes(P // 2)
            return Outcome(there if there == back else -1, values)
        return Outcome(int(traffic.sent.max()) if what == "bytes" else traffic.steps, values)

    return trial


def _sizes(**options: Any) -> Callable[[int], Iterator[Case]]:
    def grid(level: int) -> Iterator[Case]:
        for P in (*range(1, 9), 12, 16, *((24, 32) if level else ())):
            for groups in (1, 3):
                for width in (2, 3, 8):
                    yield Case({"P": P, "groups": groups, "width": width, **options})

    return grid


def _count_curves(name: str, what: str, **options: Any) -> Any:
    def curves(allreduce: Any, _seed: int) -> list[Series]:
        outcomes = [
            (P, outcome)
            for P in (2, 4, 6, 8, 12, 16)
            if (outcome := _counted(what)(allreduce, Case({"P": P, "groups": 4, "width": 4, **options}))) is not None
        ]
        bound = [float(claims()[name].bound(**outcome.values)) for _, outcome in outcomes]
        measured = [float(outcome.measured) for _, outcome in outcomes]
        return [Series("four groups of 8 a block, four bits", "P", [float(P) for P, _ in outcomes], bound, measured)]

    return curves


def _count_study(name: str, subject: str, what: str, **options: Any) -> Study:
    return Study(
        name,
        subject,
        _counted(what),
        grid=_sizes(**options),
        enumerated="P = 1 .. 8, 12, 16, several sizes and widths; bytes counted as they move",
        curves=_count_curves(name, what, **options),
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
    _count_study("flashcomm.hierarchical.bridge", _H, "bridge", node=True),
)
