"""What the models of moshpit take as given, and what they say is measured, against runs of the kernels."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import comb, factorial, lcm

import numpy as np
import pytest
import sympy as sp
from goal_values import bound_of, check_goals, failing, goals, value

from commbounds.collectives.moshpit.allreduce import grid_average, initial_keys, meetings, moshpit
from commbounds.collectives.moshpit.group_average import group_average
from commbounds.collectives.moshpit.group_trials import group_trials
from commbounds.collectives.moshpit.random_groups import random_groups
from commbounds.collectives.moshpit.random_partitions import READINGS
from commbounds.collectives.moshpit.sgd import moshpit_sgd
from commbounds.theory import claims
from commbounds.theory.moshpit import terms
from commbounds.theory.moshpit.models_groups import made, per_group
from commbounds.verify.experiments.moshpit.averaging import distortions, some_vectors


def _matrix(result, scale):
    """Exact weights of a linear map that was applied to unit vectors times `scale`."""
    return [[Fraction(float(v)).limit_denominator(1) / scale for v in row] for row in np.rint(result)]


def _averaging(labels, **options):
    """The matrix of one round in groups."""
    scale = lcm(*range(1, len(labels) + 1))
    result, _ = group_average(np.eye(len(labels)) * scale, np.array(labels), **options)
    assert np.array_equal(result, np.rint(result))
    return _matrix(result, scale)


def _blocks(matrix):
    return sum(row[i] for i, row in enumerate(matrix))


@pytest.mark.models(
    "moshpit.mean.leaving", "moshpit.mean.preserved", "moshpit.random_groups.factor", "moshpit.random_groups.general"
)
@pytest.mark.parametrize("sizes", [(2,), (1, 1), (3,), (2, 1), (4,), (2, 2), (3, 1), (2, 1, 1), (3, 2)])
def test_projection(sizes):
    """Every round is a symmetric projection of the groups' number; over all orders of the peers, a I + b J."""
    N, r = sum(sizes), len(sizes)
    labels = [g for g, size in enumerate(sizes) for _ in range(size)]
    total = [[Fraction(0)] * N for _ in range(N)]
    for order in itertools.permutations(range(N)):
        A = _averaging([labels[i] for i in order])
        assert all(A[i][j] == A[j][i] for i in range(N) for j in range(N))
        assert [[sum(A[i][k] * A[k][j] for k in range(N)) for j in range(N)] for i in range(N)] == A
        assert all(sum(column) == 1 for column in zip(*A, strict=True))
        assert _blocks(A) == r
        total = [[t + a for t, a in zip(*rows, strict=True)] for rows in zip(total, A, strict=True)]
    mean = [[t / factorial(N) for t in row] for row in total]
    b = mean[0][1]
    a = mean[0][0] - b
    assert mean == [[a + b if i == j else b for j in range(N)] for i in range(N)]
    assert failing(goals("moshpit.random_groups.general")["one round"], a=a, b=b, N=N, blocks=r) == []
    step = goals("moshpit.random_groups.factor")["step"]
    assert failing(step, a=a, b=b, N=N, r=r, rounds=3) == []
    leaving = goals("moshpit.mean.leaving")["step"]
    assert failing(leaving, a=a, b=b, N=N, r=r, rounds=2, survivors=N - 1, spread=Fraction(3, 2)) == []


@pytest.mark.models("moshpit.random_groups.labels")
@pytest.mark.parametrize(("N", "r"), [(2, 1), (2, 3), (3, 2), (4, 3)])
def test_labels(N, r):
    """The labels that occur, over all ways to draw them; a further peer's is new with probability 1 - R/r."""
    of = READINGS["labels"]
    occurring = [
        len(set(of.labels((1,) * r, choices).tolist())) for choices in itertools.product(*map(range, of.ranges(N, r)))
    ]
    assert made(bound_of("moshpit.random_groups.labels", N=N, r=r, rounds=1)).subs(terms.N, N) == Fraction(
        sum(occurring), r**N
    )


@pytest.mark.models("moshpit.random_groups.all_partitions")
@pytest.mark.parametrize("N", [2, 3, 4, 5])
def test_partitions(N):
    """Set partitions of N and of N + 1 peers, counted with their blocks."""
    of = READINGS["partitions"]
    partitions, following = of.ranges(N, 0)[0], of.ranges(N + 1, 0)[0]
    total = sum(len(set(of.labels((N,), (rank,)).tolist())) for rank in range(partitions))
    goal = goals("moshpit.random_groups.all_partitions")["blocks"]
    assert failing(goal, N=N, partitions=partitions, following=following, total=total) == []
    assert failing(goal, N=N, partitions=partitions, following=following, total=total + 1) != []


