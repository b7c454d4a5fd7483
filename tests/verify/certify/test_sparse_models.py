"""What the models of sparse all-reduces take as given, against the collectives themselves."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from goal_values import check_goals
from scipy.special import ndtr, ndtri, stdtr

from commbounds.collectives.cuts import even_cuts
from commbounds.collectives.sparse import (
    gaussiank_allreduce,
    gtopk_allreduce,
    spardl_allreduce,
    topk_allgather,
    topk_dsa,
)
from commbounds.verify.experiments.sparse.gaussiank import quantiles

MASS = {
    topk_allgather: "sparse.topka.mass",
    topk_dsa: "sparse.topkdsa.mass",
    gaussiank_allreduce: "sparse.gaussiank.mass",
    gtopk_allreduce: "sparse.gtopk.mass",
    spardl_allreduce: "sparse.spardl.mass",
}
GATHERS = ("ring", "bruck", "recursive-doubling")
RANKS = (1, 2, 3, 4, 5, 7, 8, 9)


def integers(P: int, n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, P, n]).integers(-9, 10, (P, n)).astype(float)


def generic(P: int, n: int) -> np.ndarray:
    """No entry is zero, and no sum over ranks is another's."""
    return integers(P, n) + np.exp2(-np.arange(1.0, P + 1))[:, np.newaxis]


def doublings(P: int) -> int:
    return (P - 1).bit_length()


def bruck_blocks(m: int) -> list[int]:
    """Blocks that move in the steps, as the models say."""
    full = doublings(m) - 1
    return [*(2**t for t in range(full)), m - 2**full] if m > 1 else []


@pytest.mark.models(
    "sparse.topka.above_oktopk",
    "sparse.topka.below_dense",
    "sparse.topka.below_oktopk",
    "sparse.topka.critical_path",
    "sparse.topka.received",
)
def test_topka():
    for P, algorithm, k in itertools.product(RANKS, GATHERS, (1, 3)):
        _, traffic = topk_allgather(integers(P, 6), k, allgather=algorithm)
        assert (traffic.received == 2 * k * (P - 1)).all()
        assert traffic.critical_path >= 2 * k * (P - 1)
        even = algorithm != "recursive-doubling" or P & (P - 1) == 0
        assert (traffic.critical_path == 2 * k * (P - 1)) == even
        if algorithm == "bruck":
            assert traffic.critical_path == 2 * k * sum(bruck_blocks(P))


@pytest.mark.models(
    "sparse.gtopk.above_oktopk",
    "sparse.gtopk.below_topka",
    "sparse.gtopk.critical_path",
    "sparse.gtopk.received",
    "sparse.gtopk.sent",
    "sparse.gtopk.steps",
)
def test_gtopk():
    for P, k in itertools.product((*RANKS, 12, 13), (1, 3)):
        levels = doublings(P)
        _, traffic = gtopk_allreduce(integers(P, 6), k)
        assert traffic.steps == 2 * levels
        assert [phase.critical_path for phase in traffic.phases.values()] == [2 * k * levels] * 2
        assert traffic.received[0] == traffic.sent[0] == 2 * k * levels
        assert 2**levels >= P > 2 ** (levels - 1)
        for rank in range(1, P):
            lowest = (rank & -rank).bit_length() - 1
            assert lowest <= levels - 1
            assert max(traffic.received[rank], traffic.sent[rank]) <= 2 * k * (lowest + 1)


@pytest.mark.models("sparse.gaussiank.mean_received", "sparse.gaussiank.received")
def test_gaussiank_words():
    for P, algorithm in itertools.product(RANKS, GATHERS):
        result, traffic = gaussiank_allreduce(integers(P, 12), 3, allgather=algorithm)
        own = np.array([indices.size for indices in result.selected])
        assert (traffic.only("allgather").received == 2 * (own.sum() - own)).all()


@pytest.mark.models("sparse.gaussiank.any_input")
def test_gaussiank_selection():
    for n, k, seed in itertools.product((2, 5, 9, 30), (1, 2, 4), range(4)):
        x = integers(1, n, seed)[0]
        if k >= n or x.sum() < 0 or (x == x[0]).all():
            continue
        (selected,) = gaussiank_allreduce(x[np.newaxis], k)[0].selected
        entries = [Fraction(v) for v in x]
        mean = sum(entries) / n
        variance = sum((v - mean) ** 2 for v in entries) / n
        z = Fraction(-float(ndtri(k / n / 2)))
        far = sum((entries[i] - mean) ** 2 for i in selected)
        near = sum((v - mean) ** 2 for i, v in enumerate(entries) if i not in selected)
        assert z > 0
        assert n * variance == far + near
        assert far >= len(selected) * z**2 * variance


