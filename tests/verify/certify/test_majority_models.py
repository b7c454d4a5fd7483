"""What the models of majority take as given, and what they say is measured, against runs of the vote."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from goal_values import bound_of, failing, goals

from commbounds.collectives.majority import majority_vote


@pytest.mark.models(
    "majority.all_gather.busiest",
    "majority.server.busiest",
    "majority.server.worker",
    "majority.shards.busiest",
    "majority.shards.thirty_two",
)
@pytest.mark.parametrize(("P", "n"), [(1, 5), (2, 7), (2, 16), (3, 8), (4, 21), (5, 3), (3, 48)])
@pytest.mark.parametrize(("zeros", "votebits"), [("plus", 1), ("abstain", 2)])
def test_bytes(P, n, zeros, votebits):
    """Whole bytes of messages, and who sends how many of them."""
    x = np.ones((P, n))
    full, over = divmod(votebits * n, 8)
    names = [name for name in goals("majority.server.worker") if name.startswith("a byte" if over else "whole")]
    for name in names:
        goal = goals("majority.server.worker")[name]
        assert failing(goal, n=n, votebits=votebits, full=full, over=over) == []
    ballot = full + (over > 0)
    served = majority_vote(x, "server", zeros)[1].sent.tolist()
    assert served == [(P - 1) * ballot] + [ballot] * (P - 1)
    assert majority_vote(x, "all-gather", zeros)[1].sent.tolist() == [(P - 1) * ballot] * P
    entries, longer = divmod(n, P)
    lengths = [-(-votebits * (entries + (p < longer)) // 8) for p in range(P)]
    sent = [sum(lengths) - length + (P - 1) * length for length in lengths]
    assert majority_vote(x, "shards", zeros)[1].sent.tolist() == sent
    if longer and P > 1:
        values = {"P": P, "left": longer - 1, "long": lengths[0], "short": lengths[-1]}
        for name in ("the owner of a longer block", "the owner of a shorter block"):
            assert failing(goals("majority.shards.busiest")[name], **values) == []
    if n % (8 * P) == 0:
        assert failing(goals("majority.shards.thirty_two")["bytes"], P=P, short=n // (8 * P)) == []
        assert max(sent) == votebits * bound_of("majority.shards.thirty_two", n=n, P=P)


@pytest.mark.models("majority.worker.gauss")
@pytest.mark.parametrize("a", ["0", "1/2", "1", "5/4", "3/2", "3", "8"])
def test_uniform_noise(a):
    """The share of wrong signs of 1 + noise, evenly spread over [-a, a], and the inequality that is averaged."""
    a, points = Fraction(a), 4000
    noise = float(a) * (2 * np.arange(points) + 1 - points) / points
    signs = majority_vote((1.0 + noise)[None, :])[0][0]
    wrong = max(Fraction(0), (1 - 1 / a) / 2) if a else Fraction(0)
    assert np.mean(signs < 0) == pytest.approx(float(wrong), abs=1 / points)
    for S in (Fraction(1, 3), Fraction(1), Fraction(6, 5), Fraction(4)):
        if a:
            goal = goals("majority.worker.gauss")[f"strong signal, {'wide' if a >= 1 else 'narrow'} noise"]
            assert failing(goal, a=a, S=S, snr=S, w=2) == []


def _patterns(P):
    return np.array(list(itertools.product((False, True), repeat=P)), np.bool_)


def _lost(patterns, zeros, sign):
    """Probability, over coins, that the vote is wrong for every pattern of wrong signs."""
    x = np.where(patterns, -float(sign), float(sign)).T
    if zeros == "coin":
        sides = [np.full((len(x) + 1, x.shape[1]), heads) for heads in (True, False)]
        votes = [majority_vote(x, zeros=zeros, coins=coins)[0][0] for coins in sides]
    else:
        votes = [majority_vote(x, zeros=zeros)[0][0]]
    return [sum(Fraction(int(v != sign)) for v in of) / len(of) for of in zip(*votes, strict=True)]


_RULES = [("plus", 1, "0"), ("plus", -1, "1"), ("coin", 1, "1/2"), ("abstain", 1, "1")]


@pytest.mark.models("majority.adversaries.half", "majority.vote.even_worker", "majority.vote.sharp")
@pytest.mark.parametrize("P", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(("zeros", "sign", "tieloss"), _RULES)
def test_pivots(P, zeros, sign, tieloss):
    """What the last worker's vote does, by the votes of all others; and the last of an even number."""
    q, Q, tau = Fraction(1, 5), Fraction(2, 5), Fraction(tieloss)
    patterns = _patterns(P)
    chance = [q ** int(row.sum()) * (1 - q) ** int(P - 1 - row.sum()) for row in patterns[:, :-1]]
    lost = _lost(patterns, zeros, sign)
    by_last = [
        sum(c * v for row, c, v in zip(patterns, chance, lost, strict=True) if row[-1] == last) for last in (0, 1)
    ]

    def others(wrong):
        return comb(P - 1, wrong) * q**wrong * (1 - q) ** (P - 1 - wrong) if wrong >= 0 else Fraction(0)

    at, below = (others(P // 2), others(P // 2 - 1)) if P % 2 == 0 else (others((P - 1) // 2), Fraction(0))
    swing_of = tau if P % 2 == 0 else Fraction(0)
    assert by_last[1] - by_last[0] == (1 - swing_of) * at + swing_of * below
    values = {"before": by_last[0], "at": at, "below": below, "tieloss": swing_of, "flip": q, "Q": Q}
    more = by_last[0] + Q * (by_last[1] - by_last[0])
    assert failing(goals("majority.vote.sharp")["one of them less often"], **values, claimed=more) == []
    assert failing(goals("majority.adversaries.half")["one more inverts"], **values) == []
    if P % 2 == 0 and zeros == "coin":
        ways, evenly = comb(P - 1, P // 2), (q * (1 - q)) ** (P // 2 - 1)
        beyond = sum(others(wrong) for wrong in range(P // 2 + 1, P))
        error = (1 - q) * by_last[0] + q * by_last[1]
        goal = goals("majority.vote.even_worker")["the last worker"]
        assert failing(goal, ways=ways, evenly=evenly, beyond=beyond, flip=q) == []
        assert error == beyond + ways * evenly * q == bound_of("majority.vote.even_worker", P=P, flip=q)


@pytest.mark.models("majority.adversaries.inverting", "majority.vote.bound")
@pytest.mark.parametrize(("H", "A"), [(1, 0), (2, 0), (5, 0), (2, 1), (3, 2), (5, 1)])
@pytest.mark.parametrize(("zeros", "sign"), [("plus", -1), ("abstain", 1), ("plus", 1)])
def test_tails(H, A, zeros, sign):
    """Wrong votes lead by what the model says wherever the vote is wrong; their mean and their variance."""
    P, q = H + A, Fraction(1, 7)
    e, variance = Fraction(1, 2) - q, P * q * (1 - q)
    lead = (P - 2 * A) * e
    mean = H * q + A * (1 - q)
    first = second = Fraction(0)
    patterns = _patterns(P)
    for row, lost in zip(patterns, _lost(patterns, zeros, sign), strict=True):
        off = int(row.sum()) - mean
        of_honest, of_inverting = int(row[:H].sum()), int(row[H:].sum())
        chance = q ** (of_honest + A - of_inverting) * (1 - q) ** (H - of_honest + of_inverting)
        first, second = first + chance * off, second + chance * off**2
        if lost:
            goal = goals("majority.adversaries.inverting")["a wrong vote"]
            assert failing(goal, off=off, lead=lead, variance=variance) == []
    assert (first, second) == (0, variance)


@pytest.mark.models("majority.vote.distortion")
@pytest.mark.parametrize("zeros", ["plus", "abstain"])
@pytest.mark.parametrize("P", [1, 2, 3, 5])
def test_entries(zeros, P):
    """Entries of averages of small whole numbers, beside the vote."""
    goal = goals("majority.vote.distortion")["an entry"]
    for seed in range(4):
        x = np.random.default_rng([P, seed]).integers(-4, 5, (P, 6)).astype(float)
        average = [Fraction(int(total), P) for total in x.sum(axis=0)]
        votes = majority_vote(x, zeros=zeros)[0][0]
        mean = sum(map(abs, average), Fraction(0)) / len(average)
        assert sum((abs(v) - mean for v in average), Fraction(0)) == 0
        for v, vote in zip(average, votes, strict=True):
            assert failing(goal, y=abs(v), m=mean, t=int(vote) * (1 if v >= 0 else -1)) == []


@pytest.mark.models("majority.ties.drift", "majority.ties.fair")
@pytest.mark.parametrize("P", [1, 2, 3, 4, 6])
def test_signs(P):
    """All patterns of signs: as many majorities either way, and the ties that are counted."""
    x = np.where(_patterns(P), 1.0, -1.0).T
    votes = majority_vote(x, zeros="abstain")[0][0]
    plus, minus, tied = (Fraction(int(np.sum(votes == v)), 2**P) for v in (1, -1, 0))
    odds = {"plus": plus, "minus": minus, "tied": tied}
    goal = goals("majority.ties.drift")["odd" if P % 2 else "even"]
    assert failing(goal, **odds, P=P, ways=0 if P % 2 else comb(P, P // 2)) == []
    ones = majority_vote(x)[0][0]
    assert Fraction(int(ones.sum()), 2**P) == bound_of("majority.ties.drift", P=P) == plus + tied - minus
    for fair in goals("majority.ties.fair").values():
        assert failing(fair, **odds) == []