def _became(M, p, rule):
    """Blocks that M members become, expected over all failures."""
    scale, expected = lcm(*range(1, M + 1)), Fraction(0)
    for alive in itertools.product((True, False), repeat=M):
        result, _ = random_groups(np.eye(M) * scale, 1, choices=[[0] * M], alive=[alive], rule=rule)
        expected += p ** (M - sum(alive)) * (1 - p) ** sum(alive) * _blocks(_matrix(result, scale))
    return expected


@pytest.mark.models("moshpit.grid.failures", "moshpit.random_groups.skip")
@pytest.mark.parametrize(("M", "p"), [(1, "1/3"), (2, "1/3"), (3, "0"), (4, "3/4"), (5, "1")])
def test_blocks_of_skipped(M, p):
    """One group, members of which fail and keep their vectors: one axis of a grid is the same."""
    p = Fraction(p)
    blocks = _became(M, p, "skip")
    became = per_group(claims()["moshpit.random_groups.skip"].relation.rhs)
    assert value(became, {"groups": 3, "M": M, "failure": p}) == blocks
    if M < 4:
        (M_goal,) = (g for g in goals("moshpit.random_groups.skip").values() if g.name == "one more member")
        assert failing(M_goal, groups=2, M=M, failure=p) == []
    N = 2 * M
    axis = bound_of("moshpit.grid.failures", dims=1, M=M, failure=p, N=N) + Fraction(1, N)
    assert axis == blocks / M


@pytest.mark.models("moshpit.random_groups.abort")
@pytest.mark.parametrize(("M", "p"), [(1, "1/3"), (2, "1/3"), (3, "1/2"), (4, "1/4")])
def test_blocks_of_aborted(M, p):
    """One group that does nothing where a member fails."""
    p = Fraction(p)
    became = per_group(claims()["moshpit.random_groups.abort"].relation.rhs)
    assert value(became, {"groups": 2, "M": M, "failure": p}) == _became(M, p, "abort")


@pytest.mark.models("moshpit.mean.one_way")
@pytest.mark.parametrize("sizes", [(2, 1), (3,), (2, 2), (3, 1)])
def test_deaf_peers(sizes):
    """The mean's shift: over all sets of deaf peers q (1 - q) times the squared distances from the groups' means."""
    N, q = sum(sizes), Fraction(1, 3)
    x = np.array([0.0, 1.0, 5.0, -2.0])[:N, None] * 12
    moments, squares = [], []
    for order in itertools.permutations(range(N)):
        labels = np.repeat(np.arange(len(sizes)), sizes)[list(order)]
        full, _ = group_average(x, labels)
        squares.append(sum(Fraction(float(v)) ** 2 for v in (x - full).ravel()))
        moment = Fraction(0)
        for hears in itertools.product((True, False), repeat=N):
            result, _ = group_average(x, labels, receives=hears)
            shift = Fraction(float(result.sum() - x.sum())) / N
            moment += q ** (N - sum(hears)) * (1 - q) ** sum(hears) * shift**2
        moments.append(moment)
    spread = Fraction(float(np.square(x - x.mean()).sum())).limit_denominator(10**6) / N
    r, mean_squares = len(sizes), sum(squares) / len(squares)
    values = {"N": N, "r": r, "deaf": q, "spread": spread, "squares": mean_squares}
    a = Fraction(r - 1, N - 1)
    goal = goals("moshpit.mean.one_way")["shift of the mean"]
    total = Fraction(float((x - full).sum()))
    assert failing(goal, a=a, b=(1 - a) / N, after=a * spread, total=total, **values) == []
    assert sum(moments) / len(moments) == q * (1 - q) * mean_squares / N**2


@pytest.mark.models("moshpit.grid.exact", "moshpit.grid.factor")
@pytest.mark.parametrize(("M", "d"), [(1, 2), (2, 1), (3, 1), (2, 2), (3, 2), (2, 3)])
@pytest.mark.parametrize("slots", ["rank", "sample"])
def test_weights_on_full_grids(M, d, slots):
    """After t rounds M^t weights 1/M^t are left."""
    N = M**d
    for t in range(d + 1):
        rng = np.random.default_rng(t)
        (result, _), _ = moshpit(np.eye(N) * N, initial_keys(N, M, d), M, t, rng, slots=slots)
        assert all(sorted(row)[-(M**t) :] == [N / M**t] * M**t and sum(row) == N for row in result.tolist())
        if N > 1:
            assert bound_of("moshpit.grid.factor", N=N, M=M, rounds=t) == (Fraction(1, M**t) - Fraction(1, N)) / (
                1 - Fraction(1, N)
            )
    _whole(result / N, N, "moshpit.grid.exact", M, d)


