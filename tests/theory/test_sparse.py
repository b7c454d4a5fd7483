"""The column sparse: numbers computed by hand, and formulas against one another."""

import math
from fractions import Fraction

import numpy as np
import pytest
from printed import printed
from scipy import stats

from commbounds.theory import claims
from commbounds.theory.cost import cost
from commbounds.theory.schedules import EXACT, SCHEDULES

BOOK = claims()


def bound(name, **values):
    return BOOK[f"sparse.{name}"].bound(**values)


def test_sixty_four_ranks_with_hot_layers():
    at = {"P": 64, "n": 65536, "k": 640}
    assert bound("topkdsa.upper_any_split", **at) == 65772
    # regions of 1024 entries: 63 messages of 640 entries, then 63 blocks of 1024, two words each
    assert bound("topkdsa.upper", **at) == 2 * 63 * (640 + 1024) == 209664


@pytest.mark.parametrize("P", [1, 2, 3, 5, 8])
def test_topk_dsa_where_all_entries_meet_in_one_region(P):
    # one entry: 2 words from each rank in turn, and a block of one word around the ring
    assert P * bound("topkdsa.upper_any_split", P=P, n=1, k=1) == 3 * (P - 1)
    assert BOOK["sparse.topkdsa.upper_any_split"].tightness_at(P=P) == P
    # k = n/P: the sparse blocks of the region that all ranks fill
    assert bound("topkdsa.upper_even", P=P, n=6 * P, k=6) == bound("topkdsa.upper", P=P, n=6 * P, k=6) == 24 * (P - 1)


@pytest.mark.parametrize("P", [2, 3, 5, 8, 13])
def test_the_factor_of_even_regions_covers_the_sharper_bound(P):
    for c in range(1, 9):
        for k in range(1, P * c + 1):
            assert bound("topkdsa.upper", P=P, n=P * c, k=k) <= bound("topkdsa.upper_even", P=P, n=P * c, k=k)


@pytest.mark.parametrize(("P", "k", "words"), [(2, 32, 64), (7, 240, 816), (8, 64, 224), (16, 15, 0), (1, 5, 0)])
def test_words_of_spardl(P, k, words):
    assert bound("spardl.most", P=P, k=k) == bound("spardl.least", P=P, k=k) == words


def test_spardl_in_teams():
    # P = 8, d = 2, k = 80: blocks of 20 entries, 3 steps of the half-way, twice, and one exchange
    assert bound("spardl.r_sag_most", P=8, k=80, teams=2) == 2 * 20 * (3 + 3 + 1)
    assert bound("spardl.b_sag", P=12, k=120, teams=3, kept=10) == 2 * 30 * 3 * 2 + 2 * 10 * 2
    # with one team they are the schedule without teams
    for P, k in ((3, 7), (8, 64), (13, 100)):
        assert bound("spardl.r_sag_most", P=P, k=k, teams=1) == bound("spardl.most", P=P, k=k)


def test_printed_words_of_teams_are_reached_where_blocks_hold_whole_shares():
    printed = cost(SCHEDULES["spardl_rsag"])
    for P, d, k in ((8, 2, 80), (16, 4, 64), (4, 4, 12)):
        assert bound("spardl.r_sag_most", P=P, k=k, teams=d) == printed.at(P=P, teams=d, k=k).words


@pytest.mark.parametrize("P", range(1, 40))
def test_exact_schedules_are_the_claims(P):
    for name, claim in (
        ("topk_allgather", "topka.critical_path"),
        ("gtopk", "gtopk.critical_path"),
        ("spardl", "spardl.most"),
    ):
        assert cost(EXACT[name]).at(P=P, k=50).words == bound(claim, P=P, k=50)


def test_crossovers():
    for P in range(1, 200):
        topka, gtopk = bound("topka.critical_path", P=P, k=60), bound("gtopk.critical_path", P=P, k=60)
        oktopk = bound("topka.above_oktopk", P=P, k=60)
        assert (oktopk < topka) == (P > 3)
        assert (gtopk < topka) == (P == 8 or P >= 10)
        assert (oktopk < gtopk) == (P >= 2)
        assert bound("spardl.below_even_split", P=P, k=60) <= oktopk


NORMAL = stats.norm()


