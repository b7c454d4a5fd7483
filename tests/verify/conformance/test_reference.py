"""The claim to be a port of a reference."""

import functools
from dataclasses import replace

import numpy as np
import pytest
from compressor_twins import exponential, injected, seeded, ternary

from commbounds.compressors import NaturalCompression, PowerSGD, ScaledSign, TernGrad, TopK
from commbounds.verify import conformance as cf
from commbounds.verify.conformance import CheckVerdict


def found(roundtrip, claim, **options):
    options.setdefault("effort", 0.25)
    options.setdefault("magnitudes", (1e-30, 1e30))
    return cf.check(cf.Codec(roundtrip, [claim], **options), only=["Matches"])[str(claim)]


def mean_sign(x, seed):
    return (np.where(x < 0, -1, 1) * np.abs(x).mean(dtype=np.float64)).astype(x.dtype)


def test_ports_match():
    assert found(ternary, cf.Matches(TernGrad(), 0)).verdict is CheckVerdict.PASS
    assert found(seeded(TernGrad()), cf.Matches(TernGrad(), operations=0)).verdict is CheckVerdict.PASS
    assert found(mean_sign, cf.Matches(ScaledSign())).verdict is CheckVerdict.PASS
    for dtype in ("float16", "bfloat16"):
        options = {"dtype": dtype, "magnitudes": (1e-3, 1e3)}
        assert found(lambda x, seed: TopK(1)(x.astype(np.float32)).astype(x.dtype), cf.Matches(TopK(1), 0), **options)


def test_factors_match_relative_to_the_largest_entry():
    sums = cf.Matches(PowerSGD(1), operations=lambda m, n: m + n, along="array")
    assert found(seeded(PowerSGD(1)), sums, shape="matrix", magnitudes=(1e-10, 1e10)).verdict is CheckVerdict.PASS


def test_references_may_be_functions_of_input_seed_and_uniforms():
    assert found(mean_sign, cf.Matches(lambda x: mean_sign(x, 0), 0)).verdict is CheckVerdict.PASS
    assert found(lambda x, seed: x * np.float32(seed % 2), cf.Matches(lambda x, seed: x * (seed % 2), 0))
    assert found(exponential, cf.Matches(exponential, 0)).verdict is CheckVerdict.PASS

    def of_uniforms(x, *, uniforms):
        return ternary(x, 0, uniforms)

    assert found(ternary, cf.Matches(of_uniforms, 0)).verdict is CheckVerdict.PASS


@pytest.mark.parametrize(
    ("roundtrip", "claim"),
    [
        (lambda x, seed: np.nextafter(mean_sign(x, seed), np.float32(9e9)), cf.Matches(mean_sign, 0)),
        (lambda x, seed: mean_sign(x, seed) * np.float32(1 + 1e-5), cf.Matches(ScaledSign())),
        (lambda x, seed: np.sign(x) * np.abs(x).mean(), cf.Matches(ScaledSign())),
        (lambda x, seed: np.full_like(x, np.nan), cf.Matches(ScaledSign())),
        (
            lambda x, seed, uniforms=None: ternary(x, seed, uniforms if uniforms is None else 1 - uniforms),
            cf.Matches(TernGrad()),
        ),
        (injected(NaturalCompression()), cf.Matches(TernGrad())),
        (lambda x, seed: TernGrad()(x, np.random.default_rng(seed + 1)), cf.Matches(TernGrad())),
    ],
    ids=["an ulp", "scale", "sign of zero", "NaN", "uniforms turned round", "another one", "another seed"],
)
def test_what_does_not_match_fails_with_a_small_input(roundtrip, claim):
    finding = found(roundtrip, claim)
    assert finding.verdict is CheckVerdict.FAIL
    assert len(finding.counterexample) <= 8  # uniforms go with the shape: a shorter input has others
    subject = cf.Codec(roundtrip, [claim], magnitudes=(1e-30, 1e30))
    assert cf.recheck(subject, str(claim), finding.counterexample, finding.seed) == finding.message


def test_a_reference_that_refuses_or_has_another_shape_judges_nothing():
    def refuses(x):
        raise ValueError("not today")

    finding = found(mean_sign, cf.Matches(refuses))
    assert finding.verdict is CheckVerdict.NOT_JUDGED
    assert "not today" in finding.message
    assert found(mean_sign, cf.Matches(lambda x: x[:-1])).verdict is CheckVerdict.NOT_JUDGED
    with pytest.raises(TypeError, match="reference must be"):
        cf.Matches(3)
    with pytest.raises(ValueError, match="along must be"):
        cf.Matches(mean_sign, along="rows")


def test_what_a_lambda_or_a_partial_binds_is_no_seed():
    def scaled(x, factor, offset=0.0):
        return (x * factor + offset).astype(x.dtype)

    double = cf.Codec(lambda x, seed: (x * 2).astype(x.dtype), magnitudes=(0.0, 1e30))
    for reference in (lambda x, e=2: scaled(x, e), functools.partial(scaled, factor=2), lambda x, seed: scaled(x, 2)):
        report = cf.check(replace(double, claims=[cf.Matches(reference)]), only=["Matches"])
        assert report.passed, report