def _whole(weights, N, claim, M, d):
    goal = goals(claim)["distortion"]
    for row in weights.tolist():
        held = sum(w != 0 for w in row)
        assert failing(goal, N=N, M=M, dims=d, held=held, weight=Fraction(max(row)).limit_denominator(N)) == []


@pytest.mark.models("moshpit.grid.no_repeats")
@pytest.mark.parametrize(("M", "d"), [(2, 2), (3, 2), (2, 3), (3, 3)])
@pytest.mark.parametrize("slots", ["rank", "sample"])
def test_indices_stay_in_keys(M, d, slots):
    """Peers of one group differ in the digit that they get there, as long as it is in their keys."""
    N, keys = M**d, initial_keys(M**d, M, d)
    met = {}
    for t in range(2 * d):
        groups, after = meetings(N, keys, M, 1, np.random.default_rng(t), slots=slots)
        for i, j in itertools.combinations(range(N), 2):
            if groups[0][i] == groups[0][j]:
                assert np.array_equal(keys[i], keys[j])
                assert t - met.get((i, j), t - d) >= d
                met[i, j] = t
            elif (i, j) in met and t - met[i, j] < d:
                place = d - 1 - (t - met[i, j])
                assert (int(keys[i, place]) - int(keys[j, place])) ** 2 >= 1
        keys = after


