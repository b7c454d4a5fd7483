"""Error feedback of one worker: every compressor, what is not mutated, bad input."""

import numpy as np
import pytest

from commbounds.compressors import (
    COMPRESSORS,
    EF14,
    EF21,
    EF21M,
    QSGD,
    EControl,
    FeedbackState,
    Identity,
    Plain,
    PowerSGD,
    RandK,
    TopK,
)
from commbounds.verify.experiments.setups import SETUPS

pytestmark = pytest.mark.kernels
KINDS = (Plain, EF14, EF21, EF21M, EControl)
EVERY = pytest.mark.parametrize("kind", KINDS)
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@EVERY
@pytest.mark.parametrize("name", [name for name, cls in COMPRESSORS.items() if cls.ndim == 1])
def test_every_compressor_of_vectors_goes_in(kind, name):
    x = np.random.default_rng(3).standard_normal(12)
    mechanism = kind(SETUPS[name](COMPRESSORS[name], x.size)[-1])
    state = mechanism.start(x)
    for _ in range(3):
        message, state = mechanism.step(state, x, np.random.default_rng(1))
        assert mechanism.compressor.decompress(message).shape == x.shape
    assert state.memory.dtype == x.dtype


@EVERY
def test_matrices(kind):
    x = np.random.default_rng(3).standard_normal((6, 4))
    mechanism = kind(PowerSGD(2))
    message, state = mechanism.step(mechanism.start(x), 2 * x, np.random.default_rng(1))
    assert mechanism.compressor.decompress(message).shape == state.memory.shape == (6, 4)


@EVERY
@DTYPES
def test_nothing_is_mutated_and_read_only_and_strided_input_is_fine(kind, dtype):
    x = np.random.default_rng(0).standard_normal(20).astype(dtype)[::2]
    x.flags.writeable = False
    mechanism = kind(TopK(3))
    state = mechanism.start(x)
    for array in (state.memory, state.momentum, state.error):
        if array is not None:
            array.flags.writeable = False
    first = mechanism.step(state, 2 * x)
    again = mechanism.step(state, 2 * x)
    assert first[0].dense().tobytes() == again[0].dense().tobytes()
    assert first[1].memory.tobytes() == again[1].memory.tobytes()
    assert first[1].memory.dtype == dtype


@EVERY
def test_the_identity_needs_no_feedback(kind):
    x = np.random.default_rng(0).standard_normal((4, 5))
    mechanism = kind(Identity())
    state = mechanism.start(x[0])
    for gradient in x:
        _, state = mechanism.step(state, gradient)
    if kind is EF14:
        assert not state.memory.any()
    if kind is EF21:
        assert state.memory == pytest.approx(x[-1], abs=8 * np.finfo(float).eps * np.abs(x).max())


@EVERY
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(kind, bad):
    mechanism, x = kind(TopK(1)), np.ones(3)
    state = mechanism.start(x)
    x[1] = bad
    with pytest.raises(ValueError, match=r"finite"):
        mechanism.step(state, x)
    with pytest.raises(ValueError, match=r"finite"):
        mechanism.start(x)


@EVERY
@pytest.mark.parametrize(
    ("gradient", "error", "words"),
    [
        (np.ones(4), ValueError, r"state must be one of gradients of shape \(4,\), got one of \(3,\)"),
        (np.ones((1, 3)), ValueError, r"state must be one of gradients of shape"),
        (np.ones(3, np.float32), TypeError, r"state must be one of float32 gradients, got one of float64"),
        (np.ones(3, np.float16), TypeError, r"must be float32 or float64"),
        (np.ones(3, int), TypeError, r"must be float32 or float64"),
        (np.ones(0), ValueError, r"must not be empty"),
    ],
)
def test_a_gradient_that_does_not_fit_the_state_is_refused(kind, gradient, error, words):
    mechanism = kind(TopK(1))
    with pytest.raises(error, match=words):
        mechanism.step(mechanism.start(np.ones(3)), gradient)


@EVERY
def test_what_a_step_needs(kind):
    with pytest.raises(TypeError, match=r"compressor must be a Compressor or None, got 3"):
        kind(3)
    with pytest.raises(ValueError, match=r"compressor must be given for single steps, got None"):
        kind().step(kind().start(np.ones(2)), np.ones(2))
    with pytest.raises(TypeError, match=r"rng must be a numpy.random.Generator"):
        kind(RandK(1)).step(kind(RandK(1)).start(np.ones(2)), 2 * np.ones(2))
    with pytest.raises(ValueError, match=r"k must be in \[1, 2\], got 3"):
        kind(TopK(3)).step(kind(TopK(3)).start(np.ones(2)), np.ones(2))


@pytest.mark.parametrize("eta", [0.0, -0.1, 1.5, np.nan])
def test_eta_outside_its_range_is_refused(eta):
    with pytest.raises(ValueError, match=r"eta must be in \(0, 1\], got"):
        EF21M(TopK(1), eta=eta)


@pytest.mark.parametrize("eta", [-0.1, 1.5, np.nan])
def test_a_weight_of_the_error_outside_its_range_is_refused(eta):
    with pytest.raises(ValueError, match=r"eta must be in \[0, 1\], got"):
        EControl(TopK(1), eta=eta)


def test_a_state_without_error_is_refused():
    control = EControl(TopK(1))
    with pytest.raises(ValueError, match=r"state must be one of EControl"):
        control.step(FeedbackState(np.ones(2)), np.ones(2))
    with pytest.raises(ValueError, match=r"beside must be the error"):
        control.after(control.start(np.ones(2)), np.ones(2), None, np.ones(2))


def test_a_state_without_momentum_is_refused():
    with pytest.raises(ValueError, match=r"state must be one of EF21M"):
        EF21M(TopK(1)).step(FeedbackState(np.ones(2)), np.ones(2))


def test_sums_that_overflow_are_refused():
    big = np.full(2, np.finfo(np.float64).max)
    state = EF14(TopK(1)).step(EF14(TopK(1)).start(big), big)[1]
    with pytest.raises(ValueError, match=r"finite"):
        EF14(TopK(1)).step(state, big)


def test_randomness_is_the_callers():
    x = np.random.default_rng(0).standard_normal(50)
    mechanism = EF21(QSGD(2), dense=False)
    one, two = (mechanism.step(mechanism.start(x), x, np.random.default_rng(5))[1].memory for _ in range(2))
    assert one.tobytes() == two.tobytes()
