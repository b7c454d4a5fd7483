"""What the models of gossip take as given, and what they say is measured, against runs of the kernels."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from goal_values import bound_of, check_goals, failing, goals

from commbounds.collectives.gossip.mixing import TOPOLOGIES, gossip, push_sum


def _row(topology, N):
    """What a unit vector of the first peer becomes in a round."""
    unit = np.zeros((N, 1))
    unit[0] = 1.0
    return gossip(unit, topology)[0].ravel()


@pytest.mark.models("gossip.ring.distortion")
@pytest.mark.parametrize("N", [2, 3, 4, 5, 6, 7, 12, 33])
def test_modes_of_rings(N):
    """Eigenvalues are (1 + 2 c)/3, and no c but the first is above cos(2 pi/N)."""
    c = np.cos(2 * np.pi * np.arange(N) / N)
    assert np.fft.fft(_row("ring", N)) == pytest.approx((1 + 2 * c) / 3, abs=1e-12)
    assert c[1:].max() == pytest.approx(c[1], abs=1e-12)
    if N < 4:
        assert c[1:] == pytest.approx(np.full(N - 1, c[1]), abs=1e-12)
    else:
        goal = goals("gossip.ring.distortion")["four peers or more"]
        second = Fraction(max(c[1:].max(), 0.0))  # a float near it, 0 for four peers
        for mode in c[1:]:
            values = {"c": max(-1, Fraction(mode)), "c_1": second, "start": 3, "rounds": 1}
            assert failing(goal, **values, now=Fraction(3) * ((1 + 2 * second) / 3) ** 2) == []


@pytest.mark.models("gossip.torus.distortion")
@pytest.mark.parametrize("m", [3, 4, 5, 8])
def test_modes_of_tori(m):
    """Eigenvalues are (1 + 2 c + 2 c')/5, and of a mode that is not constant one of the two is at most the second."""
    c = np.cos(2 * np.pi * np.arange(m) / m)
    kernel = _row("torus", m * m).reshape(m, m)
    expected = (1 + 2 * c[:, None] + 2 * c[None, :]) / 5
    assert np.fft.fft2(kernel) == pytest.approx(expected, abs=1e-12)
    assert c[1:].max() == pytest.approx(c[1], abs=1e-12)
    if m == 3:
        assert c[1:] == pytest.approx([-0.5, -0.5], abs=1e-12)
    else:
        goal = goals("gossip.torus.distortion")["side 4 or more"]
        second = Fraction(max(c[1:].max(), 0.0))
        for one, other in itertools.product(c[1:], c):
            values = {"c": max(-1, Fraction(one)), "c'": max(-1, Fraction(other)), "c_1": second}
            assert failing(goal, **values, start=1, now=((3 + 2 * second) / 5) ** 4, rounds=2) == []


@pytest.mark.models("gossip.exponential.distortion")
@pytest.mark.parametrize("bits", [1, 2, 3, 4, 5])
def test_modes_of_exponential_graphs(bits):
    """An eigenvalue is a mean of bits + 1 unit vectors, of which the first is 1 and another -1."""
    N = 2**bits
    found = np.fft.fft(_row("exponential", N))
    for k in range(1, N):
        characters = np.exp(-2j * np.pi * k * 2.0 ** np.arange(bits) / N)
        assert found[k] == pytest.approx((1 + characters.sum()) / (bits + 1), abs=1e-12)
        opposite = bits - 1 - (k & -k).bit_length() + 1
        assert characters[opposite] == pytest.approx(-1, abs=1e-12)
        assert abs(1 + characters.sum()) <= bits - 1 + 1e-12


@pytest.mark.models("gossip.ring.iid")
@pytest.mark.parametrize(("N", "T"), [(2, 1), (3, 2), (4, 1), (5, 3), (6, 2)])
def test_walks(N, T):
    """The weights of T rounds are symmetric, and their squares add up to the return probability in the claim."""
    unit = np.zeros((N, 1))
    unit[0] = 3.0**T
    weights = [Fraction(int(w), 3**T) for w in gossip(unit, "ring", T)[0].ravel()]
    assert all(weights[j] == weights[-j] for j in range(N))
    returns = sum(w**2 for w in weights)
    assert bound_of("gossip.ring.iid", N=N, rounds=T) == (returns - Fraction(1, N)) / (1 - Fraction(1, N))


@pytest.mark.models("gossip.one_peer.exact", "gossip.one_peer.factor")
@pytest.mark.parametrize("bits", [1, 2, 3])
def test_weights_of_one_peer_graphs(bits):
    """After T rounds 2^T weights 1/2^T are left."""
    N = 2**bits
    for T in range(bits + 1):
        result = gossip(np.eye(N) * N, "one-peer", T)[0]
        assert all(sorted(row)[-(2**T) :] == [N / 2**T] * 2**T and sum(row) == N for row in result.tolist())
    goal = goals("gossip.one_peer.exact")["distortion"]
    for row in (result / N).tolist():
        held = sum(w != 0 for w in row)
        assert failing(goal, N=N, bits=bits, held=held, weight=Fraction(max(row))) == []


@pytest.mark.models("gossip.mean.one_way", "gossip.mean.own_instead")
@pytest.mark.parametrize("N", [2, 3, 4])
def test_links(N):
    """Broken links: the mean stays if they break both ways, else it moves by their differences over 3 N."""
    x = 3.0 * np.array([[1.0], [4.0], [-3.0], [8.0]])[:N]
    targets, chance = TOPOLOGIES["ring"](N, 0), Fraction(1, 3)
    differences = [[Fraction(int(x[j, 0] - x[i, 0])) for j in targets[i]] for i in range(N)]
    squares = sum(d**2 for of in differences for d in of)
    moment = Fraction(0)
    for broken in itertools.product((False, True), repeat=2 * N):
        lost = np.array(broken).reshape(N, 2)
        result, _ = gossip(x, "ring", delivered=[~lost])
        shift = Fraction(round(result.sum() - x.sum())) / N
        assert shift == sum(differences[i][h] for i in range(N) for h in range(2) if lost[i, h]) / (3 * N)
        if N > 2 and all(lost[i, 0] == lost[(i + 1) % N, 1] for i in range(N)):
            assert shift == 0
        moment += chance ** int(lost.sum()) * (1 - chance) ** int((~lost).sum()) * shift**2
    goal = goals("gossip.mean.one_way")["shift of the mean"]
    total = sum(d for of in differences for d in of)
    assert failing(goal, N=N, loss=chance, squares=squares, roughness=squares / N, total=total) == []
    assert moment == bound_of("gossip.mean.one_way", N=N, loss=chance, roughness=squares / N)


def _shares_arrive(sums, weights, targets, works):
    """Peer by peer, the shares that arrive: estimates stay between the least and the largest."""
    parts, held = targets.shape[1] + 1, [Fraction(float(w)) for w in weights]
    estimates = [Fraction(float(v)) / w for v, w in zip(sums.ravel(), held, strict=True)]
    known, found = {"low": min(estimates), "high": max(estimates)}, []
    for i in range(len(held)):
        total = weight = Fraction(0)
        for j in (i, *(j for j in range(len(held)) for h in range(parts - 1) if works[j, h] and targets[j, h] == i)):
            share = {"share": held[j] / parts, "value": estimates[j]}
            for side in ("above", "below"):
                name = f"one more share: not {side}"
                check_goals("gossip.push_sum.range", [name], {**known, **share, "total": total, "weight": weight})
            total, weight = total + share["share"] * share["value"], weight + share["share"]
        found.append({"total": total, "weight": weight})
    for one, other in itertools.pairwise(found):
        more = {"other": other["total"], "other_weight": other["weight"]}
        check_goals("gossip.push_sum.range", ["range"], {**known, **one, **more})


@pytest.mark.models("gossip.push_sum.mean", "gossip.push_sum.range")
@pytest.mark.parametrize(("topology", "N"), [("ring", 3), ("one-peer", 4), ("exponential", 5), ("torus", 9)])
@pytest.mark.parametrize("lost", ["kept", "gone"])
def test_shares(topology, N, lost):
    """Shares add up to what was there if they are kept; new estimates lie between old ones in any case."""
    rng = np.random.default_rng(N)
    sums, weights = rng.standard_normal((N, 1)), np.ones(N)
    for t in range(4):
        targets = TOPOLOGIES[topology](N, t)
        works = rng.random(targets.shape) < 0.6
        parts = targets.shape[1] + 1
        for row in works:
            zero = goals("gossip.push_sum.mean")["shares"]
            values = {"broken": int((~row).sum()), "working": int(row.sum()), "parts": parts, "N": N}
            assert failing(zero, **values, x=2) == []
        old = (sums.ravel() / weights).min(), (sums.ravel() / weights).max()
        _shares_arrive(sums, weights, targets, works)
        (new, new_weights), _ = push_sum(sums, topology, 1, weights, start=t, delivered=[works], lost=lost)
        if lost == "kept":
            assert new.sum() == pytest.approx(sums.sum(), abs=1e-12)
            assert new_weights.sum() == pytest.approx(N, abs=1e-12)
        assert (
            old[0] - 1e-12 <= (new.ravel() / new_weights).min() <= (new.ravel() / new_weights).max() <= old[1] + 1e-12
        )
        sums, weights = new, new_weights


@pytest.mark.models(
    "gossip.exponential.words",
    "gossip.one_peer.words",
    "gossip.push_sum.words",
    "gossip.ring.words",
    "gossip.torus.words",
)
@pytest.mark.parametrize("N", [2, 4, 5, 9, 16])
def test_words(N):
    """Everybody sends to as many others as the models say, the same words to each."""
    counts = {"ring": 2, "one_peer": 1, "exponential": (N - 1).bit_length()}
    counts |= {"torus": 4} if isqrt(N) ** 2 == N else {}
    for name, count in counts.items():
        _, traffic = gossip(np.zeros((N, 7)), name.replace("_", "-"), 3)
        assert traffic.sent.tolist() == [3 * 7 * count] * N
    assert push_sum(np.zeros((N, 7)), "one-peer", 3)[1].sent.tolist() == [3 * 8] * N
