"""Flash Communication: quantised all-reduce: the claims bound to their implementations."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.collectives.flashcomm.allreduce import twostep_quantised_allreduce
from commbounds.compressors import GroupQuantizer
from commbounds.compressors.flashcomm.wire import wire_bytes
from commbounds.verify import inputs
from commbounds.verify.experiments.flashcomm.cases import rms
from commbounds.verify.experiments.flashcomm.metadata import METADATA
from commbounds.verify.experiments.flashcomm.planes_and_spikes import PLANES_AND_SPIKES
from commbounds.verify.experiments.flashcomm.quantiser import QUANTISER
from commbounds.verify.experiments.flashcomm.stochastic_quantiser import STOCHASTIC
from commbounds.verify.experiments.flashcomm.sums import ERRORS
from commbounds.verify.family import Family, FamilyStudy, Rounded
from commbounds.verify.space import RANKS, Of, Space
from commbounds.verify.study import Case, Curve, Outcome, Study, studies

Studies = tuple[FamilyStudy, ...]
_T, _R, _O, _H = (f"{kind}_quantised_allreduce" for kind in ("twostep", "ring", "oneshot", "hierarchical"))


# --- root mean squares -----------------------------------------------------------------------------------------------

_WITHIN = 0.05
"""How far an approximate law may be off: independence of the errors is not exact. The measured means over 2^15 entries
scatter by 0.4 %."""


def _normal_stack(P: int, seed: int) -> Array:
    return np.array([inputs.family("normal", 1 << 15, seed + 100 * p, 1.0, np.float32) for p in range(P)])


def _rms_of(allreduce: Any, stack: Array, *quantisers: GroupQuantizer) -> float:
    return rms(allreduce(stack, *quantisers)[0].values[0] - stack.astype(np.float64).sum(axis=0))


def _own_kept(stack: Array, q: GroupQuantizer) -> Array:
    """The two-step sum where owners add their own block as it is."""
    P, n = stack.shape
    total = np.empty(n)
    for j, block in enumerate(np.array_split(np.arange(n), P)):
        parts = [stack[p, block] if p == j else q(stack[p, block]) for p in range(P)]
        total[block] = q(np.sum(parts, axis=0))
    return total


def _rms_ratio(implementation: Any, x: Array, P: int, width: int) -> Rounded:
    """Over the error of one rank's vector: of one rank nothing but that quantisation is left."""
    q = GroupQuantizer(width)
    ratio = _rms_of(implementation, x, q) / rms(q(x[0]) - x[0].astype(np.float64))
    return Rounded(ratio, _WITHIN * ratio if P > 1 else 0.0)


def _over_twostep(implementation: Any, x: Array, width: int) -> Rounded:
    q = GroupQuantizer(width)
    ratio = _rms_of(implementation, x, q) / _rms_of(twostep_quantised_allreduce, x, q)
    return Rounded(ratio, _WITHIN * ratio)


def _over_own_kept(implementation: Any, x: Array, width: int) -> Rounded:
    q = GroupQuantizer(width)
    ratio = _rms_of(implementation, x, q) / rms(_own_kept(x, q) - x.astype(np.float64).sum(axis=0))
    return Rounded(ratio, _WITHIN * ratio)


def _mixed_ratio(implementation: Any, x: Array, widths: tuple[int, int]) -> Rounded:
    mixed = _rms_of(implementation, x, *map(GroupQuantizer, widths))
    ratio = mixed / _rms_of(implementation, x, GroupQuantizer(6))
    return Rounded(ratio, _WITHIN * ratio)


def _rms(name: str, subject: str, measure: Callable[..., Rounded] = _rms_ratio, **axes: Any) -> Studies:
    space = Space(_normal_stack, {"P": (*RANKS, 16), "width": (4, 8), "group": (128,), **axes})
    family = Family("flashcomm", subject, space, exact=False, searched=False)

    def points(seed: int) -> list[tuple[float, list[Case]]]:
        return [(float(P), [family.case(space.at(P=P, seed=seed % 1000))]) for P in (2, 3, 4, 6, 8, 16)]

    curve = Curve("P", "2^15 normal entries, four bits, groups of 128", points)
    return family.studies(measure, name, curves=[curve])


# --- agreement -------------------------------------------------------------------------------------------------------


def _stack(P: int, n: int, family: str, seed: int) -> Array:
    return np.array([inputs.family(family, n, seed + p, 1.0, np.float64) for p in range(P)])


def _disagreeing(options: dict[str, Any], implementation: Any, x: Array, P: int, width: int, group: int) -> Outcome:
    values = implementation(x, GroupQuantizer(width, group, "float64"), **options)[0].values
    return Outcome(sum(row.tobytes() != values[0].tobytes() for row in values), {}, active=P > 1)


