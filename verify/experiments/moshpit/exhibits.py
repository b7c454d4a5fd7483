"""Moshpit all-reduce: figures about more than one claim."""

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from commbounds.collectives import gossip, group_trials, moshpit_sgd, random_groups
from commbounds.verify.exhibit import Exhibit, Line, Maker, Panel, bound_of, law, line

_RUNS = {"quick": 20, "standard": 200, "thorough": 2000}
_FLOOR = 1e-14
"""Where curves of distortions relative to the start end: what is left is rounding, or nothing."""


def _floored(drawn: Line) -> Line:
    """The line, which ends where it first falls to the floor."""
    values = np.array(drawn.y)
    under = ~(values > _FLOOR) & ~np.isnan(values)
    end = int(under.argmax()) if under.any() else values.size
    after = np.arange(values.size) - end
    ys = np.where(after < 0, values, np.where(after == 0, _FLOOR, np.nan))
    low, high = (
        np.where(np.isnan(ys), np.nan, np.maximum(edge, _FLOOR)) if edge else () for edge in (drawn.low, drawn.high)
    )
    return line(drawn.label, drawn.x, ys, drawn.role, low, high)


def _banded(label: str, x: Any, draws: Any) -> Line:
    """Means of `draws`, (draws, points), with their 5 % and 95 % quantiles."""
    return line(label, x, np.mean(draws, axis=0), "measured", *np.quantile(draws, (0.05, 0.95), axis=0))


def _rounds(budget: str, seed: int) -> Exhibit:
    """Distortion against round, N = 1024, no failures."""
    N, M, rounds, trials = 1024, 32, 12, _RUNS[budget]
    x = np.random.default_rng(seed).standard_normal((N, 8))
    start, ts = float(x.var(axis=0).sum()), range(rounds + 1)
    found = {kind: group_trials(x, kind, M, rounds, trials, seed, d=2) / start for kind in ("random", "fixed", "keys")}
    ones = np.ones((trials, 1))
    lines = [Line("all-reduce, restarted at failures", [0.0, 1.0], [1.0, _FLOOR], "reference")]
    titles = {"random": "random groups of 32", "keys": "Moshpit, keys", "fixed": "Moshpit, fixed cells"}
    for kind, label in titles.items():
        lines.append(_banded(label, ts, np.hstack([ones, found[kind]])))
    lines += [
        law("((r-1)/(N-1))^T", ts, "moshpit.random_groups.factor", "rounds", N=N, r=32),
        law("remembered factor", ts, "moshpit.random_groups.as_recalled", "rounds", "printed", N=N, r=32),
        law("grid law", ts[:3], "moshpit.grid.factor", "rounds", N=N, M=M),
    ]
    graphs = []
    for name in ("ring", "torus", "exponential", "one-peer"):
        left, held = [1.0], x
        for t in range(rounds):
            held, _ = gossip(held, name, 1, start=t)
            left.append(float(held.var(axis=0).sum()) / start)
        graphs.append(line(name, ts, left))
    for name in ("ring", "torus", "exponential"):
        graphs.append(law(f"{name}, second eigenvalue", ts, f"gossip.{name}.distortion", "rounds", "bound", N=N))
    graphs.append(law("one-peer, law", ts[:11], "gossip.one_peer.factor", "rounds", N=N))
    label = "distortion over that at the start"
    return Exhibit(
        "moshpit.rounds",
        "1024 peers: a full grid is exact after two rounds; random groups divide the distortion by 33 a round",
        f"Left: averaging in groups of 32, means of {trials} trials with their 5 % and 95 % quantiles, beside the "
        "exact laws; at this size the recalled factor of random groups cannot be distinguished from the exact one. "
        "Right: gossip on the same vectors, one run, beside the bounds by second eigenvalues. Curves end where they "
        "fall to 1e-14.",
        (
            Panel("Groups of 32", "round", label, tuple(map(_floored, lines)), yscale="log"),
            Panel("Gossip", "round", label, tuple(map(_floored, graphs)), yscale="log"),
        ),
    )


