"""What Ok-Topk returns, against its definition; conservation of mass; thresholds that drifted."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from commbounds.array_types import Array, Floats
from commbounds.collectives.oktopk.state import OkTopkState
from commbounds.theory import claims
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.oktopk.cases import corpus, generated, options_of
from commbounds.verify.experiments.oktopk.runs import OkTopkRun, even_cuts, stack_case
from commbounds.verify.inputs import integers, sampled_from
from commbounds.verify.study import Case, Outcome, Stream, Study, Unmeasured

_TOP = 2.0**12
"""Largest magnitude of the integers that families are rounded to: sums of 2^11 of them are exact in float32."""


def _whole_numbers(case: Case) -> Case:
    """The case with its vectors scaled to integers: sums are exact, and ties and cancellations frequent."""
    assert case.x is not None
    wide = case.x.astype(np.float64)
    top = float(np.abs(wide).max()) or 1.0
    return Case(case.settings, np.rint(wide / top * min(_TOP, 8.0 * case.settings["k"])).astype(case.x.dtype))


def _largest(x: Array, k: int) -> Array:
    """The entries of `x` at least as large as the k-th largest in magnitude, zeros for all others."""
    size = np.abs(x)
    return np.where(size >= np.sort(size)[-k], x, 0)


def _update_defect(run: OkTopkRun) -> int:
    integers = run.x.astype(np.int64)
    total = sum(_largest(row, run.k) for row in integers)
    return int(np.abs(run.result.update.astype(np.int64) - _largest(np.asarray(total), run.k)).max())


def _index_defect(run: OkTopkRun) -> int:
    kept = set(np.flatnonzero(run.result.update).tolist())
    found = zip(run.result.selected, run.x, strict=True)
    return sum(
        len(set(indices.tolist()) ^ (set(np.flatnonzero(_largest(row, run.k)).tolist()) & kept))
        + indices.size
        - len(set(indices.tolist()))
        for indices, row in found
    )


def _mass_defect(run: OkTopkRun) -> int:
    residuals = run.x.astype(np.int64)
    for row, indices in zip(residuals, run.result.selected, strict=True):
        row[indices] = 0
    gone = run.x.astype(np.int64).sum(axis=0) - residuals.sum(axis=0)
    return int(np.abs(gone - run.result.update.astype(np.int64)).max())


def _trial(measure: Callable[[OkTopkRun], int]) -> Callable[[Any, Case], Outcome]:
    return lambda implementation, case: Outcome(measure(OkTopkRun.of(implementation, case)), {})


def _grid(name: str) -> Callable[[int], Iterator[Case]]:
    """Every stack of two ranks, three entries in {0, -1, 2}, then shifted ones; every cut and option in turn."""

    def cases(level: int) -> Iterator[Case]:
        stale = not any(h.name == "fresh_thresholds" for h in claims()[name].assumes)
        choices = {option: listed for option, listed in options_of(name).items() if option not in ("family", "cuts")}
        combinations = list(itertools.product(*choices.values()))
        cuts: list[Any] = ["fresh", *((0, c, 3) for c in range(4))]
        values = (0.0, -1.0, 2.0, 1.0) if level > 1 else (0.0, -1.0, 2.0)
        for number, entries in enumerate(itertools.product(values, repeat=6)):
            for k in (1, 2, 3) if level > 0 else (1 + number % 2,):
                # three, five and the number of combinations have no common factor but with one another's multiples
                options = dict(zip(choices, combinations[(number + k) % len(combinations)], strict=True))
                at = cuts[number % len(cuts)]
                if stale and at != "fresh" and number % 2:
                    options["thresholds"] = (1.0, 2.0)
                yield stack_case(np.array(entries).reshape(2, 3), k, at, **options)
        for P in (1, 3, 5, 8):
            n = 2 * P + 1
            first = np.resize((2.0, -1.0, 0.0, 1.0, -2.0), n)
            for shift in range(n):
                options = dict(zip(choices, combinations[(shift + P) % len(combinations)], strict=True))
                x = np.array([(-1.0) ** (p * shift) * np.roll(first, shift * p) for p in range(P)])
                yield stack_case(x, 1 + shift % n, "even" if shift % 2 else "fresh", **options)

    return cases


_GRID = (
    "every stack of two ranks and three entries in {0, -1, 2}, with k = 1 and 2, every cut, rule and all-gather in "
    "turn; for P = 1, 3, 5, 8 and n = 2P + 1 one vector, shifted by 0..2P from rank to rank, k = 1..n"
)
_WIDE = 2**24 + 3
"""Entries of a vector whose last indices are no float32 numbers."""


def _corpus(name: str) -> Callable[[Budget], Iterator[Case]]:
    families = corpus(name)

    def cases(budget: Budget) -> Iterator[Case]:
        yield from map(_whole_numbers, families(budget))
        if budget.level > 0:
            x = np.zeros((2, _WIDE), dtype=np.float32)
            x[0, -2:], x[1, -3:] = (3.0, 2.0), (1.0, 4.0, -2.0)
            yield stack_case(x, 2)

    return cases


def _cases(name: str) -> Callable[[], st.SearchStrategy[Case]]:
    return lambda: generated(name)().map(_whole_numbers)


def _identity(name: str, measure: Callable[[OkTopkRun], int]) -> Study:
    return Study(
        claim=name,
        subject="oktopk_allreduce",
        trial=_trial(measure),
        grid=_grid(name),
        corpus=_corpus(name),
        cases=_cases(name),
        enumerated=_GRID,
    )


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


def _boundaries_case(selected: Sequence[Sequence[int]], n: int) -> Case:
    return Case({"P": len(selected), "n": n, "selected": tuple(tuple(s) for s in selected)})


def _boundaries_trial(implementation: Any, case: Case) -> Outcome:
    selected, n = case.settings["selected"], case.settings["n"]
    P = len(selected)
    cuts, _ = implementation([np.array(s, dtype=np.int64) for s in selected], n)
    even = even_cuts(P, n)
    means = [
        sum(s[j * (len(s) // P)] if s else even[j] for s in selected) // P for j in range(1, P)
    ]  # integers of Python: no overflow
    found = [int(c) for c in cuts]
    return Outcome(max(abs(a - b) for a, b in zip(found, [0, *means, n], strict=True)), {})


def _boundaries_grid(level: int) -> Iterator[Case]:
    """Every choice of indices by two ranks out of three, then four, by three out of two, five and eight out of one."""
    for P, n in ((1, 2), (2, 3), (3, 2), (5, 1), (8, 1), (2, 4))[: 5 + (level > 0)]:
        subsets = [s for size in range(n + 1) for s in itertools.combinations(range(n), size)]
        for selected in itertools.product(subsets, repeat=P):
            yield _boundaries_case(selected, n)


def _boundaries_corpus(_budget: Budget) -> Iterator[Case]:
    last = 2**31 - 1
    for P in (1, 2, 3, 5):
        for size in (1, P, 2 * P + 1):
            yield _boundaries_case([range(last - size - p, last - p) for p in range(P)], last)


@st.composite
def _boundaries_cases(draw: st.DrawFn) -> Case:
    P, n = draw(integers(1, 6)), draw(sampled_from((1, 2, 10, 1000, 2**24 + 3, 2**31 - 1)))
    selected = [sorted({draw(integers(0, n - 1)) for _ in range(draw(integers(0, 8)))}) for _ in range(P)]
    return _boundaries_case(selected, n)


IDENTITIES: tuple[Study, ...] = (
    _identity("oktopk.update.definition", _update_defect),
    _identity("oktopk.update.indices", _index_defect),
    _identity("oktopk.update.mass", _mass_defect),
    Study(
        claim="oktopk.boundaries.averaged",
        subject="oktopk_boundaries",
        trial=_boundaries_trial,
        grid=_boundaries_grid,
        corpus=_boundaries_corpus,
        cases=_boundaries_cases,
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