@pytest.mark.parametrize(
    ("law", "shares"), [("normal", (1.0, 1.0, 1.0)), ("laplace", (9.5, 2.6, 1.9)), ("student", (10.7, 2.1, 1.4))]
)
def test_shares_that_pass_a_normal_threshold(law, shares):
    for density, share in zip((0.001, 0.01, 0.02), shares, strict=True):
        z = NORMAL.isf(density / 2)
        value = bound(f"gaussiank.{law}_least", mu=density, z=z, k=10**12)
        assert round(value, 1) == share


@pytest.mark.parametrize("z", [0.3, 1.0, 2.5758, 5.0])
def test_tails_of_the_laws(z):
    def tail(law, scale):
        return 2 * law.sf(z * scale)

    # n = k, so that the bound is the tail itself, less 1/k or more: 1e-15, and a few roundings of numbers below 1
    at, room = {"mu": 1.0, "z": z, "k": 10**15, "sd": 1.0}, 1e-15 + 4 * 2.0**-52
    assert bound("gaussiank.laplace_least", **at) == pytest.approx(tail(stats.laplace(), math.sqrt(2)), abs=room)
    assert bound("gaussiank.student_least", **at) == pytest.approx(tail(stats.t(3), math.sqrt(3)), abs=room)
    assert bound("gaussiank.normal_most", **at) == pytest.approx(tail(NORMAL, 1.0), abs=room)
    assert bound("gaussiank.laplace_most", **at) == pytest.approx(tail(stats.laplace(), math.sqrt(2)), abs=room)


def test_chebyshev_at_one_percent():
    assert bound("gaussiank.any_input", mu=0.01, z=float(NORMAL.isf(0.005))) == printed("15.07")
    assert bound("gaussiank.any_input", mu=0.001, z=float(NORMAL.isf(0.0005))) == printed("92.36")


def test_code_switch_is_half_as_much_again():
    sparse = bound("topkdsa.gathered", P=4, union=20, n=60)
    assert bound("topkdsa.code_switch", P=4, union=20) == Fraction(3, 2) * sparse == 45
    assert bound("topkdsa.gathered", P=4, union=40, n=60) == 45


def condition(claim, name):
    return next(h for h in BOOK[f"sparse.{claim}"].assumes if h.name == name)


def test_supports_are_alike_and_spread_over_uneven_regions():
    even = condition("topkdsa.identical", "identical_even_supports")
    x = np.zeros((2, 5))
    x[:, [0, 3]] = ((1, 2), (-3, 4))  # regions of three and of two entries
    assert even.admits(x=x, P=2, n=5, k=2)
    assert not even.admits(x=x[:, :4], P=2, n=4, k=2)  # 2k = n
    assert not even.admits(x=np.roll(x, 1, axis=1) + x, P=2, n=5, k=2)
    assert not even.admits(x=x * ((1,), (0,)), P=2, n=5, k=2)
    assert not even.admits(x=x[:, [0, 3, 1, 2, 4]], P=2, n=5, k=2)  # both in the first region


def test_teams_divide_the_ranks():
    fit = condition("spardl.mass", "teams_fit")
    doubling, at_once = condition("spardl.r_sag_most", "r_sag"), condition("spardl.b_sag", "b_sag")
    for P, teams, synchronise, ways in (
        (6, 2, "r-sag", (True, False)),
        (6, 3, "r-sag", (False, False)),
        (6, 3, "b-sag", (False, True)),
        (6, 4, "r-sag", (False, False)),
        (6, 4, "b-sag", (False, False)),
    ):
        case = {"P": P, "teams": teams, "synchronise": synchronise}
        assert (doubling.admits(**case), at_once.admits(**case), fit.admits(**case)) == (*ways, any(ways))


def test_what_gaussianks_claims_ask_of_a_vector():
    fixed = condition("gaussiank.any_input", "fixed_threshold")
    assert fixed.admits(adapt="none", k=1, n=2)
    assert not fixed.admits(adapt="none", k=2, n=2)
    assert not fixed.admits(adapt="vgg", k=1, n=2)
    mean = condition("gaussiank.any_input", "nonnegative_mean")
    assert mean.admits(x=np.array([[1.0, -1.0]]))
    assert not mean.admits(x=np.array([[1.0, -2.0]]))
    heavy = condition("gaussiank.heavy_tails", "heavy_tails")
    assert heavy.admits(law="laplace", k=10)
    assert not heavy.admits(law="laplace", k=9)
    assert not heavy.admits(law="normal", k=10)
