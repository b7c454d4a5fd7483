"""Claims about sparsifiers: what keeping a few of a vector's entries costs."""

from commbounds.theory.claim import Claim, Eq, Le, Standing
from commbounds.theory.compression import CompressorClaims
from commbounds.theory.hypotheses import NONZERO, SOME_ALPHA
from commbounds.theory.implementations import defined
from commbounds.theory.quantities import (
    ABSOLUTE_ERROR,
    RELATIVE_ERROR,
    alpha,
    entries,
    index_bits,
    itembits,
    n,
    threshold,
)
from commbounds.theory.sources import FOLKLORE, STROM_2015, derived
from commbounds.theory.sparsifiers.random_selection import ADAPTIVE, RANDK
from commbounds.theory.sparsifiers.selection import BLOCKTOPK, CHUNKTOPK, TOPK

_hardthreshold = CompressorClaims("sparsifiers.hardthreshold", "hard thresholding")
_identity = CompressorClaims("sparsifiers.identity", "the identity")

HARDTHRESHOLD: tuple[Claim, ...] = (
    Claim(
        name="sparsifiers.hardthreshold.absolute_error",
        title="The error of hard thresholding is at most n threshold^2, for any norm of the vector",
        relation=Le(ABSOLUTE_ERROR, n * threshold**2),
        source=STROM_2015.recalled(
            "thresholded updates; the bound itself is immediate",
            "Every entry left out is less than the threshold in magnitude, and there are at most n of them.",
        ),
        tightness=1,
        extremal="all entries just below the threshold: approached, and never attained",
    ),
    Claim(
        name="sparsifiers.hardthreshold.nonexpansive",
        title="The error of hard thresholding is at most the vector's squared norm",
        relation=Le(RELATIVE_ERROR, 1),
        assumes=(NONZERO,),
        source=derived("The error consists of entries of x."),
        tightness=1,
        extremal="all entries below the threshold",
        axis="threshold",
    ),
    Claim(
        name="sparsifiers.hardthreshold.contraction",
        title="Hard thresholding is contractive with some alpha > 0",
        relation=Le(RELATIVE_ERROR, 1 - alpha),
        assumes=(NONZERO, SOME_ALPHA),
        source=FOLKLORE.recalled(
            "thresholding treated as a contractive sparsifier",
            "A vector below the threshold is lost completely: ratio 1 > 1 - alpha for every alpha > 0.",
        ),
        stands=Standing.REFUTED,
        tightness=1 / (1 - alpha),
        extremal="all entries below the threshold: ratio 1",
        axis="alpha",
        note="Its error has an absolute bound, not a relative one: small vectors have no alpha > 0.",
    ),
    _hardthreshold.biased("x = (1, 1), threshold = 2: the output is (0, 0)"),
    _hardthreshold.wire(
        entries * (index_bits(n) + itembits) + index_bits(n + 1),
        "the number of entries kept in ceil(log2(n+1)) bits, and each as an index in ceil(log2 n) bits and a value",
    ),
    _hardthreshold.sign_symmetry("Magnitudes do not change, so the same entries pass, each with its own value."),
    _hardthreshold.no_scale_equivariance("x = (1), threshold = 2, factor 2: C(2 x) = (2) but 2 C(x) = (0)"),
    _hardthreshold.idempotence("Entries that passed the threshold pass it again."),
)

IDENTITY: tuple[Claim, ...] = (
    Claim(
        name="sparsifiers.identity.contraction",
        title="The identity has no error",
        relation=Eq(RELATIVE_ERROR, 0),
        assumes=(NONZERO,),
        source=derived("C(x) = x.", "by construction"),
    ),
    _identity.unbiased("C(x) = x."),
    _identity.wire(n * itembits, "n values"),
    _identity.sign_symmetry("C(x) = x."),
    _identity.scale_equivariance("C(x) = x."),
    _identity.idempotence("C(x) = x."),
)

DEFINITIONS = defined(
    "sparsifiers",
    {
        "TopK": (
            "Written from the docstring (Stich et al. 2018) and its rule that of equal magnitudes the lowest index "
            "goes first: a sort of all entries; positions, values, and their bits."
        ),
        "RandK": (
            "Written from the docstring (Stich et al. 2018) and Floyd's algorithm for subsets, on given integers or "
            "those of the seed's counter; it draws the entries left out if these are fewer."
        ),
        "BlockTopK": (
            "Written from the docstring: Top-K of whole blocks by their norms, squares added in float64 in order; ties "
            "go to the lowest index, and the last block may be short."
        ),
        "ChunkTopK": (
            "Written from the docstring: Top-K of every chunk, of which a short last one keeps no more than it has."
        ),
        "HardThreshold": (
            "Written from the docstring: magnitudes that reach the threshold, compared as rational numbers; their "
            "count is sent."
        ),
        "AdaptiveSparsification": (
            "Written from the docstring (Beznosikov et al. 2020): one uniform, and partial sums in float64 in order."
        ),
        "Identity": "Written from C(x) = x.",
    },
)

CLAIMS: tuple[Claim, ...] = (*TOPK, *RANDK, *BLOCKTOPK, *CHUNKTOPK, *HARDTHRESHOLD, *ADAPTIVE, *IDENTITY, *DEFINITIONS)