def _published(budget: str, seed: int) -> Exhibit:
    """The three panels of the published figure."""
    from commbounds.verify.experiments.moshpit.replay import METHODS, _grid, history, layout

    rng, panels, most = np.random.default_rng(seed), [], 10
    layouts = {"quick": 3, "standard": 12, "thorough": 60}[budget]
    for N, p in ((1024, 0.0), (1024, 0.005), (768, 0.005)):
        lines, ts = [], range(most + 1)
        grids = [partial(_grid, layout(N, 32, 2, rng), 32) for _ in range(layouts)]
        shown: dict[str, list[Any]] = {name: [method] for name, method in METHODS.items()}
        for name, methods in {**shown, "Moshpit": grids}.items():
            curves = []
            for method in methods:
                for run in range(10):
                    variances, _ = history(method, N, p, run, most, 0.0)
                    curves.append(np.maximum(variances, np.finfo(np.float64).eps))
            # all-reduce either has the mean or not: quantiles of that would say little
            restarted = name == "All-Reduce"
            lines.append(line(name, ts, np.mean(curves, axis=0)) if restarted else _banded(name, ts, curves))
        factor = bound_of("moshpit.random_groups.regrouping", N=N, M=32, failure=Fraction(str(p)))
        lines.append(line("random groups, ((E R - 1)/(N - 1))^T", ts, [factor**t for t in ts], "exact"))
        if N == 1024:
            grid: dict[str, Any] = {"N": N, "M": 32, "failure": p}
            lines.append(law("grid, h^t - 1/N for t <= 2", range(3), "moshpit.grid.failures", "dims", **grid))
        shown_lines = tuple(map(_floored, lines))
        panels.append(
            Panel(f"N = {N}, p = {p:g}", "iteration", "variance about the current mean", shown_lines, yscale="log")
        )
    return Exhibit(
        "moshpit.published_figure",
        "With one failure in two hundred all-reduce hardly ever finishes, and the full grid is no longer exact",
        f"The published experiment with its seeds: means of ten runs, for Moshpit also over {layouts} layouts; bands "
        "are 5 % and 95 % quantiles. What the notebook calls SGP is neither push-sum nor the intended graph.",
        tuple(panels),
    )


def _fill(budget: str, seed: int) -> Exhibit:
    """Asymptotic factors on partially filled grids."""
    M, rounds, trials = 32, 14, _RUNS[budget]
    peers = [384, 448, 512, 640, 768, 900, 960, 1000]
    fills = [N / M**2 for N in peers]
    lines = []
    for kind, label in (("fixed", "fixed cells (the published simulation)"), ("keys", "real keys, sampled indices")):
        bands = []
        for N in peers:
            x = np.random.default_rng([seed, N]).standard_normal((N, 4))
            found = group_trials(x, kind, M, rounds, trials, seed)
            # five rounds as late as possible, but with much left over rounding, which is about 1e-31
            last = int(np.count_nonzero(found.mean(axis=0) > 1e-24)) - 1
            bands.append((found[:, last] / found[:, last - 5]) ** (1 / 5))
        lines.append(_banded(label, fills, np.array(bands).T))
    laws = [bound_of("moshpit.random_groups.factor", N=N, r=M, rounds=1) for N in peers]
    lines.append(line("32 random groups, law", fills, laws, "exact"))
    lines.append(line("4 (1 - q)/(M q), heuristic", fills, lambda q: 4 * (1 - q) / (M * q), "reference"))
    lines.append(line("(1 - q)/(M q), heuristic", fills, lambda q: (1 - q) / (M * q), "reference"))
    second = []
    for N in peers:
        x = np.random.default_rng([seed, N]).standard_normal((N, 4))
        second.append(float(group_trials(x, "fixed", M, 2, trials, seed)[:, 1].mean()) / 4)
    exact = [bound_of("moshpit.grid.partial", N=N, M=M) for N in peers]
    two = [line("fixed cells", fills, second), line("E[1/(n_row n_col)] - 1/N", fills, exact, "exact")]
    filled = "filled part q of the grid"
    return Exhibit(
        "moshpit.fill",
        "A grid of fixed cells is slower than random groups if under three quarters are filled; real keys are not",
        "Left: factor of the distortion per round, geometric mean over five late rounds, 32 x 32 cells; the heuristics "
        f"come from random matrices. Right: the distortion after two rounds, exactly known. Means of {trials} trials "
        "with their 5 % and 95 % quantiles.",
        (
            Panel("Factor per round", filled, "factor of the distortion per round", tuple(lines), yscale="log"),
            Panel("After two rounds", filled, "distortion, inputs of unit variance", tuple(two), yscale="log"),
        ),
    )