def _by_node(
    options: dict[str, Any], implementation: Any, x: Array, P: int, width: int, group: int, node: int
) -> Outcome:
    return _disagreeing({**options, "node": node}, implementation, x, P, width, group)


def _agreement(name: str, subject: str, **options: Any) -> Studies:
    """The ring has no other way than that owners read their code."""
    axes: dict[str, Any] = {
        "P": RANKS,
        "n": (5, 1, 33, Of("P", lambda P: P), Of("3 P + 1", lambda P: 3 * P + 1)),
        "width": (2, 1, 4, 6),
        "group": (4, 1, 7),
        "family": ("normal", "small integers", "student", "sparse"),
    }
    if subject == _H:
        axes["node"] = (1, 2, 3)
    facts = {"owner_reads": bool(options.get("owner_reads_its_code", True)), "both_read_both": True, **options}
    space = Space(_stack, axes, combined=(("P", "family", "width", *(["node"] if subject == _H else [])),))
    family = Family("flashcomm", subject, space.search(n=(1, 8), group=(1, 8)), lambda: facts, exact=False, arrays=2)
    return family.studies(partial(_by_node if subject == _H else _disagreeing, options), name)


# --- bytes and steps -------------------------------------------------------------------------------------------------


def _steady(P: int, n: int) -> Array:
    return np.linspace(-1, 1, P * n).astype(np.float32).reshape(P, n)


def _run(implementation: Any, x: Array, width: int, group: int, settings: dict[str, Any]) -> Any:
    q = GroupQuantizer(width, group, metadata="float16")
    return implementation(x, q, **({"node": settings["node"]} if "node" in settings else {}))


def _coded(x: Array, width: int, group: int) -> dict[str, int]:
    return {"coded_bytes": wire_bytes(GroupQuantizer(width, group, metadata="float16").compress(x[0])).size}


def _bytes(found: Any) -> int:
    return int(found[1].sent.max())


def _steps(found: Any) -> int:
    return int(found[1].steps)


def _bridge(found: Any, P: int) -> int:
    there, back = found[0].bridge_bytes(P // 2)
    return int(there) if there == back else -1


def _count(name: str, subject: str, measure: Callable[..., int]) -> Studies:
    """N = 8 P + 5 is one that more than one rank does not divide."""
    half = {"node": (Of("P // 2, or 1", lambda P: max(1, P // 2)),)} if subject == _H else {}
    space = Space(
        _steady, {"P": (8, *RANKS, 12, 16), "n": (Of("32 P", lambda P: 32 * P),), "width": (4,), "group": (8,), **half}
    )
    family = Family("flashcomm", subject, space, _coded, _run, searched=False)
    grid = family.every(
        P=lambda level: (*range(1, 10), 12, 16, *((24, 32) if level else ())),
        width=(3, 8, 2),
        group=lambda width: (4,) if width == 2 else (8,),
        n=lambda P, width: (4 * P, 8 * P) if width == 2 else (8 * P, 24 * P, 8 * P + 5),
        **half,
    )
    curve = family.over("P", (2, 4, 6, 8, 12, 16), "four groups of 8 a block, four bits")
    enumerated = "P = 1 .. 9, 12, 16, several sizes and widths; bytes counted as they move"
    return family.studies(measure, name, grid=grid, corpus=None, enumerated=enumerated, curves=[curve])


EXPERIMENTS: dict[str, Study] = studies(
    *QUANTISER,
    *METADATA,
    *STOCHASTIC,
    *PLANES_AND_SPIKES,
    *ERRORS,
    *_rms("twostep.rms", _T),
    *_rms("ring.rms", _R),
    *_rms("oneshot.rms", _O),
    *_rms("ring.never_better", _R, _over_twostep),
    *_rms("ring.never_better_own_kept", _R, _over_own_kept),
    *_rms("twostep.mixed_widths", _T, _mixed_ratio, widths=((4, 8), (8, 4))),
    *_agreement("twostep.agreement", _T),
    *_agreement("twostep.agreement_of_owners", _T, owner_reads_its_code=False),
    *_agreement("ring.agreement", _R),
    *_agreement("hierarchical.agreement", _H),
    *_agreement("hierarchical.agreement_of_sides", _H, both_read_both=False),
    *_count("twostep.bytes", _T, _bytes),
    *_count("ring.bytes", _R, _bytes),
    *_count("oneshot.bytes", _O, _bytes),
    *_count("twostep.steps", _T, _steps),
    *_count("ring.steps", _R, _steps),
    *_count("twostep.bridge", _T, _bridge),
    *_count("ring.bridge", _R, _bridge),
    *_count("hierarchical.bridge", _H, _bridge),
)
