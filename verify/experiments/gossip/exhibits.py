"""Gossip averaging and push-sum: figures about more than one claim."""

import math
from dataclasses import replace

import numpy as np

from commbounds.collectives import allreduce_with_restarts, gossip, push_sum
from commbounds.verify.exhibit import Exhibit, Line, Maker, Panel, bound_of, law, line

_RUNS = {"quick": 20, "standard": 200, "thorough": 2000}


def _gaps(drawn: Line) -> Line:
    """The line with gaps where only rounding is left."""
    return replace(drawn, y=[v if v > 1e-28 else math.nan for v in drawn.y])


def _spectra(_budget: str, seed: int) -> Exhibit:
    """Distortion by round from second eigenvectors and from random vectors, N = 64."""
    N, rounds, panels = 64, 40, []
    place, ts = np.arange(N), range(rounds + 1)
    vectors = {
        "ring": np.cos(2 * np.pi * place / N),
        "torus": np.cos(2 * np.pi * (place % 8) / 8),
        "exponential": (-1.0) ** place,
    }
    random = np.random.default_rng(seed).standard_normal((N, 50))
    for name, vector in vectors.items():
        lines = [law("bound by the second eigenvalue", ts, f"gossip.{name}.distortion", "rounds", "bound", N=N)]
        for label, x in (("second eigenvector", vector[:, None]), ("random vectors", random)):
            start, held, left = x.var(axis=0).sum(), x, [1.0]
            for _ in range(rounds):
                held, _ = gossip(held, name)
                left.append(float(held.var(axis=0).sum() / start))
            lines.append(line(label, ts, left))
        if name == "ring":
            lines.append(law("random vectors, law", ts, "gossip.ring.iid", "rounds", N=N))
        shown = tuple(map(_gaps, lines))
        panels.append(Panel(f"{name}, 64 peers", "round", "distortion over that at the start", shown, yscale="log"))
    return Exhibit(
        "gossip.spectra",
        "The second eigenvalue bounds the rate of gossip: no input is slower, and its eigenvector attains it",
        "Equal weights; random vectors are normal, 50 of them. The second eigenvector lies on the bound.",
        tuple(panels),
    )


def _loss(budget: str, seed: int) -> Exhibit:
    """Error about the initial mean under link loss, with and without weights."""
    N, rounds, loss, runs = 64, 60, 0.2, _RUNS[budget]
    rng, ts = np.random.default_rng(seed), np.arange(rounds + 1)
    titles = {
        "push-sum, shares kept": "kept",
        "push-sum, shares lost": "gone",
        "sums without weights": "sums",
        "rows renormalised": "rows",
    }
    errors = {name: np.zeros(rounds + 1) for name in titles}
    for _ in range(runs):
        x = rng.standard_normal((N, 1))
        mean, works = x.mean(), rng.random((rounds, N, 1)) >= loss
        for name, kind in titles.items():
            sums, weights, errors_now = x, np.ones(N), [float(np.square(x - mean).mean())]
            for t in range(rounds):
                if kind == "rows":
                    source = (np.arange(N) - (1 << t % 6)) % N
                    share = works[t, source] / (1.0 + works[t, source])
                    sums = (1 - share) * sums + share * sums[source]
                else:
                    lost = "gone" if kind == "gone" else "kept"
                    (sums, weights), _ = push_sum(
                        sums, "one-peer", 1, weights, start=t, delivered=[works[t]], lost=lost
                    )
                estimates = sums if kind in ("sums", "rows") else sums / weights[:, None]
                errors_now.append(float(np.square(estimates - mean).mean()))
            errors[name] += np.array(errors_now) / runs
    lines = tuple(_gaps(line(name, ts, values)) for name, values in errors.items())
    return Exhibit(
        "gossip.loss",
        "Push-sum finds the initial mean only if it keeps undelivered shares",
        f"64 peers on the one-peer exponential graph, every link broken with probability {loss:g} in every round; "
        f"means of {runs} runs. Weights alone do not help if shares are lost.",
        (Panel("20 % link loss", "round", "squared error about the initial mean", lines, yscale="log"),),
    )


