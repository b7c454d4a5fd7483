"""Broken twins of the quantisers, and what kills them."""

from fractions import Fraction

from zoo.right import BELOW, BY_TWO, IDEMPOTENT, SCALED, SYMMETRIC, contracts, control, unbiased

from commbounds import compressors as c
from commbounds.verify import Method
from commbounds.verify import conformance as cf
from mutants import dithering as d
from mutants import powers as p
from mutants import signs as sg
from mutants.record import Mutant

EXACT, INJECT, SEARCH = Method.EXACT, Method.INJECT, Method.SEARCH
SAMPLE, ATTACK = Method.SAMPLE, Method.ATTACK

MUTANTS = (
    Mutant(sg.SignZeroDropped, "Sign", "quantizers.sign.error", SEARCH),
    Mutant(sg.SignZeroPlus, "Sign", "quantizers.sign.sign_symmetry_ternary", SEARCH),
    Mutant(sg.SignOfMinusZero, "Sign", "quantizers.sign.sign_symmetry_ternary", SEARCH, "takes_minus_zero_for_zero"),
    Mutant(sg.SignAlwaysPlus, "Sign", "quantizers.sign.sign_symmetry", SEARCH),
    Mutant(sg.SignTwoBits, "Sign", "quantizers.sign.wire", EXACT),
    Mutant(sg.ScaledSignMax, "ScaledSign", "quantizers.scaledsign.contraction", SEARCH),
    Mutant(sg.ScaledSignRMS, "ScaledSign", "quantizers.scaledsign.error", INJECT),
    Mutant(sg.ScaledSignSum, "ScaledSign", "quantizers.scaledsign.contraction", SEARCH),
    Mutant(sg.ScaledSignNonzero, "ScaledSign", "quantizers.scaledsign.one_sparse", SEARCH),
    Mutant(sg.ScaledSignFree, "ScaledSign", "quantizers.scaledsign.wire", EXACT),
    Mutant(d.QSGDFloor, "QSGD", "quantizers.qsgd.unbiased", INJECT),
    Mutant(d.QSGDNearest, "QSGD", "quantizers.qsgd.unbiased", INJECT),
    Mutant(d.QSGDCeiling, "QSGD", "quantizers.qsgd.elias", SEARCH),
    Mutant(d.QSGDSquared, "QSGD", "quantizers.qsgd.unbiased", SAMPLE),
    Mutant(d.QSGDUnsigned, "QSGD", "quantizers.qsgd.unbiased", INJECT),
    Mutant(d.QSGDMaxNorm, "QSGD", "quantizers.qsgd.variance", INJECT),
    Mutant(d.QSGDNorm1, "QSGD", "quantizers.qsgd.variance", EXACT),
    Mutant(d.QSGDRoundedDown, "QSGD", "quantizers.qsgd.level", SEARCH),
    Mutant(d.QSGDWrapped, "QSGD", "quantizers.qsgd.level", SEARCH),
    Mutant(d.QSGDOneUniform, "QSGD", "quantizers.qsgd.unbiased", SAMPLE, "draws_follow_the_law"),
    Mutant(d.QSGDPairs, "QSGD", check="draws_follow_the_law"),
    Mutant(d.QSGDFreeNorm, "QSGD", "quantizers.qsgd.wire", EXACT),
    Mutant(d.QSGDFinerCodes, "QSGD", "quantizers.qsgd.wire", EXACT),
    Mutant(d.QSGDMoreOutcomes, "QSGD", "quantizers.qsgd.entropy", Method.EXTREMAL),
    Mutant(d.QSGDStaleNorm, "QSGD", "quantizers.qsgd.variance", ATTACK, "has_no_memory"),
    Mutant(d.MaxDitheringCeiling, "MaxDithering", "quantizers.maxdithering.variance", SAMPLE),
    Mutant(d.MaxDitheringNorm2, "MaxDithering", "quantizers.maxdithering.unbiased", INJECT),
    Mutant(d.MaxDitheringPlusOne, "MaxDithering", "quantizers.maxdithering.level", SEARCH, "message_is_well_formed"),
    Mutant(d.MaxDitheringWithoutLast, "MaxDithering", "quantizers.maxdithering.unbiased", INJECT),
    Mutant(d.MaxDitheringNoZero, "MaxDithering", "quantizers.maxdithering.wire", EXACT),
    Mutant(d.MaxDitheringPairs, "MaxDithering", check="draws_follow_the_law"),
    Mutant(d.TernGradSquares, "TernGrad", "quantizers.terngrad.unbiased", SAMPLE),
    Mutant(d.TernGradClipped, "TernGrad", "quantizers.terngrad.error", SEARCH),
    Mutant(d.TernGradOneBit, "TernGrad", "quantizers.terngrad.wire", EXACT),
    Mutant(d.TernGradUnsigned, "TernGrad", "quantizers.terngrad.unbiased", SAMPLE),
    Mutant(d.TernGradFixed, "TernGrad", "quantizers.terngrad.error", SAMPLE, "uses_its_generator"),
    Mutant(p.NaturalCompressionFloor, "NaturalCompression", "quantizers.naturalcompression.unbiased", INJECT),
    Mutant(p.NaturalCompressionNearest, "NaturalCompression", "quantizers.naturalcompression.unbiased", INJECT),
    Mutant(p.NaturalCompressionUpAtEquality, "NaturalCompression", "quantizers.naturalcompression.idempotence", SEARCH),
    Mutant(p.NaturalCompressionLog, "NaturalCompression", "quantizers.naturalcompression.unbiased", SAMPLE),
    Mutant(p.NaturalCompressionEightBits, "NaturalCompression", "quantizers.naturalcompression.wire", EXACT),
    Mutant(p.NaturalCompressionFlushed, "NaturalCompression", "quantizers.naturalcompression.unbiased", SEARCH),
    Mutant(p.NaturalCompressionBlockStart, "NaturalCompression", check="long_vectors_are_treated_alike"),
    Mutant(p.NaturalCompressionSameBlocks, "NaturalCompression", check="stretches_do_not_repeat"),
    Mutant(p.NaturalDitheringLinear, "NaturalDithering", "quantizers.naturaldithering.unbiased", INJECT),
    Mutant(p.NaturalDitheringNearest, "NaturalDithering", "quantizers.naturaldithering.unbiased", INJECT),
    Mutant(p.NaturalDitheringDeeper, "NaturalDithering", "quantizers.naturaldithering.unbiased", SAMPLE),
    Mutant(p.NaturalDitheringFreeNorm, "NaturalDithering", "quantizers.naturaldithering.wire", EXACT),
    Mutant(p.NaturalDitheringMaxNorm, "NaturalDithering", "quantizers.naturaldithering.unbiased", INJECT),
    Mutant(p.StochasticPowerFloor, "StochasticPower", "quantizers.stochasticpower.unbiased", INJECT),
    Mutant(p.StochasticPowerLog, "StochasticPower", "quantizers.stochasticpower.unbiased", SAMPLE),
    Mutant(p.StochasticPowerUnsigned, "StochasticPower", "quantizers.stochasticpower.unbiased", INJECT),
    Mutant(p.StochasticPowerPositive, "StochasticPower", "quantizers.stochasticpower.wire", EXACT),
    Mutant(p.StochasticPowerNextBase, "StochasticPower", "quantizers.stochasticpower.unbiased", INJECT),
    Mutant(p.NearestPowerFloor, "NearestPower", "quantizers.nearestpower.contraction", SEARCH),
    Mutant(p.NearestPowerTiesUp, "NearestPower", "quantizers.nearestpower.contraction", INJECT),
    Mutant(p.NearestPowerLog, "NearestPower", "quantizers.nearestpower.contraction", SEARCH),
    Mutant(p.NearestPowerUnsigned, "NearestPower", "quantizers.nearestpower.sign_symmetry", SEARCH),
    Mutant(p.NearestPowerEightBits, "NearestPower", "quantizers.nearestpower.wire", EXACT),
)
"""In the order of the registry of compressors."""

