"""Claims about means: right subjects pass, broken ones fail; by the law that was read off, and by draws."""

import contextlib
import io
import math

import numpy as np
import pytest
from compressor_twins import (
    all_or_nothing,
    exponential,
    half_up,
    injected,
    kept,
    losing,
    rand_k,
    scaled,
    seeded,
    shifted,
    sketch,
    stochastic_sign,
    ternary,
    turning,
)
from samples import first_of_each

from commbounds.compressors import QSGD, MaxDithering, NaturalCompression, PowerSGD, RandK, TernGrad, TopK
from commbounds.verify import conformance as cf
from commbounds.verify.conformance import CheckVerdict

HEAVY = {
    "rand-1 of 50": rand_k(50),
    "ternary": lambda x, seed: ternary(x, seed),
    "natural": seeded(NaturalCompression()),
    "QSGD with one level": seeded(QSGD(1)),
    "sketch": sketch,
    "stochastic sign": lambda x, seed: stochastic_sign(x, seed),
    "exponential": lambda x, seed: exponential(x, seed),
    "one of 1000": kept(1e-3),
    "all or nothing": all_or_nothing(0.02),
    "all or nothing, seldom": all_or_nothing(4e-3),
}
"""Right, with outputs that are large and rare. All are unbiased."""


def found(roundtrip, claim, *others, seed=0, **options):
    subject = cf.Codec(roundtrip, [claim, *others], **options)
    return cf.check(subject, seed=seed, only=[str(claim)])[str(claim)]


