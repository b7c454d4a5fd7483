"""A chi-square test whose false-alarm rate, discrepancy and sample size follow from one another."""

from dataclasses import dataclass

import numpy as np
from scipy import special

FALSE_ALARM = 1e-9
"""Of every single test; a thousand of them raise one alarm in a million runs."""


@dataclass(frozen=True)
class ChiSquare:
    """Pearson's test of counts against equal probabilities of `cells` cells.

    It sees probabilities p with cells * sum (p_i - 1/cells)^2 >= effect, and misses them with probability `MISS`.
    """

    cells: int
    effect: float

    MISS = 1e-3

    @property
    def threshold(self):
        return float(special.chdtri(self.cells - 1, FALSE_ALARM))

    @property
    def draws(self):
        """Draws needed: the noncentrality draws * effect brings the statistic over the threshold."""
        return int(np.ceil(special.chndtrinc(self.threshold, self.cells - 1, self.MISS) / self.effect))

    def rejects(self, counts):
        counts = np.asarray(counts, np.float64)
        assert counts.size == self.cells
        expected = counts.sum() / self.cells
        return bool(((counts - expected) ** 2).sum() / expected > self.threshold)
