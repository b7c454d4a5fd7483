"""Refuted claims of blockformats at their smallest counterexamples: what the cases there are made with."""

from fractions import Fraction

import numpy as np

QUANTILE = 1.8627318674216515
"""Of the normal distribution, for 1/16 beyond it on both sides together."""
_TABLE = {"table": "short", "evenly": False, "fine": 0}

CASES = {
    "blockformats.microscaling": ({"element": "e2m1", "scale": "floor", "block": 1}, None),
    "blockformats.microscaling.maximum_of_roundoff": ({"element": "e4m3", "scale": "floor", "block": 1}, None),
    "blockformats.microscaling.maximum_unclipped_fixed": ({"element": "int8", "scale": "rceil", "block": 1}, None),
    "blockformats.microscaling.maximum_of_nearest_scale": ({"element": "e2m3", "scale": "nearest", "block": 1}, None),
    "blockformats.microscaling.unclipped_contracts_better": ({"element": "e2m1", "scale": "rceil", "block": 32}, None),
    "blockformats.microscaling.idempotence_doubled": ({"element": "e2m1", "scale": "double", "block": 2}, None),
    "blockformats.microscaling.scale_equivariance_any": (
        {"element": "e2m1", "scale": "floor", "block": 1, "factor": Fraction(5, 4)},
        None,
    ),
    "blockformats.microscaling.drift_of_nonuniform_grids": (
        {"element": "e2m1", "scale": "floor", "block": 32, "density": "uniform"},
        lambda at: [6.0],
    ),
    "blockformats.microscaling.drift_equidistant": (
        {"element": "int4", "scale": "floor", "block": 32, "density": "falling"},
        lambda at: [1.75],
    ),
    "blockformats.stochastic": ({"element": "e2m1", "scale": "floor", "block": 1}, None),
    "blockformats.stochastic.variance_of_smallest": ({"element": "e2m1", "scale": "rceil", "block": 2}, None),
    "blockformats.nvfp4": ({"block": 1, "scale": "nearest"}, None),
    "blockformats.stochastic_nvfp4": ({"block": 1, "scale": "nearest", "exact": True}, None),
    "blockformats.mseden": ({"dim": 4, "exact": True}, None),
    "blockformats.requantised": (
        {"element": "e2m1", "scale": "floor", "schedule": "ring", "n": 1, "block": 1, "cells": 8},
        None,
    ),
    "blockformats.requantised.bits_an_entry": (
        {"element": "e2m1", "scale": "floor", "schedule": "ring"},
        lambda at: np.ones((2, at["n"])),
    ),
    "blockformats.homomorphic": (lambda at: {"width": at["w"], "n": 1, "block": 1}, None),
    "blockformats.fouroversix.no_worse_than_nvfp4": ({"block": 1, "scale": "nearest", "exact": True}, None),
    "blockformats.stochastic_fouroversix.unbiased_as_coded": (
        {"entry": 160, "cells": 12, "choice": "drawn", "scale": "up", "block": 2},
        None,
    ),
    "blockformats.table.index_sums": ({**_TABLE, "n": 24}, None),
    "blockformats.table.unbiased_beyond": (
        lambda at: {"table": "two", "evenly": True, "fine": 0, "levels": (Fraction(at["u"], at["v"]),)},
        None,
    ),
    "blockformats.table.two_stages": (lambda at: {**_TABLE, "fine": at["f"], "levels": (Fraction(1),)}, None),
    "blockformats.table.beyond_as_gaussian": (
        lambda at: {
            "table": "two", "evenly": True, "fine": 0, "entries": (1,) * 2 ** at["j"], "top": QUANTILE,
            "every": True, "by_quantile": True,
        },
        lambda at: np.ones((1, 2 ** at["j"])),
    ),
    "blockformats.multihop.ring_bounded": (
        lambda at: {"topology": "ring", "message": "thinned", "keep": at["v"] / (at["u"] + at["v"])},
        lambda at: np.ones((at["P"], 1)),
    ),
    "blockformats.multihop.nearest_error_grown": (
        {"P": 1, "n": 1, "element": "e2m1", "topology": "butterfly", "message": "nearest"},
        None,
    ),
}  # fmt: skip
"""By the beginning of the claim's name: settings of the case at the point, and its array where that is another."""
