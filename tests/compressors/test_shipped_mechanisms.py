"""Dynamic map, INCEPTIONN, spectral ATOMO, switching, and signs with a memory: by hand, by twins, and refused."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from commbounds.compressors.shipped import (
    DYNAMIC_TREE,
    dynamic_tree,
    ef_signs,
    inceptionn,
    ridge_descent,
    signum_signs,
    spectral_atoms,
    switched,
    truncation_binades,
)
from commbounds.theory import claims
from commbounds.verify.definitions import shipped as naive

pytestmark = pytest.mark.kernels


class TestDynamicTree:
    def test_the_values_are_those_of_the_loop(self):
        assert len(DYNAMIC_TREE) == 256 == len(set(DYNAMIC_TREE))
        assert naive.dynamic_values() == list(DYNAMIC_TREE)
        assert DYNAMIC_TREE[0] == -Fraction(1271, 1280)
        assert DYNAMIC_TREE[-1] == 1

    def test_a_negative_largest_entry_is_less_each_time(self):
        x = np.array([-1.0])
        for expected in (0.99296875, 0.99296875**2):
            x = dynamic_tree(x).values
            assert -x[0] == expected
        assert claims()["shipped.dynamic_tree.decay"].bound(recompressions=99) < Fraction(1, 2)

    def test_no_vector_of_two_thousand_entries_is_worse_than_said(self):
        # all borders of the map in place of 73/640, by hand
        values = [v for v in DYNAMIC_TREE if v >= 0]
        pairs = [(float(a + b) / 2, float(b - a) / 2) for a, b in itertools.pairwise(values)]
        bound = claims()["shipped.dynamic_tree.contraction"].bound
        for n in (1, 2, 100, 2048):
            worst = max(((9 / 1280) ** 2 + (n - 1) * gap**2) / (1 + (n - 1) * at**2) for at, gap in pairs)
            assert worst == pytest.approx(float(bound(n=n)), rel=1e-12)

    @pytest.mark.parametrize("block", [0, -1, 1.5, True])
    def test_blocks_that_are_refused(self, block):
        with pytest.raises((ValueError, TypeError), match="block must be"):
            dynamic_tree(np.ones(3), block)


class TestInceptionn:
    def test_bounds_as_binades(self):
        assert [truncation_binades(b) for b in (2e-10, 2e-9, 2e-3, 0.1, 1.0)] == [10, 8, 2, 1, 0]
        for bad in (0.0, 2.0, -1.0, np.nan):
            with pytest.raises(ValueError, match="error_bound must be in"):
                truncation_binades(bad)

    @pytest.mark.parametrize("binades", [-1, 29, 1.0])
    def test_binades_that_are_refused(self, binades):
        with pytest.raises((ValueError, TypeError), match="binades must be"):
            inceptionn(np.ones(2), binades)


class TestSpectralAtoms:
    def test_the_mean_of_draws_is_four_thirds_of_two_equal_atoms(self):
        x, rng, draws = np.diag([1.0, 1.0]), np.random.default_rng(6), 4000
        mean = sum(spectral_atoms(x, 1, rng).values for _ in range(draws)) / draws
        # an entry is 0 or 2: eight standard deviations of the mean are 8 (8/9)^(1/2)/draws^(1/2), below 1e-14 each
        assert np.abs(np.diag(mean) - 4 / 3).max() < 8 * (8 / 9 / draws) ** 0.5

    def test_small_matrices_lose_all_but_one(self):
        assert spectral_atoms(np.diag([1e-7, 1e-7]), 2).values[1, 1] == 0.0

    @pytest.mark.parametrize(
        ("matrix", "given", "error", "text"),
        [
            (np.ones((2, 2)), {"budget": 0}, ValueError, "budget must be"),
            (np.ones((2, 2)), {"budget": np.nan}, ValueError, "budget must be"),
            (np.ones((2, 2)), {"budget": 1}, TypeError, "rng must be"),
            (np.ones(2), {"budget": 1}, ValueError, "matrix"),
            (np.full((2, 2), np.nan), {"budget": 1}, ValueError, "matrix"),
            (np.ones((2, 2)), {"budget": 1, "kept": [1, 0]}, TypeError, "kept must be bool"),
            (np.ones((2, 2)), {"budget": 1, "kept": [True]}, ValueError, "kept must have shape"),
            (np.zeros((2, 2)), {"budget": 1, "kept": [True, True]}, ValueError, "kept must not hold"),
            (np.full((2, 2), 1e308), {"budget": 0.01, "kept": [True, False]}, ValueError, "matrix must"),
        ],
    )
    def test_what_is_refused(self, matrix, given, error, text):
        with pytest.raises(error, match=text):
            spectral_atoms(matrix, **given)


class TestSwitched:
    @pytest.mark.parametrize(("probabilities", "dice"), [([], 0.5), ([-1.0], 0.5), ([1.0], 1.0), ([np.inf], 0.5)])
    def test_what_is_no_probability_is_refused(self, probabilities, dice):
        with pytest.raises(ValueError, match="must"):
            switched(probabilities, dice)


class TestSigns:
    def test_six_steps_late_with_nine_tenths(self):
        signs = signum_signs(np.array([[1.0]] + [[-1.0]] * 9), 0.9)
        assert signs.ravel().tolist() == [1] * 7 + [-1] * 3
        assert claims()["shipped.signum_signs.late"].bound(turning=Fraction(9, 10)) == 6

    @pytest.mark.parametrize("momentum", [1.0, -0.5, np.nan])
    def test_momenta_that_are_refused(self, momentum):
        with pytest.raises(ValueError, match="momentum must be in"):
            signum_signs(np.ones((2, 1)), momentum)

    def test_the_first_update_is_ten_times_too_large_with_a_tenth(self):
        gradients = np.array([[3.0, -1.0], [3.0, -1.0]])
        shipped, right = ef_signs(gradients, 0.125), ef_signs(gradients, 0.125, scaled=True)
        assert shipped.updates[0].tolist() == [16.0, -16.0]
        assert right.updates[0].tolist() == [2.0, -2.0]
        # nothing is lost but the factor: by hand
        total = 0.125 * shipped.updates.sum(axis=0) + shipped.residuals[-1]
        assert total.tolist() == (gradients[0] + 0.125 * gradients[1]).tolist()

    @pytest.mark.parametrize("rate", [0.0, -1.0, np.inf, np.nan, 1e-320])
    def test_rates_that_are_refused(self, rate):
        with pytest.raises(ValueError, match="must"):
            ef_signs(np.ones((1, 2)), rate)

    def test_the_ridge_with_feedback(self):
        assert ridge_descent(0.25, 0.125, 400, feedback=True)[-1].sum() < 1

    def test_the_ridge_where_the_sign_of_zero_is_zero(self):
        path = ridge_descent(0.25, 0.125, 9, tie=0)
        assert path[:9].tolist() == [[1 - t / 8, 1 - t / 8] for t in range(9)]  # both signs are one until the minimum
        # there the subgradient is zero, of whose entries the signs are one; and back
        assert path[9].tolist() == [-0.125, -0.125]
        assert ridge_descent(0.25, 0.125, 1, tie=-1)[1].tolist() == [1.125, 0.875]

    @pytest.mark.parametrize(
        "given",
        [
            {"slope": 1.0},
            {"slope": 0.0},
            {"step": 0.0},
            {"step": np.nan},
            {"steps": 0},
            {"steps": 2**21},
            {"step": 1e308},
            {"tie": 2},
            {"tie": -2},
        ],
    )
    def test_ridges_that_are_refused(self, given):
        with pytest.raises(ValueError, match="must"):
            ridge_descent(**{"slope": 0.5, "step": 0.5, "steps": 4, "feedback": True, **given})


@pytest.mark.parametrize("dtype", [np.float16, np.int64, np.complex128, object])
@pytest.mark.parametrize("call", [dynamic_tree, inceptionn])
def test_other_dtypes_are_refused(call, dtype):
    with pytest.raises(TypeError, match="x must be"):
        call(np.ones(2, dtype))


@pytest.mark.parametrize("call", [dynamic_tree, inceptionn])
def test_views_and_read_only_arrays_are_as_good(call):
    x = np.linspace(-1.0, 2.0, 12)
    x.flags.writeable = False
    assert call(x[::2]).values.tolist() == call(x[::2].copy()).values.tolist()
    for bad in ([], [[1.0]], [np.inf], [np.nan]):
        with pytest.raises(ValueError, match="x must"):
            call(np.array(bad))
