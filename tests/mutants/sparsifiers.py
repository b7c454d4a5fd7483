"""Broken twins of the sparsifiers, and what kills them."""

from commbounds.verify import Method
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