CONTROLS = (
    control(c.Sign(), cf.Codebook([-1.0, 1.0], operations=0), IDEMPOTENT),
    control(c.Sign(0), cf.Codebook([-1.0, 0.0, 1.0], operations=0), IDEMPOTENT, SYMMETRIC),
    control(c.ScaledSign(), contracts("quantizers.scaledsign.contraction"), SCALED, IDEMPOTENT),
    control(c.ScaledSign(0), contracts("quantizers.scaledsign.contraction"), SYMMETRIC, SCALED),
    control(c.QSGD(4), *unbiased("qsgd", s=4), cf.SameLaw(c.QSGD(4)), SYMMETRIC, SCALED),
    control(c.MaxDithering(3), *unbiased("maxdithering", s=3), cf.SameLaw(c.MaxDithering(3)), SYMMETRIC, SCALED),
    control(c.TernGrad(), *unbiased("terngrad"), cf.SameLaw(c.TernGrad()), SYMMETRIC, SCALED, IDEMPOTENT),
    control(
        c.NaturalCompression(),
        *unbiased("naturalcompression"),
        cf.SameLaw(c.NaturalCompression()),
        SYMMETRIC,
        BY_TWO,
        IDEMPOTENT,
        **BELOW,
    ),
    control(
        c.NaturalDithering(3), *unbiased("naturaldithering", s=3), cf.SameLaw(c.NaturalDithering(3)), SYMMETRIC, SCALED
    ),
    control(
        c.StochasticPower(Fraction(3, 2)),
        *unbiased("stochasticpower", b=Fraction(3, 2)),
        cf.SameLaw(c.StochasticPower(Fraction(3, 2))),
        SYMMETRIC,
        magnitudes=(1.5**-214, 1.5**218),  # the powers of 3/2 that are normal numbers
    ),
    control(c.NearestPower(), contracts("quantizers.nearestpower.contraction"), SYMMETRIC, BY_TWO, IDEMPOTENT, **BELOW),
)
"""Right ones, with what the book says of them, for the conformance kit."""

EXAMPLES = {
    "Sign": [{}, {"zero": 0}],
    "ScaledSign": [{}, {"zero": 0}],
    "QSGD": [{"levels": 1}, {"levels": 4}, {"levels": 127}, {"levels": 1000}],
    "MaxDithering": [{"levels": 1}, {"levels": 3}, {"levels": 127}, {"levels": 1000}],
    "TernGrad": [{}],
    "NaturalCompression": [{}],
    "NaturalDithering": [{"levels": 1}, {"levels": 3}, {"levels": 8}],
    "StochasticPower": [{"base": 2}, {"base": Fraction(3, 2)}, {"base": 10.0}],
    "NearestPower": [{}],
}
"""Hyper-parameters to keep the contract with; the first are admissible for one entry."""
