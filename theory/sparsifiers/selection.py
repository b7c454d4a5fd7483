"""Claims about compressors that keep the largest entries: Top-K, whole, by blocks and by chunks."""

import sympy as sp

from commbounds.theory.claim import Claim, Eq, Le, Standing
from commbounds.theory.compression import CompressorClaims
from commbounds.theory.hypotheses import (
    KEEPS_CEILING,
    KEEPS_FLOOR,
    NONZERO,
    NONZERO_AVERAGE,
    SHARE_AT_MOST_ONE,
    TWO_WORKERS,
)
from commbounds.theory.quantities import (
    GLOBAL_ERROR,
    LOCAL_ERROR,
    RELATIVE_ERROR,
    SUPPORT,
    P,
    block,
    chunk,
    e,
    entries,
    index_bits,
    itembits,
    k,
    mu,
    n,
    norm2bar,
    sumsq,
)
from commbounds.theory.sources import FOLKLORE, STICH_2018, derived

_topk = CompressorClaims("sparsifiers.topk", "Top-K")
_blocktopk = CompressorClaims("sparsifiers.blocktopk", "Block Top-K")
_chunktopk = CompressorClaims("sparsifiers.chunktopk", "chunk-wise Top-K")

_SAME_ORDER = "Magnitudes keep their order and ties, so the same entries are kept, each with its own value."
_KEPT_AGAIN = "Every kept entry is at least as large as the zeros that replaced the others."

_blocks = sp.ceiling(n / block)
_full = sp.floor(n / chunk)
_chunk_entries = _full * k + sp.Min(k, n - _full * chunk)

