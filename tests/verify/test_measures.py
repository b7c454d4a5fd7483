"""Measured in floats, a quantity is what it is in exact arithmetic, up to the rounding that is declared."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from bindings import COMPRESSED

from commbounds.compressors import QSGD, Identity, MaxDithering, RandK, TopK
from commbounds.theory import Hypothesis
from commbounds.verify.compressor_run import CompressorRun, exact_array
from commbounds.verify.compressor_study import VECTORS
from commbounds.verify.defects import IdempotenceDefect, ScaleDefect, SignDefect
from commbounds.verify.experiments import EXPERIMENTS
from commbounds.verify.measures import (
    Bias,
    Distortion,
    Largest,
    MessageBits,
    Reading,
    exact_values,
    flat,
    float_values,
    simplified,
)

pytestmark = pytest.mark.kernels

INJECTED = [name for name, e in COMPRESSED.items() if e.enumerable and e.injectable]


def grid(experiment, count):
    """A few admissible (compressor, exact input) pairs, spread over the domain's grid."""
    pairs = []
    for x in itertools.islice(experiment.domain.grid(0), 0, None, 7):
        array = exact_array(x)
        pairs += [(c, x) for c in experiment.instances({}, array.shape) if experiment.admits(CompressorRun(c, array))]
    return pairs[:: max(1, len(pairs) // count)]


@pytest.mark.parametrize("name", [n for n in INJECTED if not isinstance(EXPERIMENTS[n].measure, ScaleDefect)])
def test_read_agrees_with_exact(name):
    experiment = EXPERIMENTS[name]
    worst = isinstance(experiment.measure, IdempotenceDefect)
    for c, x in grid(experiment, 12):
        # sizes on the wire are those of float32
        array = exact_array(x, np.float32 if isinstance(experiment.measure, MessageBits) else np.float64)
        reading = experiment.measure.read(CompressorRun(c, array))
        if reading is None:
            continue
        exact = float(experiment.measure.exact(CompressorRun(c, x)))
        allowance = reading.slack + 8 * np.finfo(np.float64).eps * max(1.0, abs(exact))
        if worst:  # read off the worst entry of the worst outcome: zero where the defect is, and nowhere else
            assert (exact > allowance) == (reading.value > allowance), (c, x)
        else:
            assert abs(reading.value - exact) <= allowance, (c, x)
        assert reading.slack <= 1e-6 * max(1.0, abs(exact))


@pytest.mark.parametrize("name", [name for name, e in COMPRESSED.items() if e.tested in ("bound", "equal")])
def test_draws_average_to_what_is_read(name):
    """With a fixed seed; the room is 6 standard errors of 400 draws."""
    experiment = EXPERIMENTS[name]
    x = exact_array(((2, 1), (-1, 3)) if len(experiment.domain.shapes[0]) == 2 else (3, -1, 2, 2))
    for c in experiment.instances({}, x.shape):
        if experiment.admits(CompressorRun(c, x)) and (reading := experiment.measure.read(CompressorRun(c, x))):
            draws = experiment.measure.draws(CompressorRun(c, x), 400)
            assert abs(draws.mean() - reading.value) <= 6 * draws.std() / 20 + 1e-12


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-44, 1e-38, 1e-20, 1.0, 1e20, 1e37])
def test_distortion_neither_over_nor_underflows(scale, dtype):
    x = (np.array([1.0, -2.0, 3.0, 0.0]) * scale).astype(dtype)
    reading = Distortion().read(CompressorRun(TopK(1), x))
    wide = x.astype(np.float64) / np.abs(x).max()
    assert reading.value == pytest.approx(float((wide[:2] ** 2).sum() / (wide**2).sum()), abs=8 * np.finfo(float).eps)


def test_distortion_in_its_variants():
    x = (Fraction(1), Fraction(-2), Fraction(2))
    c = RandK(1)
    assert Distortion().exact(CompressorRun(c, x)) == 2
    assert Distortion(center=0).exact(CompressorRun(c, x)) == 3
    assert Distortion(relative=False).exact(CompressorRun(c, x)) == 18
    assert Distortion(gain=lambda c, n: Fraction(1, 3)).exact(CompressorRun(c, x)) == Fraction(2, 3)
    for nothing in (np.zeros(3), (Fraction(0),) * 3):
        with pytest.raises(ValueError, match="nothing is relative to a zero input"):
            (Distortion().exact if isinstance(nothing, tuple) else Distortion().read)(CompressorRun(c, nothing))
    assert Distortion(relative=False).read(CompressorRun(c, np.zeros(3))) == Reading(0.0, 0.0)
    assert Distortion().of(TopK(1), np.array([3.0, 4.0]), [np.array([0.0, 4.0])]) == pytest.approx(
        9 / 25,
        rel=8 * np.finfo(float).eps,  # a handful of operations, all on positive numbers
    )


def test_bias():
    assert Bias().exact(CompressorRun(TopK(1), (Fraction(2), Fraction(1)))) == Fraction(1, 2)
    assert Bias().exact(CompressorRun(RandK(1), (Fraction(2), Fraction(1)))) == 0
    assert Bias().read(CompressorRun(RandK(1, scaled=False), np.array([2.0, 1.0]))).value == 0.5
    assert Bias().exact(CompressorRun(QSGD(2), (Fraction(1), Fraction(2)))) == 0  # irrational on the way
    assert Bias().read(CompressorRun(RandK(1), np.ones(9))) is None


