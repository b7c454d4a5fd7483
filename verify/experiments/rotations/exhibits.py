"""Figures: what the Hadamard rotation makes of sparse vectors, and of the mean over workers."""

import itertools
import math
from functools import partial
from typing import Any

import numpy as np

from commbounds.array_types import Array
from commbounds.compressors.rotations import DRIVE, EDEN, ldlq
from commbounds.verify.exhibit import Exhibit, Maker, Panel, line
from commbounds.verify.experiments.rotations.roundings import FEEDBACK, example


def _error(c: Any, x: Array) -> float:
    """Expected relative error, over all patterns of signs of the nonzero entries."""
    places = np.flatnonzero(x)
    total, count = 0.0, 0
    for pattern in itertools.product((1, -1), repeat=len(places)):
        signs = np.ones(x.size, np.int64)
        signs[places] = pattern
        y = c.decompress(c.compress_with(x, signs))
        total, count = total + float(np.square(y - x).sum() / np.square(x).sum()), count + 1
    return total / count


def _sparse(k: int, d: int) -> Array:
    x = np.zeros(d)
    x[:k] = 1.0
    return x


def _errors(_budget: str, _seed: int) -> Exhibit:
    d, counts = 64, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    left = [
        line("uniform rotations, unbiased: pi/2 - 1", counts, math.pi / 2 - 1, "printed"),
        line("uniform rotations, biased: 1 - 2/pi", counts, 1 - 2 / math.pi, "reference"),
        line("one half: the bound", counts, 0.5, "bound"),
        line("DRIVE, unbiased scale", counts, [_error(DRIVE(), _sparse(k, d)) for k in counts]),
        line("DRIVE, biased scale", counts, [_error(DRIVE("biased"), _sparse(k, d)) for k in counts]),
    ]
    ratios = [0.005, 0.01, 0.015, 0.018, 0.019, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.99]
    right = [
        line(f"{width} bit{'s' * (width > 1)}", ratios, [_error(EDEN(width), np.array([1.0, r])) for r in ratios])
        for width in (1, 2, 3, 4)
    ]
    return Exhibit(
        "rotations.errors",
        "Sparse vectors exceed the uniform rotation's constants; two bits can have a larger error than one",
        "Expected relative squared error over all signs of the Hadamard rotation. Left: k equal entries, the first of "
        "64 places. Right: two entries (1, r), the unbiased scale.",
        (
            Panel("Equal entries", "nonzero entries k", "relative error", tuple(left)),
            Panel("Two entries", "ratio r of the smaller", "relative error", tuple(right), xscale="log", yscale="log"),
        ),
    )


def _workers(_budget: str, seed: int) -> Exhibit:
    rng, counts = np.random.default_rng(seed), [1, 2, 4, 8, 16, 32, 64]
    vectors = {
        "(3, 1, 0, ..., 0)": np.array([3.0, 1.0, *[0.0] * 62]),
        "four equal entries": _sparse(4, 64),
        "64 normal entries": np.random.default_rng(7).standard_normal(64),
    }
    lines = [line("uniform rotations: (pi/2 - 1)/P", counts, lambda P: (math.pi / 2 - 1) / P, "printed")]
    for label, vector in vectors.items():
        square = float(vector @ vector)
        found = []
        for P in counts:
            runs = [np.mean([DRIVE()(vector, rng) for _ in range(P)], axis=0) for _ in range(max(4, 256 // P))]
            found.append(float(np.mean([np.square(run - vector).sum() for run in runs]) / square))
        lines.append(line(label, counts, found))
    return Exhibit(
        "rotations.workers",
        "Averaging over workers does not remove the bias of a single Hadamard rotation",
        "Mean of P independent estimates of one vector by DRIVE with the unbiased scale; over some hundred of them.",
        (Panel("Workers", "workers P", "relative error of the mean", tuple(lines), xscale="log", yscale="log"),),
    )


def _uniform(_budget: str, _seed: int) -> Exhibit:
    from scipy.integrate import quad
    from scipy.special import erfcx

    lengths = [3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128]
    curve = [n * (n - 2) * quad(lambda t, n=n: t * erfcx(t / math.sqrt(2)) ** n, 0, math.inf)[0] - 1 for n in lengths]
    few = {1: 0.0, 2: 4 / math.pi - 1, 3: 6 * math.sqrt(2) * math.log(1 + math.sqrt(2)) / math.pi - 2}
    x = [1, 2, *lengths]
    left = [
        line("the limit: pi/2 - 1", x, math.pi / 2 - 1, "printed"),
        line("unbiased scale: by the integral", x, [few[1], few[2], *curve]),
        line("unbiased scale: closed forms", list(few), list(few.values()), "reference"),
        line("biased scale: (1 - 2/pi)(1 - 1/n)", x, lambda n: (1 - 2 / math.pi) * (1 - 1 / n)),
    ]
    sizes = [4, 6, 8, 12, 16, 24]
    found = partial(FEEDBACK.found, ldlq)
    losses = {levels: [found(data=example(n), limited=levels) for n in sizes] for levels in (False, True)}
    right = [
        line("a quarter of the pivots", sizes, [pivots / 4 for _, _, pivots in losses[False]], "bound"),
        line("LDLQ without limits", sizes, [loss for loss, _, _ in losses[False]]),
        line("to nearest", sizes, [nearest for _, nearest, _ in losses[False]]),
        line("LDLQ with four levels", sizes, [loss for loss, _, _ in losses[True]]),
    ]
    return Exhibit(
        "rotations.uniform",
        "Uniform rotations have smaller errors for few entries; feedback with few levels loses its bound",
        "Left: expected relative squared error of DRIVE under uniform rotations. Right: the example of QuIP's code, "
        "weights close to one half, rounded with feedback; all weights are between the levels.",
        (
            Panel("Uniform rotations", "entries n", "relative error", tuple(left), xscale="log"),
            Panel("Feedback", "weights n", "quadratic loss", tuple(right), xscale="log", yscale="log"),
        ),
    )


EXHIBITS: dict[str, Maker] = {"rotations.errors": _errors, "rotations.workers": _workers, "rotations.uniform": _uniform}
