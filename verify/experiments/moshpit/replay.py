"""The averaging experiment of Moshpit SGD's authors, with their seeds, beside the numbers that they print.

Every peer holds a number; in an iteration every peer is down with probability p, and keeps its number. What counts is
the first iteration after which the variance about the *current* mean is below a target. The notebook is at
github.com/yandex-research/moshpit-sgd, averaging_experiments/plot_results.ipynb; its printed output is kept below.
"""

from collections.abc import Callable
from functools import partial

import numpy as np

from commbounds.array_types import Array, Mask
from commbounds.collectives import allreduce_with_restarts, gossip, grid_average, push_sum, regrouping
from commbounds.verify.replay import Table

Round = Callable[[Array, Mask, int, np.random.RandomState], Array]
"""(numbers, who is there, number of the iteration from 1, the run's random numbers) -> numbers."""

RUNS, MOST, GROUP, TARGETS = 10, 50, 32, (1e-9, 1e-4)
PUBLISHED: dict[tuple[int, str], str] = {
    (512, "0"): "1.0 (1.0)|50.0 (50.0)|47.6 (15.6)|6.1 (3.0)|8.2 (3.6)",
    (512, "0.001"): "1.6 (1.6)|50.0 (50.0)|47.6 (15.6)|6.3 (3.0)|8.5 (3.3)",
    (512, "0.005"): "10.9 (10.9)|50.0 (50.0)|47.8 (15.6)|6.3 (3.0)|8.8 (3.9)",
    (512, "0.01"): "41.7 (41.7)|50.0 (50.0)|47.8 (15.6)|6.6 (3.0)|8.8 (3.9)",
    (768, "0"): "1.0 (1.0)|50.0 (50.0)|43.2 (13.8)|6.2 (3.0)|6.0 (3.0)",
    (768, "0.001"): "1.8 (1.8)|50.0 (50.0)|43.2 (13.8)|6.5 (3.0)|6.0 (3.0)",
    (768, "0.005"): "28.7 (28.7)|50.0 (50.0)|43.2 (14.1)|6.6 (3.0)|6.6 (3.0)",
    (768, "0.01"): "50.0 (50.0)|50.0 (50.0)|43.9 (14.2)|7.0 (3.0)|6.9 (3.0)",
    (900, "0"): "1.0 (1.0)|50.0 (50.0)|45.0 (14.7)|6.4 (3.0)|5.0 (2.9)",
    (900, "0.001"): "1.8 (1.8)|50.0 (50.0)|45.0 (14.7)|6.3 (3.0)|5.1 (2.9)",
    (900, "0.005"): "50.0 (50.0)|50.0 (50.0)|45.2 (14.7)|6.7 (3.0)|5.9 (3.1)",
    (900, "0.01"): "50.0 (50.0)|50.0 (50.0)|45.6 (14.9)|7.0 (3.1)|6.5 (3.0)",
}
"""The printed cells: All-Reduce, Gossip, SGP, Random groups, Moshpit; to 1e-9 (to 1e-4)."""
RATES = ("0", "0.001", "0.005", "0.01")
_LAYOUTS = {"quick": 12, "standard": 60, "thorough": 400}


def _all_reduce(x: Array, alive: Mask, _t: int, _rng: np.random.RandomState) -> Array:
    (result, _, _), _ = allreduce_with_restarts(x[:, None], alive=alive[None])
    return np.asarray(result[:, 0])


def _ring(x: Array, alive: Mask, _t: int, _rng: np.random.RandomState) -> Array:
    return np.asarray(gossip(x[:, None], "ring", alive=alive[None], missing="renormalise")[0][:, 0])


