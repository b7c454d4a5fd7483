"""The models of claims about ARC-Top-K, beside what its kernels do."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from goal_values import confirm, met

from commbounds.collectives.arctopk.allreduce import arctopk_allreduce
from commbounds.collectives.arctopk.law import kept_of_planar_rows
from commbounds.collectives.dense.allreduce import recursive_doubling_allreduce, ring_allreduce
from commbounds.theory import claims


@pytest.mark.models("arctopk.allreduce.contraction_orthogonal")
@pytest.mark.parametrize("K", [1, 2, 3])
@pytest.mark.parametrize("norms", [(1, 1, 1, 1), (4, 3, 2, 1), (8, 1, 1, 1), (5, 5, 4, 0)])
def test_chances_rise_with_squares(norms, K):
    claim = "arctopk.allreduce.contraction_orthogonal"
    stack = np.diag(np.array(norms, np.float64))[None]
    m, runs = len(norms), 0
    selected = np.zeros(m, np.int64)
    for q in itertools.permutations((1.0, 2.5, 3.5, 16.0)):  # alike, and no two scores equal but those of equal rows
        for ties in (
            slice(None),
            slice(None, None, -1),
        ):  # ties go to the first row: both orders, so that rows are alike
            rows = arctopk_allreduce(stack[:, ties], K, 1, sketch=np.array(q)[:, None])[0].rows[0]
            selected += np.bincount(np.arange(m)[ties][rows], minlength=m)
            runs += 1
    chances = [Fraction(int(count), runs) for count in selected]
    squares = [Fraction(norm**2) for norm in norms]
    assert sum(chances) == K
    sums = {"rows": 0, "chances": Fraction(0), "squares": Fraction(0), "kept": Fraction(0)}
    for chance, square in zip(chances, squares, strict=True):
        before = {"count": sums["rows"], "first": sums["chances"], "second": sums["squares"], "products": sums["kept"]}
        one_more = {**before, "a": chance, "b": square}
        assert "sum of products, one more" in {name for _, name in met(claim, one_more)}
        sums["rows"] += 1
        for name, more in (("chances", chance), ("squares", square), ("kept", chance * square)):
            sums[name] += more
    values = {"chances": sums["chances"], "squares": sums["squares"], "kept": sums["kept"], "m": m, "k": K}
    confirm(claim, values, claims()[claim].bound(m=m, k=K), 1 - sums["kept"] / sums["squares"])


@pytest.mark.models("arctopk.allreduce.contraction_two_rows")
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("angle", [0.0, 0.3, 1.0, np.pi / 2, 2.5])
@pytest.mark.parametrize("larger", [1.0, 1.25, 8.0])
def test_the_larger_of_two_rows(rank, angle, larger):
    claim, first = "arctopk.allreduce.contraction_two_rows", larger**2
    if larger == 1.0 and angle == 0.0:
        return  # the same row twice
    kept, room = kept_of_planar_rows([[larger, 0.0], [np.cos(angle), np.sin(angle)]], 1, rank)
    chance = 0.5 if larger == 1.0 else (kept - 1.0) / (first - 1.0)
    assert chance >= 0.5 - 8 * room - 2.0**-48
    values = {"first": first, "second": 1.0, "chance": max(chance, 0.5), "m": 2, "k": 1}
    (shown,) = met(claim, values).values()
    assert float(shown) == pytest.approx(0.5 - (1 - kept / (first + 1)), abs=8 * room + 2.0**-48)


@pytest.mark.models("arctopk.allreduce.words", "arctopk.allreduce.words_against_gather")
@pytest.mark.parametrize(
    ("P", "m", "n", "K", "rank"), [(1, 3, 2, 1, 1), (2, 4, 3, 2, 1), (3, 6, 4, 3, 2), (4, 8, 2, 2, 1)]
)
def test_rings_move_blocks(P, m, n, K, rank):
    claim = "arctopk.allreduce.words"
    rng = np.random.default_rng(P)
    traffic = arctopk_allreduce(rng.standard_normal((P, m, n)), K, rank, rng, allreduce=ring_allreduce)[1]
    blocks = {"sketch_block": Fraction(m * rank, P), "row_block": Fraction(K * n, P)}
    for phase, block in zip(("sketch", "rows"), blocks.values(), strict=True):
        assert traffic.phases[phase].steps == 2 * (P - 1)
        assert traffic.phases[phase].critical_path == 2 * (P - 1) * block
    sizes = {"P": P, "m": m, "n": n, "k": K, "r": rank}
    confirm(claim, {**sizes, **blocks}, claims()[claim].bound(**sizes), traffic.critical_path)


@pytest.mark.models("arctopk.allreduce.words_doubling")
@pytest.mark.parametrize("P", [1, 2, 4, 8])
def test_doubling_moves_all(P):
    m, n, K, rank = 3, 5, 2, 2
    rng = np.random.default_rng(P)
    traffic = arctopk_allreduce(rng.standard_normal((P, m, n)), K, rank, rng, allreduce=recursive_doubling_allreduce)[1]
    for phase, words in (("sketch", m * rank), ("rows", K * n)):
        assert traffic.phases[phase].steps == P.bit_length() - 1
        assert traffic.phases[phase].critical_path == (P.bit_length() - 1) * words
