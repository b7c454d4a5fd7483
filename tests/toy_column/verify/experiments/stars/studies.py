"""Stars: the claims bound to their implementations."""

import numpy as np

from commbounds.verify.experiments.binding import bind, ones, table
from commbounds.verify.study import Case, Curve, Outcome, Study, studies


def _hub(star, case):
    _, traffic = star(np.ones((case.settings["P"], case.settings["n"])))
    return Outcome(int(traffic.sent[0]), {"spokes": case.settings["P"] - 1, "n": case.settings["n"]})


def _grid(_level):
    for P in range(1, 6):
        for n in (1, 2, 7):
            yield Case({"P": P, "n": n})


_OVER_RANKS = Curve("P", "n = 10", [(P, Case({"P": P, "n": 10})) for P in (2, 4, 8, 16)])


_PARITY = ("unbiased", "contraction", "wire", "sign_symmetry", "scale_equivariance", "idempotence")
_STAR = {"grid": _grid, "enumerated": "up to 5 ranks"}

EXPERIMENTS = {
    **table(
        bind("stars.parity.no_expansion", "Parity", worst=ones),
        *(bind(f"stars.parity.{statement}", "Parity") for statement in _PARITY),
    ),
    **studies(
        Study("stars.star.hub", "star_allreduce", _hub, curves=[_OVER_RANKS], **_STAR),
        Study("stars.star.equal", "star_allreduce", _hub, **_STAR),
    ),
}