def test_bits_and_largest():
    assert MessageBits().exact(CompressorRun(TopK(2), (Fraction(1),) * 5)) == 2 * (3 + 32)
    assert MessageBits().read(CompressorRun(TopK(2), np.ones(5))).value == 2 * (3 + 64)
    largest = Largest(lambda c, y: sum(v != 0 for v in y))
    assert largest.exact(CompressorRun(RandK(2), (Fraction(1), Fraction(0), Fraction(3)))) == 2
    assert largest.read(CompressorRun(MaxDithering(1), np.array([1.0, 0.5, 0.0]))).value == 2
    with pytest.raises(TypeError, match="MessageBits cannot be sampled"):
        MessageBits().draws(CompressorRun(TopK(1), np.ones(2)), 1)


def test_defects_of_laws():
    two = (Fraction(1), Fraction(1))
    assert SignDefect().exact(CompressorRun(RandK(1), two)) == 0
    assert ScaleDefect().exact(CompressorRun(RandK(1), two)) == 0
    assert IdempotenceDefect().exact(CompressorRun(RandK(1, scaled=False), two)) == Fraction(1, 2)
    assert IdempotenceDefect().exact(CompressorRun(TopK(1), two)) == 0
    assert IdempotenceDefect().exact(CompressorRun(RandK(1), two)) == 1  # the factor 2 comes in again
    x = np.array([1.0, 1.0])
    assert IdempotenceDefect().read(CompressorRun(RandK(1, scaled=False), x)).value == 0.5
    assert SignDefect().read(CompressorRun(QSGD(2), np.array([1.0, -2.0, 0.3]))).value == 0.0


class OtherDraws(RandK):
    """Draws anew what it keeps of a vector whose sum is negative: the same law, by other draws."""

    def compress(self, x, rng=None):
        return super().compress(x, rng.spawn(1)[0] if np.sum(x) < 0 else rng)


class Growing(RandK):
    """Keeps more of a large vector."""

    def compress(self, x, rng=None):
        return RandK(2 if np.abs(x).max() > 1 else self.k, False).compress(x, rng)


def test_where_a_law_cannot_be_read_off_the_same_draws_are_compared():
    x = np.ones(9)
    for measure in (SignDefect(), ScaleDefect()):
        assert measure.read(CompressorRun(RandK(1), x)).value == 0.0
    assert SignDefect().read(CompressorRun(OtherDraws(1), x)).value > 0.0  # never less than the total variation
    assert ScaleDefect().read(CompressorRun(Growing(1, False), x)).value == 1.0


def test_a_law_that_favours_a_sign_has_a_defect():
    class Upward(RandK):
        """Keeps the first entry of a vector whose sum is positive."""

        def law(self, x):
            first = (Fraction(x[0]), *(Fraction(0),) * (len(x) - 1))
            return [(Fraction(1), first)] if sum(x) > 0 else super().law(x)

    assert SignDefect().exact(
        CompressorRun(Upward(1, scaled=False), (Fraction(1), Fraction(2), Fraction(3)))
    ) == Fraction(2, 3)


def test_values_of_the_symbols():
    x = ((Fraction(3), Fraction(-4)),)
    exact, measured = exact_values(TopK(1), x[0]), float_values(TopK(1), np.array([3.0, -4.0]))
    assert exact == {"k": 1, "n": 2, "norm1": 7, "norm2": 5, "norm3": exact["norm3"], "norminf": 4, "itembits": 32}
    assert float(exact["norm3"]) == pytest.approx(measured["norm3"], rel=4 * np.finfo(float).eps)
    assert {**measured, "norm3": 0, "itembits": 32} == {**exact, "norm2": 5.0, "norm3": 0}
    assert float_values(Identity(), np.ones((2, 3), np.float32)) | {"norm3": 0, "norm2": 0} == {
        "m": 2,
        "n": 3,
        "norm1": 6.0,
        "norm2": 0,
        "norm3": 0,
        "norminf": 1.0,
        "itembits": 32,
    }
    huge = np.full(4, 1e300)
    assert float_values(Identity(), huge)["norm2"] == 2e300


def test_flat_and_simplified():
    import sympy as sp

    rows = ((Fraction(1), Fraction(2)), (Fraction(3), Fraction(4)))
    assert flat(rows) == (1, 2, 3, 4) == flat(flat(rows))
    assert simplified(3) == Fraction(3)
    assert isinstance(simplified(sp.sqrt(2) * sp.sqrt(8)), Fraction)
    assert simplified((1 + sp.sqrt(2)) ** 2 - 2 * sp.sqrt(2)) == 3
    assert simplified(sp.sqrt(2)) == sp.sqrt(2)


def test_grids_hold_every_sign_pattern_ties_and_zeros_and_small_inputs_first():
    inputs = list(VECTORS.grid(0))
    assert len(set(inputs)) == len(inputs)
    assert {(1, 1), (0, -1), (-1, 0), (3, -3), (1, 1, 1), (0, 0, -2)} <= set(inputs)
    assert [x for x in inputs if not any(x)] == [(0,), (0, 0), (0, 0, 0)]
    assert inputs[0] == (1,)
    assert [len(x) for x in inputs] == sorted(len(x) for x in inputs)


def test_a_run_is_asked_a_hypothesis_once():
    asked = []
    short = Hypothesis("short", "Few entries.", lambda n: asked.append(n) or n < 4)
    run = CompressorRun(TopK(1), np.ones(3))
    assert run.meets(short, {"n": 3})
    assert run.meets(short, {"n": 3})
    assert asked == [3]
    assert not CompressorRun(TopK(1), np.ones(5)).meets(short, {"n": 5})