def _shown(attempts: float) -> float:
    """What fits on the axis."""
    return attempts if attempts <= 1e6 else math.nan


def _restarts(budget: str, seed: int) -> Exhibit:
    """Expected attempts of all-reduce with restarts."""
    rates = np.logspace(-4, -1, 25)
    lines = [
        line(f"N = {N}", rates, lambda p, N=N: _shown(bound_of("gossip.restarts.attempts", N=N, failure=p)), "exact")
        for N in (16, 64, 256, 1024)
    ]
    rng, runs, x = np.random.default_rng(seed), 5 * _RUNS[budget], np.ones((16, 1))
    shown = rates[::4]
    means = [float(np.mean([allreduce_with_restarts(x, p, 10_000, rng)[0][1] for _ in range(runs)])) for p in shown]
    lines.append(line("N = 16, measured", shown, means))
    N, caps = 512, (10, 50)
    capped = [law(f"at most {c} attempts", rates, "gossip.restarts.capped", "failure", N=N, cap=c) for c in caps]
    capped.append(line("published means of ten runs", [0.001, 0.005, 0.01], [1.6, 10.9, 41.7], "published"))
    return Exhibit(
        "gossip.restarts",
        "All-reduce with restarts needs (1 - p)^-N attempts: hopeless if p N exceeds a few",
        f"Left: the law, up to 10^6, and means of {runs} runs. Right: 512 peers with a cap, and the published numbers, "
        "whose cap is 50.",
        (
            Panel("Expected attempts", "failure probability p", "attempts", tuple(lines), xscale="log", yscale="log"),
            Panel(
                "512 peers, attempts capped",
                "failure probability p",
                "attempts",
                tuple(map(_gaps, capped)),
                xscale="log",
            ),
        ),
    )


def _costs(_budget: str, _seed: int) -> Exhibit:
    """Words per peer until the distortion bound is 1e-9 of the start."""
    target, n = 1e-9, 4096
    sides = [4, 8, 16, 32]
    words: dict[str, list[float]] = {
        name: [] for name in ("ring", "torus", "exponential", "one-peer", "grid", "random groups", "all-reduce")
    }
    for M in sides:
        N = M * M
        for name in ("ring", "torus", "exponential"):
            factor = bound_of(f"gossip.{name}.distortion", N=N, rounds=1)
            rounds = math.ceil(math.log(target) / math.log(factor))
            words[name].append(bound_of(f"gossip.{name}.words", n=n, N=N, rounds=rounds))
        words["one-peer"].append(bound_of("gossip.one_peer.words", n=n, rounds=(N - 1).bit_length()))
        words["grid"].append(bound_of("moshpit.traffic.equal_chunks", n=n, M=M, rounds=2))
        rounds = math.ceil(math.log(target) / math.log(bound_of("moshpit.random_groups.factor", N=N, r=M, rounds=1)))
        words["random groups"].append(bound_of("moshpit.traffic.equal_chunks", n=n, M=M, rounds=rounds))
        words["all-reduce"].append(bound_of("moshpit.traffic.equal_chunks", n=n, M=N, rounds=1))
    peers = [M * M for M in sides]
    lines = tuple(line(name, peers, [v / n for v in values], "exact") for name, values in words.items())
    return Exhibit(
        "gossip.costs",
        "A grid needs twice the words of all-reduce, and gossip many times as many",
        "Without failures, until the distortion is 1e-9 of that at the start: by the worst case for ring, torus and "
        "static exponential graph, by the expectation for sqrt(N) random groups; grid, one-peer graph and all-reduce "
        "are exact.",
        (Panel("Words to 1e-9", "peers N", "words sent per peer, over n", lines, xscale="log", yscale="log"),),
    )


EXHIBITS: dict[str, Maker] = {
    "gossip.spectra": _spectra,
    "gossip.loss": _loss,
    "gossip.restarts": _restarts,
    "gossip.costs": _costs,
}
"""What makes an exhibit, under its name."""
