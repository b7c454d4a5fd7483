"""Low-communication rounds: what is refused, edges, and what other programs make of the same numbers."""

import numpy as np
import pytest

from commbounds.collectives.lowcomm import (
    binned,
    chunk_length,
    dct_matrix,
    demo_round,
    diloco_round,
    e3m0,
    loco_round,
    noloco_round,
    quantised_reduce_scatter,
    quorum_merge,
    resets,
    sparse_bits,
    sparseloco_round,
)
from commbounds.collectives.lowcomm.pairs import partner_of
from commbounds.theory import claims
from commbounds.verify.definitions import lowcomm as naive

pytestmark = pytest.mark.kernels

ONES, PAIR = np.ones((2, 4)), np.ones((2, 2, 4))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: diloco_round(ONES, np.zeros(3)), ValueError, r"anchor must have shape \(4,\), got \(3,\)"),
        (lambda: diloco_round(ONES, np.zeros(4, np.float32)), TypeError, "anchor must be float64"),
        (lambda: diloco_round(ONES, np.zeros(4), [np.nan] * 4), ValueError, "momentum must be finite"),
        (lambda: diloco_round(ONES, [0, 0, 0, 0]), TypeError, "anchor must be float64"),
        (lambda: diloco_round(ONES, np.zeros(4), outer_lr=-1), ValueError, r"outer_lr must be in \[0, 100\], got -1"),
        (lambda: diloco_round(ONES, np.zeros(4), mu=np.nan), ValueError, r"mu must be in \[0, 1\], got nan"),
        (lambda: diloco_round(ONES, np.zeros(4), rule="adam"), ValueError, "rule must be one of nesterov, heavy-ball"),
        (lambda: diloco_round(ONES, np.zeros(4), direction=1), TypeError, "direction must be a string"),
        (lambda: diloco_round(ONES, np.zeros(4), start=4), ValueError, r"start must be in \[0, 3\], got 4"),
        (lambda: diloco_round(ONES, np.zeros(4), start=2, stop=2), ValueError, r"stop must be in \[3, 4\], got 2"),
        (lambda: diloco_round(ONES, np.zeros(4), blend=2), ValueError, r"blend must be in \[0, 1\], got 2"),
        (lambda: diloco_round(ONES * np.inf, np.zeros(4)), ValueError, "stack must be finite"),
        (lambda: diloco_round(ONES.astype(int), np.zeros(4)), TypeError, "stack must be float32 or float64"),
        (lambda: noloco_round(np.ones((2, 2, 4)), [0, 1]), ValueError, r"workers must be \(P, 3, n\)"),
        (lambda: noloco_round(np.ones((2, 3, 4)), [0, 2]), ValueError, "order must hold every rank below 2 once"),
        (lambda: noloco_round(np.ones((2, 3, 4)), [0.0, 1.0]), TypeError, "order must be an array of integers"),
        (lambda: noloco_round(np.ones((2, 3, 4)), [0, 1], pull=-0.5), ValueError, "pull must be in"),
        (lambda: quorum_merge(ONES, [1, 0]), ValueError, "tokens must be 2 positive numbers"),
        (lambda: quorum_merge(ONES, [1, 1], [1, 0]), TypeError, "arrived must be boolean"),
        (lambda: quorum_merge(ONES, [1, 1], divisor="all"), ValueError, "divisor must be one of arrived, expected"),
        (lambda: sparseloco_round(PAIR, 0), ValueError, "k must be in"),
        (lambda: sparseloco_round(PAIR, 3, 2), ValueError, r"k must be in \[1, 2\], got 3"),
        (lambda: sparseloco_round(PAIR, 1, 2, 1.5), ValueError, r"beta must be in \[0, 1\]"),
        (lambda: sparseloco_round(PAIR, 1, 2, bins=1), ValueError, "bins must be in"),
        (lambda: sparseloco_round(PAIR, 1, 2, share="all"), ValueError, "share must be one of ranks, senders"),
        (lambda: sparseloco_round(PAIR[0], 1), ValueError, r"workers must be \(P, 2, n\)"),
        (lambda: demo_round(PAIR, 1, 3), ValueError, "chunk must divide n = 4, got 3"),
        (lambda: demo_round(PAIR, 1, 2, signed=1), TypeError, "signed must be True or False"),
        (lambda: demo_round(PAIR, 1, 8192), ValueError, r"chunk must be in \[1, 4096\]"),
        (lambda: loco_round(PAIR, 0.0), ValueError, "step must be in"),
        (lambda: loco_round(PAIR, 1.0, 1), ValueError, r"bits must be in \[2, 16\], got 1"),
        (lambda: loco_round(PAIR, 1.0, fresh="x"), TypeError, "fresh must be a number"),
        (lambda: quantised_reduce_scatter(np.ones((2, 3)), 1.0), ValueError, "multiple of 2 entries a rank, got 3"),
        (lambda: quantised_reduce_scatter(ONES, 1.0, node=3), ValueError, "node must be in"),
        (lambda: quantised_reduce_scatter(np.ones((4, 4)), 1.0, node=3), ValueError, "node must divide the number"),
        (lambda: quantised_reduce_scatter(ONES, 1.0, way="tree"), ValueError, "way must be one of"),
        (lambda: loco_round(PAIR, 1.0, kept=0.0), ValueError, "kept must be in"),
        (lambda: loco_round(PAIR, 1.0, kept="x"), TypeError, "kept must be a number"),
        (lambda: e3m0([]), ValueError, "values must have at least one"),
        (lambda: e3m0([1.0, np.inf]), ValueError, "values must be finite"),
        (lambda: e3m0(np.ones(3, np.float16)), TypeError, "values must be"),
        (lambda: binned([]), ValueError, "values must have at least one"),
        (lambda: binned([1.0, np.nan]), ValueError, "values must be finite"),
        (lambda: binned([1.0], 1), ValueError, r"bins must be in \[2, 256\]"),
        (lambda: binned([1.0], 4, 0.0), ValueError, "reach must be in"),
        (lambda: chunk_length(0), ValueError, "n must be in"),
        (lambda: chunk_length(4, 2.0), TypeError, "target must be an integer"),
        (lambda: sparse_bits(5, 1, 2), ValueError, "n must be a multiple of chunk = 2, got 5"),
        (lambda: sparse_bits(4, 3, 2), ValueError, r"k must be in \[1, 2\]"),
        (lambda: resets(0, 1, 1), ValueError, "tensors must be in"),
        (lambda: resets(1, -1, 1), ValueError, "reset_after must be in"),
        (lambda: dct_matrix(0), ValueError, "size must be in"),
    ],
)
def test_bad_input_is_refused_by_name(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_inputs_are_not_changed():
    stack, anchor, momentum = ONES.copy(), np.zeros(4), np.ones(4)
    diloco_round(stack, anchor, momentum)
    assert (stack == 1).all()
    assert (anchor == 0).all()
    assert (momentum == 1).all()
    workers = PAIR.copy()
    sparseloco_round(workers, 1, 2)
    demo_round(workers, 1, 2)
    loco_round(workers, 1.0)
    assert (workers == 1).all()


def test_read_only_and_strided_workers_give_the_same():
    rng = np.random.default_rng(0)
    workers = rng.standard_normal((3, 2, 8))
    expected, _ = sparseloco_round(workers, 1, 4)
    frozen, spread = workers.copy(), np.repeat(workers, 2, axis=2)[:, :, ::2]
    frozen.flags.writeable = False
    for variant in (frozen, spread):
        assert np.array_equal(sparseloco_round(variant, 1, 4)[0], expected)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 16, 31, 64])