@pytest.mark.models("moshpit.grid.late")
@pytest.mark.parametrize(("M", "d"), [(2, 1), (3, 1), (2, 2), (3, 2), (2, 3)])
def test_weights_of_late_grids(M, d):
    """Keys of d digits: a round by oneself, then the weights of a full grid."""
    N = M**d
    keys = np.array([[i // M**j % M for j in range(d)] for i in range(N)])
    (alone, _), _ = moshpit(np.eye(N) * N, keys, M, 1, slots="rank")
    assert np.array_equal(alone, np.eye(N) * N)
    (result, _), _ = moshpit(np.eye(N) * N, keys, M, d + 1, slots="rank")
    _whole(result / N, N, "moshpit.grid.late", M, d)


@pytest.mark.models("moshpit.grid.rectangular")
@pytest.mark.parametrize(("M", "size"), [(1, 1), (2, 1), (2, 2), (3, 2), (4, 3)])
def test_weights_of_rectangles(M, size):
    """M groups of `size` peers, then one member of each."""
    N = M * size
    (first, _), _ = moshpit(np.eye(N) * N, np.arange(N)[:, None] // size, M, 1, slots="rank")
    assert all(sorted(row)[-size:] == [N / size] * size for row in first.tolist())
    (result, _), _ = moshpit(np.eye(N) * N, np.arange(N)[:, None] // size, M, 2, slots="rank")
    assert np.array_equal(result, np.ones((N, N)))
    assert failing(goals("moshpit.grid.rectangular")["distortion"], N=N, M=M, held=size) == []


@pytest.mark.models("moshpit.trials.fixed", "moshpit.trials.keys", "moshpit.trials.random")
@pytest.mark.parametrize(("M", "p"), [(2, 0), (2, 1), (3, 0), (3, 1)])
def test_trials_without_chance(M, p):
    """Nobody fails, or everybody: what trials come to does not depend on draws, and is the bound."""
    for kind, N, groups, rounds in (("random", M, 1, 1), ("fixed", M * M, M, 2), ("keys", M * M, M, 2)):
        if kind == "keys" and p:
            continue
        x, claim = some_vectors(N, 5, 2, 1), f"moshpit.trials.{kind}"
        found = group_trials(x, kind, groups, rounds, 3, 7, p=float(p))[:, -1] / float(sum(distortions(x)))
        said = {"N": N, "M": M, "failure": Fraction(p), "dims": 2, "rounds": rounds}
        assert found == pytest.approx(float(bound_of(claim, **said)), abs=1e-12)
        many = {"orders": factorial(N), "first": factorial(N - 1), "both": factorial(N - 2), "groups": groups}
        names = ["one in one place", "two in two places", "one member", "one more member"]
        check_goals(claim, names if kind == "random" else ["first", "step"], {**said, **many})


@pytest.mark.models("moshpit.grid.partial")
@pytest.mark.parametrize(("M", "N"), [(2, 2), (2, 3), (3, 4), (3, 7), (4, 9)])
def test_columns(M, N):
    """A peer's variance after both axes: the sum over its column of 1/n_row, over n_col^2."""
    for seed in range(4):
        cells = np.random.default_rng(seed).permutation(M * M)[:N]
        digits = np.column_stack((cells // M, cells % M))
        first, last = (np.array([np.sum(digits[:, 1 - axis] == c[1 - axis]) for c in digits]) for axis in (0, 1))
        result, _ = grid_average(np.eye(N), digits, M, 2)
        variances = np.square(result).sum(axis=1)
        for i in range(N):
            column = digits[:, 0] == digits[i, 0]
            assert column.sum() == last[i]
            assert variances[i] == pytest.approx(np.sum(1 / first[column]) / column.sum() ** 2, rel=1e-12)
        before = {"overlap": Fraction(0), "variance": Fraction(0)}
        for c in sorted(set(digits[:, 0].tolist())):
            peers = np.flatnonzero(digits[:, 0] == c)
            rows, count = sum(Fraction(1, int(first[i])) for i in peers), len(peers)
            check_goals("moshpit.grid.partial", ["one more column"], {**before, "N": N, "rows": rows, "column": count})
            seen = sum(Fraction(variances[i]).limit_denominator(10**6) for i in peers)
            before = {"overlap": before["overlap"] + rows / count, "variance": before["variance"] + seen}


@pytest.mark.models("moshpit.traffic.critical_path", "moshpit.traffic.equal_chunks", "moshpit.traffic.words")
@pytest.mark.parametrize(("M", "n"), [(1, 3), (2, 4), (2, 5), (3, 1), (3, 7), (4, 8), (5, 13)])
def test_chunks(M, n):
    """What the members of one group send, by the sizes of their chunks."""
    _, traffic = group_average(np.zeros((M, n)), np.zeros(M, np.int64))
    full, over = divmod(n, M)
    own = [(c + 1) * n // M - c * n // M for c in range(M)]
    assert traffic.sent.tolist() == [(n - size) + (M - 1) * size if M > 1 else 0 for size in own]
    assert sum(own) == n
    kind = "unequal" if over else "equal"
    for size in own:
        if M > 1:
            goal = goals("moshpit.traffic.words")[f"{kind} chunks"]
            assert failing(goal, M=M, full=full, over=over, own=size, rounds=2) == []
        for what in ("no member receives more", "no member sends more"):
            goal = goals("moshpit.traffic.critical_path")[f"{kind} chunks: {what}"]
            assert failing(goal, M=M, full=full, over=over, own=size, rounds=2) == []
    assert traffic.critical_path == 2 * (M - 1) * max(own)
    assert comb(M, 2) * 4 == traffic.messages.sum()


def _signs(steps, N):
    """Noise of every sign at every peer and step, an outcome a coordinate."""
    bits = np.arange(2 ** (steps * N)) >> np.arange(steps * N)[:, None] & 1
    return (2.0 * bits - 1).reshape(steps, N, -1)


@pytest.mark.models("moshpit.sgd.flat", "moshpit.sgd.mean_square", "moshpit.sgd.spread")
@pytest.mark.parametrize(("N", "h"), [(1, "1/2"), (2, "1/2"), (2, "0"), (4, "1")])
def test_sgd_on_quadratics(N, h):
    """Differences of points and noises have no product in the mean, and a step makes of the squares what it should."""
    h, gamma = Fraction(h), Fraction(1, 4)
    noise = _signs(2, N)
    one, _ = moshpit_sgd(np.zeros((N, noise.shape[2])), lambda x: float(h) * x, float(gamma), noise[:1], 3)
    two, _ = moshpit_sgd(np.zeros((N, noise.shape[2])), lambda x: float(h) * x, float(gamma), noise, 3)
    if N > 1:
        d, u, w = one.points[0] - one.points[1], noise[1, 0], noise[1, 1]
        assert np.mean(d * u) == np.mean(d * w) == np.mean(u * w) == 0
        assert np.mean(u * u) == 1
        made = (1 - gamma * h) ** 2 * Fraction(np.mean(d * d)) + 2 * gamma**2
        assert Fraction(np.mean((two.points[0] - two.points[1]) ** 2)) == made
    given = {"stepsize": gamma, "curvature": h, "noise": 1, "N": N, "mixing": 1}
    before, after = (Fraction(path.spreads[-1]) / noise.shape[2] for path in (one, two))
    assert bound_of("moshpit.sgd.spread", spread=before, **given) == after
    before, after = (Fraction(np.mean(path.means[-1] ** 2)) for path in (one, two))
    assert bound_of("moshpit.sgd.mean_square", square=before, **given) == after


@pytest.mark.models(
    "moshpit.sgd.averaging_quality",
    "moshpit.sgd.convex",
    "moshpit.sgd.departures",
    "moshpit.sgd.nonconvex",
    "moshpit.sgd.strongly_convex",
)
@pytest.mark.parametrize(("N", "mu", "period"), [(1, "0", 1), (2, "0", 2), (2, "1/4", 1), (2, "1/4", 3)])
def test_sgd_on_bent_functions(N, mu, period):
    """Every step and peer of runs with every sign of every noise, against what the rates are made of."""
    mu, gamma, steps = Fraction(mu), Fraction(1, 8), 3
    L = 1 + mu

    def slope(x):
        return np.clip(x, -0.25, 0.5) + float(mu) * x

    def value(x):
        within = np.clip(x, -0.25, 0.5)
        return float(mu) * x * x / 2 + within * within / 2 + within * (x - within)

    noise = _signs(steps, N)
    paths = [
        moshpit_sgd(
            np.full((N, noise.shape[2]), 1.5), slope, float(gamma), noise[:k], period, [[[0] * N]] * (k // period)
        )[0]
        for k in range(steps + 1)
    ]
    given = {"stepsize": gamma, "smoothness": L, "convexity": mu, "noise": 1, "N": N, "period": period}
    claim = "moshpit.sgd.strongly_convex" if mu else "moshpit.sgd.convex"
    of = goals(claim)
    for path in paths[1:]:
        m, points = path.means[-1], path.points
        for i, c in itertools.product(range(N), range(0, noise.shape[2], 7)):
            at_peer = {"x": points[i, c], "m": m[c], "g": slope(points[i, c]), "s": slope(m[c])}
            assert failing(of["one peer"], **at_peer, f_x=value(points[i, c]), f_m=value(m[c]), **given) == []
            d, g = points[i, c] - m[c], slope(points[i, c]) - slope(m[c])
            assert failing(of["no expansion"], d=d, g=g, **given) == []
            check_goals("moshpit.sgd.nonconvex", ["expansion"], {"d": d, "g": g, **given})
            if not mu:
                more = {"f_x": value(points[i, c]), "f_m": value(m[c]), **given}
                check_goals("moshpit.sgd.departures", ["one peer"], {**at_peer, **more})
                check_goals("moshpit.sgd.departures", ["no expansion"], {"d": d, "g": g, **given})
    averaged = [Fraction(path.spreads[-1]) / noise.shape[2] for path in paths[::period]]
    limit = gamma**2 * (max(averaged) / gamma**2 + (period - 1))
    quality = sp.sqrt(sp.Rational(*(max(averaged) / gamma**2).as_integer_ratio()))
    for k in range(steps):
        age, spread = k % period, Fraction(paths[k].spreads[-1]) / noise.shape[2]
        since = {"age": age, "spread": spread, "quality": quality, "e": sp.E, **given}
        since["expansion"] = (1 + gamma * L) ** (2 * age)
        for other in ("nonconvex", *(["departures"] if not mu else [])):
            check_goals(f"moshpit.sgd.{other}", ["V after one more step", "V between averages"], since)
    decay, total, weights = 1 - gamma * mu, Fraction(0), Fraction(0)
    for k in range(steps):
        squares = [Fraction(np.mean(path.means[-1] ** 2)) for path in paths[k : k + 2]]
        weight, F = 1 / decay ** (k + 1), Fraction(np.mean(value(paths[k].means[-1])))
        values = {"now": squares[0] / decay**k, "next": squares[1] * weight, "sum": total, "weights": weights}
        values |= {"value": F, "spread": Fraction(paths[k].spreads[-1]) / noise.shape[2], "limit": limit}
        share = gamma**2 / N
        assert failing(of["one more step"], **values, weight=weight, share=share, distance="3/2", **given) == []
        total, weights = total + weight * F, weights + weight