def test_a_constant_vector_selects_nothing():
    result, _ = gaussiank_allreduce(np.full((1, 8), 2.0), 2)
    assert result.selected[0].size == 0


@pytest.mark.models(
    "sparse.gaussiank.laplace_least",
    "sparse.gaussiank.laplace_most",
    "sparse.gaussiank.normal_least",
    "sparse.gaussiank.normal_most",
    "sparse.gaussiank.student_least",
)
@pytest.mark.parametrize(("law", "variance"), [("normal", 1.0), ("laplace", 1.0), ("student 3", 3.0)])
def test_quantiles(law, variance):
    for n, density in itertools.product((2, 9, 10, 101, 1000), (0.02, 0.11, 0.3, 0.47)):
        k = max(1, round(density * n))
        x, z = quantiles(law, n), -float(ndtri(k / n / 2))
        sd = float(np.std(x))
        assert sd < np.sqrt(variance)
        side, odd = divmod(gaussiank_allreduce(x[np.newaxis], k)[0].selected[0].size, 2)
        assert odd == 0
        tails = {
            "normal": lambda t: 2 * ndtr(-t),
            "laplace": lambda t: np.exp(-np.sqrt(2) * t),
            "student 3": lambda t: 2 * stdtr(3, -t),
        }
        assert 2 * side - 1 < n * tails[law](z * sd) <= 2 * side + 1
        assert 2 * side + 1 >= n * tails[law](np.sqrt(variance) * z)
        if law == "normal":
            assert 2 * side >= k
        if law == "student 3":
            assert np.isclose(tails[law](np.sqrt(3) * z), 1 - 2 * (np.arctan(z) + z / (1 + z**2)) / np.pi)


@pytest.mark.models(
    "sparse.spardl.below_even_split",
    "sparse.spardl.entries",
    "sparse.spardl.least",
    "sparse.spardl.most",
    "sparse.spardl.steps",
)
def test_spardl():
    for P, n, k in itertools.product(RANKS, (9, 20), (1, 9)):
        b, lengths = k // P, np.diff(even_cuts(n, P))
        result, traffic = spardl_allreduce(integers(P, n), k)
        assert lengths.min() >= b
        for phase in ("reduce-scatter", "allgather"):
            half = traffic.phases[phase]
            assert half.steps == doublings(P) == len(bruck_blocks(P))
            assert (half.sent == 2 * b * sum(bruck_blocks(P))).all()
            assert (half.received == half.sent).all()
            assert half.critical_path == 2 * b * (P - 1)
        assert traffic.steps == 2 * doublings(P)
        assert result.selected[0].size == np.unique(result.selected[0]).size == P * b


