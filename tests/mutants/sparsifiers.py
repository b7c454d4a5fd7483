"""Broken twins of the sparsifiers, and what kills them."""

from fractions import Fraction

from zoo.right import IDEMPOTENT, SCALED, SMALL, SYMMETRIC, at_least, contracts, control

from commbounds import compressors as c
from commbounds.verify import Method
from commbounds.verify import conformance as cf
from commbounds.verify.conformance import book_bound as bound
from mutants import selection as sel
from mutants import unranked as sp
from mutants.record import Mutant

EXACT, INJECT, SEARCH = Method.EXACT, Method.INJECT, Method.SEARCH
SAMPLE, ATTACK = Method.SAMPLE, Method.ATTACK

MUTANTS = (
    Mutant(sel.TopKOneFewer, "TopK", "sparsifiers.topk.contraction", EXACT),
    Mutant(sel.TopKSigned, "TopK", "sparsifiers.topk.contraction", SEARCH),
    Mutant(sel.TopKLastTie, "TopK", "sparsifiers.topk.contraction", INJECT),
    Mutant(sel.TopKAllTies, "TopK", "sparsifiers.topk.support", SEARCH),
    Mutant(sel.TopKWideIndices, "TopK", "sparsifiers.topk.wire", EXACT),
    Mutant(sel.TopKOneMore, "TopK", "sparsifiers.topk.wire", EXACT),
    Mutant(sel.TopKUnsigned, "TopK", "sparsifiers.topk.sign_symmetry", SEARCH),
    Mutant(sel.TopKSignLast, "TopK", "sparsifiers.topk.two_workers", SEARCH),
    Mutant(sel.TopKStale, "TopK", "sparsifiers.topk.contraction", ATTACK, "has_no_memory"),
    Mutant(sel.TopKDestructive, "TopK", check="leaves_the_input_alone"),
    Mutant(sel.TopKByMagnitude, "TopK", check="message_is_well_formed"),
    Mutant(sel.TopKDuplicate, "TopK", "sparsifiers.topk.contraction", SEARCH, "message_is_well_formed"),
    Mutant(sp.RandKUnscaled, "RandK", "sparsifiers.randk.unbiased", EXACT),
    Mutant(sp.RandKInverseScale, "RandK", "sparsifiers.randk.unbiased", SEARCH),
    Mutant(sp.RandKOneFewer, "RandK", "sparsifiers.randk.bias", SEARCH),
    Mutant(sp.RandKReplacement, "RandK", "sparsifiers.randk.contraction", INJECT),
    Mutant(sp.RandKWithoutLast, "RandK", "sparsifiers.randk.bias", SEARCH),
    Mutant(sp.RandKFixed, "RandK", "sparsifiers.randk.variance", SAMPLE, "uses_its_generator"),
    Mutant(sp.RandKWindow, "RandK", check="draws_follow_the_law"),
    Mutant(sp.RandKModulo, "RandK", "sparsifiers.randk.unbiased", SAMPLE, "draws_follow_the_law"),
    Mutant(sel.BlockTopKNorm1, "BlockTopK", "sparsifiers.blocktopk.contraction", SEARCH),
    Mutant(sel.BlockTopKMax, "BlockTopK", "sparsifiers.blocktopk.contraction", SEARCH),
    Mutant(sel.BlockTopKMean, "BlockTopK", "sparsifiers.blocktopk.contraction", INJECT),
    Mutant(sel.BlockTopKWithoutLast, "BlockTopK", "sparsifiers.blocktopk.contraction", EXACT),
    Mutant(sel.BlockTopKFloorBits, "BlockTopK", "sparsifiers.blocktopk.wire", EXACT),
    Mutant(sel.ChunkTopKWithoutLast, "ChunkTopK", "sparsifiers.chunktopk.contraction", EXACT),
    Mutant(sel.ChunkTopKShifted, "ChunkTopK", "sparsifiers.chunktopk.contraction", SEARCH),
    Mutant(sel.ChunkTopKGlobal, "ChunkTopK", "sparsifiers.chunktopk.contraction", INJECT),
    Mutant(sel.ChunkTopKWideIndices, "ChunkTopK", "sparsifiers.chunktopk.wire", EXACT),
    Mutant(sp.HardThresholdStrict, "HardThreshold", "sparsifiers.hardthreshold.absolute_error", INJECT),
    Mutant(sp.HardThresholdSigned, "HardThreshold", "sparsifiers.hardthreshold.absolute_error", EXACT),
    Mutant(sp.HardThresholdSoft, "HardThreshold", "sparsifiers.hardthreshold.idempotence", SEARCH),
    Mutant(sp.HardThresholdRelative, "HardThreshold", "sparsifiers.hardthreshold.absolute_error", SEARCH),
    Mutant(sp.HardThresholdUncounted, "HardThreshold", "sparsifiers.hardthreshold.wire", EXACT),
    Mutant(sp.AdaptiveSquares, "AdaptiveSparsification", "sparsifiers.adaptivesparsification.error", INJECT),
    Mutant(sp.AdaptiveUniform, "AdaptiveSparsification", "sparsifiers.adaptivesparsification.error", EXACT),
    Mutant(sp.AdaptiveScaled, "AdaptiveSparsification", "sparsifiers.adaptivesparsification.error", SEARCH),
    Mutant(
        sp.AdaptiveFixed,
        "AdaptiveSparsification",
        "sparsifiers.adaptivesparsification.error",
        SAMPLE,
        "uses_its_generator",
    ),
    Mutant(sp.AdaptiveUncounted, "AdaptiveSparsification", "sparsifiers.adaptivesparsification.wire", EXACT),
    Mutant(sp.IdentityHalf, "Identity", "sparsifiers.identity.contraction", SEARCH),
    Mutant(sp.IdentityAlias, "Identity", check="keeps_nothing_of_the_input"),
    Mutant(sp.IdentityCounts64, "Identity", "sparsifiers.identity.wire", EXACT),
    Mutant(sp.IdentityFlushed, "Identity", "sparsifiers.identity.unbiased", SEARCH),
)
"""In the order of the registry of compressors."""

