"""What is counted of sparse all-reduces says of the symbols of their models."""

import math
from fractions import Fraction

import numpy as np
from model_runs import Run
from scipy.special import erfc

from commbounds.verify.experiments import EXPERIMENTS


def _selected(implementation, case, **options):
    return implementation(case.array, case.settings["k"], **options)[0].selected[0]


def far_entries(implementation, case, outcome):
    """The entries that pass the threshold, the squares of their distances from the mean, and those of the others."""
    x, selected = case.array[0].astype(np.float64), _selected(implementation, case)
    mean, values = float(x.mean()), outcome.values
    away, far = (x - mean) ** 2, np.zeros(x.size, bool)
    far[selected] = True
    known = {**values, "mean": mean, "count": int(far.sum()), "far": float(away[far].sum())}
    for value in x[far][:8].tolist() or [0.0]:
        yield Run({**known, "near": float(away[~far].sum()), "x": value}, 16 * x.size)


def quantiles(tail_of):
    """How many quantiles are selected at either end, and the law's tail at the threshold or at the level."""

    def runs(outcome, n, k, measured):
        tail, side = tail_of(**{name: outcome.values[name] for name in ("z", "sd")}), measured * k / 2
        for p in (0.6, 0.9):  # probabilities of the upper half: the law's quantiles are there
            yield Run({"n": n, "k": k, "side": side, "tail": tail, "u": 1 - p, "log_half": -math.log(2 * (1 - p)),
                       "x": 1 - p, "density": p}, 64 * n)  # fmt: skip

    return runs


def pairs_that_move(implementation, case, outcome):
    """The most words that a rank receives, and the pairs that all do."""
    mean = EXPERIMENTS["sparse.lower_bound.mean"].admitted(implementation, case).measured
    P = case.settings["P"]
    yield {**outcome.values, "P": P, "most": outcome.measured, "pairs": P * mean / 2}


def own_regions(implementation, case):
    """Entries that ranks select of their own regions, of the update, and of all."""
    s, x = case.settings, case.array
    result, traffic = implementation(x, s["k"], allgather=s["allgather"], switch=s["switch"])
    (P, n), k = x.shape, s["k"]
    union = np.unique(np.concatenate(result.selected)).size
    split = traffic.phases["split"]
    own = sum(v.size for v in result.selected) - int(split.received.sum()) // 2
    c, steps = -(-n // P), max(P - 1, 1)
    gather = traffic.only("allgather", "dense").critical_path
    known = {
        "P": P,
        "n": n,
        "k": k,
        "union": union,
        "own": own,
        "c": c,
        "split": Fraction(split.critical_path, 2 * steps),
    }
    if "dense" in traffic.phases:
        yield {**known, "dense": Fraction(gather, steps), "gathered": 0}
    else:
        yield {**{name: v for name, v in known.items() if name != "n"}, "gathered": Fraction(gather, 2 * steps)}


RUNS = {
    "sparse.gaussiank.any_input": far_entries,
    "sparse.gaussiank.laplace_least": quantiles(lambda z, sd: math.exp(-math.sqrt(2) * z)),
    "sparse.gaussiank.laplace_most": quantiles(lambda z, sd: math.exp(-math.sqrt(2) * z * sd)),
    "sparse.gaussiank.normal_least": quantiles(lambda z, sd: float(erfc(z / math.sqrt(2)))),
    "sparse.gaussiank.normal_most": quantiles(lambda z, sd: float(erfc(z * sd / math.sqrt(2)))),
    "sparse.lower_bound.most": pairs_that_move,
    "sparse.topkdsa.lower_with_switch": own_regions,
    "sparse.topkdsa.upper": own_regions,
    "sparse.topka.above_oktopk": {"path": lambda measured: measured},
    "sparse.spardl.below_even_split": {"b": lambda k, P: k // P},
    "sparse.gaussiank.received": {"own": lambda entries, measured: entries - measured // 2},
    "sparse.gaussiank.mean_received": {"own_entries": lambda P, entries, measured: P * entries - P * measured / 2},
    "sparse.topkdsa.gathered": {"own_words": lambda P, n, union, measured: P * min(2 * union, n) - P * measured},
    "sparse.lower_bound.mean": {"pairs": lambda P, measured: P * measured / 2},
}