def reproduced(subject, finding):
    """What the program in a finding prints, for this subject."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(finding.reproduce.replace("subject = ...  # yours", ""), {"subject": subject})
    return printed.getvalue()


# --- read off ----------------------------------------------------------------------------------------------------

VARIANCE = {
    TernGrad: lambda n: (math.sqrt(n) - 1) / 2,
    MaxDithering: lambda n: (math.sqrt(1 + (n - 1) / 9) - 1) / 2,
    NaturalCompression: lambda n: 1 / 8,
}


@pytest.mark.parametrize(
    ("c", "dtype"),
    [(TernGrad(), "float32"), (MaxDithering(3), "float64"), (NaturalCompression(), "float32")],
    ids=["TernGrad", "MaxDithering", "NaturalCompression"],
)
def test_our_quantisers_keep_their_claims_exactly(c, dtype):
    claims = [cf.Unbiased(), cf.Variance(VARIANCE[type(c)])]
    subject = cf.Codec(injected(c), claims, dtype=dtype, magnitudes=(1e-30, 1e30), effort=0.25)
    report = cf.check(subject, only=["Unbiased", "Variance"])
    assert {f.verdict for f in report.findings} == {CheckVerdict.PASS}, str(report)


@pytest.mark.parametrize("twin", [ternary, stochastic_sign, exponential])
def test_twins_in_numpy_are_unbiased_exactly_too(twin):
    assert found(twin, cf.Unbiased(), magnitudes=(1e-30, 1e30), effort=0.25).verdict is CheckVerdict.PASS


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_dtypes_take_uniforms_of_float32(dtype):
    seen = set()

    def roundtrip(x, seed, uniforms=None):
        seen.add(str(None if uniforms is None else uniforms.dtype))
        wide = x.astype(np.float32)
        return ternary(wide, seed, uniforms).astype(x.dtype)

    assert found(roundtrip, cf.Unbiased(), dtype=dtype, effort=0.25).verdict is CheckVerdict.PASS
    assert "float32" in seen


def broken_at_the_edge(x, seed, uniforms=None):
    u = uniforms if uniforms is not None else np.random.default_rng(seed).random(x.shape, dtype=np.float32)
    return np.where(u == 0, np.float32(np.nan), ternary(x, seed, u))


@pytest.mark.parametrize(
    "roundtrip",
    [
        lambda x, seed, uniforms=None: ternary(x, seed, uniforms) * np.float32(1 - 1e-5),
        lambda x, seed, uniforms=None: ternary(x, seed, None if uniforms is None else uniforms * np.float32(0.9999)),
        lambda x, seed, uniforms=None: np.abs(ternary(x, seed, uniforms)),
        half_up,
        broken_at_the_edge,
    ],
    ids=["scale", "probability", "sign", "no draw", "NaN for one uniform of 2^24"],
)
def test_a_bias_however_small_is_read_off_and_the_input_made_small(roundtrip):
    finding = found(roundtrip, cf.Unbiased(), magnitudes=(1e-30, 1e30))
    assert finding.verdict is CheckVerdict.FAIL
    assert np.size(finding.counterexample) <= 2
    subject = cf.Codec(roundtrip, [cf.Unbiased()], magnitudes=(1e-30, 1e30))
    assert finding.message in reproduced(subject, finding)


def test_a_variance_over_the_claim_by_a_hair_is_read_off():
    claim = cf.Variance(lambda n: max(0.0, (math.sqrt(n) - 1) / 2 - 1e-3))
    assert found(ternary, claim, magnitudes=(1e-30, 1e30)).verdict is CheckVerdict.FAIL


def test_entries_that_share_a_uniform_are_drawn_instead():
    def roundtrip(x, seed, uniforms=None):
        u = np.random.default_rng(seed).random(x.shape, dtype=np.float32) if uniforms is None else uniforms
        return ternary(x, seed, np.full(x.shape, u.ravel()[0]))

    finding = found(roundtrip, cf.Unbiased(), effort=0.25)
    assert finding.verdict is CheckVerdict.PASS
    assert finding.alpha is not None


# --- drawn -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in HEAVY if "seldom" not in name])
def test_right_subjects_are_never_called_biased(name):
    finding = found(HEAVY[name], cf.Unbiased(), effort=0.4)
    assert finding.verdict is CheckVerdict.PASS, finding


@pytest.mark.parametrize("name", ["ternary", pytest.param("natural", marks=pytest.mark.wide)])
@pytest.mark.parametrize("broken", [lambda f: scaled(f, 0.99), lambda f: shifted(f, 0.01), losing, turning])
def test_small_biases_are_found_where_the_noise_allows(name, broken):
    finding = found(broken(HEAVY[name]), cf.Unbiased(), intercept=False)
    assert finding.verdict is CheckVerdict.FAIL
    assert finding.alpha * finding.e_value >= 0.999


@pytest.mark.parametrize(
    "broken",
    first_of_each(
        [turning, lambda f: shifted(f, 0.01), lambda f: scaled(f, 0.9)], lambda f: "biased", lambda f: f.__name__
    ),
)
def test_biases_behind_heavy_tails_are_found(broken):
    assert found(broken(rand_k(50)), cf.Unbiased()).verdict is CheckVerdict.FAIL


def test_rand_k_without_its_factor_fails_at_once():
    calls = []

    def roundtrip(x, seed):
        calls.append(seed)
        return rand_k(50, scaled=False)(x, seed)

    subject = cf.Codec(roundtrip, [cf.Unbiased()])
    finding = cf.check(subject, only=["Unbiased"])["Unbiased()"]
    assert finding.verdict is CheckVerdict.FAIL
    assert len(calls) < 1500
    assert "is " in finding.message
    assert "FAIL" in reproduced(subject, finding).upper()


def test_a_deterministic_subject_is_biased_unless_it_is_the_identity():
    assert found(lambda x, seed: x.copy(), cf.Unbiased(), effort=0.25).verdict is CheckVerdict.PASS
    finding = found(lambda x, seed: half_up(x, seed), cf.Unbiased(), effort=0.25)
    assert finding.verdict is CheckVerdict.FAIL


def test_a_claimed_variance_shows_a_bias_that_no_learnt_range_shows():
    # the range does not settle: one call of 250 is large, the others are zero
    finding = found(all_or_nothing(4e-3), cf.Unbiased(), cf.Variance(1.0))
    assert finding.verdict is CheckVerdict.FAIL
    assert "claimed variance" in finding.message


def test_what_is_random_for_long_inputs_only_is_no_deterministic_subject():
    def roundtrip(x, seed):
        return ternary(x, seed) if x.size > 5000 else x.copy()

    finding = found(roundtrip, cf.Unbiased(), effort=0.3)
    assert finding.verdict is CheckVerdict.PASS, finding


def test_what_answers_seldom_is_not_judged_without_a_claimed_variance():
    assert found(all_or_nothing(4e-3), cf.Unbiased()).verdict is CheckVerdict.NOT_JUDGED
    assert found(all_or_nothing(4e-3), cf.Unbiased(), cf.Variance(249.0), effort=0.4).verdict is CheckVerdict.PASS


# --- variance and contraction ------------------------------------------------------------------------------------


def test_variances_hold_at_equality():
    claims = [cf.Variance(lambda n: n / max(1, n // 50) - 1)]
    subject = cf.Codec(rand_k(50), claims, magnitudes=(1e-10, 1e10))
    report = cf.check(subject, only=["Variance"])
    assert {f.verdict for f in report.findings} == {CheckVerdict.PASS}, str(report)


@pytest.mark.parametrize("share", [0.7, 0.0])
def test_variances_over_the_claim_are_found_by_draws(share):
    finding = found(rand_k(5), cf.Variance(lambda n: share * (n / max(1, n // 5) - 1)))
    assert finding.verdict is CheckVerdict.FAIL
    assert finding.alpha * finding.e_value >= 0.999


def test_the_worst_input_is_looked_for():
    def roundtrip(x, seed):  # right but where one entry stands alone
        if np.count_nonzero(x) == 1:
            return x * np.float32(np.random.default_rng(seed).choice((-1.0, 3.0)))
        return ternary(x, seed)

    finding = found(roundtrip, cf.Variance(lambda n: (math.sqrt(n) - 1) / 2 + 0.1))
    assert finding.verdict is CheckVerdict.FAIL


def test_zeros_must_stay_zeros_in_every_draw():
    def roundtrip(x, seed):
        return ternary(x, seed) if x.any() else x + np.float32(seed % 2)

    finding = found(roundtrip, cf.Variance(1e3))
    assert finding.verdict is CheckVerdict.FAIL
    assert finding.counterexample == [0.0]
    assert "zero became" in finding.message


def test_random_subsets_contract_in_the_mean_and_not_surely():
    assert found(rand_k(50, scaled=False), cf.Contraction(lambda n: max(1, n // 50) / n)).verdict is CheckVerdict.PASS
    more = cf.Contraction(lambda n: min(1.0, 1.3 * max(1, n // 5) / n))
    assert found(rand_k(5, scaled=False), more).verdict is CheckVerdict.FAIL


def test_matrices_contract_too():
    subject = cf.Codec(seeded(PowerSGD(1)), [cf.Contraction(0.0)], shape="matrix", magnitudes=(1e-10, 1e10))
    assert cf.check(subject, only=["Contraction"]).passed


def test_contraction_of_a_deterministic_subject_is_searched_and_shrunk():
    def roundtrip(x, seed):
        return TopK(min(2, x.size))(x)

    assert found(roundtrip, cf.Contraction(lambda n: min(1, 2 / n))).verdict is CheckVerdict.PASS
    finding = found(roundtrip, cf.Contraction(lambda n: min(1, 2.5 / n)))
    assert finding.verdict is CheckVerdict.FAIL
    assert len(finding.counterexample) == 3
    again = reproduced(cf.Codec(roundtrip, [cf.Contraction(lambda n: min(1, 2.5 / n))]), finding)
    assert finding.message in again


def test_answers_that_are_not_finite_have_no_mean():
    def roundtrip(x, seed):
        return ternary(x, seed) + np.float32(np.inf) * (seed % 64 == 0)

    def nan(x, seed):
        return ternary(x, seed) * np.float32(np.nan if seed % 64 == 0 else 1.0)

    for f in (roundtrip, nan):
        for claim in (cf.Unbiased(), cf.Variance(1e3)):
            assert found(f, claim).verdict is CheckVerdict.FAIL


def test_a_subject_that_does_not_answer_is_not_judged():
    def roundtrip(x, seed):
        raise OSError("no device")

    for claim in (cf.Unbiased(), cf.Variance(1.0)):
        assert found(roundtrip, claim).verdict is CheckVerdict.NOT_JUDGED


def alarms(name, seed, effort=1.0):
    """Failures of statistical claims on a right subject."""
    claims = [cf.Unbiased()]
    if name == "rand-1 of 50":
        claims.append(cf.Variance(lambda n: n / max(1, n // 50) - 1))
    if name == "ternary":
        claims += [cf.Variance(lambda n: (math.sqrt(n) - 1) / 2), cf.SignSymmetric(), cf.SameLaw(TernGrad())]
    subject = cf.Codec(HEAVY[name], claims, magnitudes=(1e-10, 1e10), effort=effort)
    report = cf.check(subject, seed=seed, only={str(c) for c in claims})
    return [(name, seed, f.claim, f.message) for f in report.failures]


@pytest.mark.parametrize("seed", first_of_each(range(20), lambda seed: seed % len(HEAVY)))
def test_no_alarm_in_a_few_runs(seed):
    assert alarms(list(HEAVY)[seed % len(HEAVY)], seed, 0.15) == []


@pytest.mark.long
@pytest.mark.parametrize("name", HEAVY)
def test_no_alarm_in_a_thousand_runs(name):
    """Each of 1000 reports raises one with probability at most 1e-6: all together 1 in 1000."""
    assert [found for seed in range(100, 200) for found in alarms(name, seed)] == []


def test_rand_k_of_ours_keeps_all_its_claims_by_draws():
    claims = [cf.Unbiased(), cf.Variance(lambda n: n - 1), cf.SameLaw(RandK(1))]
    subject = cf.Codec(seeded(RandK(1)), claims, magnitudes=(1e-10, 1e10), effort=0.4)
    report = cf.check(subject, only={str(c) for c in claims})
    assert {f.verdict for f in report.findings} == {CheckVerdict.PASS}, str(report)
