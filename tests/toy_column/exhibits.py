"""Stars: a figure about more than one claim."""

from commbounds.theory import claims
from commbounds.verify.exhibit import Exhibit, Line, Panel


def _hub(budget, seed):
    ranks = [2.0, 4.0, 8.0]
    words = [float(claims()["stars.star.hub"].bound(spokes=int(P) - 1, n=1)) for P in ranks]
    panel = Panel("The hub", "ranks P", "words sent, n = 1", (Line("hub", ranks, words, "exact"),))
    return Exhibit("stars.hub", "What rank 0 sends", "A star.", (panel,), seed, budget)


EXHIBITS = {"stars.hub": _hub}
