"""Claims about what outputs are made of: right subjects pass, broken ones fail, small."""

import contextlib
import io

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
