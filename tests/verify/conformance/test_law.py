"""The claim to have a reference's law: read off, or by a bettor who learns frequencies."""

from fractions import Fraction

import numpy as np
import pytest
from compressor_twins import injected, rand_k, seeded, ternary

from commbounds.compressors import QSGD, MaxDithering, RandK, ScaledSign, TernGrad, TopK
from commbounds.verify import conformance as cf
from commbounds.verify.conformance import CheckVerdict


def found(roundtrip, reference, **options):
    options.setdefault("effort", 0.6)
    claim = cf.SameLaw(reference)
    return cf.check(cf.Codec(roundtrip, [claim], **options), only=["SameLaw"])[str(claim)]


@pytest.mark.parametrize("c", [TernGrad(), QSGD(3), MaxDithering(2)], ids=lambda c: type(c).__name__)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_laws_of_ours_are_read_off(c, dtype):
    finding = found(injected(c), c, dtype=dtype)
    assert finding.verdict is CheckVerdict.PASS, finding
    assert "read off" in finding.evidence


def test_twins_have_our_laws():
    assert found(ternary, TernGrad()).verdict is CheckVerdict.PASS
    finding = found(lambda x, seed: ternary(x, seed), TernGrad())
    assert finding.verdict is CheckVerdict.PASS
    assert 0.1 < finding.detects < 0.5
    assert found(rand_k(50), RandK(1)).verdict is CheckVerdict.PASS


def test_deterministic_laws_are_compared_surely():
    finding = found(lambda x, seed: TopK(1)(x), TopK(1))
    assert finding.verdict is CheckVerdict.PASS
    assert finding.alpha is None
    assert found(lambda x, seed: TopK(1)(-x), TopK(1)).verdict is CheckVerdict.FAIL
    assert found(lambda x, seed: TopK(1)(x), ScaledSign()).verdict is CheckVerdict.FAIL


def shared(x, seed, uniforms=None):
    """Every entry with its law, all with one uniform."""
    return ternary(x, seed, np.full(x.shape, np.random.default_rng(seed).random(), dtype=np.float32))


def neighbours(x, seed):
    """Two entries next to each other, instead of any two."""
    y = np.zeros_like(x)
    start = np.random.default_rng(seed).integers(x.size)
    y[[start, (start + 1) % x.size]] = (x * (x.size / 2))[[start, (start + 1) % x.size]]
    return y


@pytest.mark.parametrize(
    ("roundtrip", "reference"),
    [
        (lambda x, seed: shared(x, seed), TernGrad()),
        (neighbours, RandK(2)),
        (lambda x, seed: ternary(x * np.float32(1.01), seed), TernGrad()),
        (seeded(QSGD(2)), QSGD(3)),
        (lambda x, seed, uniforms=None: ternary(x, seed, None if uniforms is None else uniforms / 2), TernGrad()),
        (injected(QSGD(2)), QSGD(3)),
    ],
    ids=["shared uniform", "neighbours", "scale", "levels", "probability", "levels, read off"],
)
def test_other_laws_are_found_even_behind_right_marginals(roundtrip, reference):
    options = {"admits": lambda x: x.size >= 2} if isinstance(reference, RandK) else {}
    finding = found(roundtrip, reference, **options)
    assert finding.verdict is CheckVerdict.FAIL
    assert len(finding.counterexample) <= 5
    assert finding.message


def test_a_law_may_be_a_function():
    def coin(x):
        return [(Fraction(1, 2), x), (Fraction(1, 2), tuple(-v for v in x))]

    def fair(x, seed):
        return x * np.float32(np.random.default_rng(seed).choice((-1, 1)))

    def loaded(x, seed):
        return x * np.float32(-1 if np.random.default_rng(seed).random() < 0.3 else 1)

    assert found(fair, coin).verdict is CheckVerdict.PASS
    assert found(loaded, coin).verdict is CheckVerdict.FAIL


def test_without_a_common_input_nothing_is_judged():
    def refuses(x):
        raise ValueError("no law")

    assert found(ternary, refuses).verdict is CheckVerdict.NOT_JUDGED
    assert found(ternary, TernGrad(), admits=lambda x: x.size > 250).verdict is CheckVerdict.NOT_JUDGED
    with pytest.raises(TypeError, match="reference must have a law"):
        cf.SameLaw(3)
