"""What compressors leave out of a matrix, in the spectral and in the nuclear norm."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors.base import Exact
from commbounds.verify import gradients
from commbounds.verify.compressor_run import CompressorRun
from commbounds.verify.compressor_study import MATRICES, CompressorStudy
from commbounds.verify.experiments.binding import bind
from commbounds.verify.family import Family, FamilyStudy, Rounded
from commbounds.verify.measures import Measure, Reading
from commbounds.verify.space import Of, Settings, Space

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


def _left(implementation: Any, x: Array, k: int) -> tuple[Array, Array]:
    """`_singular_values` of what one worker's message leaves out of its gradient, of which nothing was known."""
    state, _ = implementation(x[None], 0 * x[None], 0 * x, k, 0)
    return _singular_values(x, np.asarray(x - state.own[0]))


def _of_matrix(norm: str, found: tuple[Array, Array], x: Array) -> Rounded:
    return Rounded(_share(found, norm), 64 * _EPS * x.size)


def _signs(order: int) -> Array:
    """Orthogonal signs, of an order that is a power of two."""
    found = np.ones((1, 1))
    while len(found) < order:
        found = np.block([[found, found], [found, -found]])
    return found


_DRAWN: dict[str, Callable[[Array], Array]] = {
    "zero": lambda x: 0 * x,
    "normal": lambda x: x,
    "nearly signs": lambda x: np.where(x > 0, 1.0, -1.0) + 2.0**-30 * x,
    "rank one": lambda x: np.outer(x[:, 0], x[0]),
    "cubes": lambda x: x**3,
    "larger beside the diagonal": lambda x: 1 + 2.0**-40 * (1 - np.eye(*x.shape)),
}
"""By normal entries."""


def _matrix(m: int, n: int, data: str, seed: int) -> Array:
    if data in _DRAWN:
        return _DRAWN[data](np.random.default_rng([seed, m, n]).standard_normal((m, n)))
    if data in gradients.KINDS:
        return np.asarray(gradients.matrices(*data.split(", "))[0][0], np.float64)
    signs = _signs(n)
    return np.asarray(signs if data == "orthogonal signs" else signs + 2.0**-40 * (signs < 0) * signs)


_LARGER = "orthogonal signs, negative ones larger"
_MATRICES = (
    Space(
        _matrix,
        {
            "m": (3, 1, 2, 4, 12),
            "n": (2, 1, 5, 7, 12),
            "data": tuple(_DRAWN)[1:],
            "k": (
                1,
                Of("half of the entries, at least 1", lambda m, n: max(1, m * n // 2)),
                Of("nine tenths of them, at least 1", lambda m, n: max(1, 9 * m * n // 10)),
                Of("m n", lambda m, n: m * n),
            ),
        },
        options=("k",),
    )
    .hidden_by(data=("zero",))
    .search(m=(1, 6), n=(1, 6))
)
_ROWS = [_MATRICES.at(m=n, n=n, data="orthogonal signs", k=(n - 1) * n) for n in (2, 4, 8)]
_PERMUTATIONS = [_MATRICES.at(m=n, n=n, data="larger beside the diagonal", k=n * n - n) for n in (2, 3, 5)]
_ONE_KEPT = [_MATRICES.at(m=n, n=n, data="orthogonal signs") for n in (2, 4, 8)]
_POSITIVE_LEFT = [_MATRICES.at(m=n, n=n, data=_LARGER, k=int((_signs(n) < 0).sum())) for n in (2, 4, 8)]
_SHAPES = {kind: gradients.matrices(*kind.split(", "))[0][0].shape for kind in gradients.KINDS}
_RECORDED = [_MATRICES.at(m=m, n=n, data=kind, k=m * n // 10) for kind, (m, n) in _SHAPES.items()]
_TOP_K = Family(
    "orthogonal.matrix_topk",
    "ef21_muon",
    _MATRICES.including(*_ONE_KEPT, *_POSITIVE_LEFT, *_ROWS, *_PERMUTATIONS, *_RECORDED),
    run=_left,
    exact=False,
    arrays=2,
)


def _of_top(norm: str, extremal: list[Settings]) -> tuple[FamilyStudy, ...]:
    curve = _TOP_K.over("k", (1, 8, 16, 24, 28, 36, 48, 60, 63), "orthogonal signs, 8 x 8", m=8, n=8, data=_LARGER)
    measure = partial(_of_matrix, norm)
    return (
        *_TOP_K.studies(measure, f"{norm}_contracts", curves=[curve]),
        *_TOP_K.studies(measure, norm, extremal=_TOP_K.of(extremal), curves=[curve]),
    )


TOP_K = (*_of_top("spectral", _ROWS), *_of_top("nuclear", _PERMUTATIONS))

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
