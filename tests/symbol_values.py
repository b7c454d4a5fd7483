"""A value for every symbol in the book, at which bounds are evaluated."""

from fractions import Fraction

import sympy as sp

__all__ = ["VALUES"]

VALUES = {
    # compressors
    "n": 7, "k": 3, "m": 5, "r": 2, "s": 2, "b": Fraction(3, 2), "levels": 255, "mu": Fraction(1, 5),
    "alpha": Fraction(1, 10), "block": 2, "chunk": 3, "threshold": Fraction(1, 2), "itembits": 32, "entries": 4,
    "norm1": Fraction(3), "norm2": sp.sqrt(5), "norm3": sp.cbrt(9), "norminf": 2, "absdet": Fraction(2), "P": 3,
    "norm2bar": sp.sqrt(2), "sumsq": Fraction(17), "e": Fraction(1, 3),
    # collectives
    "N": 8, "M": 4, "dims": 3, "rounds": 1, "failure": Fraction(1, 2), "deaf": Fraction(1, 4), "blocks": Fraction(7, 2),
    "survivors": 2, "spread": Fraction(3, 2), "cap": 4, "mixing": Fraction(1, 3), "stepsize": Fraction(1, 8),
    "noise": Fraction(2), "smoothness": Fraction(1), "convexity": Fraction(1, 2), "curvature": Fraction(3, 4),
    "period": 2, "periods": 3, "iterations": 6, "quality": Fraction(1, 2), "distance": Fraction(3),
    "excess": Fraction(4), "square": Fraction(5, 2),
    # dense
    "unit": Fraction(1, 2**24), "teams": 1, "kept": 2, "nodes": 1,
    # sparse
    "union": 4, "nonzeros": 2, "fewest": 1, "z": 2, "sd": 1,
    # packetloss
    "p": Fraction(1, 4), "elapsed": 3, "sigma": Fraction(3, 2), "G": Fraction(2), "rho": Fraction(-1, 2), "arrived": 2,
    "S": Fraction(3), "squares": Fraction(14), "onefewer": Fraction(1, 2), "stale": 1, "apart": 2, "age": 1, "older": 2,
    "receivers": 3, "recovery": Fraction(1, 8), "lossrate": Fraction(1, 4), "fates": Fraction(1, 2),
    "lagged": Fraction(7, 4), "discounted": Fraction(1, 4), "autocov": Fraction(5, 2), "driftbefore": Fraction(1, 2),
    "onesided": Fraction(3, 4), "smooth": Fraction(2), "meandistance": Fraction(1, 2), "missednorms": Fraction(3),
    "packets": 2, "coordinates": 8,
    # quantised all-reduce
    "width": 3, "first_width": 4, "second_width": 8, "group": 32, "groups": 5, "metabits": 16, "theta": 8,
    "step": Fraction(1, 4), "offset": Fraction(3), "span": Fraction(7, 4), "roundoff": Fraction(1, 256),
    "scales": Fraction(5, 2), "sum_scale": Fraction(2), "ranges": Fraction(9), "ring_scales": Fraction(6),
    "coded_bytes": 60,
    # oktopk
    "winners": 5, "selected": 4, "inbound": 6, "scale": Fraction(5, 4), "eta": Fraction(1, 4), "xi": Fraction(1, 2),
    "before": 2, "move": 1, "gap": 3, "moment": 3, "horizon": 4,
    # DropCompute
    "logwidth": Fraction(1, 2), "gammascale": Fraction(1, 2),
    "tau": Fraction(5, 2), "overhead": Fraction(1, 2), "latency": Fraction(1), "jitter": Fraction(1, 3),
    "skewness": Fraction(2), "slowest": Fraction(4), "capped": Fraction(2), "late": Fraction(1, 4),
    "below": Fraction(3, 2), "reached": 1, "begun": Fraction(7, 4), "later": 2, "longest": Fraction(3),
    "shortest": Fraction(1, 2), "synchronised": Fraction(5), "spare": 1, "best": Fraction(6, 5),
    "truth": Fraction(5, 4), "model": Fraction(11, 10), "fewer": Fraction(7, 2), "evenness": Fraction(9, 2),
    "upper": Fraction(3), "outer": Fraction(7, 2), "square_top": Fraction(3, 2), "top": Fraction(1),
    "location": Fraction(1, 10), "shape": Fraction(2), "share": Fraction(3, 4), "samples": Fraction(12),
    "largest_batch": 3,
    "odd_square": Fraction(3, 5), "epsilon": Fraction(1, 2), "delta": Fraction(1, 10),
    # error feedback
    "smoothness_apart": Fraction(5, 4), "reach": Fraction(3, 2), "lag": Fraction(2), "turn": Fraction(1, 2),
    "shift": Fraction(1, 4), "slope": Fraction(9, 4), "momentum_lag": Fraction(3, 4), "own_lag": Fraction(5, 4),
    "mean_lag": Fraction(1), "variance": Fraction(1, 3), "potential": Fraction(5),
}  # fmt: skip
