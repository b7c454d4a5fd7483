"""Claims about what outputs are made of: right subjects pass, broken ones fail, small."""

import contextlib
import io
import re

import numpy as np
import pytest
from compressor_twins import seeded, ternary

from commbounds.compressors import NearestPower, TernGrad, TopK
from commbounds.verify import conformance as cf
from commbounds.verify.conformance import CheckVerdict


def top(k):
    def roundtrip(x, seed):
        return TopK(min(k, x.size))(x)

    return roundtrip


def found(roundtrip, claim, **options):
    """The finding, whose program shows the failure again where there is one."""
    options.setdefault("effort", 0.25)
    subject = cf.Codec(roundtrip, [claim], **options)
    finding = cf.check(subject, only=[str(claim)])[str(claim)]
    if finding.verdict is CheckVerdict.FAIL:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(finding.reproduce.replace("subject = ...  # yours", ""), {"subject": subject})
        assert finding.message in printed.getvalue()
    return finding


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: cf.Contraction(alpha=float("nan")), ValueError, r"alpha must be in \[0, 1\], got nan"),
        (lambda: cf.Contraction(-1), ValueError, r"alpha must be in \[0, 1\], got -1"),
        (lambda: cf.Contraction(1.5), ValueError, r"alpha must be in \[0, 1\], got 1\.5"),
        (lambda: cf.Contraction("a"), TypeError, "alpha must be a number or a function that gives one, got 'a'"),
        (lambda: cf.Contraction(True), TypeError, "alpha must be a number"),
        (lambda: cf.Variance(float("nan")), ValueError, "omega must be finite and at least 0, got nan"),
        (lambda: cf.Variance(float("inf")), ValueError, "omega must be finite"),
        (lambda: cf.Support(-3), ValueError, "k must be finite and at least 0, got -3"),
        (lambda: cf.Bits(1j), TypeError, "at_most must be a number"),
        (lambda: cf.AbsoluteError(-0.5), ValueError, "bound must be finite and at least 0"),
        (lambda: cf.AbsoluteError([1.0, float("nan")]), ValueError, "bound must hold nonnegative numbers"),
        (lambda: cf.MemoryBounded(float("nan")), ValueError, "bound must be finite"),
        (lambda: cf.Matches(TopK(1), operations=-1), ValueError, "operations must be finite and at least 0"),
    ],
    ids=range(13),
)
def test_a_number_that_bounds_nothing_is_refused(make, error, said):
    with pytest.raises(error, match=said):
        make()


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        (cf.Contraction(lambda n: 2 / n), "alpha must be in [0, 1], and is 2.0 for 1"),
        (cf.Contraction(lambda n: float("nan")), "alpha must be in [0, 1], and is nan"),
        (cf.Variance(lambda n: n - 2), "omega must be finite and at least 0, and is -1.0 for 1"),
        (cf.Support(lambda n: None), "k is None for "),
        (cf.Bits(lambda n: float("inf")), "at_most must be finite and at least 0, and is inf"),
    ],
    ids=str,
)
def test_a_function_that_gives_no_bound_fails_with_a_sentence(claim, said):
    subject = cf.Codec(top(3), [claim], bits=lambda x, seed: 64, effort=0.05)
    report = cf.check(subject, only=[str(claim)])
    assert not report.passed
    assert report.findings[0].message.startswith(f"nothing is claimed: {said}")
    assert cf.recheck(subject, str(claim), np.ones(1)).startswith("nothing is claimed: ")


def test_support_counts_what_is_not_zero():
    assert found(top(3), cf.Support(3)).verdict is CheckVerdict.PASS
    assert found(top(3), cf.Support(lambda n: min(3, n))).verdict is CheckVerdict.PASS
    finding = found(top(4), cf.Support(3))
    assert finding.verdict is CheckVerdict.FAIL
    assert len(finding.counterexample) == 4
    assert "4 of 4 entries are not zero" in finding.message


def test_support_sees_nan_and_random_excess():
    assert found(lambda x, seed: np.full_like(x, np.nan), cf.Support(0)).verdict is CheckVerdict.FAIL

    def roundtrip(x, seed):
        return top(4 if seed % 8 == 3 else 3)(x, seed)

    assert found(roundtrip, cf.Support(3), effort=1.0).verdict is CheckVerdict.FAIL


