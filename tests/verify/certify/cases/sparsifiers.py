"""Refuted claims of sparsifiers at their smallest counterexamples: what the cases there are made with."""

from fractions import Fraction

from commbounds.compressors import COMPRESSORS
from commbounds.verify.experiments.sparsifiers.studies import ShareTopK

HYPER_PARAMETERS = {
    "sparsifiers.topk.floor_k": lambda at: ShareTopK(COMPRESSORS["TopK"], Fraction(at["p"], at["q"]), up=False),
    "sparsifiers.randk.global_contraction": {"k": 1, "scaled": False},
    "sparsifiers.blocktopk.kept_share": {"k": 1, "block": 2},
    "sparsifiers.blocktopk.unbiased": {"k": 1, "block": 1},
    "sparsifiers.chunktopk.unbiased": {"k": 1, "chunk": 2},
    "sparsifiers.hardthreshold": lambda at: COMPRESSORS["HardThreshold"](at["threshold"]),
    "sparsifiers.adaptivesparsification": {},
    "sparsifiers": {"k": 1},
}
"""Of the compressor at the point, by the beginning of the claim's name; or the compressor."""
