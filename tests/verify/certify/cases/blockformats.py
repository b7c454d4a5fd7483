"""What the implementations of `blockformats` are run with at the smallest counterexamples."""

QUANTILE = 1.8627318674216515
"""Of the normal distribution, for 1/16 beyond it on both sides together."""
_TABLE = {"table": "short", "evenly": False, "fine": 0}


CASES = {
    "blockformats.fouroversix.no_worse_than_nvfp4": ({"block": 1, "scale": "nearest", "exact": True}, None),
    "blockformats.stochastic_fouroversix.unbiased_as_published": (
        {"entry": 160, "cells": 12, "choice": "drawn", "scale": "up", "block": 2},
        None,
    ),
    "blockformats.table.index_sums": ({**_TABLE, "n": 24}, None),
    "blockformats.table.unbiased_beyond": (
        lambda at: {"table": "two", "evenly": True, "fine": 0, "levels": f"{at['u']}/{at['v']}"},
        None,
    ),
    "blockformats.table.two_stages": (lambda at: {**_TABLE, "fine": at["f"], "levels": "1"}, None),
    "blockformats.table.beyond_as_gaussian": (
        lambda at: {
            "table": "two", "evenly": True, "fine": 0, "x": " ".join(["1"] * 2 ** at["j"]), "top": QUANTILE,
            "every": True, "by_quantile": True,
        },
        None,
    ),
    "blockformats.multihop.ring_bounded": (
        lambda at: {
            "n": at["P"], "block": 1, "topology": "ring", "entries": " ".join(["1"] * at["P"]), "message": "thinned",
            "keep": at["v"] / (at["u"] + at["v"]), "cells": 1, "alike": True, "element": "e2m1", "scale": "rceil",
        },
        None,
    ),
}  # fmt: skip
