"""What ARC-Top-K loses, in expectation over its sketch: measured through the implementation where angles tell it."""

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from commbounds.array_types import Array, Floats
from commbounds.collectives.arctopk.law import kept_of_orthogonal_rows, kept_of_planar_rows, sectors
from commbounds.theory import claims
from commbounds.verify import inputs
from commbounds.verify.experiment import Budget
from commbounds.verify.finding import Series
from commbounds.verify.study import Case, Outcome, Stream, Study

_A, _ARC = "arctopk.allreduce.", "arctopk_allreduce"
_EPS = float(np.finfo(np.float64).eps)
_ATTACKED = "attacked"
"""Family of the attack's cases: several hundred of them, of rows alike."""


def _stack(rows: Array, P: int) -> Array:
    """Gradients of P ranks that average to `rows`: the ranks differ, and in pairs they cancel."""
    stack = np.repeat(rows[None], P, axis=0)
    for p in range(0, P - 1, 2):
        stack[p] += 8.0
        stack[p + 1] -= 8.0
    return stack


def _joined(z: NDArray[np.complex128], K: int, middle: Array, width: Array) -> tuple[Array, Array]:
    """Neighbouring sectors in which the same K rows score highest as one: the middle of its widest, and their width."""
    scores = np.abs(z) + np.real(z * np.exp(-1j * middle[:, None]))
    kept = np.sort(np.argsort(-scores, axis=1, kind="stable")[:, :K], axis=1)
    begins = np.flatnonzero(np.r_[True, (kept[1:] != kept[:-1]).any(axis=1)])
    widest = [start + int(width[start:stop].argmax()) for start, stop in pairwise([*begins, len(middle)])]
    return middle[widest], np.add.reduceat(width, begins)


def _by_angles(arc: Any, rows: Array, K: int, P: int, joined: bool = False) -> tuple[float, float]:
    """Relative error with a sketch of rank 1: the implementation, run once in every sector of directions.

    Or once where neighbouring sectors should keep the same rows: enough to see where the error is large.
    """
    z = (rows[:, 0] + 1j * rows[:, 1]) ** 2
    middle, width = sectors(np.abs(z), z, 1.0)
    allowance = 2e-9 * len(middle) + 64.0 * len(rows) * P * _EPS
    if joined:
        middle, width = _joined(z, K, middle, width)
    stack, total = _stack(rows, P), 0.0
    average = stack.mean(axis=0)
    for psi, share in zip(middle, width, strict=True):
        if share < 1e-9:  # so narrow that the rounding of a score decides; counted in the slack
            continue
        sketch = [[math.cos(psi / 2)], [math.sin(psi / 2)]]
        error = arc(stack, K, 1, sketch=sketch)[0].mean[0] - average
        total += share * float(np.square(error).sum())
    square = float(np.square(average).sum())
    return total / (2 * math.pi) / square, allowance


def known(_arc: Any, case: Case) -> dict[str, int]:
    """The symbols k and r."""
    return {"k": case.settings["K"], "r": case.settings["rank"]}


def _error(arc: Any, case: Case) -> Outcome:
    """Relative error of planar or of orthogonal rows that are not all zero."""
    s, rows = case.settings, case.array
    m, K, rank = len(rows), s["K"], s["rank"]
    square = float(np.square(rows).sum())
    values = {"m": m, "k": K, "r": rank, **({"odd_square": s["odd_square"]} if "odd_square" in s else {})}
    if s.get("orthogonal"):
        norms = np.square(rows).sum(axis=1)
        if np.ptp(norms) == 0.0:  # every selection loses the same: one sketch tells
            error = arc(_stack(rows, s["P"]), K, rank, np.random.default_rng(m))[0].mean[0] - rows
            return Outcome(float(np.square(error).sum()) / square, values, 64 * m * s["P"] * _EPS)
        kept, allowance = kept_of_orthogonal_rows(norms, K, rank)
        return Outcome(1 - kept / square, values, allowance / square + 64 * _EPS)
    if rank == 1:
        measured, allowance = _by_angles(arc, rows, K, s["P"], joined=s["family"] == _ATTACKED)
        return Outcome(measured, values, allowance)
    kept, allowance = kept_of_planar_rows(rows, K, rank)
    return Outcome(1 - kept / square, values, allowance / square + 64 * m * _EPS)