CONTROLS = (
    *(
        control(
            c.TopK(k),
            contracts("sparsifiers.topk.contraction", k=k),
            cf.Support(k),
            SYMMETRIC,
            SCALED,
            IDEMPOTENT,
            **at_least(k),
        )
        for k in (1, 4)
    ),
    control(
        c.RandK(2),
        cf.Unbiased(),
        cf.Variance(bound("sparsifiers.randk.variance", k=2)),
        cf.Support(2),
        cf.SameLaw(c.RandK(2)),
        SYMMETRIC,
        **SMALL,
        **at_least(2),
    ),
    control(c.RandK(3, False), contracts("sparsifiers.randk.contraction", k=3), cf.Support(3), **at_least(3)),
    control(
        c.BlockTopK(2, 3),
        contracts("sparsifiers.blocktopk.contraction", k=2, block=3),
        SYMMETRIC,
        SCALED,
        IDEMPOTENT,
        **at_least(6),
    ),
    control(
        c.ChunkTopK(2, 5), contracts("sparsifiers.chunktopk.contraction", k=2, chunk=5), SYMMETRIC, SCALED, IDEMPOTENT
    ),
    control(c.HardThreshold(Fraction(1, 2)), cf.AbsoluteError(0.5), SYMMETRIC, IDEMPOTENT),
    control(
        c.AdaptiveSparsification(),
        contracts("sparsifiers.adaptivesparsification.contraction"),
        cf.Support(1),
        cf.SameLaw(c.AdaptiveSparsification()),
        SYMMETRIC,
        IDEMPOTENT,
    ),
    control(c.Identity(), cf.Contraction(1.0), cf.Unbiased(), cf.ExactOn(lambda rng, n: rng.normal(size=n)), SCALED),
)
"""Right ones, with what the book says of them, for the conformance kit."""

EXAMPLES = {
    "TopK": [{"k": 1}, {"k": 4}, {"k": 5}],
    "RandK": [{"k": 1}, {"k": 2}, {"k": 4}, {"k": 17}, {"k": 2, "scaled": False}, {"k": 3, "scaled": False}],
    "BlockTopK": [{"k": 1, "block": 3}, {"k": 1, "block": 4}, {"k": 2, "block": 3}, {"k": 2, "block": 10}],
    "ChunkTopK": [{"k": 1, "chunk": 3}, {"k": 2, "chunk": 5}, {"k": 4, "chunk": 9}],
    "HardThreshold": [
        {"threshold": 0.5},
        {"threshold": Fraction(1, 3)},
        {"threshold": Fraction(1, 2)},
        {"threshold": 2.0},
    ],
    "AdaptiveSparsification": [{}],
    "Identity": [{}],
}
"""Hyper-parameters to keep the contract with; the first are admissible for one entry."""

LOSSLESS = (
    c.TopK(20),
    c.RandK(20),
    c.RandK(20, scaled=False),
    c.BlockTopK(7, 3),
    c.ChunkTopK(3, 3),
    c.HardThreshold(5e-324),
    c.Identity(),
)
"""They lose nothing of 20 entries."""
