"""What the models of lowcomm take as given, and what they say is measured, against runs of the rounds."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from goal_values import bound_of, failing, goals, value

from commbounds.collectives.lowcomm import (
    demo_round,
    diloco_round,
    e3m0,
    loco_round,
    noloco_round,
    quantised_reduce_scatter,
    quorum_merge,
    sparseloco_round,
)


def exact(number):
    return Fraction(float(number))


@pytest.mark.models("lowcomm.diloco.first_round", "lowcomm.diloco.progress")
@pytest.mark.parametrize(("lr", "mu"), [(0.75, 0.5), (1.0, 0.0), (0.5, 0.875), (1.5, 0.25)])
def test_first_round(lr, mu):
    """The pseudo-gradient, the momentum after it, and where the anchor goes."""
    state, _ = diloco_round([[1.0], [5.0]], np.array([7.0]), None, lr, mu)
    g, m, moved = Fraction(4), exact(state.momentum[0, 0]), 7 - exact(state.anchor[0, 0])
    given = {"g": g, "m": m, "outerlr": Fraction(lr), "outermu": Fraction(mu)}
    for claim in ("lowcomm.diloco.first_round", "lowcomm.diloco.progress"):
        assert failing(goals(claim)["an entry"], **given) == []
    assert moved == Fraction(lr) * (g + Fraction(mu) * m)


@pytest.mark.models("lowcomm.diloco.ball_step", "lowcomm.diloco.effective_step")
@pytest.mark.parametrize(("rule", "claim"), [("nesterov", "effective_step"), ("heavy-ball", "ball_step")])
def test_moves(rule, claim):
    """Each move is the step size, and the momentum times the move before."""
    lr, mu = Fraction(3, 4), Fraction(1, 2)
    anchor, momentum, moves = np.zeros(1), np.zeros(1), []
    for _ in range(5):
        state, _ = diloco_round([anchor - 1.0], anchor, momentum, float(lr), float(mu), rule=rule)
        moves.append(exact(anchor[0]) - exact(state.anchor[0, 0]))
        anchor, momentum = state.anchor[0], state.momentum[0]
    for t, (move, following) in enumerate(itertools.pairwise(moves), 1):
        assert following == lr + mu * move
        assert bound_of(f"lowcomm.diloco.{claim}", outerlr=lr, outermu=mu, outerrounds=t) == move
        assert failing(goals(f"lowcomm.diloco.{claim}")["step"], outerlr=lr, outermu=mu, outerrounds=t) == []


@pytest.mark.models("lowcomm.local.limit")
@pytest.mark.parametrize(("q", "q_second", "H"), [(0.5, 0.25, 1), (0.5, 0.25, 3), (0.75, -0.5, 2)])
def test_limit(q, q_second, H):
    """A round from the limit ends there."""
    left, left_second = Fraction(q) ** H, Fraction(q_second) ** H
    x = value(
        bound_of("lowcomm.local.limit", retained=Fraction(q), retained_second=Fraction(q_second), localsteps=H), {}
    )
    assert (left * x + 1 + left_second * (x - 1)) / 2 == x
    assert failing(goals("lowcomm.local.limit")["a fixed point"], left=left, left_second=left_second) == []


@pytest.mark.models("lowcomm.quorum.share")
@pytest.mark.parametrize(("P", "K", "w"), [(2, 1, 2), (4, 3, 5), (3, 3, 2)])
def test_share(P, K, w):
    """How many quorums a worker is in, and its tokens among those that arrive."""
    quorums = list(itertools.combinations(range(P), K))
    assert Fraction(sum(0 in there for there in quorums), len(quorums)) == Fraction(K, P)
    rows = np.eye(P) * (w + K - 1)
    merged, _ = quorum_merge(rows, [w] + [1] * (P - 1), np.arange(P) < K)
    assert exact(merged[0, 0]) == w
    assert failing(goals("lowcomm.quorum.share")["weight"], P=P, quorum=K, heavytokens=w) == []


@pytest.mark.models("lowcomm.quorum.stragglers")
@pytest.mark.parametrize(("p", "q"), [("1/2", "1/4"), ("1/3", "1")])
def test_stragglers(p, q):
    """A worker that is alone is merged alone."""
    assert quorum_merge([[0.0], [2.0]], [1, 1], [True, False])[0].tolist() == [[0.0], [0.0]]
    assert quorum_merge([[0.0], [2.0]], [1, 1], [True, True])[0].tolist() == [[1.0], [1.0]]
    p, q = Fraction(p), Fraction(q)
    name = "the first more often" if p > q else "the second more often"
    goal = goals("lowcomm.quorum.stragglers")[name]
    assert failing(goal, arrive_first=p, arrive_second=q, ahead=abs(p - q)) == []


@pytest.mark.models("lowcomm.noloco.even", "lowcomm.noloco.odd", "lowcomm.noloco.pull")
@pytest.mark.parametrize("P", [2, 3, 4, 5])
@pytest.mark.parametrize("pull", [1.0, 0.5])
def test_pairs(P, pull):
    """Products of distinct ranks, and what is left within pairs, over all orders."""
    x = [Fraction(p * p) - Fraction(sum(r * r for r in range(P)), P) for p in range(P)]
    D = sum(v * v for v in x)
    E = sum((x[i] * x[j] for i in range(P) for j in range(P) if i != j), Fraction(0)) / (P * (P - 1))
    workers = np.zeros((P, 3, 1))
    workers[:, 0, 0] = [p * p for p in range(P)]
    left, orders = Fraction(0), list(itertools.permutations(range(P)))
    for order in orders:
        after = [exact(v) for v in noloco_round(workers, order, 0.0, 0.5, pull)[0][:, 0, 0]]
        left += sum((v - sum(after) / P) ** 2 for v in after) / len(orders)
    assert left == D * value(bound_of("lowcomm.noloco.pull", P=P, pairpull=Fraction(pull)), {})
    name = "one left over" if P % 2 else "all in pairs"
    assert failing(goals("lowcomm.noloco.pull")[name], P=P, pairpull=Fraction(pull), D=D, E=E) == []
    if pull == 1:
        claim = "lowcomm.noloco.odd" if P % 2 else "lowcomm.noloco.even"
        assert failing(goals(claim)[name], P=P, D=D, E=E) == []


@pytest.mark.models("lowcomm.demo.missing", "lowcomm.sparseloco.missing")
def test_residuals():
    """What a round of either takes in, sends and keeps; sums over the entries."""
    rng = np.random.default_rng(0)
    change, e = rng.integers(-4, 5, (2, 4)).astype(float)
    for call, claim, options in (
        (sparseloco_round, "lowcomm.sparseloco.missing", (1, 2, 0.5)),
        (demo_round, "lowcomm.demo.missing", (1, 1, 0.5)),
    ):
        sent, after = call(np.stack([change, e])[None], *options)[0][0]
        given = {"change": change, "e": e, "sent": sent, "after": after}
        sums = {name: sum(map(exact, values)) for name, values in given.items()}
        assert failing(goals(claim)["a round more"], decay=Fraction(1, 2), residualsum=Fraction(3), **sums) == []


@pytest.mark.models("lowcomm.loco.late")
def test_compensation():
    """The newest error, and the moving average of errors."""
    g, e = Fraction(5, 4), Fraction(1, 8)
    sent, after = map(exact, loco_round([[[float(g)], [float(e)]]], 1.0, 4, 0.25)[0][0, :, 0])
    owed = g + e - sent
    assert abs(owed) <= Fraction(1, 2)
    goal = goals("lowcomm.loco.late")["what a round adds"]
    assert failing(goal, owed=owed, e=e, after=after, fresh=Fraction(1, 4)) == []


@pytest.mark.models("lowcomm.qgz.one_hop", "lowcomm.qgz.ring", "lowcomm.qgz.two_hops")
@pytest.mark.parametrize(("way", "node"), [("one-hop", 1), ("hierarchical", 2), ("ring", 1)])
def test_codes(way, node):
    """Entries that are codes, and whose sums are codes of their wider steps, arrive as they are."""
    x = np.full((4, 4), 12.0)
    blocks, _ = quantised_reduce_scatter(x, 1.0, 8, way, node)
    assert (blocks == 48.0).all()
    off = {"one-hop": "one_hop", "hierarchical": "two_hops", "ring": "ring"}[way]
    halves = {"one-hop": [1] * 4, "hierarchical": [1] * 4 + [2] * 2, "ring": [1, 2, 3]}[way]
    assert bound_of(f"lowcomm.qgz.{off}", P=4) == Fraction(sum(halves), 2)


@pytest.mark.models("lowcomm.loco.kept_compensation", "lowcomm.loco.kept_late_rounds")
@pytest.mark.parametrize(("fresh", "kept"), [("1/4", "1/8"), ("1", "3/4"), ("1/2", "1/2")])
def test_kept_compensation(fresh, kept):
    """What rounding the average changes; from within half a step, and from above it."""
    phi, kappa = Fraction(fresh), Fraction(kept)
    for e in (j * kappa for j in range(-2, 3) if abs(j * kappa) <= (1 + kappa) / 2):
        for g in (Fraction(j, 16) for j in range(-20, 21)):
            sent, after = map(
                exact, loco_round([[[float(g)], [float(e)]]], 1.0, 4, float(phi), kept=float(kappa))[0][0, :, 0]
            )
            owed = g + e - sent
            average = (1 - phi) * e + phi * owed
            given = {"fresh": phi, "keptstep": kappa, "e": e, "owed": owed, "rho": after - average, "after": after}
            assert after % kappa == 0
            claim = goals("lowcomm.loco.kept_compensation")
            if abs(e) <= Fraction(1, 2):
                for name in ("above", "below"):
                    assert failing(claim[f"from within half a step, {name}"], **given) == []
            elif e > 0:
                assert after <= e
                for name in ("no further than before", "not beyond the other end"):
                    assert failing(claim[name], **given) == []
            assert failing(goals("lowcomm.loco.kept_late_rounds")["what a round adds"], **given) == []


@pytest.mark.models("lowcomm.e3m0.contraction")
def test_entries_of_e3m0():
    """What an entry beside 1 becomes: zero, 1/64, or the nearer of two powers, as the model's cases have it."""
    claim, share = goals("lowcomm.e3m0.contraction"), bound_of("lowcomm.e3m0.contraction", n=9)
    for a in (Fraction(j, 512) for j in range(1, 512)):
        read = exact(e3m0(np.array([1.0, float(a)]))[1])
        given = {"n": 9, "share": share}
        if a <= Fraction(1, 64):
            name = "becomes 1/64" if a > Fraction(1, 128) else "becomes zero"
            assert read == (Fraction(1, 64) if a > Fraction(1, 128) else 0)
            given["a"] = a
        else:
            u = max(Fraction(1, 2**i) for i in range(7) if Fraction(1, 2**i) <= a)
            name = "becomes u" if read == u else "becomes 2 u"
            assert read in (u, 2 * u)
            given |= {"u": u, "d": abs(a - read)}
        assert failing(claim[name], **given) == [], (name, a)