# --- rows ------------------------------------------------------------------------------------------------------------


def _case(rows: Any, K: int, rank: int, family: str, **more: Any) -> Case:
    x = np.array(rows, dtype=np.float64)
    return Case({"m": len(x), "K": K, "rank": rank, "P": 2, "family": family, **more}, x)


def _parallel_and_one(m: int, square: float) -> Array:
    return np.array([[1.0, 0.0]] * (m - 1) + [[0.0, math.sqrt(square)]])


def _decoys(A: int, B: int, w: float) -> Array:
    return np.array([[1.0, 0.0]] * A + [[0.0, math.sqrt(w)]] * B)


def _heavy(m: int, weak: float) -> Array:
    """One heavy row and m - 1 weak ones, parallel to one another and orthogonal to it."""
    return np.array([[1.0, 0.0]] + [[0.0, weak]] * (m - 1))


def _refuting(budget: Budget) -> Iterator[Case]:
    yield _case(_parallel_and_one(3, 0.6), 1, 1, "two parallel rows and an orthogonal one", odd_square=0.6)
    for m in (5, 10, 30, 100)[: 2 + budget.level]:
        yield _case(_heavy(m, (m - 1) ** -0.5), m - 1, 1, "one heavy row among weak parallel ones")


def _planar(budget: Budget) -> Iterator[Case]:
    """Random, parallel, decoy and heavy rows in a plane; many of which one is kept."""
    for P in (1, 2, 3, 5, 8):
        yield _case(np.ones((10, 2)), 1, 1, "equal rows", P=P)
        yield _case(np.random.default_rng(P).standard_normal((4, 2)), 2, 1, "normal", P=P, seed=P)
    for rank in (1, 2, 4)[: 2 + budget.level]:
        for m in (2, 3, 5):
            for K in sorted({1, (m + 1) // 2, m - 1}):
                for seed in range(1 + budget.level):
                    rows = np.random.default_rng([seed, m]).standard_normal((m, 2))
                    yield _case(rows, K, rank, "normal", seed=seed)
                yield _case(_decoys(m - 1, 1, 0.5), K, rank, "decoys")
                yield _case(_heavy(m, 0.01), K, rank, "one heavy row")
                yield _case(np.ones((m, 2)), K, rank, "equal rows")


def _two_rows(budget: Budget) -> Iterator[Case]:
    for rank in (1, 2, 3, 8):
        yield _case([[0.0, 0.0], [1.0, 0.0]], 1, rank, "nothing and a row")  # scores that touch at one direction
        for angle in (0.0, 0.3, math.pi / 4, math.pi / 2):
            for size, P in ((1.0, 2), (0.9, 5), (0.1, 1)):
                rows = [[1.0, 0.0], [size * math.cos(angle), size * math.sin(angle)]]
                yield _case(rows, 1, rank, f"two rows at {angle:.2f}", P=P)


def _equal_pair(_budget: Budget) -> Iterator[Case]:
    for rank in (1, 2, 5):
        for angle in (0.5, math.pi / 2):
            yield _case([[1.0, 0.0], [math.cos(angle), math.sin(angle)]], 1, rank, "two rows of equal norm")


def _orthogonal(budget: Budget) -> Iterator[Case]:
    for rank in (1, 2, 3)[: 2 + (budget.level > 0)]:
        for norms in ((1.0, 2.0), (1.0, 1.0, 3.0), (4.0, 1.0, 0.5, 0.25), (10.0, 1.0, 1.0, 1.0)):
            for K in range(1, len(norms)):
                yield _case(np.diag(norms), K, rank, "orthogonal", orthogonal=True)


def _equal_orthogonal(_budget: Budget) -> Iterator[Case]:
    for m in (2, 3, 7, 16):
        for K in sorted({1, m // 2, m}):
            for rank, P in ((1, 3), (4, 8)):
                yield _case(np.eye(m), K, rank, "orthogonal rows of equal norm", orthogonal=True, P=P)


def _odd_ones(budget: Budget) -> Iterator[Case]:
    for m in (2, 3, 5, 9):
        for P, square in zip((1, 2, 3, 5, 8, 2), (0.1, 0.296, 0.6, 1.0, 4.0, 100.0)[: 5 + budget.level], strict=False):
            rows = _parallel_and_one(m, square)
            yield _case(rows, 1, 1, "parallel rows and an orthogonal one", odd_square=square, P=P)


def _generated(rank: int = 1, m: int = 0) -> Callable[[], st.SearchStrategy[Case]]:
    """Planar rows, entry by entry or at random."""

    @st.composite
    def cases(draw: st.DrawFn) -> Case:
        count = m or draw(inputs.integers(2, 5))
        K = draw(inputs.integers(1, count))
        if not draw(st.booleans()):
            entries = draw(inputs.small_entries(2 * count, 2 * count))
            return _case(np.array(entries, np.float64).reshape(count, 2), K, rank, "small integers")
        seed = draw(inputs.integers(0, 2**31))
        return _case(np.random.default_rng(seed).standard_normal((count, 2)), K, rank, "normal", seed=seed)

    return cases


def _moved(rng: np.random.Generator, case: Case) -> Case:
    """Rows nearby, one of them sometimes replaced by another."""
    x = case.array * (1 + 0.2 * rng.standard_normal(case.array.shape)) + 0.05 * rng.standard_normal(case.array.shape)
    if rng.random() < 0.2 and len(x) > 1:
        i, j = rng.permutation(len(x))[:2]
        x[i] = x[j]
    settings = {name: value for name, value in case.settings.items() if name not in ("seed", "odd_square")}
    return Case({**settings, "family": _ATTACKED}, x / np.abs(x).max())


# --- draws and curves ------------------------------------------------------------------------------------------------


def _stream(arc: Any, name: str, rows: Array, K: int, rank: int) -> Stream:
    """Relative errors of the implementation's own draws, over the bound."""
    stack, square = _stack(rows, 2), float(np.square(rows).sum())
    bound = float(claims()[name].bound(m=len(rows), k=K, r=rank))

    def draw(rng: np.random.Generator, count: int) -> Floats:
        errors = [np.square(arc(stack, K, rank, rng)[0].mean[0] - rows).sum() for _ in range(count)]
        return np.array(errors) / square / bound / (1 + 1e-12) - 1.0

    label = f"m = {len(rows)}, K = {K}, rank {rank}"
    return Stream(label, draw, -1.0, math.inf, two_sided=False, cost=40)


def _kept_stream(arc: Any, rows: Array, K: int, rank: int, label: str, cost: float) -> Stream:
    """Share of the bound by which what the implementation's own draws keep falls short of rho(m, r) K/m.

    What is kept tells more than what is lost, of which K/m is a small part.
    """
    norms = np.square(rows).sum(axis=1)
    least = (1.0 - float(claims()[_A + "contraction_rho"].bound(m=len(rows), k=K, r=rank))) * float(norms.sum())
    stack, most = _stack(rows, 3), float(np.sort(norms)[-K:].sum())

    def draw(rng: np.random.Generator, count: int) -> Floats:
        errors = np.array([np.square(arc(stack, K, rank, rng)[0].mean[0] - rows).sum() for _ in range(count)])
        return np.asarray(1 - (norms.sum() - errors) / least)

    allowance = 64 * len(rows) * _EPS * float(np.square(stack).max())
    label = f"{label}, m = {len(rows)}, K = {K}, rank {rank}"
    return Stream(label, draw, 1 - most / least - allowance, math.inf, two_sided=False, cost=cost)


def _rho_streams(arc: Any) -> list[Stream]:
    """Random rows; two rows at eight angles, of which every fixed direction misjudges one; decoys at a large rank."""
    rng = np.random.default_rng(11)
    streams = []
    for rows in (rng.standard_normal((12, 4)), np.repeat(rng.standard_normal((3, 4)), 4, axis=0)):
        streams += [_kept_stream(arc, rows, K, rank, "random rows", 60) for K, rank in ((1, 2), (3, 4))]
    for j in range(8):
        c, s = math.cos(j * math.pi / 8), math.sin(j * math.pi / 8)
        rows = np.array([[c, s], [-0.22 * s, 0.22 * c]])  # tan(pi/16) < 0.22
        streams.append(_kept_stream(arc, rows, 1, 1, f"a long row at {j}/8 pi", 8))
    decoys = np.zeros((100, 21))
    decoys[:80, 0], decoys[80:, 1:] = 1.0, 0.5 * np.eye(20)
    return [*streams, _kept_stream(arc, decoys, 1, 256, "decoys", 12)]


def _streams(name: str) -> Callable[[Any], list[Stream]]:
    def streams(arc: Any) -> list[Stream]:
        rows = [np.diag([3.0, 2.0, 1.0, 1.0, 0.5]), np.diag(np.ones(8))]
        return [_stream(arc, name, x, K, rank) for x in rows for K, rank in ((1, 2), (3, 4))]

    return streams


def _curves(name: str, make: Callable[[int], list[Case]], axis: str = "m") -> Any:
    """Error over the number of rows: the worst of the made rows, and normal rows."""

    def curves(arc: Any, seed: int) -> list[Series]:
        rng, sizes, bound, worst, rows = np.random.default_rng(seed), [2, 3, 4, 6, 8], [], [], []
        if axis == "r":
            sizes = [1, 2, 3, 5, 8]
        for size in sizes:
            outcomes = [_error(arc, case) for case in make(size)]
            m, rank = (2, size) if axis == "r" else (size, 1)
            drawn = [_error(arc, _case(rng.standard_normal((m, 2)), 1, rank, "normal")) for _ in range(5)]
            bound.append(float(claims()[name].bound(**outcomes[0].values)))
            worst.append(max(float(o.measured) for o in outcomes + drawn))
            rows.append([float(o.measured) for o in drawn])
        low, middle, high = np.quantile(rows, (0.05, 0.5, 0.95), axis=1).tolist()
        label = "one of two rows kept" if axis == "r" else "one row kept, rank 1; random: normal rows in a plane"
        return [Series(label, axis, [float(v) for v in sizes], bound, worst, low, middle, high)]

    return curves


def _worst_planar(m: int) -> list[Case]:
    return [_case(_parallel_and_one(m, w), 1, 1, "parallel and one") for w in (0.1, 0.3, 0.6, 0.9)]


def _worst_orthogonal(m: int) -> list[Case]:
    return [_case(np.eye(m), 1, 1, "equal norms", orthogonal=True)]


def _worst_pair(rank: int) -> list[Case]:
    return [_case([[1.0, 0.0], [0.6, 0.8]], 1, rank, "two rows of equal norm")]


def _odd_curve(arc: Any, _seed: int) -> list[Series]:
    name, sizes, square = _A + "parallel_and_one", [2, 3, 4, 6, 8, 16], 0.6
    outcomes = [_error(arc, _case(_parallel_and_one(m, square), 1, 1, "", odd_square=square)) for m in sizes]
    bound = [float(claims()[name].bound(m=m, odd_square=square)) for m in sizes]
    measured = [float(o.measured) for o in outcomes]
    return [Series("odd row of squared norm 0.6", "m", [float(m) for m in sizes], bound, measured)]


ERRORS = (
    Study(_A + "parallel_and_one", _ARC, _error, known=known, corpus=_odd_ones, curves=_odd_curve),
    Study(
        _A + "contraction",
        _ARC,
        _error,
        known=known,
        corpus=_planar,
        extremal=_refuting,
        cases=_generated(),
        curves=_curves(_A + "contraction", _worst_planar),
    ),
    Study(
        _A + "contraction_orthogonal",
        _ARC,
        _error,
        known=known,
        corpus=_orthogonal,
        extremal=_equal_orthogonal,
        streams=_streams(_A + "contraction_orthogonal"),
        curves=_curves(_A + "contraction_orthogonal", _worst_orthogonal),
    ),
    Study(
        _A + "contraction_two_rows",
        _ARC,
        _error,
        known=known,
        corpus=_two_rows,
        extremal=_equal_pair,
        cases=_generated(m=2),
        mutate=_moved,
        curves=_curves(_A + "contraction_two_rows", _worst_pair, "r"),
    ),
    Study(
        _A + "contraction_rho",
        _ARC,
        _error,
        known=known,
        corpus=_planar,
        cases=_generated(),
        mutate=_moved,
        streams=_rho_streams,
        curves=_curves(_A + "contraction_rho", _worst_planar),
    ),
)
"""In the order of the book."""
