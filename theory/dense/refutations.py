"""Where refuted claims about dense collectives are computed: the models of their smallest counterexamples."""

from __future__ import annotations

import sympy as sp

from commbounds.theory.model import Refutation, by_claim
from commbounds.theory.quantities import P, n

REFUTATIONS = by_claim(
    Refutation(
        claim="dense.ring.printed_words",
        words="In each of 2 (P - 1) steps some rank sends the largest of the blocks, of ceil(n/P) words.",
        whole={P: 1, n: 1},
        measured=2 * (P - 1) * sp.ceiling(n / P),
        values={P: P, n: n},
    ),
    Refutation(
        claim="dense.rabenseifner.printed_words",
        words="Two ranks exchange halves, and then sums of halves: the larger one has ceil(n/2) words.",
        whole={n: 1},
        measured=2 * sp.ceiling(n / 2),
        values={P: 2, n: n},
    ),
    Refutation(
        claim="dense.allgather.printed_words",
        words="Two ranks exchange their blocks, the larger of which has ceil(n/2) words.",
        whole={n: 1},
        measured=sp.ceiling(n / 2),
        values={P: 2, n: n},
        met={"by_bruck": "Bruck's algorithm is run."},
    ),
    Refutation(
        claim="dense.allreduce.every_rank",
        words="Recursive doubling among three ranks: the second folds its vector into the first's, and gets the sum.",
        whole={n: 1},
        measured=n,
        values={P: 3, n: n},
    ),
)
