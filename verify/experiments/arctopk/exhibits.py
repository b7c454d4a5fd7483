"""ARC-Top-K: all-reduce-compatible Top-K: figures about more than one claim."""

from collections.abc import Callable

import numpy as np

from commbounds.collectives import arctopk_allreduce, kept_of_orthogonal_rows, kept_of_planar_rows
from commbounds.verify import gradients
from commbounds.verify.exhibit import Exhibit, Line, Maker, Panel, bound_of, line

_M = 8
"""Rows of the matrices whose expectations are computed."""


def _planar(rows: list[list[float]], K: int, rank: int) -> float:
    square = float(np.square(rows).sum())
    return 1 - kept_of_planar_rows(rows, K, rank)[0] / square


def contraction(budget: str, seed: int) -> Exhibit:
    """Error against K/m: bounds, several kinds of rows, and real gradients."""
    counts = list(range(1, _M + 1))
    x = [K / _M for K in counts]
    normal = np.random.default_rng(seed).standard_normal((_M, 2)).tolist()
    falling, heavy = [4.0**-j for j in range(_M)], [[1.0, 0.0]] + [[0.0, (_M - 1) ** -0.5]] * (_M - 1)
    kinds: dict[str, Callable[[int, int], float]] = {
        "equal orthogonal rows": lambda K, rank: 1 - kept_of_orthogonal_rows([1.0] * _M, K, rank)[0] / _M,
        "falling orthogonal rows": lambda K, rank: 1 - kept_of_orthogonal_rows(falling, K, rank)[0] / sum(falling),
        "parallel rows and an orthogonal one": lambda K, rank: _planar([[1.0, 0.0]] * (_M - 1) + [[0.0, 0.6]], K, rank),
        "one heavy row among weak ones": lambda K, rank: _planar(heavy, K, rank),
        "normal rows in a plane": lambda K, rank: _planar(normal, K, rank),
    }
    panels = []
    for rank in (1, 4):
        lines = [Line(name, x, [max(0.0, error(K, rank)) for K in counts]) for name, error in kinds.items()]
        for key, label, role in (("contraction", "1 - K/m", "printed"), ("contraction_rho", "1 - rho K/m", "bound")):
            bounds = [bound_of(f"arctopk.allreduce.{key}", m=_M, k=K, r=rank) for K in counts]
            lines.append(line(label, x, bounds, role))
        title = f"{_M} rows, sketch of rank {rank}"
        panels.append(Panel(title, "rows kept, K/m", "expected relative error", tuple(lines)))
    panels.append(_real(budget, seed))
    return Exhibit(
        "arctopk.contraction",
        "The factor 1 - K/m holds on orthogonal rows; parallel rows can exceed it, real gradients stay below it",
        "Expectations over the sketch are exact up to quadrature. The last panel runs the collective on the gradients "
        "of eight workers (hidden layer of the digits model), rows as they come, means over draws of the sketch.",
        tuple(panels),
    )


def _real(budget: str, seed: int) -> Panel:
    draws = {"quick": 20, "standard": 200, "thorough": 2000}[budget]
    lines = []
    for kind in ("iid", "by label"):
        stack = gradients.matrices(kind, "late")[0].astype(np.float64)
        m, square = stack.shape[1], float(np.square(stack.mean(axis=0)).sum())
        counts = sorted({max(1, round(m * share)) for share in (0.02, 0.05, 0.1, 0.2, 0.4, 0.7, 1.0)})
        for rank in (1, 4):
            means = []
            for K in counts:
                rng = np.random.default_rng([seed, K, rank])
                errors = [
                    np.square(arctopk_allreduce(stack, K, rank, rng)[0].mean[0] - stack.mean(axis=0)).sum() / square
                    for _ in range(draws)
                ]
                means.append(float(np.mean(errors)))
            lines.append(Line(f"{kind}, rank {rank}", [K / m for K in counts], means))
        share = [K / m for K in counts]
        order = np.sort(np.square(stack.mean(axis=0)).sum(axis=1))[::-1]
        lines.append(
            Line(f"{kind}, Top-K of the mean", share, [float(order[K:].sum()) / square for K in counts], "exact")
        )
    lines.append(Line("1 - K/m", [0.0, 1.0], [1.0, 0.0], "printed"))
    return Panel(f"real gradients, {m} rows", "rows kept, K/m", "mean relative error", tuple(lines))


def masks(budget: str, seed: int) -> Exhibit:
    """Share of rows that are selected wrongly when two ranks cancel."""
    pairs = {"quick": 40, "standard": 400, "thorough": 2000}[budget]
    m, n, K, rank = 64, 8, 16, 4
    sizes = [10.0**j for j in range(8)]
    rows: dict[str, list[float]] = {"bfloat16": [], "float32": [], "float64": []}
    for size in sizes:
        wrong = dict.fromkeys(rows, 0)
        for pair in range(pairs):
            rng = np.random.default_rng([seed, pair])
            common, own = rng.standard_normal((m, n)), size * rng.standard_normal((m, n))
            V = rng.standard_normal((n, rank))
            stack = np.array([common + own, common - own])
            # what exact sketches of the average select
            scores = np.square(common @ V).sum(axis=1)
            right = set(np.argsort(-scores, kind="stable")[:K].tolist())
            for form in rows:
                given = stack if form == "float64" else stack.astype(np.float32)
                seen = arctopk_allreduce(given, K, rank, sketch=V, sketch_format=form)[0].rows[0].tolist()
                wrong[form] += len(right - set(seen))
        for form, count in wrong.items():
            rows[form].append(count / (pairs * K))
    lines = tuple(Line(f"sketches in {form}", sizes, values) for form, values in rows.items())
    return Exhibit(
        "arctopk.masks",
        "If ranks cancel, sketches of few bits select the wrong rows",
        f"Two ranks hold the common gradient plus and minus a part of their own, {m} rows, {K} kept, rank {rank}; "
        f"{pairs} pairs. A wrong row is one that exact sketches would not have selected. The ranks still agree.",
        (Panel("two ranks", "own part / common part", "share of rows selected wrongly", lines, xscale="log"),),
    )


EXHIBITS: dict[str, Maker] = {"arctopk.contraction": contraction, "arctopk.masks": masks}
