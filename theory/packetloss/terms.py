"""Symbols of the column packetloss, and functions of them."""

from fractions import Fraction
from typing import Any

from commbounds.theory.functions import ExactFunction
from commbounds.theory.symbols import Symbol

N = Symbol("N", example=8, integer=True, positive=True)
"""Workers."""
p = Symbol("p", example=Fraction(1, 4), nonnegative=True)
"""Probability that a packet gets lost."""
t = Symbol("elapsed", "t", 3, integer=True, positive=True)
"""Steps since all replicas were equal."""
sigma = Symbol("sigma", example=Fraction(3, 2), positive=True)
"""Standard deviation of one update, or of one worker's gradient."""
G = Symbol("G", example=Fraction(2), positive=True)
"""Largest norm of an update."""
rho = Symbol("rho", example=Fraction(-1, 2), real=True)
"""Correlation of consecutive updates."""
arrived = Symbol("arrived", "K", 2, integer=True, positive=True)
"""Contributions that arrived, K."""
S = Symbol("S", example=Fraction(3), nonnegative=True)
"""Sample standard deviation of the workers' gradients: S^2 = sum_i (g_i - gbar)^2 / (N - 1)."""
squares = Symbol("squares", r"\left(\sum_i g_i^2\right)", Fraction(14), nonnegative=True)
"""Sum over the workers of g_i^2."""
onefewer = Symbol("onefewer", "A_{N-1}", Fraction(1, 2), nonnegative=True)
"""E[1/K; K >= 1] with one worker fewer."""
stale = Symbol("stale", r"\ell", 1, integer=True, nonnegative=True)
"""A staleness in steps, below t."""
apart = Symbol("apart", "m", 2, integer=True, positive=True)
"""Versions between two replicas, at least 1 and at most t."""
age = Symbol("age", "a", 1, integer=True, nonnegative=True)
"""Age of an update in steps: 0 for the last one."""
older = Symbol("older", "b", 2, integer=True, nonnegative=True)
"""Age of another update, at least as old."""
receivers = Symbol("receivers", "R", 3, integer=True, positive=True)
"""Workers that receive the shard, its owner not among them."""
recovery = Symbol("recovery", "b", Fraction(1, 8), positive=True)
"""Probability that a bad link is good in the next step: bursts last 1 / recovery steps on average."""
lossrate = Symbol("lossrate", r"\pi", Fraction(1, 4), nonnegative=True)
"""Stationary share of bad links, which lose everything."""
fates = Symbol("fates", r"\left(\sum_s F(s)(1-F(s))\right)", Fraction(1, 2), nonnegative=True)
"""Sum over s of F(s) (1 - F(s)), with F the distribution function of a receiver's staleness."""
lagged = Symbol("lagged", r"\mathbb{E}\,\lVert x\rVert^2", Fraction(7, 4), nonnegative=True)
"""Expected squared gap of a receiver to the owner: sum over ages a, b of p^(max(a, b) + 1) <u_a, u_b>."""
discounted = Symbol("discounted", r"\lVert\mathbb{E}\,x\rVert^2", Fraction(1, 4), nonnegative=True)
"""Squared norm of the expected gap: of the sum over ages a of p^(a + 1) u_a."""
autocov = Symbol("autocov", r"\left(r(0)+2\sum_{h\geq 1}p^h r(h)\right)", Fraction(5, 2), nonnegative=True)
"""r(0) + 2 sum over h >= 1 of p^h r(h), with r the autocovariance of the updates."""
driftbefore = Symbol("driftbefore", r"\mathbb{E}D_{t-1}^2", Fraction(1, 2), nonnegative=True)
"""Expected squared gap of two receivers one step earlier."""
onesided = Symbol("onesided", "V_t", Fraction(3, 4), nonnegative=True)
"""Expected squared gap of two receivers, given that exactly one of them receives in the step at hand."""
smooth = Symbol("smooth", "L", Fraction(2), positive=True)
"""Lipschitz constant of the gradient."""
meandistance = Symbol("meandistance", r"\frac1N\sum_i\lVert\theta_i-\theta\rVert", Fraction(1, 2), nonnegative=True)
"""Mean distance of the workers' replicas to a reference point."""
missednorms = Symbol("missednorms", r"\left(\sum_{s}\lVert u_s\rVert\right)", Fraction(3), nonnegative=True)
"""Sum of the norms of the updates that one of two replicas has and the other has not."""
eta = Symbol("eta", example=Fraction(1, 4), positive=True)
"""Step size."""
fall = Symbol("fall", r"\left(f(\theta_0)-\mathbb{E}f(\theta_t)\right)", Fraction(5, 2), real=True)
"""By how much f falls at the owners' values in t steps, expected."""
gap = Symbol("gap", "(f_0-f^*)", 3, nonnegative=True)
"""f at the common start minus the infimum of f."""
estimatesquare = Symbol(
    "estimatesquare",
    r"\left(\frac1t\sum_{s<t}\mathbb{E}\,\lVert\hat g_s\rVert^2\right)",
    Fraction(7, 3),
    nonnegative=True,
)
"""Squared norm of the owners' estimates, zero where nothing arrives; expected, mean over the steps."""
packets = Symbol("packets", "q", 2, integer=True, positive=True)
"""Packets that a shard is cut into."""
coordinates = Symbol("coordinates", "n", 8, integer=True, positive=True)
"""Parameters; a multiple of N."""


class inverse_arrivals(ExactFunction):
    """E[1/K; K >= 1] for K ~ Binomial(N, 1 - p): the sum over k <= N of (p^(N - k) - p^N) / k."""

    nargs = 2

    @classmethod
    def exact(cls, *arguments: Any) -> Fraction:
        """By the sum."""
        size, loss = int(arguments[0]), Fraction(arguments[1])
        return sum(((loss ** (size - k) - loss**size) / k for k in range(1, size + 1)), Fraction(0))

    def _latex(self, printer: Any, **_: Any) -> str:
        size = printer.doprint(self.args[0])
        return rf"\sum_{{k=1}}^{{{size}}}\frac{{p^{{{size}-k}}-p^{{{size}}}}}{{k}}"


class staleness_range(ExactFunction):
    """E[max L - min L] over R receivers after t steps: sum over s < t of 1 - (1 - p^(s+1))^R - p^(R (s+1))."""

    nargs = 3

    @classmethod
    def exact(cls, *arguments: Any) -> Fraction:
        """By the sum."""
        count, loss, steps = int(arguments[0]), Fraction(arguments[1]), int(arguments[2])
        return sum((cls.widens(count, loss, s) for s in range(1, steps + 1)), Fraction(0))

    @staticmethod
    def widens(count: Any, loss: Any, step: Any) -> Any:
        """What step s adds: the chance that some, and not all, receivers missed the last s updates."""
        return 1 - (1 - loss**step) ** count - loss ** (count * step)

    def _latex(self, printer: Any, **_: Any) -> str:
        count, _loss, steps = (printer.doprint(a) for a in self.args)
        return rf"\sum_{{s=1}}^{{{steps}}}\left(1-(1-p^s)^{{{count}}}-p^{{{count} s}}\right)"


def pair_steps(loss: Any, steps: Any) -> Any:
    """Expected number of updates between two receivers, t steps after they were equal."""
    return 2 * loss * (1 - loss**steps) / (1 - loss) - 2 * loss**2 * (1 - loss ** (2 * steps)) / (1 - loss**2)


def owner_steps(loss: Any, steps: Any) -> Any:
    """Expected staleness of a receiver, t steps after it was up to date."""
    return loss * (1 - loss**steps) / (1 - loss)
