"""What is known of rounds with few messages says of the symbols of their models."""

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
from model_runs import Run

from commbounds.verify.experiments.lowcomm.lowbit import _compensated
from commbounds.verify.experiments.lowcomm.outer import edges, exact
from commbounds.verify.experiments.moshpit.averaging import some_vectors


def bins(x, implementation, settings):
    """The values that become one mean."""
    found = np.asarray(implementation(x, settings["bins"]))
    for mean in set(found.tolist()):
        values = x[found == mean]
        yield {"count": len(values), "sum": float(values.sum()), "squares": float((values**2).sum())}


def amplitudes(measured, outcome):
    """All amplitudes, in units of the sum of their squares: what is kept, and the others."""
    yield Run({**outcome.values, "kept": 1 - measured, "others": measured}, 256)


def entries(x, implementation):
    """Entries in units of the power of two below them, times the largest."""
    top = max(map(abs, exact(x)))
    for value, read in zip(exact(x), exact(implementation(x)), strict=True):
        if value:
            unit = top * Fraction(2) ** (math.frexp(float(abs(value) / top))[1] - 1)
            a = abs(value) / unit
            assert abs(read) / unit in ((1, 2) if a == Fraction(3, 2) else (1 + (a > Fraction(3, 2)),))
            yield {"a": a}


def own_steps(P, localsteps, implementation):
    """Workers that take steps 1, 0 and -1: where they are before one, and where all are at the end."""
    rng = np.random.default_rng([P, localsteps])
    for _ in range(4):
        steps = rng.integers(-1, 2, (localsteps, P))
        ends = steps.sum(axis=0)
        state, _ = implementation(P * ends[:, None].astype(float), np.zeros(1), None, 1.0, 0.0)
        mean = Fraction(float(state.anchor[0, 0])) / P
        known = {"localsteps": localsteps, "S": Fraction(int((ends**2).sum()), P), "M": mean**2}
        for h in range(1, localsteps):
            for vector, more in zip(steps[:h].sum(axis=0).tolist(), steps[h].tolist(), strict=True):
                yield {**known, "size": h, "vector": np.array([vector], object), "more": np.array([more], object)}
        if localsteps == 1:
            yield known


def newest_errors(found, outcome, settings, implementation):
    """Round by round: the newest error, which is what its compensation would be if it were kept whole."""
    given = {key: settings[key] for key in ("P", "outerrounds", "data", "seed")}
    errors, owed, _ = _compensated(implementation, fresh=Fraction(1), bits=4, **given)
    for error in [*errors, *owed]:
        yield {**outcome.values, "owed": error}


def owed_later(found, P):
    """What is owed at the end, which is what the compensation has become."""
    errors, owed, _ = found
    for e, kept in zip(owed, errors[-3:], strict=True):
        assert P > 1 or abs(e) == kept
        yield {"owed": e, "after": e, "e": e}


def distances(P):
    """About the average the squared distances of the slow weights, and the mean product of two ranks'."""
    for column in (np.arange(P) ** 2, np.arange(P) % 2):
        apart = [Fraction(int(v)) - Fraction(int(column.sum()), P) for v in column]
        pairs = [x * y for x, y in permutations(apart, 2)]
        yield {"P": P, "D": sum(x**2 for x in apart), "E": sum(pairs) / len(pairs)}


def blended(implementation, P, n, fragments, blendweight):
    """An entry of a worker and of the average before the round, by what they are after it."""
    start, stop = edges(n, fragments)[-2:]
    stack, anchor = some_vectors(P, n, 3, P), some_vectors(1, n, 5, P)[0]
    state, _ = implementation(stack, anchor, None, 1.0, 0.0, start=start, stop=stop, blend=float(blendweight))
    for j in range(start, stop):
        column, after = (np.array(exact(rows[:, j])) for rows in (stack, state.parameters))
        mean = column.sum() / P
        for x, y in zip(column, after, strict=True):
            assert y - after.sum() / P == blendweight * (x - mean)
            yield {"blendweight": blendweight, "x": x, "mean": mean}


RUNS = {
    "lowcomm.sparseloco.residual": {"q": lambda k, chunk: math.sqrt(1 - k / chunk)},
    "lowcomm.binned.energy": bins,
    "lowcomm.binned.sum": bins,
    "lowcomm.demo.contraction": amplitudes,
    "lowcomm.e3m0.relative_above": entries,
    "lowcomm.local.drift_bound": own_steps,
    "lowcomm.local.drift_sharp": own_steps,
    "lowcomm.loco.kept_dead": newest_errors,
    "lowcomm.loco.late_ef14": owed_later,
    "lowcomm.noloco.half": distances,
    "lowcomm.streaming.blend": blended,
}