def _readings(budget: str, seed: int) -> Exhibit:
    """Factors of one round under three readings of random groups, N = 8, less (r - 1)/(N - 1)."""
    N, runs, rng = 8, 50 * _RUNS[budget], np.random.default_rng(seed)
    x = rng.standard_normal((N, 16))
    centred, rs = x - x.mean(axis=0), list(range(1, N + 1))
    start = float(np.square(centred).sum())
    factor = {r: bound_of("moshpit.random_groups.factor", N=N, r=r, rounds=1) for r in rs}
    printed = [bound_of("moshpit.random_groups.as_recalled", N=N, r=r, rounds=1) - factor[r] for r in rs]
    lines = [line("remembered", rs, printed, "printed"), line("no empty group, law", rs, 0, "exact")]
    for claim, label in (("labels", "free labels, law"), ("with_replacement", "with replacement, law")):
        values = [bound_of(f"moshpit.random_groups.{claim}", N=N, r=r, rounds=1) - factor[r] for r in rs]
        lines.append(line(label, rs, values, "exact"))
    for reading, label in (("cut", "no empty group"), ("labels", "free labels"), ("slots", "with replacement")):
        means = []
        for r in rs:
            found = (random_groups(centred, r, 1, rng, reading=reading)[0] for _ in range(runs))
            means.append(sum(float(np.square(result).sum()) for result in found) / runs / start - factor[r])
        lines.append(line(label, rs, means))
    sizes = [4, 8, 16, 32, 64, 128, 256, 512, 1024]
    excess = []
    for share, label in ((2, "r = N/2"), (4, "r = N/4")):
        ratios = [
            bound_of("moshpit.random_groups.as_recalled", N=N, r=N // share, rounds=1)
            / bound_of("moshpit.random_groups.factor", N=N, r=N // share, rounds=1) - 1 if share < N else math.nan
            for N in sizes
        ]  # fmt: skip
        excess.append(line(label, sizes, ratios, "printed"))
    roots = [N for N in sizes if math.isqrt(N) ** 2 == N]
    ratios = [(N - math.isqrt(N)) / (N**2 * (math.isqrt(N) - 1)) for N in roots]
    excess.append(line("r = sqrt(N)", roots, ratios, "printed"))
    return Exhibit(
        "moshpit.readings",
        "No reading of random groups gives the recalled factor; it is an upper bound if no group is empty",
        f"Left: one round among 8 peers in r groups, means of {runs} runs, beside the exact laws. Right: the excess of "
        "the recalled factor over (r-1)/(N-1) in one round; it compounds over rounds.",
        (
            Panel("One round, 8 peers", "groups r", "factor, less (r - 1)/(N - 1)", tuple(lines)),
            Panel(
                "Excess of the recalled factor", "peers N", "relative excess", tuple(excess), xscale="log", yscale="log"
            ),
        ),
    )


def _sgd(budget: str, seed: int) -> Exhibit:
    """Distortion and error of Moshpit SGD on a quadratic against their exact recursions."""
    N, n, r, period, steps, gamma, runs = 16, 10, 4, 8, 64, 1 / 8, _RUNS[budget]
    rng, start = np.random.default_rng(seed), np.full((N, n), 1.0)
    spreads, squares = np.empty((runs, steps + 1)), np.empty((runs, steps + 1))
    for run in range(runs):
        noise = rng.standard_normal((steps, N, n)) / math.sqrt(n)
        groups = [[rng.permutation(N) % r] for _ in range(steps // period)]
        path, _ = moshpit_sgd(start, lambda x: x, gamma, noise, period, groups)
        spreads[run], squares[run] = path.spreads, np.square(path.means).sum(axis=1)
    V, square, rho = [0.0], [float(n)], (r - 1) / (N - 1)
    values = {"stepsize": gamma, "curvature": 1.0, "noise": 1.0, "N": N}
    for k in range(steps):
        mixing = rho if (k + 1) % period == 0 else 1.0
        V.append(bound_of("moshpit.sgd.spread", mixing=mixing, spread=V[-1], **values))
        square.append(bound_of("moshpit.sgd.mean_square", square=square[-1], **values))
    ks = range(steps + 1)
    quality = bound_of("moshpit.sgd.averaging_quality", mixing=rho, period=period, noise=1.0, N=N)
    most = gamma**2 * (quality + (period - 1) * (1 - 1 / N))
    spread = [
        _banded("measured", ks, spreads),
        line("recursion", ks, V, "exact"),
        line("gamma^2 (delta^2 + (tau - 1) sigma^2)", ks, most, "bound"),
    ]
    error = [_banded("measured", ks, squares), line("recursion", ks, square, "exact")]
    return Exhibit(
        "moshpit.sgd",
        "Moshpit SGD on a quadratic follows its exact recursions",
        "16 peers, an average in 4 random groups every 8 steps, step size 1/8, noise of variance one; means of "
        f"{runs} runs with their 5 % and 95 % quantiles. Left: the peers' distortion V, beside the bound that the "
        "convergence theorems use.",
        (
            Panel("Disagreement", "step", "distortion V", tuple(spread)),
            Panel("Error of the mean", "step", "squared norm of the mean", tuple(map(_floored, error)), yscale="log"),
        ),
    )


EXHIBITS: dict[str, Maker] = {
    "moshpit.rounds": _rounds,
    "moshpit.published_figure": _published,
    "moshpit.fill": _fill,
    "moshpit.readings": _readings,
    "moshpit.sgd": _sgd,
}
"""What makes an exhibit, under its name."""
