"""Stars: the claims bound to their implementations."""

import numpy as np

from commbounds.verify.experiments.binding import bind, table
from commbounds.verify.study import Case, Curve, Outcome, Study, studies


def _hub(star, case):
    _, traffic = star(np.ones((case.settings["P"], case.settings["n"])))
    return Outcome(int(traffic.sent[0]), {"spokes": case.settings["P"] - 1, "n": case.settings["n"]})


def _grid(_level):
    for P in range(1, 6):
        for n in (1, 2, 7):
            yield Case({"P": P, "n": n})


_OVER_RANKS = Curve("P", "n = 10", [(P, Case({"P": P, "n": 10})) for P in (2, 4, 8, 16)])


def _odd_position(_compressor, n):
    return np.eye(1, n, 1, dtype=np.float32)[0]


EXPERIMENTS = {
    **table(bind("stars.evens.no_expansion", "Evens", worst=_odd_position), bind("stars.evens.wire", "Evens")),
    **studies(
        Study("stars.star.hub", "star_allreduce", _hub, grid=_grid, curves=[_OVER_RANKS], enumerated="up to 5 ranks")
    ),
}
