"""Claims about compressors that packages ship."""

from commbounds.theory.claim import Claim
from commbounds.theory.implementations import defined
from commbounds.theory.shipped.codes import CODES
from commbounds.theory.shipped.eightbits import EIGHT_BITS
from commbounds.theory.shipped.sampling import SAMPLING
from commbounds.theory.shipped.signed import MEMORIES
from commbounds.theory.shipped.sizes import SIZES
from commbounds.theory.shipped.workers import WORKERS

_ROUNDED = "within what any order of additions in float64 may round to."
_RING = "; words and messages round a ring, phase by phase."
DEFINITIONS = defined(
    "shipped",
    {
        "ReplacementRandK": (
            "Written from the docstring: places that are given, or integers below n from the counter that the seed "
            "makes, with another word after a rejection; every place once, its factor in the order stated."
        ),
        "BernoulliLazy": (
            "Written from FL_PyTorch's docstring and code (makeLazyCompressor): x/p where a uniform is below p, else "
            "zeros; the comparison in rational arithmetic."
        ),
        "Atomic": (
            "Written from the docstring (Wang et al. 2018): the level that makes probabilities add up to the budget, "
            "found by trying all in rational arithmetic; what is sent of an entry that is not certain " + _ROUNDED
        ),
        "ClippedTernGrad": (
            "Written from GRACE's compressor/terngrad.py: the deviation about the mean in rational arithmetic, entries "
            "clipped about zero, then TernGrad relative to the scale that is sent, " + _ROUNDED
        ),
        "TwoMeans": (
            "Written from GRACE's compressor/onebit.py: entries below zero and all others, zeros of both signs with "
            "the latter; means in rational arithmetic, up to two units in the last place of float64."
        ),
        "ThreeLC": (
            "Written from the docstring (Lim et al. 2018): halves away from zero in rational arithmetic, five entries "
            "in a byte in base 3, runs of two to fourteen bytes of zeros as one."
        ),
        "UniformBuckets": (
            "Written from hivemind's Uniform8BitQuantization and the docstring's order of operations: buckets in their "
            "bits, halves to even; their means in rational arithmetic, up to two units in the last place of float64."
        ),
        "QuantileBuckets": (
            "Written from hivemind's Quantile8BitQuantization, without its quantiles of quantiles: inner quantiles in "
            "rational arithmetic, counted below an entry; means as of `UniformBuckets`."
        ),
        "dynamic_tree": (
            "Written from bitsandbytes' create_dynamic_map, with its middles in rational arithmetic; the nearest value "
            "to a quotient in float64, the smaller of two, by a search of all borders."
        ),
        "inceptionn": (
            "Written from GRACE's TensorFlow code, bit by bit as it shifts float32; in float64 from the docstring, by "
            "the binade of an entry in rational arithmetic."
        ),
        "spectral_atoms": (
            "Written from ATOMO's src/codings/svd.py, from numpy's decomposition on, as there: probabilities and atoms "
            "in rational arithmetic, " + _ROUNDED
        ),
        "signum_signs": (
            "Written from GRACE's compressor/signum.py, operation by operation: the first momentum is the first "
            "gradient, and zeros of both signs are positive."
        ),
        "ef_signs": (
            "Written from GRACE's memory and compressor, both named efsignsgd.py: nothing is multiplied while there is "
            "no residual; the mean magnitude " + _ROUNDED
        ),
        "ridge_descent": (
            "Written from the docstring (Karimireddy et al. 2019): subgradients of the ridge, point after point, with "
            "the sign of zero that is given there, and +1 in what is compressed."
        ),
        "switched": (
            "Written from FL_PyTorch's ProbabilisticSwitchingCompressor: both ends of a cell belong to it, and the "
            "first cell counts."
        ),
        "permk_mean": (
            "Written from the docstring (Szlendak et al. 2021): owners as given, or a permutation cut into blocks and "
            "turned; the owner's entry" + _RING
        ),
        "shared_randk_mean": (
            "Written from the docstring and GRACE's compressor/randomk.py: the ring's sums at the places that all "
            "share, times n/(k P) in float64" + _RING
        ),
        "dgc_steps": (
            "Written from the docstring (Lin et al. 2018) and GRACE's memory/dgc.py, entry by entry, of equal "
            "magnitudes the lowest index; sums in the order of the ranks" + _RING
        ),
    },
)

CLAIMS: tuple[Claim, ...] = (*DEFINITIONS, *SAMPLING, *CODES, *SIZES, *WORKERS, *EIGHT_BITS, *MEMORIES)