def ternary_book(x):
    return np.array([-1.0, 0.0, 1.0]) * float(np.abs(x).max())


def test_codebooks_of_the_whole_and_of_every_entry():
    def twin(x, seed):
        return ternary(x, seed)

    assert found(twin, cf.Codebook(ternary_book, operations=0)).verdict is CheckVerdict.PASS
    assert found(seeded(TernGrad()), cf.Codebook(ternary_book)).verdict is CheckVerdict.PASS
    assert found(top(2), cf.Codebook(lambda x: np.stack([0 * x, x], -1), operations=0)).verdict is CheckVerdict.PASS
    assert found(lambda x, seed: np.sign(x), cf.Codebook([-1, 0, 1], operations=0)).verdict is CheckVerdict.PASS


@pytest.mark.parametrize(
    ("roundtrip", "claim"),
    [
        (lambda x, seed: ternary(x, seed) * np.float32(1 + 1e-6), cf.Codebook(ternary_book)),
        (lambda x, seed: np.nextafter(np.sign(x), np.float32(2)), cf.Codebook([-1, 0, 1], operations=0)),
        (lambda x, seed: np.sign(x) * np.float32(np.nan), cf.Codebook([-1, 0, 1])),
        (lambda x, seed: np.roll(x, 1), cf.Codebook(lambda x: np.stack([0 * x, x], -1))),
        (seeded(NearestPower()), cf.Codebook(2.0 ** np.arange(-140, 128))),
    ],
    ids=["scale", "an ulp", "NaN", "other entries", "signs forgotten"],
)
def test_values_that_are_none_of_the_codebook_are_found(roundtrip, claim):
    finding = found(roundtrip, claim, magnitudes=(1e-30, 1e30))
    assert finding.verdict is CheckVerdict.FAIL
    assert len(finding.counterexample) <= 2


def test_a_codebook_of_another_shape_judges_nothing():
    finding = found(top(2), cf.Codebook(lambda x: np.zeros((x.size + 1, 2))))
    assert finding.verdict is CheckVerdict.NOT_JUDGED
    assert "the values have shape" in finding.message
    with pytest.raises(ValueError, match="operations must be a nonnegative integer"):
        cf.Codebook([0.0], operations=-1)


def test_bits_are_counted_and_compared():
    claim = cf.Bits(lambda n: 64 * min(3, n))
    assert found(top(3), claim, bits=lambda x, seed: 64 * min(3, x.size)).verdict is CheckVerdict.PASS
    finding = found(top(3), claim, bits=lambda x, seed: 64 * min(3, x.size) + (x.size > 4))
    assert finding.verdict is CheckVerdict.FAIL
    assert len(finding.counterexample) == 5
    for wrong in (-1, 2.0, True, None):
        assert found(top(3), claim, bits=lambda x, seed, wrong=wrong: wrong).verdict is CheckVerdict.FAIL
    assert found(top(3), claim).verdict is CheckVerdict.NOT_JUDGED


def _one(x):
    return x


def test_a_callable_that_does_not_take_what_it_is_given_is_refused_at_once():
    for make, called in (
        (cf.Codec, "roundtrip(x, seed)"),
        (cf.AllReduce, "run(stack, seed)"),
        (lambda f: cf.Codec(seeded(lambda x, rng: x), bits=f), "bits(x, seed)"),
    ):
        with pytest.raises(TypeError) as refused:
            make(_one)
        assert str(refused.value).endswith(f"is called as {called}, which _one(x) does not take")
    with pytest.raises(TypeError, match="factory is called as factory"):
        cf.Stateful(lambda: None)


def _refuses_three(x):
    if x.size >= 3:
        raise RuntimeError("three are a crowd")
    return x


def test_an_exception_is_shown_with_the_lines_of_the_subject():
    report = cf.check(cf.Codec(lambda x, seed: _refuses_three(x), name="picky", effort=0.25), only=["answers"])
    message = report["answers"].message
    lines = r"test_form\.py:\d+ in _refuses_three, called from test_form\.py:\d+ in <lambda>"
    assert re.fullmatch(rf"raised RuntimeError: three are a crowd; {lines}", message)
