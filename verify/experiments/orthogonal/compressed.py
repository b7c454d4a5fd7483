"""What compressors leave out of a matrix, in the spectral and in the nuclear norm."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from commbounds.array_types import Array
from commbounds.compressors.base import Exact
from commbounds.verify import gradients
from commbounds.verify.compressor_run import CompressorRun
from commbounds.verify.compressor_study import MATRICES, CompressorStudy
from commbounds.verify.experiment import Budget
from commbounds.verify.experiments.binding import bind
from commbounds.verify.inputs import integers, sampled_from
from commbounds.verify.measures import Measure, Reading
from commbounds.verify.study import Case, Outcome, Study, over

_EPS = float(np.finfo(np.float64).eps)


def _singular_values(x: Array, left: Array) -> tuple[Array, Array]:
    """Of what is left out of a matrix, and of the matrix; both are divided by its largest entry."""
    top = float(np.abs(x).max())
    ours, whole = (np.linalg.svd(part.astype(np.float64) / top, compute_uv=False) for part in (left, x))
    return ours, whole


def _share(values: tuple[Array, Array], norm: str) -> float:
    """Squared norm of what is left out over that of a matrix."""
    sizes = [float(found.max() if norm == "spectral" else found.sum()) for found in values]
    return (sizes[0] / sizes[1]) ** 2


# --- Top-K, as EF21-Muon's workers have it ---------------------------------------------------------------------------


def _left(step: Any, case: Case) -> tuple[Array, Array]:
    """`_singular_values` of what one worker's message leaves out of its gradient, of which nothing was known."""
    x = case.array
    state, _ = step(x[None], 0 * x[None], 0 * x, case.settings["k"], 0)
    return _singular_values(x, np.asarray(x - state.own[0]))


def _of_matrix(norm: str, step: Any, case: Case) -> Outcome:
    x, s = case.array, case.settings
    values = {name: s[name] for name in ("m", "n", "k")}
    return Outcome(_share(case.once(_left, step), norm), values, 64 * _EPS * x.size)


def _matrix(x: Any, k: int) -> Case:
    array = np.asarray(x, np.float64)
    return Case({"m": array.shape[0], "n": array.shape[1], "k": k}, array)


def _signs(order: int) -> Array:
    """Orthogonal signs, of an order that is a power of two."""
    found = np.ones((1, 1))
    while len(found) < order:
        found = np.block([[found, found], [found, -found]])
    return found


def _rows(_budget: Any) -> Iterator[Case]:
    for n in (2, 4, 8):
        yield _matrix(_signs(n), (n - 1) * n)


def _permutations(_budget: Any) -> Iterator[Case]:
    for n in (2, 3, 5):
        yield _matrix(1 + 2.0**-40 * (1 - np.eye(n)), n * n - n)


def _matrices(_budget: Budget) -> Iterator[Case]:
    for n in (2, 4, 8):
        signs = _signs(n)
        yield _matrix(signs, 1)
        yield _matrix(signs + 2.0**-40 * (signs < 0) * signs, int((signs < 0).sum()))  # the positive ones are left
    yield from _rows(_budget)
    yield from _permutations(_budget)
    rng = np.random.default_rng(3)
    for (m, n), part in itertools.product(((1, 1), (1, 5), (3, 2), (4, 7), (12, 12)), (0.0, 0.5, 0.9, 1.0)):
        yield _matrix(rng.standard_normal((m, n)), max(1, int(part * m * n)))
    yield _matrix(np.zeros((2, 2)), 1)
    for kind in gradients.KINDS:
        x = gradients.matrices(*kind.split(", "))[0][0].astype(np.float64)
        yield _matrix(x, x.size // 10)


@st.composite
def _drawn_matrices(draw: st.DrawFn) -> Case:
    m, n = draw(integers(1, 6)), draw(integers(1, 6))
    rng = np.random.default_rng(draw(integers(0, 2**31)))
    kind = draw(sampled_from(("normal", "signs", "rank one", "cubes")))
    x = rng.standard_normal((m, n))
    if kind == "signs":
        x = np.where(x > 0, 1.0, -1.0) + 2.0**-30 * x
    elif kind == "rank one":
        x = np.outer(x[:, 0], x[0])
    elif kind == "cubes":
        x = x**3
    return _matrix(x, draw(integers(1, m * n)))


def _of_top(statement: str, norm: str, **options: Any) -> Study:
    signs = _signs(8) + 2.0**-40 * (_signs(8) < 0) * _signs(8)
    return Study(
        f"orthogonal.matrix_topk.{statement}", "ef21_muon", partial(_of_matrix, norm),
        corpus=_matrices, cases=_drawn_matrices,
        curves=[over("k", "orthogonal signs, 8 x 8", [_matrix(signs, k) for k in (1, 8, 16, 24, 28, 36, 48, 60, 63)])],
        **options,
    )  # fmt: skip


TOP_K = (
    _of_top("spectral_contracts", "spectral"),
    _of_top("spectral", "spectral", extremal=_rows),
    _of_top("nuclear_contracts", "nuclear"),
    _of_top("nuclear", "nuclear", extremal=_permutations),
)

# --- the best approximation of low rank ------------------------------------------------------------------------------


@dataclass(frozen=True)
class LeftInNorm(Measure):
    """What a compressor leaves out of a matrix over the matrix, both squared, in the spectral or in the nuclear norm.

    Parameters
    ----------
    norm : {"spectral", "nuclear"}
        Which.
    """

    norm: str

    def exact(self, run: CompressorRun) -> Exact:
        raise TypeError("singular values are computed in floating point")

    def read(self, run: CompressorRun) -> Reading | None:
        slack = 16.0 * run.x.size * float(np.finfo(run.x.dtype).eps)
        return Reading(_share(run.once(_left_by), self.norm), slack)


def _left_by(run: CompressorRun) -> tuple[Array, Array]:
    return _singular_values(run.x, run.x - run.c(run.x))  # nothing is drawn


def _identity(c: Any, n: int) -> Array | None:
    return np.eye(n) if n > c.rank else None


def _of_rank(statement: str, norm: str) -> CompressorStudy:
    return bind(
        f"orthogonal.lowrank.{statement}", "LowRank", measure=LeftInNorm(norm), worst=_identity, domain=MATRICES,
        enumerable=False, injectable=False,
    )  # fmt: skip


LOW_RANK = (
    _of_rank("spectral_contracts", "spectral"),
    _of_rank("spectral", "spectral"),
    _of_rank("nuclear", "nuclear"),
)
