"""What is known of a coded vector says of the symbols of its models."""

from fractions import Fraction

import numpy as np
from model_runs import Run, exact

from commbounds.compressors import StochasticGroupQuantizer
from commbounds.verify.experiments.flashcomm.cases import coded
from commbounds.verify.experiments.flashcomm.planes_and_spikes import squared_errors

BLOCKS = {"block": lambda coded_bytes, P: Fraction(coded_bytes, P)}


def planes(width, n):
    """Codes of so many bits."""
    yield Run({"n": n}, at={"b": width})


def stored_scales(implementation, case):
    """Groups' scales, the powers that are stored for them, and the least of all scales."""
    found = coded(implementation, case.settings, case.array)
    c = found.c
    scales = [float(step) for step in found.steps]
    live = [(s, float(stored)) for s, stored in zip(scales, found.ranges.scale, strict=True) if s > 0]
    for s, stored in live:
        j = round(float(np.log2(stored)) * c.theta)
        assert abs(stored / 2.0 ** (j / c.theta) - 1) < 1e-6
        given = {"s": s, "theta": c.theta, "j": j}
        yield Run(given if j > -128 else {**given, "smallest_scale": min(s for s, _ in live)}, 64)


def ends(implementation, case, width):
    """Codes of this many bits."""
    yield {"width": width}


def without_spikes(implementation, case):
    """Groups' ends, and those of the entries that are no spikes."""
    found = coded(implementation, case.settings, case.array)
    for kept, part in zip(found.ranges.positions, found.groups, strict=True):
        rest = np.delete(case.array[part], kept)
        if rest.size and np.ptp(case.array[part]):
            whole = {"low": case.array[part].min(), "high": case.array[part].max()}
            yield {name: exact(v) for name, v in {**whole, "first": rest.min(), "last": rest.max()}.items()}


def errors(implementation, case, outcome):
    """Squared errors with spikes and of plain codes."""
    spikes, plain = squared_errors(implementation, case.array)
    yield {**outcome.values, "spikes": spikes, "plain": plain}


def parts(implementation, case, settings):
    """Entries above a level, in steps, by what the law makes of them."""
    if not settings.get("exact"):
        return
    found = coded(implementation, case.settings, case.array)
    x, law = found.x, found.law
    for part, step in zip(found.groups, found.steps, strict=True):
        low = min(x[part])
        for i in range(part.start, min(part.stop, len(x))):
            place = (x[i] - low) / step % 1 if step else Fraction(0)
            assert not step or sum(p for p, y in law if y[i] > x[i]) == place
            yield {"part": place}


def both_roundings(implementation, case):
    """Entries that ranks read with all their uniforms, and the sum of them that is rounded once more."""
    stack, width, grid = case.array, case.settings["width"], case.settings["uniforms"]
    n = stack.shape[1]
    q = StochasticGroupQuantizer(width, n, "float64")
    points, exact_sum, mean = [(2 * i + 1) / (2 * grid) for i in range(grid)], [Fraction(0)] * n, [Fraction(0)] * n
    for row in stack:
        low, step = exact(row.min()), exact(np.ptp(row)) / (2**width - 1)
        read = [[exact(v) for v in q.decompress(q.compress_with(row, np.full(n, u)))] for u in points]
        for i in range(n):
            c, f = divmod((exact(row[i]) - low) / (step or 1), 1)
            assert sum(y[i] for y in read) / grid == exact(row[i])
            yield {"mean": mean[i], "exact": exact_sum[i], "step": step, "c": c, "f": f}
        mean = [a + sum(y[i] for y in read) / grid for i, a in enumerate(mean)]
        exact_sum = [a + exact(v) for a, v in zip(exact_sum, row, strict=True)]


def entries_of_groups(implementation, case):
    """Entries that are no spikes, in steps above the smallest of them."""
    found = coded(implementation, case.settings, case.array)
    for kept, part in zip(found.ranges.positions, found.groups, strict=True):
        rest = [exact(v) for v in np.delete(case.array[part], kept)]
        for x in rest if rest and max(rest) > min(rest) else ():
            scale = (max(rest) - min(rest)) / (2**found.c.width - 1)
            code, place = divmod((x - min(rest)) / scale, 1)
            yield {"low": min(rest), "high": max(rest), "x": x, "scale": scale, "code": code, "part": place}


RUNS = {
    **{f"flashcomm.{name}": BLOCKS for name in ("twostep.bytes", "ring.bytes", "twostep.bridge", "ring.bridge")},
    "flashcomm.hierarchical.bridge": {"block": lambda coded_bytes, P: Fraction(2 * coded_bytes, P)},
    "flashcomm.bitplanes.bytes": planes,
    "flashcomm.groupquant.log2_inflation": stored_scales,
    "flashcomm.groupquant.ends": ends,
    "flashcomm.spikes.range": without_spikes,
    "flashcomm.spikes.error": entries_of_groups,
    "flashcomm.spikes.pays_isolated": errors,
    "flashcomm.stochastic.error": parts,
    "flashcomm.stochastic.variance": parts,
    "flashcomm.twostep.unbiased": both_roundings,
}
