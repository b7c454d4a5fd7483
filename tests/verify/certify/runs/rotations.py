"""What is known of a rotated vector says of the symbols of its models."""

import itertools
from fractions import Fraction

import numpy as np
from model_runs import between_levels, length

from commbounds.compressors.rotations import randomised_hadamard

LENGTH = {"length": lambda n: 1 << (n - 1).bit_length() if n > 1 else 1}
PRODUCTS = {**LENGTH, "products": lambda length, k: -(Fraction(length, k) - 1) / (length - 1)}


def projection(run):
    """The inner product of every estimate with the vector: in units of the scale, the codes' with the rotated one."""
    if run.exact:
        for _, y in run.law():
            yield {"inner": sum(a * b for a, b in zip(run.x, y, strict=True)), "scale": 1, "norm2": length(run.x)}


def the_only_entry(run):
    """The estimate at the place of the only entry, as the sum of `length` codes of one magnitude, times the scale."""
    if run.exact:
        (at,) = (i for i, v in enumerate(run.x) if v)
        for _, y in run.law():
            d = LENGTH["length"](len(y))
            assert not any(y[:at] + y[at + 1 :])
            yield {"a": abs(run.x[at]), "code": 1, "length": d, "scale": y[at] * run.x[at] / abs(run.x[at]) / d}


def dithered_levels(run, outcome):
    """What rotated entries become, over dithers that are equally far apart, for every pattern of signs."""
    x, cells, s = np.asarray(run.x, np.float64), 48, outcome.values["s"]
    d = 1 << (x.size - 1).bit_length()
    if x.size > 4 or (x != np.rint(x)).any() or abs(x).max() > 9 or s > 4:
        return
    for signs in itertools.product((1, -1), repeat=x.size):
        rotated = randomised_hadamard(x, signs)
        step = Fraction(float(np.ptp(rotated))) / s
        seen = [randomised_hadamard(run.c.decompress(run.c.compress_with(x, np.full(d, (j + 0.5) / cells), signs)),
                                    signs) for j in range(cells)]  # fmt: skip
        if x.size < d or not step:
            continue  # what is padded is cut off
        law = [[(Fraction(1, cells), Fraction(round(v * s)) / s) for v in column] for column in np.array(seen).T]
        joined = [[(sum(p for p, o in pairs if o == level), level) for level in {o for _, o in pairs}]
                  for pairs in law]  # fmt: skip
        for found in between_levels(joined, rotated.tolist(), 1 / cells):
            yield {"w": found["value"], "low": found["low"], "high": found["high"]}


def dithered(x, settings):
    """How far rotated entries are above a whole number of steps."""
    d = 1 << (x.size - 1).bit_length()
    for v in randomised_hadamard(np.asarray(x, np.float64), [1] * x.size).tolist():
        place = Fraction(v / d**0.5 / settings["step"]) % 1
        yield {"length": d, "place": place, "rest": 0, "padding": 0}


def first_entry(x, implementation, outcome):
    """Two rows of the rotation, at the first entry and either sign; and the largest mean product."""
    columns = {sign: implementation(np.where(np.arange(x.size) == 0, x, 0), [sign] * x.size) for sign in (1, -1)}
    norm2 = length(x.tolist())
    for sign, rows in itertools.product((1, -1), itertools.combinations(range(min(len(columns[1]), 4)), 2)):
        g, h = (int(columns[1][row]) // int(x[0]) for row in rows) if x[0] else (1, 1)
        assert all(columns[sign][row] == sign * columns[1][row] for row in rows)
        yield {"g": g, "h": h, "x": int(x[0]), "sign": sign, "sum": 0, "other": 0, "norm2": norm2,
               "spectrum": outcome.values["spectrum"], "row": outcome.measured * norm2**2}  # fmt: skip


def halves(x, implementation):
    """Of twice the length: what the rotation of half a vector, applied twice, comes to."""
    d = 1 << (x.size - 1).bit_length()
    if d == 1:
        return
    parts = np.concatenate([x, np.zeros(d - x.size, np.int64)]).astype(np.int64).reshape(2, -1)
    ones = np.ones(d // 2, np.int64)
    back = [implementation(implementation(part, ones), ones) for part in parts]
    for i, sign in itertools.product(range(d // 2), (1, -1)):
        named = {"a": parts[0, i], "b": parts[1, i], "u": back[0][i], "v": back[1][i], "x": parts[0, i]}
        yield {"length": d // 2, "sign": sign, **{name: int(v) for name, v in named.items()}}


def steps_of_rotated(y, s, rotated_top, n):
    """How far rotated entries are above a multiple of the step."""
    for v in np.asarray(y).ravel().tolist():
        if rotated_top:
            yield {"f": Fraction(v) * s / Fraction(rotated_top) % 1, "length": LENGTH["length"](n), "s": s}


RUNS = {
    "rotations.hadamardsketch.variance": PRODUCTS,
    "rotations.hadamardsketch.entry_variance": PRODUCTS,
    "rotations.hadamardsketch.shrunk_contraction": LENGTH,
    "rotations.drive.wire_padded": {"length": lambda measured, itembits: int(measured) - itembits},
    "rotations.kashin.level": {"root": lambda clip_share: clip_share**0.5},
    "rotations.drive.projection": projection,
    "rotations.eden.projection": projection,
    "rotations.drive.one_sparse": the_only_entry,
    "rotations.eden.one_sparse": the_only_entry,
    "rotations.rotateddithering.unbiased": dithered_levels,
    "rotations.dithered_hadamard.entry": dithered,
    "rotations.dithered_hadamard.one_offset_bound": dithered,
    "rotations.dithered_hadamard.unbiased": dithered,
    "rotations.randomised_hadamard.correlation": first_entry,
    "rotations.randomised_hadamard.inverse": halves,
    "rotations.rotated_sum.error": steps_of_rotated,
}