@pytest.mark.models("sparse.spardl.b_sag", "sparse.spardl.r_sag_least", "sparse.spardl.r_sag_most")
def test_spardl_in_teams():
    for P, d, k in itertools.product((1, 2, 4, 6, 8, 9, 12), (1, 2, 3, 4, 8), (1, 7, 16)):
        if P % d:
            continue
        m = P // d
        b = k // m
        for synchronise in ("b-sag", "r-sag") if d & (d - 1) == 0 else ("b-sag",):
            for kept in {b, -(-b // d)} if synchronise == "b-sag" else {None}:
                _, traffic = spardl_allreduce(integers(P, 16), k, teams=d, synchronise=synchronise, sag_entries=kept)
                scatter, agree, gather = traffic.phases.values()
                words = 2 * b * doublings(d) if kept is None else 2 * kept * (d - 1)
                for moved in ("sent", "received"):
                    assert (getattr(scatter, moved) == 2 * b * sum(bruck_blocks(m))).all()
                    assert (getattr(agree, moved) == words).all()
                    whole = 2 * b * sum(bruck_blocks(m))
                    assert getattr(gather, moved).max() <= whole
                    assert kept not in (None, b) or (getattr(gather, moved) == whole).all()


@pytest.mark.models(
    "sparse.topkdsa.code_switch",
    "sparse.topkdsa.gathered",
    "sparse.topkdsa.lower_with_switch",
    "sparse.topkdsa.upper",
    "sparse.topkdsa.upper_even",
)
def test_regions():
    options = itertools.product((1, 2, 3, 4, 7), (1, 4, 8, 21), (1, 4), GATHERS, ("model", "code", "never"))
    for P, n, k, algorithm, switch in options:
        if k > n:
            continue
        x, cuts = integers(P, n), even_cuts(n, P)
        result, traffic = topk_dsa(x, k, allgather=algorithm, switch=switch)
        union = np.unique(np.concatenate(result.selected)).size
        own = sum(
            np.count_nonzero((s >= a) & (s < b)) for s, a, b in zip(result.selected, cuts, cuts[1:], strict=False)
        )
        c = -(-n // P)
        assert own <= union <= P * k
        assert c <= n
        split = traffic.phases["split"]
        assert split.critical_path <= 2 * (P - 1) * min(k, c)
        chosen = sum(s.size for s in result.selected)
        assert split.received.sum() == 2 * (chosen - own)
        if (x != 0).sum(axis=1).min() >= k:
            assert chosen == P * k
            assert union >= k
        travels_densely = switch != "never" and {"model": 2, "code": 3}[switch] * union >= n
        assert travels_densely == ("dense" in traffic.phases)
        last = traffic.only("allgather", "dense")
        whole = n if travels_densely else 2 * union
        assert last.received.sum() == whole * (P - 1)
        if algorithm == "ring":
            assert last.critical_path <= (P - 1) * (c if travels_densely else 2 * min(P * k, c))
        if travels_densely and switch == "model":
            assert n <= 2 * P * k


@pytest.mark.models("sparse.topkdsa.identical")
def test_identical_regions():
    for P, share, algorithm in itertools.product(RANKS, (1, 2), GATHERS):
        cuts, x = even_cuts(P * (2 * share + 1), P), np.zeros((P, P * (2 * share + 1)))
        x[:, (cuts[:-1, np.newaxis] + np.arange(share)).ravel()] = 1.0
        _, traffic = topk_dsa(x, P * share, allgather=algorithm)
        assert traffic.phases["split"].critical_path == 2 * share * (P - 1)
        even = algorithm != "recursive-doubling" or P & (P - 1) == 0
        assert (traffic.phases["allgather"].critical_path == 2 * share * (P - 1)) == even


def test_the_codes_switch_is_another():
    x = np.zeros((2, 6))
    x[:, [0, 3]] = 1.0
    paths = {
        s: topk_dsa(x, 2, switch=s)[1].only("split", "allgather", "dense").critical_path for s in ("model", "code")
    }
    assert paths == {"model": 4, "code": 5}


@pytest.mark.models("sparse.lower_bound.mean", "sparse.lower_bound.most")
def test_lower_bound():
    for P, n, k, algorithm in itertools.product(RANKS, (3, 10), (1, 3), GATHERS):
        x = generic(P, n)
        result, traffic = topk_dsa(x, k, switch="never", allgather=algorithm)
        update = np.flatnonzero(result.update)
        chosen = np.zeros_like(x)
        for own, row, indices in zip(chosen, x, result.selected, strict=True):
            own[indices] = row[indices]
        assert (np.count_nonzero(chosen[:, update] == result.update[update], axis=0) <= 1).all()
        assert traffic.only("split", "allgather").received.sum() >= 2 * update.size * (P - 1)


@pytest.mark.models(
    "sparse.gaussiank.mass", "sparse.gtopk.mass", "sparse.spardl.mass", "sparse.topka.mass", "sparse.topkdsa.mass"
)
@pytest.mark.parametrize(
    ("collective", "options"),
    [(topk_allgather, {}), (topk_dsa, {}), (topk_dsa, {"switch": "never"}), (gaussiank_allreduce, {})],
)
def test_residuals(collective, options):
    for P, n in itertools.product(RANKS, (2, 9)):
        x = integers(P, n)
        result, _ = collective(x, 2, **options)
        update = np.zeros(n)
        for row, residual, indices in zip(x, result.residual, result.selected, strict=True):
            chosen = np.isin(np.arange(n), indices)
            assert (residual == np.where(chosen, 0, row)).all()
            update += np.where(chosen, row, 0)
        assert (result.update == update).all()
        for i in range(n):
            values = {"total": x[:, i].sum(), "update": result.update[i], "residuals": result.residual[:, i].sum()}
            check_goals(MASS[collective], ["one rank more"], values)


@pytest.mark.parametrize(
    ("collective", "options"),
    [(gtopk_allreduce, {}), (spardl_allreduce, {}), (spardl_allreduce, {"teams": 2, "synchronise": "b-sag"})],
)
def test_residuals_of_merges(collective, options):
    for P, n, k in itertools.product((2, 4, 6, 8), (8, 13), (2, 8)):
        x = generic(P, n)
        result, _ = collective(x, k, **options)
        assert (x.sum(axis=0) == result.update + result.residual.sum(axis=0)).all()
        for i in np.flatnonzero(result.update):
            values = {"total": x[:, i].sum(), "update": result.update[i], "held": result.residual[:, i].sum()}
            check_goals(MASS[collective], ["end"], {**values, "in_update": 1})
        others = result.update == 0
        assert (result.residual[:, others] == x[:, others]).all()
