"""Refuted claims of quantizers at their smallest counterexamples: what the cases there are made with."""

from commbounds.compressors import COMPRESSORS

HYPER_PARAMETERS = {
    "quantizers.sign.sign_symmetry_zeros": {"zero": 1},
    "quantizers.scaledsign.attained": {"zero": 0},
    "quantizers.scaledsign.idempotence_zeros": {"zero": 0},
    "quantizers.scaledsign": {"zero": 1},
    "quantizers.qsgd.second_moment_common": lambda at: COMPRESSORS["QSGD"](at["s"]),
    "quantizers.qsgd": {"levels": 1},
    "quantizers.naturaldithering": {"levels": 1},
    "quantizers.stochasticpower": {"base": 2},
    "quantizers": {},
}
"""Of the compressor at the point, by the beginning of the claim's name; or the compressor."""

KERNEL_ALONE = {
    "quantizers.naturalcompression.variance_every_float",
    "quantizers.naturalcompression.unbiased_every_float",
    "quantizers.qsgd.elias_any_n",
}
"""About the ends of float32, which the exact law does not have, and about a message: run in float32 alone."""

WORST_OUTCOME = {"quantizers.qsgd.idempotence", "quantizers.naturaldithering.idempotence"}
"""Of their kernels the most is read that compressing once more changes an outcome with, not the mean over outcomes."""
