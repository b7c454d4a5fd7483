"""What Ok-Topk returns, against its definition; conservation of mass; thresholds that drifted."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from commbounds.array_types import Array, Floats
from commbounds.collectives.oktopk.state import OkTopkState
from commbounds.theory import claims
from commbounds.verify.experiments.oktopk.cases import Rows, family_of, in_turn, options_of, stacked
from commbounds.verify.experiments.oktopk.runs import OkTopkRun, even_cuts
from commbounds.verify.family import Family
from commbounds.verify.space import RANKS, Of, Space, nothing
from commbounds.verify.study import Stream, Study, Unmeasured

_TOP = 2.0**12
"""Largest magnitude of the integers that families are rounded to: sums of 2^11 of them are exact in float32."""


def _whole_numbers(P: int, n: int, k: int, family: str, seed: int) -> Array:
    """A stack of the family scaled to integers: sums are exact, and ties and cancellations frequent."""
    if family == "last entries":
        x = np.zeros((P, n), dtype=np.float32)
        x[0, -2:], x[1, -3:] = (3.0, 2.0), (1.0, 4.0, -2.0)
        return x
    x = stacked(P, n, k, family, seed)
    wide = x.astype(np.float64)
    top = float(np.abs(wide).max()) or 1.0
    return np.rint(wide / top * min(_TOP, 8.0 * k)).astype(x.dtype)


def _largest(x: Array, k: int) -> Array:
    """The entries of `x` at least as large as the k-th largest in magnitude, zeros for all others."""
    size = np.abs(x)
    return np.where(size >= np.sort(size)[-k], x, 0)


def _update_defect(found: OkTopkRun) -> int:
    integers = found.x.astype(np.int64)
    total = sum(_largest(row, found.k) for row in integers)
    return int(np.abs(found.result.update.astype(np.int64) - _largest(np.asarray(total), found.k)).max())


def _index_defect(found: OkTopkRun) -> int:
    kept = set(np.flatnonzero(found.result.update).tolist())
    return sum(
        len(set(indices.tolist()) ^ (set(np.flatnonzero(_largest(row, found.k)).tolist()) & kept))
        + indices.size
        - len(set(indices.tolist()))
        for indices, row in zip(found.result.selected, found.x, strict=True)
    )


def _mass_defect(found: OkTopkRun) -> int:
    residuals = found.x.astype(np.int64)
    for row, indices in zip(residuals, found.result.selected, strict=True):
        row[indices] = 0
    gone = found.x.astype(np.int64).sum(axis=0) - residuals.sum(axis=0)
    return int(np.abs(gone - found.result.update.astype(np.int64)).max())


_WIDE = 2**24 + 3
"""Entries of a vector whose last indices are no float32 numbers."""


def _small(level: int) -> Iterator[Rows]:
    values = (0.0, -1.0, 2.0, 1.0) if level > 1 else (0.0, -1.0, 2.0)
    return itertools.product(itertools.product(values, repeat=3), repeat=2)


def _shifted() -> Iterator[Rows]:
    for P in (1, 3, 5, 8):
        first = np.resize((2.0, -1.0, 0.0, 1.0, -2.0), 2 * P + 1)
        for shift in range(2 * P + 1):
            x = np.array([(-1.0) ** (p * shift) * np.roll(first, shift * p) for p in range(P)])
            yield tuple(map(tuple, x.tolist()))


def _identities(thresholds: Sequence[Any], measured: Mapping[str, Callable[[OkTopkRun], int]]) -> tuple[Study, ...]:
    """On stacks of whole numbers, with these thresholds in turn."""
    choices = options_of(f"oktopk.{next(iter(measured))}")
    family, turns = family_of(choices, _whole_numbers), {**choices, "thresholds": thresholds}
    small = in_turn(turns, rows=_small, k=lambda rows, level: (1, 2, 3) if level else (1 + (rows[0] < rows[1]),))
    shifted = in_turn(turns, rows=_shifted, k=lambda rows: range(1, 1 + len(rows[0])))
    last = family.every(P=[2], family=["last entries"], k=[2], n=lambda level: [_WIDE] * (level > 0), cuts=["fresh"])
    sources: dict[str, Any] = {
        "grid": lambda level: itertools.chain(small(level), shifted(level)),
        "corpus": lambda budget: itertools.chain(family.corpus(budget), last(budget)),
        "enumerated": "every stack of two ranks and three entries in {0, -1, 2}, k = 1 or 2, every cut, rule and "
        "all-gather in turn; for P = 1, 3, 5, 8 and n = 2P + 1 one vector, shifted by 0..2P from rank to rank, "
        "k = 1..n",
    }
    return tuple(study for name, measure in measured.items() for study in family.studies(measure, name, **sources))


# --- thresholds that drifted --------------------------------------------------------------------------------------

_DRIFTS = ((1, 1.5, 0.8), (2, 2.5, 1.0), (3, 1.5, 1.25), (5, 2.5, 2.0), (8, 1.0, 0.9))
"""Ranks, threshold in standard deviations where it was found, and scale."""
_ENTRIES = 1003
"""Entries of a rank: P = 2, 3, 5 and 8 do not divide them."""


def _in_strata(rng: np.random.Generator, P: int) -> Array:
    """Stacks whose entries are standard normal each, and one of every rank in each of n equally likely intervals."""
    from scipy.special import ndtri

    ranks = rng.permuted(np.tile(np.arange(_ENTRIES), (P, 1)), axis=1)
    # a uniform number of 0 gives minus infinity
    return np.asarray(ndtri(np.maximum((ranks + rng.random((P, _ENTRIES))) / _ENTRIES, np.finfo(np.float64).tiny)))


def _independent(rng: np.random.Generator, P: int) -> Array:
    return rng.standard_normal((P, _ENTRIES))


def _drift_streams(implementation: Any) -> Sequence[Stream]:
    """Shares selected: of stratified entries, which are normal each and hardly vary in number, and independent ones."""
    from scipy.special import ndtr

    claim = claims()["oktopk.threshold.drift"]

    def stream(stack: Callable[[np.random.Generator, int], Array], P: int, z: float, scale: float) -> Stream:
        p = 2.0 * float(ndtr(-z)) * float(claim.bound(z=z, scale=scale))
        # of the intervals only the two that hold +z/c and -z/c are neither in nor out
        low, high = (-2.0 / _ENTRIES, 2.0 / _ENTRIES) if stack is _in_strata else (-p, 1.0 - p)
        state = OkTopkState(
            t=1,
            k=1,
            local_thresholds=np.full(P, z),
            global_threshold=np.finfo(np.float64).max,
            boundaries=np.array(even_cuts(P, _ENTRIES)),
        )

        def draws(rng: np.random.Generator, count: int) -> Floats:
            found = np.empty(count)
            for i in range(count):
                result, _, _ = implementation(scale * stack(rng, P), 1, state)
                found[i] = np.mean(result.local_counts) / _ENTRIES - p
            # what is farther out than can be counts as far as can be
            return np.clip(found, low, high)

        name = "stratified" if stack is _in_strata else "independent"
        label = f"{name}, P = {P}, z = {z:g}, scale {scale:g}"
        return Stream(label, draws, low, high, unit=p, cost=100, values={"z": z, "scale": scale})

    return [*(stream(_in_strata, *drift) for drift in _DRIFTS), stream(_independent, 4, 1.5, 1.25)]


# --- boundaries ------------------------------------------------------------------------------------------------------

Selected = tuple[Sequence[int], ...]


def _selected(P: int, n: int, data: Any, many: int, seed: int) -> dict[str, Selected]:
    """Every rank's indices: given, the last, or drawn."""
    if data == "last":
        data = [range(max(0, n - many - p), max(0, n - p)) for p in range(P)]
    elif data == "drawn":
        data = np.random.default_rng([seed, P]).integers(n, size=(P, many)).tolist()
    return {"selected": tuple(sorted(set(indices)) for indices in data)}