def test_the_transform_is_that_of_its_formula_and_orthonormal(size):
    basis = dct_matrix(size)
    # a cosine is off by a few roundings of an angle below 2 pi size
    assert np.abs(basis - naive.cosines(size)).max() <= 16 * size * np.finfo(float).eps
    assert np.abs(basis @ basis.T - np.eye(size)).max() <= 4 * size * np.finfo(float).eps


def test_the_transform_is_scipys():
    fft = pytest.importorskip("scipy.fft")
    x = np.random.default_rng(1).standard_normal((5, 48))
    expected = fft.dct(x, norm="ortho", axis=1)
    assert np.abs(x @ dct_matrix(48).T - expected).max() <= 64 * 48 * np.finfo(float).eps


def test_all_amplitudes_give_the_momentum_back():
    x = np.random.default_rng(2).standard_normal((1, 2, 24))
    after, _ = demo_round(x, 8, 8, 0.5)
    m = 0.5 * x[0, 1] + x[0, 0]
    # 2 x 8 products and sums an entry, on numbers below ten
    assert np.abs(after[0, 0] - m).max() <= 400 * np.finfo(float).eps
    assert np.abs(after[0, 1]).max() <= 400 * np.finfo(float).eps


def test_one_worker_alone():
    state, traffic = diloco_round([[3.0, 5.0]], np.array([1.0, 1.0]), None, 1.0, 0.0)
    assert state.anchor.tolist() == [[3.0, 5.0]]
    assert traffic.sent.tolist() == [0]
    assert quorum_merge([[3.0]], [2])[0].tolist() == [[3.0]]
    assert noloco_round([[[1.0], [2.0], [0.0]]], [0])[0].tolist() == [[[2.0], [1.0]]]
    assert quantised_reduce_scatter([[0.4, 1.6]], 1.0, way="ring")[0].tolist() == [[0.4, 1.6]]
    assert quantised_reduce_scatter([[0.4, 1.6]], 1.0, way="one-hop")[0].tolist() == [[0.0, 2.0]]