def sgp_edges(N: int, t: int, wrapped: bool) -> tuple[Array, Array]:
    """Rows and columns of the weights that the notebook calls SGP, all equal before rows are divided by their sums.

    Everybody should get the vectors of the peers 2^h and 2^(h+1) further on. The notebook rolls the diagonal of a
    matrix without naming an axis: what leaves a row at its end (`wrapped`) comes back at the beginning of the next.
    """
    hop, peers = t % int(np.floor(np.log2(N - 1))), np.arange(N)
    rows, columns = [peers], [peers]
    for shift in (1 << hop, 2 << hop):
        flat = (peers * N + peers + shift) % (N * N)
        rows.append(flat // N if wrapped else peers)
        columns.append((peers + shift) % N)
    return np.concatenate(rows), np.concatenate(columns)


def _sgp(wrapped: bool, x: Array, alive: Mask, t: int, _rng: np.random.RandomState) -> Array:
    rows, columns = sgp_edges(x.size, t, wrapped)
    weights = (alive[rows] & alive[columns]).astype(np.float64)
    sums = np.bincount(rows, weights * x[columns], x.size)
    shares = np.bincount(rows, weights, x.size)
    return np.where(shares > 0, sums / np.maximum(shares, 1.0), x)


def _groups(size: int, x: Array, alive: Mask, _t: int, rng: np.random.RandomState) -> Array:
    order = np.flatnonzero(alive)
    rng.shuffle(order)
    return np.asarray(regrouping(x[:, None], size, orders=[order.tolist()], alive=alive[None])[0][:, 0])


def layout(N: int, M: int, d: int, rng: np.random.Generator) -> Array:
    """Random cells of the grid, all different."""
    codes = rng.permutation(M**d)[:N]
    return np.stack(np.unravel_index(codes, (M,) * d), axis=1)


def _grid(cells: Array, M: int, x: Array, alive: Mask, t: int, _rng: np.random.RandomState) -> Array:
    return np.asarray(grid_average(x[:, None], cells, M, 1, start=t, alive=alive[None])[0][:, 0])


class _PushSum:
    """Push-sum: sums and weights go around; the numbers are their ratios. Shares that nobody takes are kept."""

    def __init__(self, topology: str) -> None:
        self.topology, self.sums, self.weights = topology, np.empty(0), np.empty(0)

    def __call__(self, x: Array, alive: Mask, t: int, _rng: np.random.RandomState) -> Array:
        from commbounds.collectives.gossip.mixing import TOPOLOGIES

        if t == 1:
            self.sums, self.weights = x[:, None], np.ones(x.size)
        targets = TOPOLOGIES[self.topology](x.size, t)
        works = [alive[:, None] & alive[targets]]
        state, _ = push_sum(self.sums, self.topology, 1, self.weights, start=t, delivered=works)
        self.sums, self.weights = state
        return np.asarray(self.sums[:, 0] / self.weights)


METHODS: dict[str, Round] = {
    "All-Reduce": _all_reduce,
    "Gossip": _ring,
    "SGP": partial(_sgp, True),
    "Random groups": partial(_groups, GROUP),
}
"""The methods whose cells the seeds determine, in the order of the published table."""


def history(
    method: Round, N: int, p: float, seed: int, most: int = MOST, target: float = TARGETS[0]
) -> tuple[Array, float]:
    """Variances before the first and after every iteration of a run, and how far the mean moved."""
    rng = np.random.RandomState(seed)
    x = rng.normal(0, 1, N)
    start, variances = x.mean(), [float(x.var())]
    while len(variances) <= most and variances[-1] >= target:
        alive = rng.uniform(0, 1, N) >= p
        x = method(x, alive, len(variances), rng)
        variances.append(float(x.var()))
    return np.array(variances), float(x.mean() - start)


def _needed(variances: Array, target: float) -> int:
    """The first iteration after which the variance is below the target; the last one if none is."""
    below = np.flatnonzero(variances < target)
    return int(below[0]) if below.size else variances.size - 1


def _cell(method: Round, N: int, p: float) -> tuple[float, float]:
    """Iterations to both targets, means of the runs."""
    runs = [history(method, N, p, seed)[0] for seed in range(RUNS)]
    tight, loose = (float(np.mean([_needed(run, target) for run in runs])) for target in TARGETS)
    return tight, loose


def _shown(pair: tuple[float, float]) -> str:
    return f"{pair[0]:.1f} ({pair[1]:.1f})"


def _moshpit(N: int, p: float, M: int, d: int, layouts: int, seed: int) -> tuple[str, str, str]:
    """The mean over layouts, and the smallest and largest of them, to 1e-9 and in brackets to 1e-4."""
    rng = np.random.default_rng([seed, N, M, d, int(p * 1000)])
    cells = [_cell(partial(_grid, layout(N, M, d, rng), M), N, p) for _ in range(layouts)]
    found = np.array(cells)
    return tuple(_shown(tuple(row)) for row in (found.mean(axis=0), found.min(axis=0), found.max(axis=0)))  # type: ignore[return-value]


def _determined() -> Table:
    rows, agrees = [], True
    for (N, p), line in PUBLISHED.items():
        cells = []
        for (_, method), printed in zip(METHODS.items(), line.split("|"), strict=False):
            ours = _shown(_cell(method, N, float(p)))
            agrees &= ours == printed
            cells.append(f"{printed} = ours" if ours == printed else f"{printed}, ours {ours}")
        rows.append((str(N), p, *cells))
    return Table(
        "Iterations until the variance is below 1e-9 (1e-4): cells that the seeds determine",
        ("peers", "p", *METHODS),
        tuple(rows),
        "Published numbers, means of ten runs; '= ours' where ours agree to the printed digit. 50 means: not within "
        "50. SGP is what the notebook computes: neither push-sum nor the intended graph, see below.",
        agrees,
    )


def _spreads(layouts: int, seed: int) -> Table:
    rows = []
    for (N, p), line in PUBLISHED.items():
        rows.append((str(N), p, line.split("|")[4], *_moshpit(N, float(p), GROUP, 2, layouts, seed)))
    return Table(
        f"Moshpit on a 32 x 32 grid of fixed cells: over {layouts} random layouts",
        ("peers", "p", "published", "ours, mean", "ours, smallest", "ours, largest"),
        tuple(rows),
        "The published layout is one draw without a seed for each cell and target, so that no digit is determined; it "
        "should lie between the smallest and the largest, mostly.",
    )


def _unpublished(layouts: int, seed: int) -> Table:
    rows = []
    for p in RATES:
        cells = [_shown(_cell(method, 1024, float(p))) for method in METHODS.values()]
        rows.append(("1024", "32 x 32", p, *cells, _moshpit(1024, float(p), GROUP, 2, layouts, seed)[0]))
    for p in RATES:
        groups = _shown(_cell(partial(_groups, 8), 512, float(p)))
        cells = [_shown(_cell(METHODS[name], 512, float(p))) for name in ("All-Reduce", "Gossip", "SGP")]
        rows.append(("512", "8 x 8 x 8", p, *cells, groups, _moshpit(512, float(p), 8, 3, layouts, seed)[0]))
    return Table(
        "Cells that the notebook computes and whose output is not stored",
        ("peers", "grid", "p", *METHODS, "Moshpit, mean"),
        tuple(rows),
        "Full grids: without failures two rounds on 32 x 32 and three on 8 x 8 x 8 are enough, whatever the layout.",
    )


def _real_push_sum() -> Table:
    variants: dict[str, Round] = {
        "SGP as published (flawed)": partial(_sgp, True),
        "the same, shifts within rows": partial(_sgp, False),
        "push-sum, the same two peers": _PushSum("two-peer"),
        "push-sum, one peer": _PushSum("one-peer"),
    }
    rows = []
    for N in (512, 900, 1024):
        for p in ("0", "0.01"):
            for name, method in variants.items():
                moved = [history(method, N, float(p), seed)[1] for seed in range(RUNS)]
                rms = float(np.sqrt(np.mean(np.square(moved))))
                rows.append((str(N), p, name, _shown(_cell(method, N, float(p))), f"{rms:.1e}"))
    return Table(
        "What is called SGP, and push-sum itself",
        ("peers", "p", "method", "iterations", "mean moves by (rms)"),
        tuple(rows),
        "The published weights wrap into the next row and have no push-sum weights: the mean moves even without "
        "failures, which the variance about the current mean cannot show. Push-sum's estimates can only agree on the "
        "initial mean; their unweighted mean is shown.",
    )


def replay(budget: str, seed: int) -> list[Callable[[], Table]]:
    """What makes each table."""
    layouts = _LAYOUTS[budget]
    return [_determined, partial(_spreads, layouts, seed), partial(_unpublished, layouts, seed), _real_push_sum]