def _off_the_means(implementation: Any, P: int, n: int, selected: Selected) -> int:
    cuts, _ = implementation([np.array(s, dtype=np.int64) for s in selected], n)
    even = even_cuts(P, n)
    means = [
        sum(s[j * (len(s) // P)] if s else even[j] for s in selected) // P for j in range(1, P)
    ]  # integers of Python: no overflow
    found = [int(c) for c in cuts]
    return max(abs(a - b) for a, b in zip(found, [0, *means, n], strict=True))


_BOUNDARIES = Family(
    "oktopk",
    "oktopk_boundaries",
    Space(
        nothing,
        {
            "P": RANKS,
            "n": (2**31 - 1, 2, 10, 1000, 2**24 + 3, 1),
            "data": ("last", "drawn"),
            "many": (1, Of("P", lambda P: P), Of("2 P + 1", lambda P: 2 * P + 1), 0, 8),
        },
    ).search(n=(1, 40), many=(0, 8)),
    _selected,
    exact=False,
)
_ENTRIES_OF = {1: (2,), 2: (3, 4), 3: (2,), 5: (1,), 8: (1,)}


def _choices(P: int, n: int) -> Iterator[Selected]:
    subsets = [s for size in range(n + 1) for s in itertools.combinations(range(n), size)]
    return itertools.product(subsets, repeat=P)


IDENTITIES: tuple[Study, ...] = (
    *_identities([None], {"update.definition": _update_defect, "update.indices": _index_defect}),
    *_identities([None, (1.0, 2.0)], {"update.mass": _mass_defect}),
    *_BOUNDARIES.studies(
        _off_the_means,
        "boundaries.averaged",
        grid=_BOUNDARIES.every(P=_ENTRIES_OF, n=lambda P, level: _ENTRIES_OF[P][: 1 + level], data=_choices),
        enumerated="every choice of indices by two ranks out of three, three out of two, five and eight out of one",
    ),
    Study(
        claim="oktopk.threshold.drift",
        subject="oktopk_allreduce",
        trial=lambda _implementation, _case: Unmeasured("only draws tell"),
        streams=_drift_streams,
        parameters={"entries": f"{_ENTRIES} a rank"},
    ),
)
