"""Claims that relate outputs: right subjects pass, broken ones fail."""

import contextlib
import io
import math

import numpy as np
import pytest
from compressor_twins import exponential, injected, rand_k, seeded, stochastic_sign, ternary

from commbounds.compressors import QSGD, NaturalCompression, ScaledSign, TernGrad, TopK
from commbounds.verify import conformance as cf
from commbounds.verify.conformance import CheckVerdict


def top(x, seed):
    return TopK(min(2, x.size))(x)


def down(x, seed, uniforms=None):
    """Stochastic rounding that goes down where others go towards zero: symmetric in law alone."""
    u = np.random.default_rng(seed).random(x.shape) if uniforms is None else uniforms.astype(np.float64)
    step = float(np.abs(x).max()) or 1.0
    return (step * np.floor(x / step + u)).astype(x.dtype)


def tilted(x, seed, uniforms=None):
    """Halves of negative entries: C(-x) is no -C(x)."""
    y = ternary(x, seed, uniforms)
    return np.where(y < 0, y / 2, y)


def found(roundtrip, claim, **options):
    options.setdefault("effort", 0.25)
    options.setdefault("magnitudes", (1e-30, 1e30))
    subject = cf.Codec(roundtrip, [claim], **options)
    finding = cf.check(subject, only=[str(claim)])[str(claim)]
    if finding.verdict is CheckVerdict.FAIL:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(finding.reproduce.replace("subject = ...  # yours", ""), {"subject": subject})
        assert finding.message in printed.getvalue()
    return finding


def no_uniforms(f):
    return lambda x, seed: f(x, seed)


@pytest.mark.parametrize("f", [top, seeded(ScaledSign(zero=0)), ternary, exponential, stochastic_sign, down])
def test_symmetric_subjects_pass(f):
    assert found(f, cf.SignSymmetric()).verdict is CheckVerdict.PASS


@pytest.mark.parametrize("f", [ternary, down, rand_k(2)])
def test_symmetric_laws_are_not_told_apart_by_draws(f):
    finding = found(no_uniforms(f), cf.SignSymmetric())
    assert finding.verdict is CheckVerdict.PASS
    assert finding.e_value * finding.alpha < 1


@pytest.mark.parametrize(
    "f",
    [
        tilted,
        no_uniforms(tilted),
        lambda x, seed: np.where(x >= 0, np.abs(x).max(), -np.abs(x).max()).astype(x.dtype),
        lambda x, seed: np.maximum(top(x, seed), 0),
        lambda x, seed: (ternary(x, seed) + np.float32(0.01) * np.abs(x).max()).astype(x.dtype),
    ],
    ids=["read off", "drawn", "zeros go up", "negatives lost", "offset"],
)
def test_what_is_not_symmetric_fails(f):
    finding = found(f, cf.SignSymmetric())
    assert finding.verdict is CheckVerdict.FAIL
    if finding.e_value is None:
        assert np.size(finding.counterexample) <= 3


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_scales_pass_through(dtype):
    def twin(x, seed):  # in the dtype, with a sum
        return (np.sign(x) * (np.abs(x).sum(dtype=np.float64) / x.size)).astype(x.dtype)

    assert found(twin, cf.ScaleEquivariant(), dtype=dtype, magnitudes=(0, math.inf)).verdict is CheckVerdict.PASS
    assert found(lambda x, seed: ternary(x, seed), cf.ScaleEquivariant(), dtype=dtype).verdict is CheckVerdict.PASS


def test_quantisers_are_equivariant_with_the_same_seed_and_powers_of_two_only_by_powers_of_two():
    assert found(seeded(QSGD(4)), cf.ScaleEquivariant()).verdict is CheckVerdict.PASS
    natural = seeded(NaturalCompression())
    assert found(natural, cf.ScaleEquivariant(powers_of_two=True)).verdict is CheckVerdict.PASS
    finding = found(natural, cf.ScaleEquivariant())
    assert finding.verdict is CheckVerdict.FAIL
    assert "C(3 x)" in finding.message


@pytest.mark.parametrize(
    "f",
    [
        lambda x, seed: (x + np.float32(1e-3)).astype(x.dtype),
        lambda x, seed: np.where(np.abs(x) > 1, x, 0).astype(x.dtype),
        lambda x, seed: (x * np.abs(x).max()).astype(x.dtype),
        lambda x, seed: ternary(x, seed + int(np.abs(x).max() * 4)),
    ],
    ids=["offset", "threshold", "square", "seeded by the data"],
)
def test_what_is_not_equivariant_fails(f):
    finding = found(f, cf.ScaleEquivariant(powers_of_two=True))
    assert finding.verdict is CheckVerdict.FAIL
    assert len(finding.counterexample) <= 8


def test_projections_are_idempotent():
    for f in (top, seeded(TernGrad()), seeded(ScaledSign()), injected(NaturalCompression())):
        assert found(f, cf.Idempotent()).verdict is CheckVerdict.PASS


@pytest.mark.parametrize(
    "f",
    [
        lambda x, seed: x / 2,
        lambda x, seed: rand_k(2)(x, seed),
        lambda x, seed: np.roll(x, 1),
        lambda x, seed: x + np.inf,
    ],
    ids=["half", "another subset", "rolled", "infinite"],
)
def test_what_is_not_idempotent_fails(f):
    finding = found(f, cf.Idempotent())
    assert finding.verdict is CheckVerdict.FAIL
    assert len(finding.counterexample) <= 4


def test_outputs_that_the_subject_does_not_take_are_not_judged():
    finding = found(top, cf.Idempotent(), admits=lambda x: bool(np.count_nonzero(x) > 2))
    assert finding.verdict is CheckVerdict.NOT_JUDGED
    assert "does not take C(x)" in finding.message


def sparse(rng, n):
    x = np.zeros(n)
    x[rng.integers(n, size=2)] = rng.standard_normal(2)
    return x


def test_sparse_inputs_are_kept():
    assert found(top, cf.ExactOn(sparse)).verdict is CheckVerdict.PASS
    assert found(top, cf.ExactOn([np.array([0.0, 3.0]), np.array([-0.0])])).verdict is CheckVerdict.PASS
    finding = found(lambda x, seed: TopK(1)(x), cf.ExactOn(sparse))
    assert finding.verdict is CheckVerdict.FAIL
    assert len(finding.counterexample) == 2
    assert found(lambda x, seed: np.nextafter(x, np.float32(9)), cf.ExactOn(sparse)).verdict is CheckVerdict.FAIL


def test_random_damage_to_exact_inputs_is_found():
    assert found(lambda x, seed: x * np.float32(seed % 4 != 3), cf.ExactOn([np.ones(3)])).verdict is CheckVerdict.FAIL


def test_inputs_that_are_not_taken_are_not_judged():
    assert found(top, cf.ExactOn([np.ones((2, 2))])).verdict is CheckVerdict.NOT_JUDGED