def test_nobody_arrives():
    merged, traffic = quorum_merge([[1.0], [2.0]], [1, 1], [False, False])
    assert merged.tolist() == [[1.0], [2.0]]
    assert traffic.steps == 0


def test_everybody_has_one_partner():
    for P in range(1, 8):
        order = np.random.default_rng(P).permutation(P).tolist()
        partners = [partner_of(rank, order) for rank in range(P)]
        assert [partners[p] for p in partners] == list(range(P))
        assert sum(p == rank for rank, p in enumerate(partners)) == P % 2


def test_the_wrong_sign_undoes_the_work():
    """torchft's first direction, by hand: from 0, workers at 1 and 3, the anchor goes to -1.33 times 2."""
    state, _ = diloco_round([[1.0], [3.0]], np.zeros(1), None, 0.7, 0.9, direction="local - anchor")
    assert state.anchor[0, 0] == pytest.approx(-0.7 * 1.9 * 2, rel=4 * np.finfo(float).eps)


def test_default_outer_optimiser_diverges_where_one_inner_step_overshoots():
    """By running it: a quadratic of curvature 1, one inner step of 1.95, 400 rounds; at 1.9 it converges."""
    ends = {}
    for size in (1.95, 1.9):
        x, m = np.ones(1), np.zeros(1)
        for _ in range(400):
            state, _ = diloco_round([x - size * x], x, m)
            x, m = state.anchor[0], state.momentum[0]
        ends[size] = abs(x[0])
    assert ends[1.95] > 1e2
    assert ends[1.9] < 1e-2


@pytest.mark.parametrize("P", [2, 3, 4, 5, 8, 101])
@pytest.mark.parametrize("momentum", [0.0, 0.3, 0.5, 0.9])
def test_the_limit_of_the_pull_is_where_the_eigenvalues_of_the_moments_cross_one(P, momentum):
    """By eigenvalues in floats of the recursion of squares, products and squares, beside the book's formula."""
    kappa = P / (2 * (P - 1)) if P % 2 == 0 else 0.5
    limit = 2 * (1 - momentum**2) / (1 - momentum * (2 * kappa - 1))

    def radius(pull):
        momenta = np.array([pull**2 * kappa, -2 * momentum * pull * kappa, momentum**2])
        products = np.array([-pull * kappa, momentum, 0.0]) + momenta
        weights = np.array([1 - 2 * pull * kappa, 2 * momentum, 0.0]) + momenta
        return np.abs(np.linalg.eigvals(np.array([weights, products, momenta]))).max()

    assert radius(0.999 * limit) < 1 < radius(1.001 * limit)
    stated = claims()["lowcomm.noloco.stable"]
    for pull in (0.999 * limit, 1.001 * limit):
        assert stated.bound(P=P, pairpull=pull, pairmomentum=momentum) == (pull < limit)


def test_what_the_counter_resets_of_41_tensors_and_of_40():
    assert int((resets(41, 1024, 2000) > 0).sum()) == 1
    assert int((resets(40, 1024, 2000) > 0).sum()) == 8


def test_an_error_of_half_a_step_is_lost_in_eight_bits_by_hand():
    # a quarter of half a step is an eighth, half of the error's step: rounded to the even 0, again and again
    workers = np.array([[[0.5], [0.0]]])
    for _ in range(3):
        after, _ = loco_round(workers, 1.0, fresh=0.25, kept=0.25)
        assert after[0].tolist() == [[0.0], [0.0]]
    kept, _ = loco_round(workers, 1.0, fresh=0.25, kept=0.125)
    assert kept[0].tolist() == [[0.0], [0.125]]


def test_numbers_of_e3m0_stay_and_halves_go_to_even_codes():
    numbers = np.array([0.0, *2.0 ** np.arange(-6.0, 1.0)])
    assert e3m0(numbers).tolist() == numbers.tolist()
    assert e3m0(np.array([1.0, 2.0**-7, 3 * 2.0**-7, 0.75])).tolist() == [1.0, 0.0, 2.0**-5, 0.5]
    assert not e3m0(np.zeros(4, np.float32)).any()
    largest = np.array([np.finfo(np.float64).max, 1.0])
    assert e3m0(-largest).tolist() == [-largest[0], 0.0]


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_a_step_of_the_largest_entry_over_half_of_the_numbers_cuts_that_entry_off(bits):
    """As DeepSpeed scales: 2^bits over twice the largest magnitude, codes from -2^(bits - 1) to 2^(bits - 1) - 1."""
    x = np.array([3.0, 1.25, -0.5, 0.0])
    scale = 2**bits / (2 * np.abs(x).max())
    codes = np.clip(np.rint(x * scale), -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    after, _ = loco_round([[x, 0 * x]], 1 / scale, bits, 1.0)
    assert np.allclose(after[0], [codes / scale, x - codes / scale], rtol=0.0, atol=4 * np.finfo(float).eps)
    assert abs(after[0, 1, 0] * scale - 1) <= 2**bits * np.finfo(float).eps