TOPK: tuple[Claim, ...] = (
    Claim(
        name="sparsifiers.topk.contraction",
        title="Top-K is contractive with alpha = k/n",
        relation=Le(RELATIVE_ERROR, 1 - k / n),
        assumes=(NONZERO,),
        source=STICH_2018.transcribed(
            "Definitions 2.1 and 2.2: Top-K as a k-contraction",
            "The mean square of the n - k entries left out is at most that of the k entries kept, hence at most that "
            "of all n: their sum is at most (n - k)/n of the whole. Equality needs equal mean squares.",
        ),
        tightness=1,
        extremal="all entries equal in magnitude",
        axis="k",
    ),
    Claim(
        name="sparsifiers.topk.support",
        title="Top-K sends at most k nonzero entries",
        relation=Le(SUPPORT, k),
        source=derived("k entries are sent; some of them may be zero.", "by construction"),
        tightness=1,
        extremal="no entry is zero",
        axis="k",
    ),
    Claim(
        name="sparsifiers.topk.ceil_k",
        title="A compressor that keeps the ceil(mu n) largest entries contracts by 1 - mu",
        relation=Le(RELATIVE_ERROR, 1 - mu),
        assumes=(NONZERO, KEEPS_CEILING),
        source=derived("Top-K's factor 1 - k/n with k = ceil(mu n) >= mu n."),
        tightness=1,
        extremal="mu n an integer, all entries equal in magnitude",
        axis="mu",
    ),
    Claim(
        name="sparsifiers.topk.floor_k",
        title="A compressor that keeps the floor(mu n) largest entries contracts by 1 - mu",
        relation=Le(RELATIVE_ERROR, 1 - mu),
        assumes=(NONZERO, KEEPS_FLOOR),
        source=FOLKLORE.recalled(
            "implementations compute k = max(1, int(mu n)) and quote the factor 1 - mu",
            "k = floor(mu n) < mu n if mu n is not an integer, and equal magnitudes attain 1 - k/n > 1 - mu: n = 9, mu "
            "= 1/5 keeps one entry, error ratio 8/9 > 4/5.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="sparsifiers.topk.ceil_k",
        tightness=sp.oo,
        extremal="n = 9, mu = 1/5, all entries equal in magnitude: 8/9 against 4/5; n = 2 and mu -> 1, an unbounded "
        "ratio",
        axis="mu",
        note="If k is rounded down, the factor 1 - mu fails: use k/n with the actual k, or round up.",
    ),
    Claim(
        name="sparsifiers.topk.local_contraction",
        title="Top-K on every worker contracts the workers' vectors taken together",
        relation=Le(LOCAL_ERROR, 1 - k / n),
        assumes=(NONZERO,),
        source=derived("Top-K's contraction for every worker, summed over the workers."),
        tightness=1,
        extremal="on every worker, all entries equal in magnitude",
        axis="k",
        note="Averaging keeps the property that error feedback needs; only the average itself does not contract.",
    ),
    Claim(
        name="sparsifiers.topk.global_error",
        title="The error of averaged per-worker Top-K is at most (1 - k/n) of the workers' mean square",
        relation=Le(GLOBAL_ERROR, (1 - k / n) * sumsq / (P * norm2bar**2)),
        assumes=(NONZERO_AVERAGE,),
        source=derived(
            "Jensen: the squared norm of the average error is at most the average squared error, which local "
            "contraction bounds by (1 - k/n) sum ||x_i||^2 / P; divide by the squared norm of the average."
        ),
        tightness=1,
        extremal="all workers hold the same vector, all of its entries equal in magnitude",
        axis="k",
        note="This bound holds for the average: it has the workers' mean square in place of the square of their mean.",
    ),
    Claim(
        name="sparsifiers.topk.global_contraction",
        title="The average of per-worker Top-K contracts towards the workers' average by 1 - k/n",
        relation=Le(GLOBAL_ERROR, 1 - k / n),
        assumes=(NONZERO_AVERAGE,),
        source=FOLKLORE.recalled(
            "the contraction factor of one worker, used for the average over workers",
            "The two workers of sparsifiers.topk.two_workers: ratio 1/e^2 with n = 2, k = 1.",
        ),
        stands=Standing.REFUTED,
        tightness=sp.oo,
        extremal="workers (1 + e, -1) and (-1, 1 + e), k = 1: ratio 1/e^2 against 1/2",
        axis="k",
        note="If workers cancel, each keeps the entries that cancel: no factor times the average's norm bounds the "
        "error. (3, 1, -2), (-2, -3, 1), (-1, 2, 1) average to zero, their Top-1 to (1, -1/3, 0).",
    ),
    Claim(
        name="sparsifiers.topk.two_workers",
        title="Per-worker Top-1 of (1 + e, -1) and (-1, 1 + e): the error is 1/e times the norm of their average",
        relation=Eq(GLOBAL_ERROR, 1 / e**2),
        assumes=(TWO_WORKERS,),
        source=derived(
            "The average is (e/2, e/2); Top-1 keeps 1 + e on either worker, so the average of the outputs is "
            "((1 + e)/2, (1 + e)/2), off by 1/2 in both entries: (1/2)/(e^2/2) = 1/e^2."
        ),
        axis="e",
        note="The error ratio is unbounded as e tends to 0; that of each worker alone is at most 1/2.",
    ),
    _topk.biased("x = (2, 1), k = 1: the output is (2, 0)"),
    _topk.wire(k * (index_bits(n) + itembits), "k entries, each an index in ceil(log2 n) bits and a value", axis="k"),
    _topk.sign_symmetry(_SAME_ORDER),
    _topk.scale_equivariance(_SAME_ORDER),
    _topk.idempotence(_KEPT_AGAIN),
)

BLOCKTOPK: tuple[Claim, ...] = (
    Claim(
        name="sparsifiers.blocktopk.contraction",
        title="Keeping k of the B = ceil(n/block) blocks is contractive with alpha = k/B",
        relation=Le(RELATIVE_ERROR, 1 - k / _blocks),
        assumes=(NONZERO,),
        source=FOLKLORE.recalled(
            "Top-K on blocks ranked by norm",
            "Top-K's proof for the B squared block norms in place of the n squared entries; a short last block is one "
            "block like the others.",
        ),
        tightness=1,
        extremal="all block norms equal",
        axis="k",
    ),
    Claim(
        name="sparsifiers.blocktopk.kept_share",
        title="Keeping k blocks is contractive with alpha = k block/n, the share of the entries kept",
        relation=Le(RELATIVE_ERROR, 1 - k * block / n),
        assumes=(NONZERO, SHARE_AT_MOST_ONE),
        source=FOLKLORE.recalled(
            "the factor for blocks that divide n, used where they do not",
            "With a short last block B > n/block, and equal block norms attain 1 - k/B > 1 - k block/n: x = (1, 1, c) "
            "with c^2 = 2, block = 2, k = 1 has the ratio 1/2 > 1/3.",
        ),
        stands=Standing.HOLDS_AS_CORRECTED,
        corrected_by="sparsifiers.blocktopk.contraction",
        extremal="all block norms equal, block does not divide n: x = (3, 4, 5), block = 2, k = 1",
        axis="k",
        note="A short last block counts as one block: alpha is k/ceil(n/block).",
    ),
    _blocktopk.biased("x = (2, 1), block = 1, k = 1: the output is (2, 0)"),
    _blocktopk.wire(
        k * index_bits(_blocks) + entries * itembits,
        "k block numbers in ceil(log2 B) bits each, and the values of those blocks, fewer where the short one is kept",
        axis="k",
    ),
    _blocktopk.sign_symmetry(_SAME_ORDER),
    _blocktopk.scale_equivariance(_SAME_ORDER),
    _blocktopk.idempotence(_KEPT_AGAIN),
)

CHUNKTOPK: tuple[Claim, ...] = (
    Claim(
        name="sparsifiers.chunktopk.contraction",
        title="Keeping k entries in every chunk is contractive with alpha the smallest share kept in a chunk",
        relation=Le(RELATIVE_ERROR, sp.Max(0, 1 - k / sp.Min(n, chunk))),
        assumes=(NONZERO,),
        source=FOLKLORE.recalled(
            "Top-K within chunks",
            "Top-K's contraction in every chunk, summed. A full chunk keeps the share k/chunk and a short one more, so "
            "the smallest is k/chunk if there is a full chunk, and min(1, k/n) otherwise.",
        ),
        tightness=1,
        extremal="all entries of one full chunk equal in magnitude, all others zero",
        axis="k",
    ),
    _chunktopk.biased("x = (2, 1), chunk = 2, k = 1: the output is (2, 0)"),
    _chunktopk.wire(
        _chunk_entries * (index_bits(chunk) + itembits),
        "k entries of a full chunk and min(k, length) of a short one, each with an index of ceil(log2 chunk) bits",
        axis="k",
    ),
    _chunktopk.sign_symmetry(_SAME_ORDER),
    _chunktopk.scale_equivariance(_SAME_ORDER),
    _chunktopk.idempotence(_KEPT_AGAIN),
)
