"""`like`: a compressor of ours passes all that the book says of it, another one does not, and nothing is left out."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from samples import first_of_each
from zoo.right import called

from commbounds import compressors as c
from commbounds.theory import claims
from commbounds.verify import conformance as cf
from commbounds.verify.conformance.likeness import ALLOWED_FOR, DOMAIN, OF_ERRORS, OF_SCALES

REFERENCES = (
    c.TopK(4),
    c.RandK(2),
    c.RandK(3, scaled=False),
    c.BlockTopK(2, 3),
    c.ChunkTopK(2, 5),
    c.HardThreshold(Fraction(1, 2)),
    c.AdaptiveSparsification(),
    c.Identity(),
    c.Sign(),
    c.ScaledSign(),
    c.QSGD(4),
    c.MaxDithering(3),
    c.TernGrad(),
    c.NaturalCompression(),
    c.NaturalDithering(3),
    c.StochasticPower(Fraction(3, 2)),
    c.NearestPower(),
)
PAIRS = (
    (c.TopK(4), c.TopK(3), "Variance"),
    (c.TopK(4), c.RandK(4, scaled=False), "SameLaw"),
    (c.RandK(2), c.RandK(2, scaled=False), "Unbiased"),
    (c.QSGD(4), c.QSGD(2), "Variance"),
    (c.QSGD(4), c.MaxDithering(4), "SameLaw"),
    (c.ScaledSign(), c.Sign(), "Variance"),
    (c.TernGrad(), c.NaturalCompression(), "SameLaw"),
)


def held_to(function, reference, **options):
    subject = cf.Codec(called(function), cf.like(reference), admits=cf.takes(reference), time_limit=300.0, **options)
    return cf.check(subject, only=list(map(str, subject.claims)))


@pytest.mark.parametrize(
    "reference", first_of_each(REFERENCES, lambda r: "randomised" if r.randomised else "sure", lambda r: repr(r))
)
def test_a_compressor_of_ours_is_like_itself(reference):
    report = held_to(reference, reference, effort=0.03)
    assert report.passed, report
    assert not report.not_judged, report


@pytest.mark.wide
@pytest.mark.parametrize(("reference", "other", "claim"), PAIRS, ids=repr)
def test_another_one_is_not(reference, other, claim):
    report = held_to(other, reference, effort=0.1)
    assert claim in {finding.claim.split("(")[0] for finding in report.failures}, report


def test_every_claim_of_a_reference_is_asked_or_left_out_for_a_reason():
    elsewhere = {"local_error", "global_error", "elias_bits", "code_entropy", "level", "second_moment", "shrunk_error"}
    for reference in REFERENCES:
        asked = " ".join(map(str, cf.like(reference, wire=True)))
        for name in reference.claims:
            claim = claims()[name]
            if claim.stands != "holds" or name in asked or claim.quantity.name in elsewhere:
                continue
            hypotheses = {h.name for h in claim.assumes if h.needs != ("compressor",)}
            without = any(h.needs == ("compressor",) and not h.admits(compressor=reference) for h in claim.assumes)
            special = hypotheses - DOMAIN - ALLOWED_FOR - OF_ERRORS - OF_SCALES
            symmetry = claim.quantity.name in ("bias", "sign_defect", "scale_defect", "idempotence_defect")
            names = {
                "bias": "Unbiased",
                "sign_defect": "SignSymm",
                "scale_defect": "Scale",
                "idempotence_defect": "Idem",
            }
            unknown = set(claim.parameters) - {"n", "k", "s", "b", "block", "chunk", "threshold", "itembits"}
            expected = claim.quantity.name == "support" and claim.kind == "expected"
            biased = symmetry and not claim.relation.rhs.is_zero
            reason = without or special or unknown or expected or biased or (hypotheses & OF_ERRORS)
            assert reason or (symmetry and names[claim.quantity.name] in asked), (reference, name)
        assert asked.endswith(f"SameLaw(reference={type(reference).__name__})")


def test_laws_are_compared_where_short_inputs_are_not_taken():
    for compressor, verdict in ((c.RandK(10), "pass"), (c.TopK(10), "fail")):
        subject = cf.Codec(called(compressor), [cf.SameLaw(c.RandK(10))], admits=cf.takes(c.RandK(10)), effort=0.1)
        assert cf.check(subject, only=["SameLaw"])["SameLaw"].verdict == verdict


def test_what_the_reference_does_not_take_is_not_tried():
    takes = cf.takes(c.TopK(4))
    assert [takes(np.ones(n, np.float32)) for n in (1, 3, 4, 9)] == [False, False, True, True]
    assert not cf.takes(c.NaturalCompression())(np.full(2, 1e-40, np.float32))


def test_a_reference_has_to_be_a_compressor():
    for function in (cf.like, cf.takes):
        with pytest.raises(TypeError, match="reference must be a compressor of commbounds, got 'TopK'"):
            function("TopK")
    subject = cf.Codec(called(c.TopK(2)), cf.like(c.TopK(2), wire=True))
    assert "Bits(at_most=sparsifiers.topk.wire)" in map(str, replace(subject, effort=0.5).claims)


def test_a_compressor_has_its_settings_itself():
    with pytest.raises(TypeError, match="has its settings itself"):
        cf.like(c.TopK(2), k=3)
